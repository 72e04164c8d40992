/* SPDX-License-Identifier: MIT */
/*
 * Groups that are cancelled, jobs that follow others, and waits for the first of several. Groups lie on the heap and are freed as soon
 * as a wait says that they have ended, so a late touch is a use after free.
 */
#include "pool_common.h"

#include <stdlib.h>
#include <vigil/flow.h>

/* ---- tasks that may be cancelled ---- */

typedef struct member {
    vigil_task task;
    _Atomic int ran, cancelled;
    int status;
} member;

static member members[2];

static int member_run(vigil_task *task)
{
    member *self = (member *)(void *)task;
    vgc_assert(atomic_fetch_add_explicit(&self->ran, 1, memory_order_relaxed) == 0, "a task ran twice");
    return self->status;
}

static void member_cancel(vigil_task *task)
{
    member *self = (member *)(void *)task;
    vgc_assert(atomic_fetch_add_explicit(&self->cancelled, 1, memory_order_relaxed) == 0, "a task was cancelled twice");
}

static int member_outcome(int i)
{
    return atomic_load_explicit(&members[i].ran, memory_order_relaxed) +
           atomic_load_explicit(&members[i].cancelled, memory_order_relaxed);
}

static vigil_group *flow_group(unsigned flags)
{
    vigil_group *group = malloc(sizeof *group);
    vgc_assert(group != NULL && vigil_group_init(group, pool, flags) == 0, "a group is made");
    return group;
}

static void *cancel_group(void *arg)
{
    vgc_assert(vigil_group_cancel(arg) == 0, "a group is cancelled");
    return NULL;
}

/* Two members, and another thread cancels the group; it is gone before the wait begins, so the group exists. */
static int cancel_beside_members(counted *self)
{
    (void)self;
    vigil_group *group = flow_group(0);
    for (int i = 0; i < 2; i++) {
        vigil_task_init(&members[i].task, member_run, member_cancel);
        vgc_assert((i == 0 ? vigil_group_spawn(group, &members[i].task)
                           : vigil_group_submit(group, &members[i].task, VIGIL_NORMAL)) == 0,
                   "the task is accepted");
    }
    pthread_t other = vgc_thread_start(cancel_group, group);
    (void)vgc_thread_join(other);
    vgc_assert(vigil_group_wait(group) == -ECANCELED, "the wait says so");
    vgc_assert(member_outcome(0) == 1 && member_outcome(1) == 1, "each has run or was cancelled");
    free(group);
    return 0;
}

static void group_is_cancelled(void)
{
    pool_make();
    counted_make(0)->body = cancel_beside_members;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The first failure cancels the other, which may run elsewhere just then. */
static int fail_one_of_two(counted *self)
{
    (void)self;
    vigil_group *group = flow_group(VIGIL_GROUP_CANCEL_ON_FAILURE);
    for (int i = 0; i < 2; i++) {
        vigil_task_init(&members[i].task, member_run, member_cancel);
        members[i].status = -ENOSPC;
        vgc_assert(vigil_group_spawn(group, &members[i].task) == 0, "a spawn is taken");
    }
    const int status = vigil_group_wait(group);
    vgc_assert(status == -ENOSPC || (status == -ECANCELED && the_setup()->end == STOP_NOW),
               "the first failure is kept");
    vgc_assert(member_outcome(0) == 1 && member_outcome(1) == 1, "each has run or was cancelled");
    free(group);
    return 0;
}

static void failure_cancels(void)
{
    pool_make();
    counted_make(0)->body = fail_one_of_two;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* ---- jobs that follow ---- */

static vigil_job jobs[3];
static _Atomic int job_ends[3];
static int job_wrote; /* plainly, by the jobs before; read by the one that follows */
static bool followed;

static int job_before(void *arg)
{
    const int i = (int)(intptr_t)arg;
    if (i == 0)
        job_wrote = 42;
    vgc_assert(atomic_fetch_add_explicit(&job_ends[i], 1, memory_order_relaxed) == 0, "a job ran twice");
    return 0;
}

static void job_before_cancelled(void *arg)
{
    const int i = (int)(intptr_t)arg;
    vgc_assert(atomic_fetch_add_explicit(&job_ends[i], 1, memory_order_relaxed) == 0, "a job ended twice");
}

static int job_follows(void *arg)
{
    (void)arg;
    vgc_assert(atomic_load_explicit(&job_ends[0], memory_order_relaxed) == 1, "what it follows has ended");
    vgc_assert(job_wrote == 42, "and its effects are seen");
    return job_before((void *)(intptr_t)2);
}

static void flow_job(int i)
{
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = job_before_cancelled;
    vgc_assert(vigil_job_call(pool, job_before, (void *)(intptr_t)i, &options, &jobs[i]) == 0, "the job is accepted");
}

static vigil_job_options follow_options(void)
{
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = job_before_cancelled;
    return options;
}

static void *let_follow(void *arg)
{
    (void)arg;
    const vigil_job_options options = follow_options();
    const int error = vigil_job_then_call(pool, jobs[0], job_follows, (void *)(intptr_t)2, &options, &jobs[2]);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "it is accepted, or refused because the pool stops");
    followed = error == 0;
    return NULL;
}

static void follow_ended_once(int count)
{
    for (int i = 0; i < count; i++)
        vgc_assert(atomic_load_explicit(&job_ends[i], memory_order_relaxed) == (i == 2 && !followed ? 0 : 1),
                   "an accepted job has run or was cancelled");
}

/* The link is made while the job ends, and while the pool stops. */
static void follow_one(void)
{
    pool_make();
    flow_job(0);
    (void)atomic_fetch_add_explicit(&job_ends[1], 1, memory_order_relaxed);
    pthread_t other = vgc_thread_start(let_follow, NULL);
    (void)finish_with(&other);
    follow_ended_once(3);
}

/* Two ends race, and the one that follows must start after both. */
static void follow_both(void)
{
    pool_make();
    flow_job(0);
    flow_job(1);
    const vigil_job_options options = follow_options();
    vgc_assert(vigil_job_all_call(pool, jobs, 2, job_follows, (void *)(intptr_t)2, &options, &jobs[2]) == 0,
               "it is accepted");
    followed = true;
    finish();
    follow_ended_once(3);
}

static int follows_any(void *arg)
{
    (void)arg;
    return job_before((void *)(intptr_t)2);
}

static void follow_first(void)
{
    pool_make();
    flow_job(0);
    flow_job(1);
    const vigil_job_options options = follow_options();
    vgc_assert(vigil_job_any_call(pool, jobs, 2, follows_any, (void *)(intptr_t)2, &options, &jobs[2]) == 0,
               "it is accepted");
    followed = true;
    finish();
    follow_ended_once(3);
}

/* A task waits for what follows: only its release wakes the one that may run it. */
static int wait_for_follower(counted *self)
{
    (void)self;
    flow_job(0);
    (void)atomic_fetch_add_explicit(&job_ends[1], 1, memory_order_relaxed);
    (void)let_follow(NULL);
    int status = 1;
    vgc_assert(vigil_job_wait(pool, jobs[2], VIGIL_FOREVER, &status) == 0, "the wait ends");
    vgc_assert(atomic_load_explicit(&job_ends[2], memory_order_relaxed) == 1, "and so has the job");
    return 0;
}

static void follow_inside(void)
{
    pool_make();
    counted_make(0)->body = wait_for_follower;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* ---- the first of several ---- */

static void *wait_for_any_job(void *arg)
{
    (void)arg;
    const vigil_awaited awaited[2] = {{.job = jobs[0]}, {.job = jobs[1]}};
    size_t at = 2;
    vgc_assert(vigil_wait_any(pool, awaited, 2, VIGIL_FOREVER, &at) == 0 && at < 2, "the wait ends");
    vgc_assert(vigil_job_poll(pool, jobs[at], NULL) >= VIGIL_JOB_DONE, "with a job that has ended");
    vgc_assert(at != 0 || job_wrote == 42 || the_setup()->end == STOP_NOW, "and its effects are seen");
    return NULL;
}

static void any_job_outside(void)
{
    pool_make();
    flow_job(0);
    flow_job(1);
    pthread_t other = vgc_thread_start(wait_for_any_job, NULL);
    (void)finish_with(&other);
}

static int wait_for_any_inside(counted *self)
{
    (void)self;
    flow_job(0);
    flow_job(1);
    return wait_for_any_job(NULL) != NULL;
}

static void any_job_inside(void)
{
    pool_make();
    counted_make(0)->body = wait_for_any_inside;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Two groups, freed one after the other as they end. */
static void wait_for_any_groups(void)
{
    vigil_group *groups[2];
    vigil_awaited awaited[2];
    for (int i = 0; i < 2; i++) {
        groups[i] = flow_group(0);
        awaited[i] = (vigil_awaited){.group = groups[i]};
        vigil_task_init(&members[i].task, member_run, member_cancel);
        vgc_assert(vigil_group_submit(groups[i], &members[i].task, VIGIL_NORMAL) == 0, "the task is accepted");
    }
    for (size_t left = 2; left > 0; left--) {
        size_t at = left;
        vgc_assert(vigil_wait_any(pool, awaited, left, VIGIL_FOREVER, &at) == 0 && at < left, "the wait ends");
        const int status = vigil_group_wait_for(awaited[at].group, 0);
        vgc_assert(status == 0 || (status == -ECANCELED && the_setup()->end == STOP_NOW),
                   "with a group that has ended");
        free(awaited[at].group);
        awaited[at] = awaited[left - 1];
    }
    vgc_assert(member_outcome(0) == 1 && member_outcome(1) == 1, "both have ended");
}

static void any_group_outside(void)
{
    pool_make();
    wait_for_any_groups();
    finish();
}

static int any_groups_body(counted *self)
{
    (void)self;
    wait_for_any_groups();
    return 0;
}

static void any_group_inside(void)
{
    pool_make();
    counted_make(0)->body = any_groups_body;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* A group whose task runs elsewhere until the waiter sleeps: what lets it go on orders nothing. */
static int run_at_gate(vigil_task *task)
{
    gate_wait(&gates[1]);
    return member_run(task);
}

static bool any_waited;

static int wait_for_running(counted *self)
{
    (void)self;
    size_t at = 1;
    const vigil_awaited awaited = {.job = jobs[0]};
    vgc_assert(vigil_wait_any(pool, &awaited, 1, VIGIL_FOREVER, &at) == 0, "the wait ends");
    any_waited = true;
    return 0;
}

static int job_at_gate(void *arg)
{
    return run_at_gate(arg);
}

static void any_is_called(void)
{
    pool_make();
    vgc_assert(vigil_job_call(pool, job_at_gate, &members[0].task, NULL, &jobs[0]) == 0, "the job is accepted");
    vgc_quiesce(); /* a worker has it */
    counted_make(0)->body = wait_for_running;
    submit_made(0, VIGIL_NORMAL);
    vgc_quiesce(); /* the other one waits for it, and sleeps */
    atomic_store_explicit(&gates[1].open, 1, memory_order_relaxed);
    (void)vg_futex_wake(&gates[1].open, VG_WAKE_ALL);
    vgc_quiesce();
    vgc_assert(any_waited, "the end of the job has called the waiter");
    finish();
}

/* ---- making way ---- */

static int yield_once(counted *self)
{
    (void)self;
    const int error = vigil_task_yield();
    vgc_assert(error == 0 || error == 1, "inside a task");
    return 0;
}

static void yield_beside_submit(void)
{
    pool_make();
    counted_make(0)->body = yield_once;
    submit_made(0, VIGIL_NORMAL);
    submit(1);
    finish();
}

#define CANCELLED "each task of a cancelled group runs or is cancelled, once, and the wait returns"
#define FOLLOWS   "a job that follows starts after what it follows has ended, and is not lost"
#define ANY       "the wait returns when one has ended, and nobody touches what was waited for afterwards"

SCENARIOS(cancel_group, group_is_cancelled, CANCELLED, "2 workers, 2 members, another thread cancels", 2);
SCENARIOS(cancel_failure, failure_cancels, CANCELLED, "2 workers, 2 children that fail", 2);
SCENARIOS(follow_one, follow_one, FOLLOWS, "1 worker, 1 job, 1 that follows", 1);
SCENARIO(follow_one_apart, follow_one, FOLLOWS, "2 workers, 1 job, 1 that follows, perhaps elsewhere; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIOS(follow_both, follow_both, FOLLOWS, "2 workers, 2 jobs, 1 follows both", 2);
SCENARIOS(follow_first, follow_first, FOLLOWS, "2 workers, 2 jobs, 1 follows the first", 2);
SCENARIOS(follow_inside, follow_inside, FOLLOWS, "1 worker, a task waits for what follows", 1);
SCENARIO(follow_audit, follow_one, FOLLOWS, "1 worker, 1 job, 1 that follows; audit", 1, VIGIL_FENCE_SYMMETRIC, AUDIT,
         BY_CHANCE);
SCENARIOS(any_job, any_job_outside, ANY, "2 workers, 2 jobs, the waiter is no worker", 2);
SCENARIOS(any_job_inside, any_job_inside, ANY, "2 workers, a task waits for 2 jobs", 2);
SCENARIOS(any_group, any_group_outside, ANY, "2 workers, 2 groups, the waiter is no worker", 2);
SCENARIOS(any_group_inside, any_group_inside, ANY, "2 workers, a task waits for 2 groups", 2);
SCENARIO(any_called, any_is_called, ANY, "2 workers, 1 runs the job, 1 waits; at rest", 2, VIGIL_FENCE_SYMMETRIC,
         AT_REST, BY_CHANCE_LONG);
SCENARIOS(yield_one, yield_beside_submit, "a task that a yield runs runs once", "1 worker, 2 tasks", 1);
