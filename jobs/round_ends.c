/* SPDX-License-Identifier: MIT */
/* round_ends.c - ends on their way to the engine, and jobs that go back to it without one. */
#include "round_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "alarm.h"
#include "round_claim.h"
#include "run.h"

enum {
    GATHER_LEAST = 64, /* runs in flight: fewer are recorded as they end */
    GATHER_RUN_NS = 20000,
    GATHER_TIMES = 10,
    GATHER_PAUSE_NS = 50000,
};

void vg_jobs_ends_collect(struct vg_jobs_round *round)
{
    /* acquire: pairs with the release of vg_jobs_run_push */
    struct vg_jobs_run *run = atomic_exchange_explicit(&round->jobs->ends, NULL, memory_order_acquire);
    while (run != NULL) {
        struct vg_jobs_run *next = run->next_end;
        run->next_end = round->ended;
        round->ended = run;
        round->end_count++;
        run = next;
    }
}

/* Many short runs are in flight and there is no place for a whole claim: wait for half of them, for less than a
   millisecond. The first one that ended would otherwise have a transaction and a sync of the disk for a few, while the
   workers wait for the next claim. */
void vg_jobs_ends_gather(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    unsigned flying = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed);
    if (flying < GATHER_LEAST || atomic_load_explicit(&jobs->run_ns, memory_order_relaxed) > GATHER_RUN_NS)
        return;
    for (unsigned i = 0; i < GATHER_TIMES && round->end_count * 2 < flying; i++) {
        if (round->look && vg_jobs_claim_places(round) >= vg_jobs_claim_most(round))
            break;
        struct timespec pause = {.tv_nsec = GATHER_PAUSE_NS};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        vg_jobs_ends_collect(round);
    }
}

int vg_jobs_ends_list(struct vg_jobs_round *round)
{
    if (round->end_count > round->end_room) {
        size_t room = round->end_count * 2;
        void *more = realloc(round->ends, room * sizeof *round->ends);
        if (more == NULL)
            return -ENOMEM;
        round->ends = more;
        round->end_room = room;
    }
    size_t number = 0;
    for (struct vg_jobs_run *run = round->ended; run != NULL; run = run->next_end)
        if (!run->given_back)
            round->ends[number++] = &run->end;
    return (int)number;
}

static void count_end(vigil_jobs *jobs, const struct vg_jobs_end *end)
{
    if (!end->accepted) {
        vg_jobs_count_up(&jobs->refused, 1);
        return;
    }
    switch (end->outcome) {
    case VG_JOBS_COMPLETE:
        vg_jobs_count_up(&jobs->completed, 1);
        break;
    case VG_JOBS_AGAIN:
        vg_jobs_count_up(&jobs->failed, 1);
        break;
    case VG_JOBS_BURY:
        vg_jobs_count_up(&jobs->dead, 1);
        break;
    case VG_JOBS_CANCEL:
        vg_jobs_count_up(&jobs->cancelled, 1);
        break;
    case VG_JOBS_GIVE_BACK:
    default:
        vg_jobs_count_up(&jobs->given_back, 1);
        break;
    }
}

/* The engine has recorded or refused these ends: the runs are over. */
void vg_jobs_ends_land(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    unsigned number = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = round->ended; run != NULL; run = run->next_end) {
        if (run->previous != NULL)
            run->previous->next = run->next;
        else
            jobs->flying = run->next;
        if (run->next != NULL)
            run->next->previous = run->previous;
        number++;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    while (round->ended != NULL) {
        struct vg_jobs_run *run = round->ended;
        round->ended = run->next_end;
        if (!run->given_back)
            count_end(jobs, &run->end);
        /* What was not claimed beside it may start now, and nobody rings for that. */
        round->look = round->look || run->quarantined || run->returned;
        if (run->quarantined)
            round->quarantine = false;
        round->returned -= run->returned;
        vg_jobs_run_free(run);
    }
    round->end_count = 0;
    (void)atomic_fetch_sub_explicit(&jobs->flying_count, number, memory_order_relaxed);
}

int vg_jobs_ends_record_apart(struct vg_jobs_round *round, size_t count)
{
    struct vg_jobs_want nothing = {.count = 0};
    struct vg_jobs_next next;
    for (size_t i = 0; i < count; i++) {
        int error =
            round->jobs->engine->exchange(round->conn, &round->ends[i], 1, &nothing, vg_jobs_claim_take, round, &next);
        if (error != 0 && error != -EBADMSG)
            return error;
        if (error == 0)
            continue;
        round->ends[i]->accepted = false;
        vg_jobs_alarm_end(round->ends[i]);
    }
    vg_jobs_ends_land(round);
    round->look = true;
    return 0;
}

/* Mark the runs that have waited too long for a worker, and say when to look again. */
static void find_held(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    uint64_t now = vg_jobs_now_ms();
    round->hold_at = VG_JOBS_AT_NEVER;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = jobs->flying; run != NULL; run = run->next) {
        if (atomic_load_explicit(&run->phase, memory_order_relaxed) != VG_JOBS_QUEUED || run->returned)
            continue;
        run->returned = run->claimed_ms + VG_JOBS_HOLD_MS <= now;
        round->returned += run->returned;
        if (!run->returned && run->claimed_ms + VG_JOBS_HOLD_MS < round->hold_at)
            round->hold_at = run->claimed_ms + VG_JOBS_HOLD_MS;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
}

/* Whether the engine is to have it back before its own end comes, which is dropped here then. */
static bool goes_back(const struct vg_jobs_run *run, bool running)
{
    bool works = atomic_load_explicit(&run->phase, memory_order_relaxed) == VG_JOBS_WORKS;
    return !run->given_back && (running ? works : run->returned);
}

/* Give back what handlers still hold, or what will not start. */
int vg_jobs_ends_give_back(struct vg_jobs_round *round, bool running)
{
    vigil_jobs *jobs = round->jobs;
    size_t number = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = jobs->flying; run != NULL; run = run->next)
        number += goes_back(run, running);
    struct vg_jobs_end *ends = calloc(number + 1, sizeof *ends);
    struct vg_jobs_end **list = calloc(number + 1, sizeof *list);
    struct vg_jobs_run **runs = calloc(number + 1, sizeof *runs);
    number = 0;
    for (struct vg_jobs_run *run = jobs->flying; run != NULL && ends != NULL && list != NULL && runs != NULL;
         run = run->next) {
        if (!goes_back(run, running))
            continue;
        ends[number] = (struct vg_jobs_end){
            .id = run->end.id, .number = run->end.number, .batch = run->end.batch, .outcome = VG_JOBS_GIVE_BACK};
        runs[number] = run;
        list[number] = &ends[number];
        number++;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    struct vg_jobs_next next;
    struct vg_jobs_want nothing = {.count = 0};
    int error =
        number > 0 ? jobs->engine->exchange(round->conn, list, number, &nothing, vg_jobs_claim_take, round, &next) : 0;
    /* Only this thread frees runs, so they are still there. */
    (void)pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < number && error == 0; i++)
        runs[i]->given_back = true;
    (void)pthread_mutex_unlock(&jobs->lock);
    for (size_t i = 0; i < number; i++) {
        if (error == 0)
            count_end(jobs, &ends[i]);
        if (running)
            vg_jobs_run_abort(runs[i], -ESHUTDOWN, "the process stops");
    }
    free(ends);
    free(list);
    free(runs);
    return error;
}

/* Long runs have all workers: what was claimed ahead by the measure of shorter ones is for other processes. This one
   claims nothing until a worker has come to those. */
int vg_jobs_ends_give_back_held(struct vg_jobs_round *round)
{
    find_held(round);
    int error = round->returned > 0 ? vg_jobs_ends_give_back(round, false) : 0;
    if (error != 0)
        round->hold_at = vg_jobs_now_ms();
    return error;
}
