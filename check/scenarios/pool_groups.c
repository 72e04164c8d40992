/* SPDX-License-Identifier: MIT */
/*
 * Groups: fork and join with a thief, groups that are waited for outside, submits to a group. The group lies on the heap and is
 * freed as soon as the wait returns, so a late touch by a child is a use after free.
 */
#include "pool_common.h"

#include <vigil/flow.h>

#include <stdlib.h>

static vigil_group *group_make(unsigned flags)
{
    vigil_group *group = malloc(sizeof *group);
    vgc_assert(group != NULL && vigil_group_init(group, pool, flags) == 0, "a group is made");
    return group;
}

static void group_join(vigil_group *group)
{
    int status = vigil_group_wait(group);
    vgc_assert(status == 0 || (status == -ECANCELED && the_setup()->end == STOP_NOW), "only a stop cancels");
    free(group);
}

static int spawn_two(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    for (int i = 1; i <= 2; i++) {
        (void)counted_make(i);
        vgc_assert(vigil_group_spawn(group, &tasks[i].task) == 0, "a spawn is taken");
    }
    group_join(group);
    vgc_assert(ran(1) + cancelled(1) == 1 && ran(2) + cancelled(2) == 1, "both have ended when the wait returns");
    return 0;
}

static void fork_and_join(void)
{
    pool_make();
    counted_make(0)->body = spawn_two;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The child that a thief has taken spawns another: the waiter may take that back (leapfrogging). */
static int spawn_grandchild(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    (void)counted_make(2);
    vgc_assert(vigil_group_spawn(group, &tasks[2].task) == 0, "a spawn is taken");
    group_join(group);
    return 0;
}

static int spawn_child(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    counted_make(1)->body = spawn_grandchild;
    vgc_assert(vigil_group_spawn(group, &tasks[1].task) == 0, "a spawn is taken");
    group_join(group);
    vgc_assert(ran(1) + cancelled(1) == 1, "the child has ended when the wait returns");
    return 0;
}

static void fork_twice(void)
{
    pool_make();
    counted_make(0)->body = spawn_child;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The thief's child waits at a gate that another submitted task opens: the waiter cannot help and sleeps as a blocked
   worker; a spare must run the other one. */
static int spawn_child_that_waits(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    counted *child = counted_make(1);
    child->waits_for = &gates[2];
    vgc_assert(vigil_group_spawn(group, &child->task) == 0, "a spawn is taken");
    group_join(group);
    return 0;
}

static void join_while_blocked(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    pool_make_with(&options);
    counted_make(0)->body = spawn_child_that_waits;
    counted_make(2)->opens = &gates[2];
    submit_made(0, VIGIL_NORMAL);
    submit_made(2, VIGIL_NORMAL);
    if (atomic_load_explicit(&tasks[2].refused, memory_order_relaxed) != 0)
        gate_open(&gates[2]);
    finish();
}

static void wait_outside(void)
{
    pool_make();
    vigil_group *group = group_make(0);
    for (int i = 0; i < 2; i++) {
        (void)counted_make(i);
        vgc_assert(vigil_group_submit(group, &tasks[i].task, VIGIL_NORMAL) == 0, "the task is accepted");
    }
    group_join(group);
    vgc_assert(ran(0) == 1 && ran(1) == 1, "both have ended when the wait returns");
    finish();
}

/* A waiter whose time is over just when the last task ends: it is told, or it was never waited for; nobody touches the group after
   the wait that returned something else than a timeout. */
static void wait_outside_in_time(void)
{
    pool_make();
    vigil_group *group = group_make(0);
    (void)counted_make(0);
    vgc_assert(vigil_group_submit(group, &tasks[0].task, VIGIL_NORMAL) == 0, "the task is accepted");
    int status = -ETIMEDOUT;
    for (int i = 0; i < 2 && status == -ETIMEDOUT; i++)
        status = vigil_group_wait_for(group, 1000);
    if (status == -ETIMEDOUT)
        status = vigil_group_wait(group);
    vgc_assert(status == 0 && ran(0) == 1, "the task has ended when the wait returns");
    free(group);
    finish();
}

/* A task that waits for something submitted: it runs that itself, or finds that another has. */
static int submit_and_wait(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    (void)counted_make(1);
    vgc_assert(vigil_group_submit(group, &tasks[1].task, VIGIL_NORMAL) == 0, "the task is accepted");
    group_join(group);
    vgc_assert(ran(1) + cancelled(1) == 1, "it has ended when the wait returns");
    return 0;
}

static void submit_to_group(void)
{
    pool_make();
    counted_make(0)->body = submit_and_wait;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Two are submitted, the waiter helps with one: what it has run itself and what the other ran must come to nothing together. */
static int submit_two_and_wait(counted *self)
{
    (void)self;
    vigil_group *group = group_make(0);
    for (int i = 1; i <= 2; i++) {
        (void)counted_make(i);
        vgc_assert(vigil_group_submit(group, &tasks[i].task, VIGIL_NORMAL) == 0, "the task is accepted");
    }
    group_join(group);
    vgc_assert(ran(1) + cancelled(1) == 1 && ran(2) + cancelled(2) == 1, "both have ended when the wait returns");
    return 0;
}

static void submit_two_to_group(void)
{
    pool_make();
    counted_make(0)->body = submit_two_and_wait;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The same, and no thread can be had for the spare: then the waiter must work itself. */
static void join_without_spare(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    if (vigil_pool_create(&pool, &options) != 0)
        return;
    if (vigil_pool_workers(pool) < 2) {
        destroy(); /* with one worker the tasks below would be a deadlock of their own making */
        return;
    }
    counted_make(0)->body = spawn_child_that_waits;
    counted_make(2)->opens = &gates[2];
    submit_made(0, VIGIL_NORMAL);
    submit_made(2, VIGIL_NORMAL);
    finish();
}

/* Another worker adds a task to the group and runs it itself: the owner has spawned nothing, and must still see what it did. */
static vigil_group shared_group;
static int shared_result; /* plainly written by the child, read after the wait */

static int own_shared_group(counted *self)
{
    (void)self;
    vgc_assert(vigil_group_init(&shared_group, pool, 0) == 0, "a group is made");
    gate_open(&gates[3]);
    gate_wait(&gates[4]);
    (void)vigil_group_wait(&shared_group);
    vgc_assert(ran(2) + cancelled(2) == 1, "the child has ended when the wait returns");
    vgc_assert(shared_result == (ran(2) != 0 ? 5 : 0), "and what it wrote is seen");
    return 0;
}

static int write_shared_result(counted *self)
{
    (void)self;
    shared_result = 5;
    return 0;
}

static int add_to_shared_group(counted *self)
{
    (void)self;
    gate_wait(&gates[3]);
    counted_make(2)->body = write_shared_result;
    vgc_assert(vigil_group_spawn(&shared_group, &tasks[2].task) == 0, "a spawn is taken");
    gate_open(&gates[4]);
    return 0;
}

static void spawn_to_other_group(void)
{
    pool_make();
    counted_make(0)->body = own_shared_group;
    counted_make(1)->body = add_to_shared_group;
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

/* The same with a submit: the owner runs the member of the other, or its job is a husk when it comes up (Q1, Q2, H5, H6). */
static int submit_to_shared_group(counted *self)
{
    (void)self;
    gate_wait(&gates[3]);
    counted_make(2)->body = write_shared_result;
    vgc_assert(vigil_group_submit(&shared_group, &tasks[2].task, VIGIL_LOW) == 0, "the task is accepted");
    gate_open(&gates[4]);
    return 0;
}

static void submit_to_other_group(void)
{
    pool_make();
    counted_make(0)->body = own_shared_group;
    counted_make(1)->body = submit_to_shared_group;
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

/* A member submits two more and waits for the later one: the owner, who knows of them from the group's list alone, must run them. Nothing but the list tells it
   what the other wrote (Q1, Q2). */
static int submit_two_members(counted *self)
{
    (void)self;
    for (int i = 2; i <= 3; i++)
        vgc_assert(vigil_group_submit(&shared_group, &tasks[i].task, VIGIL_LOW) == 0, "the member is accepted");
    gate_wait(&gates[0]);
    return 0;
}

static int own_group_of_members(counted *self)
{
    (void)self;
    vgc_assert(vigil_group_init(&shared_group, pool, 0) == 0, "a group is made");
    counted_make(1)->body = submit_two_members;
    (void)counted_make(2);
    counted_make(3)->opens = &gates[0];
    vgc_assert(vigil_group_spawn(&shared_group, &tasks[1].task) == 0, "the spawn is accepted");
    vgc_assert(vigil_group_wait(&shared_group) == 0, "the wait ends well");
    vgc_assert(ran(1) == 1 && ran(2) == 1 && ran(3) == 1, "each member has run when the wait is over");
    return 0;
}

static void members_of_member(void)
{
    pool_make();
    counted_make(0)->body = own_group_of_members;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* ---- isolation ---- */

static _Atomic(vg_worker *)
    isolated; /* the worker whose task is in an isolated section; relaxed: it compares with itself */

static int no_stranger(counted *self)
{
    (void)self;
    vgc_assert(vg_current_worker != atomic_load_explicit(&isolated, memory_order_relaxed),
               "no stranger runs on top of an isolated section");
    return 0;
}

static int wait_isolated(void *arg)
{
    (void)arg;
    atomic_store_explicit(&isolated, vg_current_worker, memory_order_relaxed);
    (void)vigil_group_wait(&shared_group); /* would help with anything */
    atomic_store_explicit(&isolated, NULL, memory_order_relaxed);
    return 0;
}

static int isolate_a_wait(counted *self)
{
    (void)self;
    return vigil_isolate(wait_isolated, NULL);
}

static void isolated_wait(void)
{
    pool_make();
    vgc_assert(vigil_group_init(&shared_group, pool, VIGIL_GROUP_HELP_ANY) == 0, "a group is made");
    counted_make(0)->body = isolate_a_wait;
    counted_make(1)->body = no_stranger;
    vgc_assert(vigil_group_submit(&shared_group, &counted_make(2)->task, VIGIL_LOW) == 0, "the member is accepted");
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

/* ---- vigil_join ---- */

static int left_half(void *arg)
{
    (void)arg;
    return counted_run(&tasks[1].task);
}

static int right_half(void *arg)
{
    (void)arg;
    return counted_run(&tasks[2].task);
}

static int join_two(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    int status = vigil_join(pool, left_half, NULL, right_half, NULL);
    vgc_assert(ran(1) == 1, "the left half ran here");
    if (status == 0) {
        vgc_assert(ran(2) == 1, "both have ended when the join returns");
    } else {
        vgc_assert(status == -ECANCELED && ran(2) == 0, "only a stop cancels");
        (void)atomic_fetch_add_explicit(&tasks[2].cancelled, 1,
                                        memory_order_relaxed); /* it has no callback of its own */
    }
    return 0;
}

static void join_in_task(void)
{
    pool_make();
    counted_make(0)->body = join_two;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Two joins, one inside the other: the inner one is taken back above the outer one, or both are stolen. */
static int outer_left(void *arg)
{
    (void)arg;
    const int status = vigil_join(pool, left_half, NULL, right_half, NULL);
    if (status == -ECANCELED)
        (void)atomic_fetch_add_explicit(&tasks[2].cancelled, 1, memory_order_relaxed); /* it has no callback */
    else
        vgc_assert(status == 0 && ran(2) == 1, "both have ended when the inner join returns");
    return 0;
}

static int outer_right(void *arg)
{
    (void)arg;
    return counted_run(&tasks[3].task);
}

static int join_nested(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    (void)counted_make(3);
    const int status = vigil_join(pool, outer_left, NULL, outer_right, NULL);
    if (status == -ECANCELED)
        (void)atomic_fetch_add_explicit(&tasks[3].cancelled, 1, memory_order_relaxed); /* as above */
    else
        vgc_assert(status == 0 && ran(3) == 1, "both have ended when the outer join returns");
    return 0;
}

static void join_in_join(void)
{
    pool_make();
    counted_make(0)->body = join_nested;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* a leaves a task above b in the deque, so that the join makes b's group itself, perhaps beside a thief of b (N1, N2). */
static int leave_one_above(void *arg)
{
    (void)arg;
    (void)counted_run(&tasks[1].task);
    vgc_assert(vigil_group_spawn(&shared_group, &counted_make(3)->task) == 0, "a spawn is taken");
    return 0;
}

static int join_covered(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    vgc_assert(vigil_group_init(&shared_group, pool, VIGIL_GROUP_DETACHED) == 0, "a group is made");
    const int status = vigil_join(pool, leave_one_above, NULL, right_half, NULL);
    if (status == -ECANCELED)
        (void)atomic_fetch_add_explicit(&tasks[2].cancelled, 1, memory_order_relaxed); /* as above */
    else
        vgc_assert(status == 0 && ran(2) == 1, "both have ended when the join returns");
    (void)vigil_group_wait(&shared_group);
    return 0;
}

static void join_under_another(void)
{
    pool_make();
    counted_make(0)->body = join_covered;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* a leaves the task: b has ended when its frame goes. */
static int leave_by_raise(void *arg)
{
    (void)arg;
    (void)counted_run(&tasks[1].task);
    vigil_raise(-EDOM);
}

static int join_raise(counted *self)
{
    (void)self;
    (void)counted_make(1);
    (void)counted_make(2);
    (void)vigil_join(pool, leave_by_raise, NULL, right_half, NULL);
    vgc_assert(false, "the task was left");
    return 0;
}

static void join_left_by_raise(void)
{
    pool_make();
    counted_make(0)->body = join_raise;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

static void join_outside(void)
{
    pool_make();
    (void)join_two(NULL);
    finish();
}

#define JOINED "the wait returns when every task of the group has ended, and nobody touches the group afterwards"

SCENARIOS(group_fork, fork_and_join, JOINED, "2 workers, 2 children", 2);
SCENARIOS(group_fork_3, fork_and_join, JOINED, "3 workers, 2 children", 3);
SCENARIOS(group_nested, fork_twice, JOINED, "2 workers, child and grandchild", 2);
SCENARIOS(group_blocked, join_while_blocked, JOINED, "2 workers, 1 spare, the child waits for a submitted task", 2);
SCENARIO(group_no_spare_rest, join_without_spare, JOINED, "2 workers, the spare's thread may fail; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG, .opt.fail_thread = 1);
SCENARIO(group_no_spare, join_without_spare, JOINED, "2 workers, the spare's thread may fail", 2, VIGIL_FENCE_SYMMETRIC,
         AUDIT, BY_CHANCE, .opt.fail_thread = 1);
SCENARIO(group_foreign, spawn_to_other_group, JOINED, "2 workers, one adds to the other's group; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(group_foreign_stop, spawn_to_other_group, JOINED, "2 workers, one adds to the other's group; graceful stop", 2,
         VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(group_member, submit_to_other_group, JOINED, "2 workers, one submits to the other's group; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(group_member_audit, submit_to_other_group, JOINED, "2 workers, one submits to the other's group; audit", 2,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
SCENARIO(group_member_stop, submit_to_other_group, JOINED, "2 workers, one submits to the other's group; graceful stop",
         2, VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
SCENARIO(group_members, members_of_member, JOINED, "2 workers, a member submits two and waits for them; at rest", 2,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(group_members_audit, members_of_member, JOINED, "2 workers, a member submits two and waits for them; audit", 2,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
WATCHED(group_fork, fork_and_join, JOINED, "2 workers, 2 children", 2);
WATCHED(group_submit_2, submit_to_group, JOINED, "2 workers, a task submits to its group", 2);
SCENARIOS(isolated_wait, isolated_wait, "an isolated wait runs no stranger", "1 worker, 1 spare, a stranger is queued",
          1);
SCENARIOS(join_two, join_in_task, "both halves have ended, once, when the join returns", "2 workers, 1 join", 2);
SCENARIOS(join_nested, join_in_join, "both halves have ended, once, when a join returns", "2 workers, a join in a join",
          2);
SCENARIOS(join_covered, join_under_another, "both halves have ended, once, when the join returns",
          "2 workers, 1 join, a task above its entry", 2);
SCENARIO(join_raise_rest, join_left_by_raise, "a raise waits for the other half", "2 workers, 1 join; at rest", 2,
         VIGIL_FENCE_MEMBARRIER, AT_REST, BY_CHANCE);
SCENARIO(join_raise_stop, join_left_by_raise, "a raise waits for the other half", "2 workers, 1 join; graceful stop", 2,
         VIGIL_FENCE_MEMBARRIER, STOP_GRACEFUL, BY_CHANCE);
SCENARIOS(join_outside, join_outside, "both halves have ended, once, when the join returns",
          "1 worker, no worker joins", 1);
SCENARIOS(group_outside, wait_outside, JOINED, "2 workers, 2 tasks, the waiter is no worker", 2);
SCENARIOS(group_outside_time, wait_outside_in_time, JOINED,
          "1 worker, 1 task, the waiter is no worker and may give up twice", 1, .opt.early_timeouts = 2);
SCENARIOS(group_submit, submit_to_group, JOINED, "1 worker, a task submits to its group", 1);
SCENARIOS(group_submit_2, submit_to_group, JOINED, "2 workers, a task submits to its group", 2);
SCENARIOS(group_submit_both, submit_two_to_group, JOINED, "2 workers, a task submits two to its group and helps", 2);
