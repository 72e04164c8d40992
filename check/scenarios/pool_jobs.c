/* SPDX-License-Identifier: MIT */
/*
 * Jobs: wait against cancel against finish, from outside and inside a task; handles that are given back early.
 */
#include "pool_common.h"

#include "pool/blocked.h"

static _Atomic int job_ran, job_cancelled;
static vigil_job job;
static int plain_result; /* written by the job, read by the waiter */

static int job_body(void *arg)
{
    vgc_assert(atomic_fetch_add_explicit(&job_ran, 1, memory_order_relaxed) == 0, "a job ran twice");
    plain_result = 42;
    if (arg != NULL)
        gate_wait(arg);
    return 7;
}

static void job_cancel_body(void *arg)
{
    (void)arg;
    vgc_assert(atomic_fetch_add_explicit(&job_cancelled, 1, memory_order_relaxed) == 0, "a job was cancelled twice");
}

static int job_outcome(void)
{
    return atomic_load_explicit(&job_ran, memory_order_relaxed) +
           atomic_load_explicit(&job_cancelled, memory_order_relaxed);
}

static void job_start(void *arg)
{
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = job_cancel_body;
    vgc_assert(vigil_job_call(pool, job_body, arg, &options, &job) == 0, "the job is accepted");
}

static void job_wait(void)
{
    int status = 0;
    vgc_assert(vigil_job_wait(pool, job, VIGIL_FOREVER, &status) == 0, "the wait ends");
    vgc_assert(job_outcome() == 1, "the job has ended, once");
    if (atomic_load_explicit(&job_ran, memory_order_relaxed) != 0)
        vgc_assert(status == 7 && plain_result == 42, "status and effects are there");
    else
        vgc_assert(status == -ECANCELED, "the status says that it was cancelled");
}

static void *wait_for_job(void *arg)
{
    (void)arg;
    job_wait();
    return NULL;
}

static void job_end(void)
{
    vgc_assert(vigil_job_unref(pool, job) == 0, "the handle is given back");
    vgc_assert(vigil_job_poll(pool, job, NULL) == -ESTALE, "and is stale from then on");
    finish();
    vgc_assert(job_outcome() == 1, "the job has run or was cancelled");
}

static void wait_and_finish(void)
{
    pool_make();
    job_start(NULL);
    job_wait();
    job_end();
}

static void wait_cancel_finish(void)
{
    pool_make();
    job_start(NULL);
    pthread_t other = vgc_thread_start(wait_for_job, NULL);
    int error = vigil_job_cancel(pool, job);
    vgc_assert(error == 0 || error == -EBUSY, "cancelled, or too late");
    vgc_assert(error != 0 || atomic_load_explicit(&job_cancelled, memory_order_relaxed) == 1,
               "its callback has run when cancel returns");
    vgc_thread_join(other);
    job_end();
}

/* A task waits: it runs the job itself, or helps, or sleeps and is called through its seat. */
static int wait_inside(counted *self)
{
    (void)self;
    job_wait();
    return 0;
}

static void wait_in_task(void)
{
    pool_make();
    job_start(NULL);
    counted_make(0)->body = wait_inside;
    submit_made(0, VIGIL_NORMAL);
    if (the_setup()->end == AT_REST || the_setup()->end == AUDIT)
        rest(); /* before the release: the handle is still in use */
    else
        vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    job_end();
}

/* The same with a job whose time comes just then: who runs it for its waiter sees what the timer wrote (H5, H6). */
static void wait_for_delayed(void)
{
    pool_make();
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.delay_ns = 1000;
    vgc_assert(vigil_job_call(pool, job_body, NULL, &options, &job) == 0, "the job is accepted");
    counted_make(0)->body = wait_inside;
    vgc_quiesce(); /* the worker and the timer sleep */
    vgc_clock_advance(1000);
    submit_made(0, VIGIL_NORMAL);
    rest();
    job_end();
}

/* The waiter sleeps when the job becomes due, holds a lock, and no spare can be had: only the timer's wake (H7, H8) reaches the one
   that may run the job. The waiter goes to sleep at rest in one form, just when the time comes in the other. */
static int wait_inside_with_lock(counted *self)
{
    vg_locks_held(+1);
    (void)wait_inside(self);
    vg_locks_held(-1);
    return 0;
}

static void wait_for_due(bool at_rest)
{
    vigil_pool_options options = options_of(the_setup());
    options.no_spares = true;
    pool_make_with(&options);
    vigil_job_options later = VIGIL_JOB_OPTIONS_INIT;
    later.delay_ns = 1000;
    vgc_assert(vigil_job_call(pool, job_body, NULL, &later, &job) == 0, "the job is accepted");
    counted_make(0)->body = wait_inside_with_lock;
    if (!at_rest)
        vgc_quiesce(); /* the worker and the timer sleep */
    submit_made(0, VIGIL_NORMAL);
    if (at_rest)
        vgc_quiesce(); /* the task waits too */
    vgc_clock_advance(1000);
    rest();
    job_end();
}

static void due_for_sleeper(void)
{
    wait_for_due(true);
}

static void due_while_falling_asleep(void)
{
    wait_for_due(false);
}

/* The job runs elsewhere and waits for a task that the waiter must help with. */
static void waiter_helps(void)
{
    pool_make();
    job_start(&gates[1]);
    counted_make(0)->body = wait_inside;
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    if (the_setup()->end == AT_REST || the_setup()->end == AUDIT)
        rest();
    else
        vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    job_end();
}

/* The job runs till the waiter is parked; and what lets it go on orders nothing: who ends it must know by itself whom to call. */
static bool waited;

static int wait_inside_and_say(counted *self)
{
    (void)wait_inside(self);
    waited = true;
    return 0;
}

static void waiter_is_called(void)
{
    pool_make();
    job_start(&gates[1]);
    vgc_quiesce(); /* a worker has it */
    counted_make(0)->body = wait_inside_and_say;
    submit_made(0, VIGIL_NORMAL);
    vgc_quiesce(); /* the other one waits for it, and sleeps */
    atomic_store_explicit(&gates[1].open, 1, memory_order_relaxed);
    (void)vg_futex_wake(&gates[1].open, VG_WAKE_ALL);
    vgc_quiesce();
    vgc_assert(waited, "the end of the job has called the waiter");
}

/* Who asks and hears that it is done sees what it did. */
static void *poll_job(void *arg)
{
    int status = 0;
    (void)arg;
    if (vigil_job_poll(pool, job, &status) == VIGIL_JOB_DONE)
        vgc_assert(status == 7 && plain_result == 42, "status and effects are there");
    return NULL;
}

static void poll_and_finish(void)
{
    pool_make();
    job_start(NULL);
    pthread_t other = vgc_thread_start(poll_job, NULL);
    vgc_thread_join(other);
    job_end();
}

static void release_at_once(void)
{
    pool_make();
    job_start(NULL);
    job_end();
}

static void *cancel_job(void *arg)
{
    (void)arg;
    int error = vigil_job_cancel(pool, job);
    vgc_assert(error == 0 || error == -EBUSY || error == -ESTALE, "cancelled, too late, or given back");
    return NULL;
}

static void release_against_cancel(void)
{
    pool_make();
    job_start(NULL);
    pthread_t other = vgc_thread_start(cancel_job, NULL);
    vgc_assert(vigil_job_unref(pool, job) == 0, "the handle is given back");
    vgc_thread_join(other);
    finish();
    vgc_assert(job_outcome() == 1, "the job has run or was cancelled");
}

/* Two jobs after each other in one place of the table. */
static void place_is_used_again(void)
{
    pool_make();
    job_start(NULL);
    job_wait();
    vigil_job first = job;
    vgc_assert(vigil_job_unref(pool, job) == 0, "the handle is given back");
    atomic_store_explicit(&job_ran, 0, memory_order_relaxed);
    job_start(NULL);
    vgc_assert(job.id != first.id, "another name");
    vgc_assert(vigil_job_cancel(pool, first) == -ESTALE, "the old one reaches nothing");
    job_end();
}

/* Somebody waits for an idle pool, and the last thing that he waits for is cancelled. The worker may have dropped the husk and be
   asleep before the cancellation is counted: then only the canceller can tell him. */
static void *wait_till_idle(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the wait ends");
    vgc_assert(job_outcome() == 1, "and the job has ended then");
    return NULL;
}

static void cancel_beside_idle_waiter(void)
{
    pool_make();
    job_start(NULL);
    pthread_t other = vgc_thread_start(wait_till_idle, NULL);
    int error = vigil_job_cancel(pool, job);
    vgc_assert(error == 0 || error == -EBUSY, "cancelled, or too late");
    vgc_thread_join(other);
    job_end();
}

#define DECIDED "a job runs once or is cancelled once, and everybody who waits hears of it"

SCENARIOS(job_one, wait_and_finish, DECIDED, "1 worker, the waiter is no worker", 1);
SCENARIOS(job_race, wait_cancel_finish, DECIDED, "1 worker, a waiter, a canceller", 1);
SCENARIOS(job_inside, wait_in_task, DECIDED, "2 workers, a task waits for the job", 2);
SCENARIOS(job_inside_one, wait_in_task, DECIDED, "1 worker, a task waits for the job", 1);
SCENARIO(job_delayed, wait_for_delayed, DECIDED, "1 worker, a task waits for a job whose time comes; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
WATCHED(job_delayed, wait_for_delayed, DECIDED, "1 worker, a task waits for a job whose time comes", 1);
SCENARIO(job_due_asleep, due_for_sleeper, DECIDED, "1 worker, no spare, the waiter sleeps; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE);
SCENARIO(job_due_race, due_while_falling_asleep, DECIDED, "1 worker, no spare, the waiter goes to sleep; at rest", 1,
         VIGIL_FENCE_MEMBARRIER, AT_REST, BY_CHANCE_LONG);
SCENARIOS(job_helps, waiter_helps, DECIDED, "2 workers, a task waits for a job that waits for another task", 2);
SCENARIO(job_called, waiter_is_called, DECIDED, "2 workers, a task sleeps till the job is done; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIOS(job_polled, poll_and_finish, DECIDED, "1 worker, a thread asks", 1);
SCENARIOS(job_release, release_at_once, DECIDED, "1 worker, the handle is given back at once", 1);
SCENARIOS(job_release_cancel, release_against_cancel, DECIDED, "1 worker, release against cancel", 1);
SCENARIOS(job_cancel_idle, cancel_beside_idle_waiter, "a cancellation is told to those who wait for an idle pool",
          "1 worker, a canceller, one who waits for an idle pool", 1);
SCENARIOS(job_again, place_is_used_again, DECIDED, "1 worker, two jobs one after the other", 1);
WATCHED(job_inside, wait_in_task, DECIDED, "2 workers, a task waits for the job", 2);
WATCHED(job_race, wait_cancel_finish, DECIDED, "1 worker, a waiter, a canceller", 1);
SCENARIO(job_audit, wait_cancel_finish, "at rest the audit finds every task", "1 worker, a waiter, a canceller", 1,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
SCENARIO(job_audit_inside, wait_in_task, "at rest the audit finds every task", "2 workers, a task waits for the job", 2,
         VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE);
