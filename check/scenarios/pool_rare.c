/* SPDX-License-Identifier: MIT */
/*
 * Rare ways through the pool: groups in groups of which one is cancelled, tasks that fail, raise or leave a blocking section open,
 * hooks that raise, a worker that stays awake, waits and calls from a task of another pool, no memory for a deque. Each task ends once, and
 * numbers and statuses say what happened.
 */
#include "pool_common.h"

#include <string.h>
#include <vigil/flow.h>

/* ---- a tree of groups ---- */

static vigil_group outer, inner;
static _Atomic int failures; /* told by on_failure */

static int fail_it(counted *self)
{
    (void)self;
    return -EDOM;
}

static int leave_blocking(counted *self)
{
    (void)self;
    vgc_assert(vigil_blocking_begin() == 0, "a blocking section begins");
    return 0; /* and is forgotten */
}

static int raise_in_blocking(counted *self)
{
    (void)self;
    vgc_assert(vigil_blocking_begin() == 0, "a blocking section begins");
    vigil_raise(-ERANGE);
}

static void note_failure(void *user, const vigil_failure *failure)
{
    vgc_assert(user == &failures, "the hook gets what it was given");
    vgc_assert(failure->status == -EDOM || (failure->status == -ERANGE && failure->raised),
               "the failure is told as it was");
    (void)atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
    vigil_raise(-EIO); /* ends the hook alone */
}

/* Children of two groups lie in one deque: the wait for the inner one leaves the others' alone, that for the outer one runs both. */
static int spawn_tree(counted *self)
{
    (void)self;
    const bool stops = the_setup()->end == STOP_NOW;
    vgc_assert(vigil_group_init(&outer, pool, 0) == 0 && vigil_group_init(&inner, pool, 0) == 0, "groups are made");
    counted_make(1)->body = fail_it;
    counted_make(2)->body = leave_blocking;
    counted_make(3)->body = raise_in_blocking;
    vgc_assert(vigil_group_spawn(&inner, &tasks[2].task) == 0, "a spawn is taken");
    vgc_assert(vigil_group_spawn(&outer, &tasks[1].task) == 0, "a spawn is taken");
    if (the_setup()->workers == 1 && !stops) /* else it may run already */
        vgc_assert(vigil_group_spawn(&outer, &tasks[1].task) == -EBUSY, "but not twice");
    const int in = vigil_group_wait(&inner); /* the newest is not its child */
    vgc_assert(ran(2) + cancelled(2) == 1 && (in == 0 || (in == -ECANCELED && stops)), "the inner child has ended");
    vgc_assert(vigil_group_spawn(&outer, &tasks[3].task) == 0, "a spawn is taken");
    const int out = vigil_group_wait_for(&outer, VIGIL_FOREVER);
    vgc_assert(ran(1) + cancelled(1) == 1 && ran(3) + cancelled(3) == 1, "the outer children have ended");
    vgc_assert(out == -EDOM || out == -ERANGE || (out == -ECANCELED && stops), "one failure is told");
    return 0;
}

static void tree_of_groups(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.on_failure = note_failure;
    options.user = &failures;
    pool_make_with(&options);
    counted_make(0)->body = spawn_tree;
    submit_made(0, VIGIL_NORMAL);
    finish();
    vgc_assert(atomic_load_explicit(&failures, memory_order_relaxed) == ran(1) + ran(3), "each failure was told once");
}

/* A group is cancelled with its children still in the deque: they are cancelled, also the child of a child, and a task sees it. */
static int in_cancelled(counted *self)
{
    (void)self;
    vgc_assert(vigil_task_cancelled() == 0, "the group is not cancelled");
    vgc_assert(vigil_group_cancel(&outer) == 0, "the group is cancelled");
    vgc_assert(vigil_task_cancelled() == 1, "and its task sees it");
    vigil_group below;
    vgc_assert(vigil_group_init(&below, pool, 0) == 0 && vigil_group_cancelled(&below) == 1,
               "a group in a cancelled one is cancelled");
    (void)counted_make(3);
    vgc_assert(vigil_group_spawn(&below, &tasks[3].task) == 0, "a spawn is taken");
    vgc_assert(vigil_group_wait(&below) == -ECANCELED && cancelled(3) == 1 && ran(3) == 0,
               "and its child is cancelled");
    return 0;
}

static int cancel_children(counted *self)
{
    (void)self;
    vgc_assert(vigil_group_init(&outer, pool, VIGIL_GROUP_CANCEL_ON_FAILURE) == 0, "a group is made");
    (void)counted_make(1);
    counted_make(2)->body = in_cancelled;
    vgc_assert(vigil_group_spawn(&outer, &tasks[1].task) == 0, "a spawn is taken");
    vgc_assert(vigil_group_spawn(&outer, &tasks[2].task) == 0, "a spawn is taken");
    const int status = vigil_group_wait(&outer);
    vgc_assert(status == -ECANCELED, "the wait tells of it");
    vgc_assert(ran(1) + cancelled(1) == 1 && ran(2) + cancelled(2) == 1, "both have ended");
    return 0;
}

static void cancelled_tree(void)
{
    pool_make();
    counted_make(0)->body = cancel_children;
    submit_made(0, VIGIL_NORMAL);
    vgc_quiesce();
    vgc_assert(ran(0) == 1 && cancelled(3) == ran(2), "the tree has ended");
    audit_at_rest();
    numbers_agree();
    nobody_is_counted();
    destroy();
}

/* A waiter leapfrogs: what the thief of its child has spawned is taken if it descends from the group, and put back if not. */
static int spawn_stranger(counted *self)
{
    (void)self;
    vigil_group own;
    vgc_assert(vigil_group_init(&own, pool, vgc_choose(2) == 0 ? 0 : VIGIL_GROUP_DETACHED) == 0, "a group is made");
    (void)counted_make(2);
    (void)counted_make(3);
    vgc_assert(vigil_group_spawn(&own, &tasks[2].task) == 0, "a spawn is taken");
    vgc_assert(vigil_group_spawn(&own, &tasks[3].task) == 0, "a spawn is taken");
    gate_open(&gates[0]);
    const int status = vigil_group_wait(&own);
    vgc_assert(ran(2) + cancelled(2) == 1 && ran(3) + cancelled(3) == 1, "both have ended when the wait returns");
    return status == -ECANCELED ? 0 : status;
}

static int spawn_and_leapfrog(counted *self)
{
    (void)self;
    vgc_assert(vigil_group_init(&outer, pool, 0) == 0, "a group is made");
    counted_make(1)->body = spawn_stranger;
    tasks[1].opens = &gates[0]; /* also if it is cancelled */
    vgc_assert(vigil_group_spawn(&outer, &tasks[1].task) == 0, "a spawn is taken");
    if (vgc_choose(2) == 0)
        (void)vigil_group_wait(&outer);
    else {
        gate_wait(&gates[0]); /* it is stolen, or the scenario's second worker sleeps beside it */
        if (vigil_group_wait_for(&outer, 1000) == -ETIMEDOUT)
            (void)vigil_group_wait(&outer);
    }
    vgc_assert(ran(1) + cancelled(1) == 1, "the child has ended when the wait returns");
    return 0;
}

static void leapfrog(void)
{
    pool_make();
    counted_make(0)->body = spawn_and_leapfrog;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

#define ONCE "each task of a tree of groups ends once, and statuses and numbers say how"
SCENARIO(group_tree, tree_of_groups, ONCE, "1 worker, 2 groups, 1 failure, 1 raise; audit", 1, VIGIL_FENCE_SYMMETRIC,
         AUDIT, BY_CHANCE, .opt.runs = 100);
SCENARIO(group_tree_2, tree_of_groups, ONCE, "2 workers, 2 groups, 1 failure, 1 raise; audit", 2,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE, .opt.runs = 500);
SCENARIO(group_tree_stop, tree_of_groups, ONCE, "2 workers, 2 groups, 1 failure, 1 raise; against an immediate stop", 2,
         VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE, .opt.runs = 500);
WATCHED(group_tree, tree_of_groups, ONCE, "1 worker, 2 groups, 1 failure, 1 raise", 1);
SCENARIO(group_cancelled_tree, cancelled_tree, "what a cancelled group still holds is cancelled",
         "1 worker, a group in a group", 1, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE, .opt.runs = 100);
SCENARIO(group_cancelled_tree_2, cancelled_tree, "what a cancelled group still holds is cancelled",
         "2 workers, a group in a group", 2, VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE, .opt.runs = 500);
SCENARIO(group_leapfrog, leapfrog, ONCE, "2 workers, a stolen child with 2 children; at rest", 2, VIGIL_FENCE_SYMMETRIC,
         AT_REST, BY_CHANCE_LONG, .opt.early_timeouts = 1);
SCENARIO(group_leapfrog_3, leapfrog, ONCE, "3 workers, a stolen child with 2 children; audit", 3,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE, .opt.early_timeouts = 1);
SCENARIO(group_leapfrog_stop, leapfrog, ONCE, "2 workers, a stolen child with 2 children; against an immediate stop", 2,
         VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE, .opt.early_timeouts = 1);

/* ---- joins that fail ---- */

static int fail_half(void *arg)
{
    (void)arg;
    (void)counted_run(&tasks[2].task);
    return -EDOM;
}

static int raise_half(void *arg)
{
    (void)arg;
    (void)counted_run(&tasks[2].task);
    vigil_raise(-ERANGE);
}

static int first_half(void *arg)
{
    (void)arg;
    return counted_run(&tasks[1].task);
}

static int join_failing(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    const int status = vigil_join(pool, first_half, NULL, fail_half, NULL);
    vgc_assert(ran(1) == 1, "the first half ran here");
    vgc_assert(status == (ran(2) == 1 ? -EDOM : -ECANCELED), "the failure of the second half is told");
    if (ran(2) == 0)
        (void)atomic_fetch_add_explicit(&tasks[2].cancelled, 1, memory_order_relaxed); /* it has no callback */
    return 0;
}

static int join_raising(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    const int status = vigil_join(pool, first_half, NULL, raise_half, NULL);
    vgc_assert(status == -ECANCELED && ran(2) == 0, "a half that raised makes the join raise");
    (void)atomic_fetch_add_explicit(&tasks[2].cancelled, 1, memory_order_relaxed); /* as above */
    return 0;
}

static void join_fails(void)
{
    pool_make();
    counted_make(0)->body = vgc_choose(2) == 0 ? join_failing : join_raising;
    submit_made(0, VIGIL_NORMAL);
    finish();
}
SCENARIO(join_fails, join_fails, "the failure or raise of the second half comes out of the join", "1 worker; audit", 1,
         VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE, .opt.runs = 200);
SCENARIO(join_fails_2, join_fails, "the failure or raise of the second half comes out of the join", "2 workers; audit",
         2, VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
SCENARIO(join_fails_stop, join_fails, "the failure or raise of the second half comes out of the join",
         "2 workers; against an immediate stop", 2, VIGIL_FENCE_SYMMETRIC, STOP_NOW, BY_CHANCE);

/* ---- a worker that stays awake ---- */

static void stay_awake(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.idle = vgc_choose(2) == 0 ? VIGIL_IDLE_KEEP_ONE_AWAKE : VIGIL_IDLE_SPIN_THEN_PARK;
    options.spin_us = 1;
    pool_make_with(&options);
    submit(0);
    submit(1);
    vgc_assert(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "the pool comes to rest");
    vgc_assert(ran(0) == 1 && ran(1) == 1, "both have run");
    submit(2);
    finish();
}
SCENARIO(idle_awake_stop, stay_awake, "a worker that spins or stays awake sees each task",
         "2 workers, 3 tasks; graceful stop", 2, VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(idle_awake_stop_now, stay_awake, "a worker that spins or stays awake sees each task",
         "2 workers, 3 tasks; against an immediate stop", 2, VIGIL_FENCE_MEMBARRIER, STOP_NOW, BY_CHANCE);

/* ---- from a task of another pool ---- */

static vigil_pool *second;
static _Atomic int second_ran;

static int in_second(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_current() == second, "it runs in the other pool");
    (void)atomic_fetch_add_explicit(&second_ran, 1, memory_order_relaxed);
    return 7;
}

static int in_second_fails(void *arg)
{
    (void)in_second(arg);
    return -EDOM;
}

static int call_second(counted *self)
{
    (void)self;
    vigil_job job = {0};
    vigil_group group;
    size_t index = 9;
    vgc_assert(vigil_pool_run(second, in_second_fails, NULL, VIGIL_HIGH) == -EDOM, "the call's failure is told");
    vgc_assert(vigil_job_call(second, in_second, NULL, NULL, &job) == 0, "the job is accepted");
    vgc_assert(vigil_group_init(&group, second, 0) == 0, "a group is made");
    (void)counted_make(1);
    vgc_assert(vigil_group_submit(&group, &tasks[1].task, VIGIL_LOW) == 0, "the member is accepted");
    const vigil_awaited both[2] = {{.job = job}, {.group = &group}};
    int error = vigil_wait_any(second, both, 2, 1000, &index);
    if (error == -ETIMEDOUT)
        error = vigil_wait_any(second, both, 2, VIGIL_FOREVER, &index);
    vgc_assert(error == 0 && index < 2, "one of the two has ended");
    vgc_assert(index == 1 ? ran(1) == 1 : atomic_load_explicit(&second_ran, memory_order_relaxed) == 2,
               "and it is the one that was named");
    vgc_assert(vigil_group_wait(&group) == 0 && ran(1) == 1, "the member has run");
    int status = 0;
    vgc_assert(vigil_job_wait(second, job, VIGIL_FOREVER, &status) == 0 && status == 7, "the job's status is told");
    vgc_assert(vigil_job_unref(second, job) == 0, "the handle goes");
    return 0;
}

static void from_another_pool(void)
{
    vigil_pool_options options = options_of(the_setup());
    pool_make();
    vgc_assert(vigil_pool_create(&second, &options) == 0, "the pool is made");
    counted_make(0)->body = call_second;
    submit_made(0, VIGIL_NORMAL);
    finish();
    if (the_setup()->end == AT_REST)
        return;
    vgc_assert(vigil_pool_shutdown(second, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_assert(atomic_load_explicit(&second_ran, memory_order_relaxed) == 2 * ran(0), "both calls were made");
    vgc_assert(vigil_pool_destroy(second) == 0, "the pool goes");
}
SCENARIO(call_other_pool, from_another_pool, "a task calls, and waits for any of, what another pool runs",
         "1 worker each; at rest", 1, VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE, .opt.early_timeouts = 1);
SCENARIO(call_other_pool_stop, from_another_pool, "a task calls, and waits for any of, what another pool runs",
         "1 worker each; graceful stop", 1, VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE, .opt.early_timeouts = 1);
static const setup setup_other_watched = {
    .workers = 1, .fences = VIGIL_FENCE_SYMMETRIC, .end = STOP_GRACEFUL, .watched = true};
VGC_REGISTER(call_other_pool_watched, "call_other_pool_watched", from_another_pool,
             "a task calls, and waits for any of, what another pool runs", .arg = &setup_other_watched,
             .bound = "1 worker each; graceful stop; recorder on", .opt.max_steps = 30000, BY_CHANCE);

/* ---- what the numbers say of one worker ---- */

static int take_time(counted *self)
{
    (void)self;
    vgc_assert(vigil_task_label("busy with a long label for its events") == 0, "it has a label");
    vgc_clock_advance(1000000);
    vgc_assert(vigil_blocking_begin() == 0 && vigil_blocking_end() == 0, "a blocking section comes and goes");
    return number_of(self) == 1 ? -EDOM : 0;
}

static void numbers_of_worker(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.no_spares = true;
    pool_make_with(&options);
    vgc_quiesce();
    for (int i = 0; i < 2; i++) {
        counted_make(i)->body = take_time;
        submit_made(i, i == 0 ? VIGIL_NORMAL : VIGIL_LOW);
    }
    vgc_clock_advance(1000);
    vigil_pool_stats all = {.size = sizeof all};
    vgc_assert(vigil_pool_stats_get(pool, &all) == 0 && all.total.submitted == 2, "both were accepted");
    vgc_assert(all.total.oldest_age_ns <= vgc_clock_now(), "nothing is older than the clock");
    vgc_quiesce();
    vigil_worker_stats one = {.size = sizeof one};
    vigil_worker_change changes[4];
    vgc_assert(vigil_pool_worker_stats_get(pool, 0, &one) == 0, "the numbers can be had");
    vgc_assert(one.completed == 1 && one.failed == 1 && one.started[VIGIL_NORMAL] == 1 && one.started[VIGIL_LOW] == 1,
               "they are those of the worker");
    vgc_assert(one.state == VIGIL_WORKER_PARKED && one.parks >= 1, "it sleeps");
    vgc_assert(one.time_ns[VIGIL_WORKER_RUNNING] >= 2000000, "it ran as long as its tasks took");
    const int kept = vigil_pool_worker_history(pool, 0, changes, 4);
    vgc_assert(kept >= 1 && changes[0].state == VIGIL_WORKER_PARKED, "its history ends asleep");
    finish();
}
static const setup setup_numbers = {.workers = 1, .fences = VIGIL_FENCE_SYMMETRIC, .end = AUDIT, .watched = true};
VGC_REGISTER(stats_of_worker, "stats_of_worker", numbers_of_worker, "a worker's numbers are those of its tasks",
             .arg = &setup_numbers, .bound = "1 worker, 2 tasks; recorder on", .opt.max_steps = 30000, BY_CHANCE,
             .opt.runs = 200);

/* ---- no memory ---- */

static int spawn_three(counted *self)
{
    (void)self;
    vigil_group group;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    for (int i = 1; i <= 4; i++) { /* more than a deque's first array holds */
        (void)counted_make(i);
        vgc_assert(vigil_group_spawn(&group, &tasks[i].task) == 0, "a spawn needs no memory");
    }
    (void)vigil_group_wait(&group);
    for (int i = 1; i <= 4; i++)
        vgc_assert(ran(i) + cancelled(i) == 1, "each child has ended");
    return 0;
}

static void deque_without_memory(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.no_stealing = vgc_choose(2) == 0;
    if (vigil_pool_create(&pool, &options) != 0)
        return; /* no memory for the pool */
    counted_make(0)->body = spawn_three;
    submit_made(0, VIGIL_NORMAL);
    finish();
}
SCENARIO(group_no_memory, deque_without_memory, "without memory for a larger deque a spawn is queued elsewhere",
         "1 worker, 4 spawns; audit", 1, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE, .opt.fail_alloc = 1,
         .opt.runs = 2000);
SCENARIO(group_no_memory_stop, deque_without_memory, "without memory for a larger deque a spawn is queued elsewhere",
         "2 workers, 4 spawns; against an immediate stop", 2, VIGIL_FENCE_MEMBARRIER, STOP_NOW, BY_CHANCE,
         .opt.fail_alloc = 1);
