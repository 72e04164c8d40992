/* SPDX-License-Identifier: MIT */
/*
 * The pool as the watchdog sees it and mends it (src/pool/watched.c), beside workers that move. Properties: a look at the pool races
 * with nothing; at rest it shows workers that sleep and nothing queued; a wake that comes a second time does no harm, and one that was
 * lost is made good; a worker that is lent comes and goes; a wait that is rejected ends.
 */
#include "pool_common.h"

#include "pool/idle_word.h"
#include "pool/seats.h"
#include "pool/watched.h"
#include "record/facts.h"

#include <stdlib.h>

static vg_pool_facts facts;

static void look(void)
{
    vgc_assert(vg_pool_subject_calls.pool_facts(pool, &facts) == 0, "the facts can be had");
    vgc_assert(facts.workers == the_setup()->workers, "as many workers as were asked for");
    vgc_assert(facts.all_submitted <= MOST_TASKS, "no task was counted twice");
}

static void look_no_more(void)
{
    free(facts.worker);
    facts = (vg_pool_facts){0};
}

/* Only where nothing moves: each worker sleeps and says so, nobody searches, and nothing is left. */
static void looks_asleep(void)
{
    look();
    vgc_assert(facts.searching == 0 && facts.visible == 0 && facts.full == 0 && !facts.calls && !facts.stopping,
               "nobody searches, and nothing could be taken");
    vgc_assert(facts.all_queued == 0 && facts.all_started == facts.all_submitted &&
                   facts.all_ended == facts.all_submitted,
               "what was submitted has started and ended");
    for (size_t i = 0; i < facts.count; i++) {
        const vg_worker_fact *one = &facts.worker[i];
        vgc_assert(one->doing == VG_DOING_PARKED && one->queued == 0 && one->mail == 0 && one->thread != 0,
                   "a worker sleeps beside empty queues");
        vgc_assert((one->shown && !one->called) || one->spare, "and those who wake can see it");
        vgc_assert(one->wait.what == VG_WAITS_NOT && one->hold_count == 0, "and waits for nothing else");
    }
    vg_audit_fact audit = {0};
    vg_pool_subject_calls.audit(pool, &audit);
    vgc_assert(audit.settled && audit.lost == 0, "and no task is lost");
    look_no_more();
}

static void *submit_both(void *arg)
{
    (void)arg;
    submit(0);
    submit(1);
    return NULL;
}

static void finish_and_look(const pthread_t *other)
{
    if (the_setup()->end == AT_REST) {
        vgc_quiesce();
        looks_asleep();
    }
    (void)finish_with(other);
}

static void look_while_running(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_both, NULL);
    vg_latencies sums;
    look();
    (void)vg_pool_subject_calls.latencies(pool, &sums);
    look();
    look_no_more();
    finish_and_look(&other);
}

/* ---- wakes that are repeated ---- */

static void rewake_while_running(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_both, NULL);
    vgc_assert(vg_pool_subject_calls.rewake(pool, 0) == 0, "there is such a worker");
    finish_and_look(&other);
}

static void stir_while_running(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_both, NULL);
    vg_pool_subject_calls.stir(pool);
    finish_and_look(&other);
}

/* A sleeping worker that is woken for nothing searches, and sleeps again where others can see it. */
static void rewake_asleep(void)
{
    pool_make();
    vgc_quiesce();
    vgc_assert(vg_pool_subject_calls.rewake(pool, 0) == 0, "there is such a worker");
    vgc_assert(vg_pool_subject_calls.rewake(pool, VG_MAX_SEATS) == -ENOENT, "there is no such worker");
    vgc_quiesce();
    looks_asleep();
    submit(0);
    finish_and_look(NULL);
}

/* As vg_wake_one, but the kernel's part of it never happens. */
static void lose_wake(vg_seat *seat)
{
    (void)atomic_fetch_and_explicit(&pool->idle.parked[0], ~(UINT64_C(1) << seat->index), memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&pool->idle.word, VG_SEARCH_ONE - VG_PARKED_ONE, memory_order_relaxed);
    atomic_store_explicit(&seat->wake, VG_WAKE_CALLED, memory_order_relaxed);
}

static void rewake_lost(void)
{
    pool_make();
    vgc_quiesce();
    lose_wake(vg_seat_at(pool, 0));
    submit(0); /* wakes nobody: one is said to search */
    vgc_quiesce();
    vgc_assert(ran(0) == 0, "the wake is lost");
    look();
    vgc_assert(facts.searching == 1 && facts.all_queued == 1 && facts.visible != 0 && facts.worker[0].called,
               "and can be seen to be lost");
    look_no_more();
    vgc_assert(vg_pool_subject_calls.rewake(pool, 0) == 0, "there is such a worker");
    finish_and_look(NULL);
}

/* ---- a worker is lent ---- */

/* Task 0 holds the only worker until task 1 has run. */
static void lend_to_hog(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    pool_make_with(&options);
    tasks[0].waits_for = &gates[0];
    tasks[1].opens = &gates[0];
    submit(0);
    submit(1);
    vgc_quiesce();
    vgc_assert(ran(1) == 0, "the worker is held");
    vgc_assert(vg_pool_subject_calls.lend(pool) == 0, "a spare may come");
    vgc_assert(vg_pool_subject_calls.lend(pool) == -EAGAIN, "but not two");
    vgc_quiesce();
    vgc_assert(ran(1) == 1, "the spare has run the other task");
    vg_pool_subject_calls.take_back(pool);
    vgc_quiesce();
    look();
    vgc_assert(facts.credits == 0 && facts.max_spares == 1, "the credit is gone");
    look_no_more();
    submit(2);
    finish_and_look(NULL);
}

/* ---- a wait is rejected ---- */

static vigil_job waited_for;
static _Atomic int wait_result; /* 1: it has not ended */

static int job_at_gate(void *arg)
{
    (void)arg;
    gate_open(&gates[1]);
    gate_wait(&gates[0]);
    return 0;
}

static int wait_for_job(counted *self)
{
    (void)self;
    vgc_assert(vigil_job_call(pool, job_at_gate, NULL, NULL, &waited_for) == 0, "the job is accepted");
    gate_wait(&gates[1]); /* it runs elsewhere: else the wait would run it */
    const int error = vigil_job_wait(pool, waited_for, VIGIL_FOREVER, NULL);
    atomic_store_explicit(&wait_result, error, memory_order_relaxed); /* read at rest */
    return 0;
}

static void reject_wait(void)
{
    pool_make();
    atomic_store_explicit(&wait_result, 1, memory_order_relaxed);
    tasks[0].body = wait_for_job;
    submit(0);
    vgc_quiesce();
    look();
    unsigned waits = 0;
    for (size_t i = 0; i < facts.count; i++)
        if (facts.worker[i].wait.what == VG_WAITS_JOB) {
            const vg_wait_fact *wait = &facts.worker[i].wait;
            waits++;
            vgc_assert(wait->rejectable && !wait->limited && wait->number != 0 && wait->function == (void *)job_at_gate,
                       "the wait for the job is shown as it is");
            vgc_assert(vg_pool_subject_calls.reject(pool, facts.worker[i].index, wait->number) == 0,
                       "there is such a worker");
        }
    vgc_assert(waits == 1, "one worker waits for the job");
    look_no_more();
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&wait_result, memory_order_relaxed) == -EDEADLK, "the rejected wait has ended");
    gate_open(&gates[0]);
    vgc_assert(vigil_job_unref(pool, waited_for) == 0, "the handle goes");
    finish_and_look(NULL);
}

#define FACTS "what the watchdog sees of a live pool races with nothing, and is right at rest"
#define TWICE "a wake that comes a second time does no harm"
SCENARIOS(watched_look, look_while_running, FACTS, "1 worker, 1 submitter x 2, 2 looks", 1, .opt.runs = 1000);
SCENARIO(watched_look_2, look_while_running, FACTS, "2 workers, 1 submitter x 2, 2 looks; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
WATCHED(watched_look, look_while_running, FACTS, "1 worker, 1 submitter x 2, 2 looks", 1);
SCENARIOS(watched_rewake, rewake_while_running, TWICE, "2 workers, 1 submitter x 2, 1 rewake", 2, .opt.runs = 1000);
SCENARIOS(watched_stir, stir_while_running, TWICE, "2 workers, 1 submitter x 2, 1 stir", 2, .opt.runs = 1000);
SCENARIO(watched_rewake_asleep, rewake_asleep, TWICE, "1 worker asleep; at rest", 1, VIGIL_FENCE_SYMMETRIC, AT_REST,
         BY_CHANCE);
SCENARIO(watched_rewake_asleep_2, rewake_asleep, TWICE, "2 workers asleep, membarrier; at rest", 2,
         VIGIL_FENCE_MEMBARRIER, AT_REST, BY_CHANCE);
SCENARIO(watched_rewake_lost, rewake_lost, "a lost wake is made good", "1 worker asleep, 1 task; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
SCENARIO(watched_lend, lend_to_hog, "a spare that is lent runs what a hog keeps from running",
         "1 worker, 1 spare, 3 tasks; at rest", 1, VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
SCENARIO(watched_lend_stop, lend_to_hog, "a spare that is lent runs what a hog keeps from running",
         "1 worker, 1 spare, 3 tasks; against a graceful stop", 1, VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(watched_reject, reject_wait, "a rejected wait ends", "2 workers, 1 wait for a job; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
SCENARIO(watched_reject_stop, reject_wait, "a rejected wait ends", "2 workers, 1 wait for a job; then a stop", 2,
         VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
