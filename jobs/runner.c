/* SPDX-License-Identifier: MIT */
/*
 * runner.c - claims and ends, one transaction for both.
 *
 * The runner sleeps until a job may be there, a run has ended, a job becomes due or a lease runs out. Each round sends
 * all ends that have come and claims for the places that they leave; what comes during the transaction makes the next
 * batch. So batches form by themselves under load, and a single job is recorded at once.
 *
 * Claims are bounded: at most `width` jobs plus the prefetch are in flight. The prefetch follows the time that handlers
 * take, so that long jobs are not claimed ahead of idle processes. Where that is many, a claim is for half of them: the
 * engine claims one half while the workers run the other.
 *
 * A worker that ends the only run in flight makes the round itself: nobody else can use the time that the way over this
 * thread would take.
 *
 * When the engine is away the ends stay here and are sent again with their numbers; handlers go on.
 */
#include "runner.h"

#include <errno.h>
#include <stdlib.h>

#include "backoff.h"
#include "futex.h"
#include "heart.h"
#include "round_claim.h"
#include "round_ends.h"
#include "round_house.h"
#include "run.h"

enum {
    BAD_SCHEDULE_MS = 1000, /* one that this process cannot compute is looked at again after so long */
    RETRY_FIRST_MS = 50,    /* while the engine is away */
    RETRY_MOST_MS = 2000,
};

static int exchange(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    int number = vg_jobs_ends_list(round);
    if (number < 0)
        return number;
    if (round->lone_until != 0 && vg_jobs_now_ms() >= round->lone_until) {
        round->lone_until = 0;
        if (!round->lone_ran) /* runs take too long: try later */
            round->lone_ms *= 2;
    }
    unsigned places = vg_jobs_claim_places(round), most = vg_jobs_claim_most(round);
    struct vg_jobs_want want = {
        .count = places < most ? places : most,
        .alone = vg_jobs_claim_alone(round),
        .quarantine_first = round->lone_until != 0,
        .kinds = jobs->kinds,
        .kind_count = jobs->handler_count,
        .lease_ms = jobs->options.lease_ns / 1000000,
    };
    if (number == 0 && want.count == 0) {
        vg_jobs_ends_land(round);
        return 0;
    }
    /* Only claims count: with a claim in every second round, half of the kinds would never be the first. */
    if (want.count > 0) {
        want.first_kind = jobs->handler_count > 0 ? round->first_kind++ % jobs->handler_count : 0;
        vg_jobs_claim_order(round, want.classes);
    }
    struct vg_jobs_next next;
    int error =
        jobs->engine->exchange(round->conn, round->ends, (size_t)number, &want, vg_jobs_claim_take, round, &next);
    if (error != 0) {
        vg_jobs_claim_drop(round);
        return error == -EBADMSG && number > 0 ? vg_jobs_ends_record_apart(round, (size_t)number) : error;
    }
    vg_jobs_count_up(&jobs->exchanges, 1);
    if (next.unrecorded == -EBADMSG)
        next.unrecorded = vg_jobs_ends_record_apart(round, (size_t)number);
    else if (next.unrecorded == 0)
        vg_jobs_ends_land(round);
    vg_jobs_claim_launch(round);
    if (want.count > 0 && want.alone && want.quarantine_first) {
        round->lone_ran = true;
        round->lone_ms = VG_JOBS_LONE_MS;
        if (!round->quarantine) /* there is no other */
            round->lone_until = 0;
    }
    /* Fewer than wanted: there is nothing more until somebody rings or something is due. */
    if (want.count > 0) {
        round->look = next.claimed == want.count;
        if (round->bad_schedule && next.due_ms >= 0 && next.due_ms < BAD_SCHEDULE_MS)
            next.due_ms = BAD_SCHEDULE_MS;
        if (round->bad_rows && (next.due_ms < 0 || next.due_ms > want.lease_ms)) /* somebody may have mended them */
            next.due_ms = want.lease_ms;
        round->due_at = next.due_ms < 0 ? VG_JOBS_AT_NEVER : vg_jobs_now_ms() + (uint64_t)next.due_ms;
    }
    return next.unrecorded; /* then the ends are still here and are sent again */
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
    vg_jobs_ends_collect(round);
    if (stopping == 0)
        vg_jobs_ends_gather(round);
    int error = exchange(round);
    if (error == 0 && stopping >= 2)
        error = vg_jobs_ends_give_back(round, true);
    if (error == 0 && vg_jobs_now_ms() >= round->hold_at)
        error = vg_jobs_ends_give_back_held(round);
    /* When something is due, and now and then under load, which never sleeps until then. */
    uint64_t now = vg_jobs_now_ms();
    if (error == 0 && (now >= round->due_at || now >= round->house_at)) {
        error = vg_jobs_house_keep(round);
        round->house_at = vg_jobs_now_ms() + (uint64_t)jobs->options.lease_ns / 3000000;
        round->due_at = round->house_at; /* until the next exchange says more */
        if (round->prunes)
            round->house_at = round->prune_at;
        round->look = true;
    }
    if (error != 0) {
        if (round->failures++ == 0)
            vg_jobs_count_up(&jobs->outages, 1);
        round->look = true;
        return vg_jobs_backoff_ms(RETRY_FIRST_MS, RETRY_MOST_MS, round->failures);
    }
    round->failures = 0;
    if (round->look && vg_jobs_claim_places(round) > 0)
        return 0;
    now = vg_jobs_now_ms();
    uint64_t wake = round->prunes && round->prune_at < round->due_at ? round->prune_at : round->due_at;
    if (round->lone_until != 0 && round->lone_until < wake)
        wake = round->lone_until;
    if (round->hold_at < wake)
        wake = round->hold_at;
    return wake == VG_JOBS_AT_NEVER ? -1 : wake > now ? (int64_t)(wake - now) : 0;
}

static uint64_t later(int64_t sleep_ms)
{
    return sleep_ms < 0 ? VG_JOBS_AT_NEVER : vg_jobs_now_ms() + (uint64_t)sleep_ms;
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
    struct vg_jobs_round round = {.jobs = arg, .look = true, .hold_at = VG_JOBS_AT_NEVER};
    vigil_jobs *jobs = arg;
    int64_t sleep_ms = 0;
    (void)pthread_setname_np(pthread_self(), "jobs-runner");
    while (jobs->engine->connect(jobs->site, &round.conn) != 0) {
        vg_jobs_count_up(&jobs->outages, 1);
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
            vg_jobs_ends_collect(&round);
            vg_jobs_ends_land(&round);
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
