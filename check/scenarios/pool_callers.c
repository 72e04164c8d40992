/* SPDX-License-Identifier: MIT */
/*
 * Calls on every worker, threads from outside that work for a pool, and jobs and groups that inherit the class of a
 * waiter in another pool.
 */
#include "pool_common.h"

#include <stdlib.h>
#include <vigil/flow.h>

/* ---- broadcast ---- */

static _Atomic int on_worker[2];
static int wrote[2]; /* plainly, by each worker; read after the wait */
static vigil_job everywhere;

static int be_on_worker(void *arg, unsigned worker)
{
    (void)arg;
    vgc_assert(worker < 2, "it is a worker");
    vgc_assert(atomic_fetch_add_explicit(&on_worker[worker], 1, memory_order_relaxed) == 0, "once on each");
    wrote[worker] = 1;
    return 0;
}

static void *wait_for_everywhere(void *arg)
{
    (void)arg;
    int status = 1;
    vgc_assert(vigil_job_wait(pool, everywhere, VIGIL_FOREVER, &status) == 0, "the wait ends");
    vgc_assert(status == 0 || (status == -ECANCELED && the_setup()->end == STOP_NOW), "only a stop cancels");
    if (status == 0)
        vgc_assert(wrote[0] == 1 && wrote[1] == 1, "all effects are seen");
    return NULL;
}

static void broadcast_and_wait(void)
{
    pool_make();
    vgc_assert(vigil_pool_broadcast_call(pool, be_on_worker, NULL, VIGIL_NORMAL, &everywhere) == 0, "it is accepted");
    pthread_t other = vgc_thread_start(wait_for_everywhere, NULL);
    submit(0);
    (void)finish_with(&other);
    for (int i = 0; i < 2; i++)
        vgc_assert(the_setup()->end == STOP_NOW || atomic_load_explicit(&on_worker[i], memory_order_relaxed) == 1,
                   "each worker has made the call");
}

/* ---- guests ---- */

static int spawn_as_guest(void *arg)
{
    (void)arg;
    vigil_group group;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    for (int i = 1; i <= 2; i++) {
        (void)counted_make(i);
        vgc_assert(vigil_group_spawn(&group, &tasks[i].task) == 0, "a spawn is taken");
    }
    const int status = vigil_group_wait(&group);
    vgc_assert(status == 0 || (status == -ECANCELED && the_setup()->end == STOP_NOW), "only a stop cancels");
    vgc_assert(ran(1) + cancelled(1) == 1 && ran(2) + cancelled(2) == 1, "both have ended when the wait returns");
    return 0;
}

static void *be_a_guest(void *arg)
{
    (void)arg;
    const int error = vigil_pool_run(pool, spawn_as_guest, NULL, VIGIL_NORMAL);
    vgc_assert(error == 0 || error == -ESHUTDOWN || (error == -ECANCELED && the_setup()->end == STOP_NOW),
               "it ran, or the pool stops");
    return NULL;
}

static void guest_spawns(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(be_a_guest, NULL);
    submit(0);
    (void)finish_with(&other);
}

/* The pool goes while its last guest leaves: the end of the pool comes after the guest's last touch, and nothing but that tells of it. */
static int tell_of_guest(void *arg)
{
    (void)arg;
    gate_open(&gates[0]);
    return 0;
}

static void *be_a_short_guest(void *arg)
{
    (void)arg;
    vgc_assert(vigil_pool_run(pool, tell_of_guest, NULL, VIGIL_NORMAL) == 0, "the call is made");
    return NULL;
}

static void guest_leaves(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(be_a_short_guest, NULL);
    gate_wait(&gates[0]);
    vgc_assert(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "the pool stops");
    destroy();
    (void)vgc_thread_join(other);
}

/* The guest sleeps in a wait that helps, and a task is submitted beside it: somebody runs it. */
static vigil_group guest_group;

static int wait_as_guest(void *arg)
{
    (void)arg;
    return vigil_group_wait(&guest_group);
}

static void *be_a_waiting_guest(void *arg)
{
    (void)arg;
    const int error = vigil_pool_run(pool, wait_as_guest, NULL, VIGIL_NORMAL);
    vgc_assert(error == 0, "it ran");
    return NULL;
}

static void guest_helps(void)
{
    pool_make();
    vgc_assert(vigil_group_init(&guest_group, pool, VIGIL_GROUP_HELP_ANY) == 0, "a group is made");
    counted_make(1)->waits_for = &gates[2];
    counted_make(2)->opens = &gates[2];
    vgc_assert(vigil_group_submit(&guest_group, &tasks[1].task, VIGIL_NORMAL) == 0, "the task is accepted");
    pthread_t other = vgc_thread_start(be_a_waiting_guest, NULL);
    submit_made(2, VIGIL_NORMAL);
    (void)vgc_thread_join(other);
    finish();
}

/* ---- a waiter of another pool ---- */

static vigil_pool *second;
static vigil_job wanted;
static _Atomic int wanted_ran;

static int be_wanted(void *arg)
{
    (void)arg;
    vgc_assert(atomic_fetch_add_explicit(&wanted_ran, 1, memory_order_relaxed) == 0, "a job ran twice");
    return 0;
}

static int wait_in_first(counted *self)
{
    (void)self;
    vgc_assert(vigil_job_wait(second, wanted, VIGIL_FOREVER, NULL) == 0, "the wait ends");
    vgc_assert(atomic_load_explicit(&wanted_ran, memory_order_relaxed) == 1, "the job has run");
    return 0;
}

static void inherit_class(void)
{
    vigil_pool_options options = options_of(the_setup());
    pool_make();
    vgc_assert(vigil_pool_create(&second, &options) == 0, "the pool is made");
    vigil_job_options low = VIGIL_JOB_OPTIONS_INIT;
    low.priority = VIGIL_LOW;
    vgc_assert(vigil_job_call(second, be_wanted, NULL, &low, &wanted) == 0, "the job is accepted");
    counted_make(0)->body = wait_in_first;
    submit_made(0, VIGIL_HIGH);
    finish();
    if (the_setup()->end == AT_REST)
        return;
    vgc_assert(vigil_pool_shutdown(second, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_assert(atomic_load_explicit(&wanted_ran, memory_order_relaxed) == 1, "the job has run");
    vgc_assert(vigil_pool_destroy(second) == 0, "the pool goes");
}

/* The same with a group. It lies on the heap, so that a touch after the wait is seen. */
static vigil_task member;
static int member_wrote; /* plainly; read after the wait */

static int be_member(vigil_task *task)
{
    (void)task;
    vgc_assert(atomic_fetch_add_explicit(&wanted_ran, 1, memory_order_relaxed) == 0, "the member runs once");
    member_wrote = 1;
    return 0;
}

static int wait_for_group_in_first(counted *self)
{
    (void)self;
    vigil_group *group = malloc(sizeof *group);
    vgc_assert(group != NULL && vigil_group_init(group, second, 0) == 0, "a group is made");
    vgc_assert(vigil_group_submit(group, &member, VIGIL_LOW) == 0, "the member is accepted");
    vgc_assert(vigil_group_wait(group) == 0 && member_wrote == 1, "the wait ends after the member");
    free(group);
    return 0;
}

static void group_inherits_class(void)
{
    vigil_pool_options options = options_of(the_setup());
    pool_make();
    vgc_assert(vigil_pool_create(&second, &options) == 0, "the pool is made");
    vigil_task_init(&member, be_member, NULL);
    counted_make(0)->body = wait_for_group_in_first;
    submit_made(0, VIGIL_HIGH);
    finish();
    if (the_setup()->end == AT_REST)
        return;
    vgc_assert(vigil_pool_shutdown(second, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_assert(vigil_pool_destroy(second) == 0, "the pool goes");
}

/* A task of the first pool waits for a job of the second, which waits for a job or a group of the first. Each pool has one
   worker and no spare. */
static int be_leaf(vigil_task *task)
{
    (void)task;
    vgc_assert(atomic_fetch_add_explicit(&wanted_ran, 1, memory_order_relaxed) == 0, "the leaf runs once");
    return 0;
}

static int come_back(void *by_group)
{
    if (by_group == NULL) {
        vigil_job leaf;
        const int error = vigil_job_call(pool, be_wanted, NULL, NULL, &leaf);
        if (error == -ESHUTDOWN && the_setup()->end != AT_REST)
            return error;
        vgc_assert(error == 0, "the leaf is accepted");
        vgc_assert(vigil_job_wait(pool, leaf, VIGIL_FOREVER, NULL) == 0, "the wait for the leaf ends");
        vgc_assert(vigil_job_unref(pool, leaf) == 0, "the handle goes");
        return 0;
    }
    vigil_group *group = malloc(sizeof *group);
    vgc_assert(group != NULL && vigil_group_init(group, pool, 0) == 0, "a group is made");
    vigil_task_init(&member, be_leaf, NULL);
    vgc_assert(vigil_group_submit(group, &member, VIGIL_NORMAL) == 0, "the leaf is accepted");
    vgc_assert(vigil_group_wait(group) == 0, "the wait for the leaf ends");
    free(group);
    return 0;
}

static int go_there(counted *self)
{
    vgc_assert(vigil_job_call(second, come_back, self == &tasks[1] ? &member : NULL, NULL, &wanted) == 0,
               "the job is accepted");
    int status = 1;
    vgc_assert(vigil_job_wait(second, wanted, VIGIL_FOREVER, &status) == 0, "the wait ends");
    vgc_assert(status == -ESHUTDOWN || atomic_load_explicit(&wanted_ran, memory_order_relaxed) == 1,
               "the leaf has run, or was refused");
    return 0;
}

static void there_and_back(int number)
{
    vigil_pool_options options = options_of(the_setup());
    options.no_spares = true;
    pool_make_with(&options);
    vgc_assert(vigil_pool_create(&second, &options) == 0, "the pool is made");
    counted_make(number)->body = go_there;
    submit_made(number, VIGIL_NORMAL);
    finish();
    if (the_setup()->end == AT_REST)
        return;
    vgc_assert(vigil_pool_shutdown(second, VIGIL_FOREVER) == 0, "the pool stops");
    vgc_assert(vigil_pool_destroy(second) == 0, "the pool goes");
}

static void there_and_back_by_job(void)
{
    there_and_back(0);
}

static void there_and_back_by_group(void)
{
    there_and_back(1);
}

#define EVERYWHERE "each worker makes the call once, and the job ends after the last"
#define GUEST      "a thread from outside works as a worker does, and the end of the pool waits for it"
#define GROUP \
    "a member that a waiter of another pool has lifted runs once, and nothing touches the group after the wait"
#define BACK     "tasks of two pools without spares wait for each other, and every wait ends"
#define INHERITS "a job that a waiter of another pool has lifted runs once, and the wait returns"

SCENARIOS(broadcast_two, broadcast_and_wait, EVERYWHERE, "2 workers, 1 task", 2);
SCENARIOS(guest_spawns, guest_spawns, GUEST, "1 worker, 1 guest with 2 children, 1 task", 1);
SCENARIO(guest_audit, guest_spawns, GUEST, "1 worker, 1 guest with 2 children, 1 task; audit", 1, VIGIL_FENCE_SYMMETRIC,
         AUDIT, BY_CHANCE);
SCENARIO(guest_leaves, guest_leaves, "a pool goes after the last touch of its last guest",
         "1 worker, 1 guest; graceful stop", 1, VIGIL_FENCE_SYMMETRIC, STOP_GRACEFUL, BY_CHANCE_LONG);
SCENARIO(guest_helps, guest_helps, GUEST, "1 worker, a guest that helps; at rest", 1, VIGIL_FENCE_SYMMETRIC, AT_REST,
         BY_CHANCE_LONG);
SCENARIO(guest_helps_stop, guest_helps, GUEST, "1 worker, a guest that helps; graceful stop", 1, VIGIL_FENCE_MEMBARRIER,
         STOP_GRACEFUL, BY_CHANCE);
SCENARIOS(inherit_one, inherit_class, INHERITS, "2 pools of 1 worker, 1 job", 1);
SCENARIOS(inherit_group, group_inherits_class, GROUP, "2 pools of 1 worker, 1 member", 1);
SCENARIO(there_and_back, there_and_back_by_job, BACK, "2 pools of 1 worker without spares, 3 tasks; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
SCENARIO(there_and_back_stop, there_and_back_by_job, BACK,
         "2 pools of 1 worker without spares, 3 tasks; graceful stop; membarrier", 1, VIGIL_FENCE_MEMBARRIER,
         STOP_GRACEFUL, BY_CHANCE);
SCENARIO(there_and_back_group, there_and_back_by_group, BACK, "2 pools of 1 worker without spares, a group; at rest", 1,
         VIGIL_FENCE_SYMMETRIC, AT_REST, BY_CHANCE_LONG);
