/* SPDX-License-Identifier: MIT */
/*
 * runner.c - claims and ends, one transaction for both.
 *
 * The runner sleeps until a job may be there, a run has ended, a job becomes due or a lease runs out. Each round sends
 * all ends that have come and claims for the places that they leave; what comes during the transaction makes the next
 * batch. So batches form by themselves under load, and a single job is recorded at once.
 *
 * Claims are bounded: at most `width` jobs plus the prefetch are in flight. The prefetch follows the time that handlers
 * take, so that long jobs are not claimed ahead of idle processes.
 *
 * A worker that ends the only run in flight makes the round itself: nobody else can use the time that the way over this
 * thread would take.
 *
 * When the engine is away the ends stay here and are sent again with their numbers; handlers go on.
 */
#include "runner.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "alarm.h"
#include "backoff.h"
#include "futex.h"
#include "heart.h"
#include "run.h"
#include "schedule.h"
#include "why.h"

enum {
    AGEING_PERIOD = 32,
    MOST_PREFETCH = 1024,
    PREFETCH_US = 5000, /* this much work may wait here */
    GATHER_LEAST = 64,  /* runs in flight: fewer are recorded as they end */
    GATHER_RUN_NS = 20000,
    GATHER_TIMES = 10,
    GATHER_PAUSE_NS = 50000,
    RESCUES = 100, /* at a time: after an outage the jobs come back in steps */
    PRUNES = 1000,
    PRUNE_EVERY_MS = 60000,
    PRUNE_AGAIN_MS = 50,    /* while there is more */
    BAD_SCHEDULE_MS = 1000, /* one that this process cannot compute is looked at again after so long */
    LONE_MS = 1000,         /* how long the claiming stops at first, so that a quarantined job can run alone */
    RETRY_FIRST_MS = 50,    /* while the engine is away */
    RETRY_MOST_MS = 2000,
    HOLD_MS = 1000, /* a job that was claimed ahead and has not started after so long is given back */
};

#define NEVER UINT64_MAX

struct vg_jobs_round {
    vigil_jobs *jobs;
    struct vg_jobs_conn *conn;
    struct vg_jobs_run *ended; /* ends that are not recorded yet */
    struct vg_jobs_end **ends;
    size_t end_count, end_room;
    struct vg_jobs_run *taken; /* claimed in this round */
    unsigned lower_class, takes, first_kind;
    bool short_of_memory, look, quarantine, bad_schedule;
    uint64_t due_at; /* CLOCK_MONOTONIC, ms: when to look without being rung; NEVER */
    unsigned failures;
    uint64_t prune_at, house_at; /* CLOCK_MONOTONIC, ms */
    bool prunes;                 /* there is more to prune */
    uint64_t lone_until;         /* nothing is claimed beside what runs, for a quarantined job; 0: as usual */
    uint64_t lone_ms;            /* for how long the next time */
    bool lone_ran;               /* one was claimed in this while, or there was none */
    uint64_t sleeps_until;       /* the same; NEVER */
    uint64_t hold_at;            /* when to look for jobs that wait for a worker; NEVER */
    unsigned returned;           /* runs in flight that will not start */
};

static void count(_Atomic uint64_t *counter, uint64_t by)
{
    (void)atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

static void collect(struct vg_jobs_round *round)
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

/* Many short runs are in flight: wait for half of them, for less than a millisecond. The first one that ended would
   otherwise have a transaction and a sync of the disk for a few, while the workers wait for the next claim. */
static void gather(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    unsigned flying = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed);
    if (flying < GATHER_LEAST || atomic_load_explicit(&jobs->run_ns, memory_order_relaxed) > GATHER_RUN_NS)
        return;
    for (unsigned i = 0; i < GATHER_TIMES && round->end_count * 2 < flying; i++) {
        struct timespec pause = {.tv_nsec = GATHER_PAUSE_NS};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        collect(round);
    }
}

static unsigned prefetch(const vigil_jobs *jobs)
{
    if (jobs->options.no_prefetch)
        return 0;
    if (jobs->options.prefetch != 0)
        return jobs->options.prefetch;
    uint64_t mean_us = atomic_load_explicit(&jobs->run_ns, memory_order_relaxed) / 1000;
    uint64_t fits = jobs->width * (uint64_t)PREFETCH_US / (mean_us + 1);
    return fits > MOST_PREFETCH ? MOST_PREFETCH : (unsigned)fits;
}

/* The classes in their order; of every AGEING_PERIOD claims one begins with a lower class, in rotation. */
static void order_classes(struct vg_jobs_round *round, int classes[VIGIL_PRIORITIES])
{
    int first = 0;
    if (++round->takes % AGEING_PERIOD == 0)
        first = 1 + (int)(round->lower_class++ % (VIGIL_PRIORITIES - 1));
    classes[0] = first;
    for (int i = 0, place = 1; i < VIGIL_PRIORITIES; i++)
        if (i != first)
            classes[place++] = i;
}

static void take(void *arg, const struct vg_jobs_row *row)
{
    struct vg_jobs_round *round = arg;
    struct vg_jobs_run *run = vg_jobs_run_create(round->jobs, row);
    if (run == NULL) {
        round->short_of_memory = true; /* its lease runs out: another takes it */
        return;
    }
    run->next_end = round->taken;
    round->taken = run;
}

static void drop_taken(struct vg_jobs_round *round)
{
    while (round->taken != NULL) {
        struct vg_jobs_run *run = round->taken;
        round->taken = run->next_end;
        vg_jobs_run_free(run);
    }
}

/* Put the claimed runs in flight, oldest first, and hand them to the pool. */
static void launch(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    struct vg_jobs_run *order = NULL;
    unsigned number = 0;
    while (round->taken != NULL) {
        struct vg_jobs_run *run = round->taken;
        round->taken = run->next_end;
        run->next_end = order;
        order = run;
        number++;
    }
    if (number == 0)
        return;
    for (const struct vg_jobs_run *run = order; run != NULL; run = run->next_end)
        round->quarantine = round->quarantine || run->quarantined;
    unsigned flying = atomic_fetch_add_explicit(&jobs->flying_count, number, memory_order_relaxed) + number;
    uint64_t now = vg_jobs_now_ms();
    for (struct vg_jobs_run *run = order; run != NULL; run = run->next_end)
        run->claimed_ms = now;
    if (flying > jobs->width && round->hold_at == NEVER)
        round->hold_at = now + HOLD_MS;
    count(&jobs->claimed, number);
    vg_jobs_heart_watch(jobs, order);
    while (order != NULL) {
        struct vg_jobs_run *run = order;
        order = run->next_end;
        if (vg_jobs_run_submit(run) != 0) { /* the pool is full or ends */
            run->end.outcome = VG_JOBS_GIVE_BACK;
            vg_jobs_run_push(run, false);
        }
    }
}

static void count_end(vigil_jobs *jobs, const struct vg_jobs_end *end)
{
    if (!end->accepted) {
        count(&jobs->refused, 1);
        return;
    }
    switch (end->outcome) {
    case VG_JOBS_COMPLETE:
        count(&jobs->completed, 1);
        break;
    case VG_JOBS_AGAIN:
        count(&jobs->failed, 1);
        break;
    case VG_JOBS_BURY:
        count(&jobs->dead, 1);
        break;
    case VG_JOBS_CANCEL:
        count(&jobs->cancelled, 1);
        break;
    case VG_JOBS_GIVE_BACK:
    default:
        count(&jobs->given_back, 1);
        break;
    }
}

/* The engine has recorded or refused these ends: the runs are over. */
static void land(struct vg_jobs_round *round)
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

static int list_ends(struct vg_jobs_round *round)
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

/* Only what the ends leave is in flight. */
static bool is_alone(const struct vg_jobs_round *round)
{
    return atomic_load_explicit(&round->jobs->flying_count, memory_order_relaxed) == round->end_count;
}

static unsigned places(const struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    if (round->lone_until != 0 && !is_alone(round))
        return 0;
    if (atomic_load_explicit(&jobs->stopping, memory_order_relaxed) != 0 || round->quarantine || round->returned > 0)
        return 0;
    unsigned flying = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed) - (unsigned)round->end_count;
    unsigned most = jobs->width + prefetch(jobs);
    return flying < most ? most - flying : 0;
}

static int exchange(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    int number = list_ends(round);
    if (number < 0)
        return number;
    if (round->lone_until != 0 && vg_jobs_now_ms() >= round->lone_until) {
        round->lone_until = 0;
        if (!round->lone_ran) /* runs take too long: try later */
            round->lone_ms *= 2;
    }
    struct vg_jobs_want want = {
        .count = places(round),
        .alone = is_alone(round),
        .quarantine_first = round->lone_until != 0,
        .kinds = jobs->kinds,
        .kind_count = jobs->handler_count,
        .lease_ms = jobs->options.lease_ns / 1000000,
    };
    if (number == 0 && want.count == 0) {
        land(round);
        return 0;
    }
    /* Only claims count: with a claim in every second round, half of the kinds would never be the first. */
    if (want.count > 0) {
        want.first_kind = jobs->handler_count > 0 ? round->first_kind++ % jobs->handler_count : 0;
        order_classes(round, want.classes);
    }
    struct vg_jobs_next next;
    int error = jobs->engine->exchange(round->conn, round->ends, (size_t)number, &want, take, round, &next);
    if (error != 0) {
        drop_taken(round);
        return error;
    }
    count(&jobs->exchanges, 1);
    if (next.unrecorded == 0)
        land(round);
    launch(round);
    if (want.count > 0 && want.alone && want.quarantine_first) {
        round->lone_ran = true;
        round->lone_ms = LONE_MS;
        if (!round->quarantine) /* there is no other */
            round->lone_until = 0;
    }
    /* Fewer than wanted: there is nothing more until somebody rings or something is due. */
    if (want.count > 0) {
        round->look = next.claimed == want.count;
        if (round->bad_schedule && next.due_ms >= 0 && next.due_ms < BAD_SCHEDULE_MS)
            next.due_ms = BAD_SCHEDULE_MS;
        round->due_at = next.due_ms < 0 ? NEVER : vg_jobs_now_ms() + (uint64_t)next.due_ms;
    }
    return next.unrecorded; /* then the ends are still here and are sent again */
}

/* Under load there is always ordinary work, and nothing ever runs alone. So the claiming stops for a while when a
   quarantined job is due, and such jobs go first, one after the other, when nothing is left in flight. If runs are
   longer than the while, it is longer the next time, up to a lease. */
static int look_for_quarantined(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    struct vg_jobs_want want = {.kinds = jobs->kinds, .kind_count = jobs->handler_count};
    if (round->lone_until != 0 || round->quarantine)
        return 0;
    int waits = jobs->engine->quarantined(round->conn, &want);
    uint64_t most = (uint64_t)jobs->options.lease_ns / 1000000;
    if (round->lone_ms == 0)
        round->lone_ms = LONE_MS;
    if (round->lone_ms > most)
        round->lone_ms = most;
    if (waits > 0) {
        round->lone_until = vg_jobs_now_ms() + round->lone_ms;
        round->lone_ran = false;
    }
    return waits;
}

/* Leases of others that ran out, schedules that fire, and what is old. */
static int keep_house(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    int rescued = jobs->engine->rescue(round->conn, RESCUES);
    if (rescued < 0)
        return rescued;
    count(&jobs->rescued, (uint64_t)rescued);
    int waits = look_for_quarantined(round);
    if (waits < 0)
        return waits;
    int fired = vg_jobs_schedules_fire(jobs, round->conn, &round->bad_schedule);
    if (fired < 0)
        return fired;
    uint64_t now = vg_jobs_now_ms();
    if (now < round->prune_at)
        return 0;
    int looked = vg_jobs_alarm_look(jobs, round->conn);
    if (looked < 0)
        return looked;
    int pruned = jobs->engine->prune(round->conn, jobs->options.keep_completed_ns / 1000000,
                                     jobs->options.keep_dead_ns / 1000000, PRUNES);
    if (pruned < 0)
        return pruned;
    round->prunes = pruned >= PRUNES;
    round->prune_at = now + (round->prunes ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS);
    return 0;
}

/* Mark the runs that have waited too long for a worker, and say when to look again. */
static void find_held(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    uint64_t now = vg_jobs_now_ms();
    round->hold_at = NEVER;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = jobs->flying; run != NULL; run = run->next) {
        if (atomic_load_explicit(&run->phase, memory_order_relaxed) != VG_JOBS_QUEUED || run->returned)
            continue;
        run->returned = run->claimed_ms + HOLD_MS <= now;
        round->returned += run->returned;
        if (!run->returned && run->claimed_ms + HOLD_MS < round->hold_at)
            round->hold_at = run->claimed_ms + HOLD_MS;
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
static int give_back(struct vg_jobs_round *round, bool running)
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
        ends[number] = (struct vg_jobs_end){.id = run->end.id, .number = run->end.number, .outcome = VG_JOBS_GIVE_BACK};
        runs[number] = run;
        list[number] = &ends[number];
        number++;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    struct vg_jobs_next next;
    struct vg_jobs_want nothing = {.count = 0};
    int error = number > 0 ? jobs->engine->exchange(round->conn, list, number, &nothing, take, round, &next) : 0;
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
static int give_back_held(struct vg_jobs_round *round)
{
    find_held(round);
    int error = round->returned > 0 ? give_back(round, false) : 0;
    if (error != 0)
        round->hold_at = vg_jobs_now_ms();
    return error;
}

static void tell_drained(vigil_jobs *jobs, uint32_t value)
{
    /* release: pairs with the acquire in vg_jobs_runner_stop */
    if (atomic_exchange_explicit(&jobs->drained, value, memory_order_release) != value)
        vg_jobs_futex_wake(&jobs->drained);
}

/* One round. Gives how long to sleep, in ms; negative: until somebody rings. */
static int64_t turn(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    /* acquire: pairs with the release in stop_level; so do the looks below */
    int stopping = atomic_load_explicit(&jobs->stopping, memory_order_acquire);
    collect(round);
    if (stopping == 0)
        gather(round);
    int error = exchange(round);
    if (error == 0 && stopping >= 2)
        error = give_back(round, true);
    if (error == 0 && vg_jobs_now_ms() >= round->hold_at)
        error = give_back_held(round);
    /* When something is due, and now and then under load, which never sleeps until then. */
    uint64_t now = vg_jobs_now_ms();
    if (error == 0 && (now >= round->due_at || now >= round->house_at)) {
        error = keep_house(round);
        round->house_at = vg_jobs_now_ms() + (uint64_t)jobs->options.lease_ns / 3000000;
        round->due_at = round->house_at; /* until the next exchange says more */
        if (round->prunes)
            round->house_at = round->prune_at;
        round->look = true;
    }
    if (error != 0) {
        if (round->failures++ == 0)
            count(&jobs->outages, 1);
        round->look = true;
        return vg_jobs_backoff_ms(RETRY_FIRST_MS, RETRY_MOST_MS, round->failures);
    }
    round->failures = 0;
    if (round->look && places(round) > 0)
        return 0;
    now = vg_jobs_now_ms();
    uint64_t wake = round->prunes && round->prune_at < round->due_at ? round->prune_at : round->due_at;
    if (round->lone_until != 0 && round->lone_until < wake)
        wake = round->lone_until;
    if (round->hold_at < wake)
        wake = round->hold_at;
    return wake == NEVER ? -1 : wake > now ? (int64_t)(wake - now) : 0;
}

static uint64_t later(int64_t sleep_ms)
{
    return sleep_ms < 0 ? NEVER : vg_jobs_now_ms() + (uint64_t)sleep_ms;
}

bool vg_jobs_runner_help(vigil_jobs *jobs)
{
    /* relaxed: hints. A pool of the user's is not kept waiting for the disk. */
    if (!jobs->engine->any_thread || !jobs->own_pool ||
        atomic_load_explicit(&jobs->flying_count, memory_order_relaxed) != 1 ||
        atomic_load_explicit(&jobs->stopping, memory_order_relaxed) != 0 ||
        pthread_mutex_trylock(&jobs->round_lock) != 0)
        return false;
    struct vg_jobs_round *round = jobs->round;
    bool helped = round != NULL && round->failures == 0;
    if (helped) {
        uint64_t next = later(turn(round));
        if (next < round->sleeps_until) /* the runner sleeps too long now */
            helped = false;
    }
    (void)pthread_mutex_unlock(&jobs->round_lock);
    /* acquire: pairs with the release in stop_level, whose ring may have come while the lock was held */
    return helped && atomic_load_explicit(&jobs->stopping, memory_order_acquire) == 0;
}

/* The round, or none, for helpers. */
static void show_round(vigil_jobs *jobs, struct vg_jobs_round *round)
{
    (void)pthread_mutex_lock(&jobs->round_lock);
    jobs->round = round;
    (void)pthread_mutex_unlock(&jobs->round_lock);
}

static void *run(void *arg)
{
    struct vg_jobs_round round = {.jobs = arg, .look = true, .hold_at = NEVER};
    vigil_jobs *jobs = arg;
    int64_t sleep_ms = 0;
    (void)pthread_setname_np(pthread_self(), "jobs-runner");
    while (jobs->engine->connect(jobs->site, &round.conn) != 0) {
        count(&jobs->outages, 1);
        if (atomic_load_explicit(&jobs->stopping, memory_order_acquire) >= 2) {
            tell_drained(jobs, 2);
            return NULL;
        }
        vg_jobs_futex_wait(&jobs->drained, 0, vg_jobs_backoff_ms(RETRY_FIRST_MS, RETRY_MOST_MS, round.failures++));
    }
    round.failures = 0;
    show_round(jobs, &round);
    for (;;) {
        unsigned events = jobs->engine->wait(round.conn, sleep_ms);
        if ((events & VG_JOBS_EVENT_CANCEL) != 0)
            vg_jobs_heart_ask(jobs);
        (void)pthread_mutex_lock(&jobs->round_lock);
        if ((events & VG_JOBS_EVENT_CLOCK) != 0)
            round.house_at = 0;
        sleep_ms = turn(&round);
        round.sleeps_until = later(sleep_ms);
        int stopping = atomic_load_explicit(&jobs->stopping, memory_order_acquire);
        bool empty = atomic_load_explicit(&jobs->flying_count, memory_order_relaxed) == 0;
        if (stopping == 3 && !empty && round.failures > 3) {
            /* The engine is away: leases run out by themselves. Handlers still have to return. */
            collect(&round);
            land(&round);
        }
        (void)pthread_mutex_unlock(&jobs->round_lock);
        if (stopping != 0 && empty) {
            tell_drained(jobs, 1);
            if (stopping == 3)
                break;
        }
    }
    show_round(jobs, NULL);
    free(round.ends);
    jobs->engine->disconnect(round.conn);
    tell_drained(jobs, 2);
    return NULL;
}

int vg_jobs_runner_start(vigil_jobs *jobs)
{
    jobs->engine->start_running(jobs->site);
    return -pthread_create(&jobs->runner, NULL, run, jobs);
}

static bool any_works(vigil_jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->lock);
    bool any = false;
    for (struct vg_jobs_run *it = jobs->flying; it != NULL; it = it->next)
        any = any || atomic_load_explicit(&it->phase, memory_order_relaxed) == VG_JOBS_WORKS;
    (void)pthread_mutex_unlock(&jobs->lock);
    return any;
}

static bool all_given_back(vigil_jobs *jobs)
{
    (void)pthread_mutex_lock(&jobs->lock);
    bool all = true;
    for (struct vg_jobs_run *it = jobs->flying; it != NULL; it = it->next)
        all = all && it->given_back;
    (void)pthread_mutex_unlock(&jobs->lock);
    return all;
}

static void stop_level(vigil_jobs *jobs, int level)
{
    if (atomic_load_explicit(&jobs->stopping, memory_order_relaxed) < level)
        /* release: pairs with the acquire of the runner */
        atomic_store_explicit(&jobs->stopping, level, memory_order_release);
    jobs->engine->ring(jobs->site);
}

void vg_jobs_runner_stop_claiming(vigil_jobs *jobs)
{
    stop_level(jobs, 1);
}

int vg_jobs_runner_stop(vigil_jobs *jobs, int64_t timeout_ns)
{
    stop_level(jobs, 1);
    uint64_t until = vg_jobs_now_ms() + (uint64_t)(timeout_ns > 0 ? timeout_ns / 1000000 : 0);
    for (;;) {
        /* acquire: pairs with the release in tell_drained */
        if (atomic_load_explicit(&jobs->drained, memory_order_acquire) != 0)
            return 0;
        uint64_t now = vg_jobs_now_ms();
        if (timeout_ns >= 0 && now >= until)
            break;
        vg_jobs_futex_wait(&jobs->drained, 0, timeout_ns < 0 ? -1 : (int64_t)(until - now));
    }
    bool ran = any_works(jobs), settled = false;
    stop_level(jobs, 2);
    /* The handlers may go on for long; their jobs are others' as soon as the engine says so. A round that had begun
       before may claim jobs that are not in flight yet; later ones claim nothing. */
    for (unsigned tries = 0; tries < 500; tries++) {
        if (!settled && (settled = pthread_mutex_trylock(&jobs->round_lock) == 0))
            (void)pthread_mutex_unlock(&jobs->round_lock);
        if (settled && all_given_back(jobs))
            break;
        vg_jobs_futex_wait(&jobs->drained, 0, 10);
    }
    return ran ? -ETIMEDOUT : 0;
}

void vg_jobs_runner_join(vigil_jobs *jobs)
{
    stop_level(jobs, 3);
    (void)pthread_join(jobs->runner, NULL);
}
