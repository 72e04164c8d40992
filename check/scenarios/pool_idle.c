/* SPDX-License-Identifier: MIT */
/*
 * The promise of IDLE.md through the pool's own interface: no task stays queued beside a parked worker, even if every
 * running task waits for a queued one. Workers, submitters and tasks that depend on each other; each in both fence modes,
 * at rest and against both kinds of stop.
 */
#include "pool_common.h"

static void one_task(void)
{
    pool_make();
    submit(0);
    finish();
}

/* Task 0 waits for task 1, which is submitted after it: the second wake must not be lost in the first. */
static void first_waits_for_second(void)
{
    pool_make();
    counted_make(0)->waits_for = &gates[1];
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

static void *submit_second(void *arg)
{
    (void)arg;
    counted_make(1)->opens = &gates[1];
    submit_made(1, VIGIL_NORMAL);
    if (atomic_load_explicit(&tasks[1].refused, memory_order_relaxed) != 0)
        gate_open(&gates[1]);
    return NULL;
}

static void two_submitters(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_second, NULL);
    counted_make(0)->waits_for = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    (void)finish_with(&other); /* a stop comes while the other may still submit */
}

/* Task 0 spawns task 1 and then waits at a gate that only task 1 opens: the spawn itself must bring a thief. */
static int spawn_and_wait(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    counted_make(1)->opens = &gates[1];
    vgc_assert(vigil_group_spawn(&group, &tasks[1].task) == 0, "a spawn is taken");
    gate_wait(&gates[1]);
    (void)vigil_group_wait(&group);
    return 0;
}

static void spawner_waits_for_thief(void)
{
    pool_make();
    counted_make(0)->body = spawn_and_wait;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* The same while the other worker has just ended a task and is about to park: the spawner saw everybody busy. */
static void spawner_beside_a_busy_worker(void)
{
    pool_make();
    (void)counted_make(2);
    counted_make(0)->body = spawn_and_wait;
    submit_made(2, VIGIL_NORMAL);
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Three tasks that must all run at once. With three workers each finds one, whoever wakes whom. */
static void chain_of_three(void)
{
    pool_make();
    for (int i = 0; i < 3; i++) {
        counted *one = counted_make(i);
        one->waits_for = i < 2 ? &gates[i + 1] : NULL;
        one->opens = &gates[i];
    }
    for (int i = 0; i < 3; i++)
        submit_made(i, VIGIL_NORMAL);
    finish();
}

static int spawn_two_and_wait(counted *self)
{
    vigil_group group;
    (void)self;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    counted *second = counted_make(1);
    second->waits_for = &gates[2];
    second->opens = &gates[1];
    counted_make(2)->opens = &gates[2];
    vgc_assert(vigil_group_spawn(&group, &second->task) == 0, "a spawn is taken");
    vgc_assert(vigil_group_spawn(&group, &tasks[2].task) == 0, "a spawn is taken");
    gate_wait(&gates[1]);
    (void)vigil_group_wait(&group);
    return 0;
}

/* The same by spawns: the first thief must bring the second. */
static void spawner_waits_for_two_thieves(void)
{
    pool_make();
    counted_make(0)->body = spawn_two_and_wait;
    submit_made(0, VIGIL_NORMAL);
    finish();
}

/* Two spawners at once that both wait: four tasks, four workers, and the searchers get in each other's way. */
static int spawn_third_and_wait(counted *self)
{
    const int child = number_of(self) + 2;
    vigil_group group;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0, "a group is made");
    counted_make(child)->opens = &gates[child];
    vgc_assert(vigil_group_spawn(&group, &tasks[child].task) == 0, "a spawn is taken");
    gate_wait(&gates[child]);
    (void)vigil_group_wait(&group);
    return 0;
}

static void two_spawners(void)
{
    pool_make();
    for (int i = 0; i < 2; i++)
        counted_make(i)->body = spawn_third_and_wait;
    for (int i = 0; i < 2; i++)
        submit_made(i, VIGIL_NORMAL);
    finish();
}

/* Two classes: the low task must not be overlooked because the high one kept everybody busy. */
static void two_classes(void)
{
    pool_make();
    counted_make(0)->waits_for = &gates[1];
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_HIGH);
    submit_made(1, VIGIL_LOW);
    finish();
}

#define CONSERVED "no task stays queued beside a parked worker; each runs exactly once"

SCENARIOS(idle_1x1, one_task, CONSERVED, "1 worker, 1 submitter, 1 task", 1);
SCENARIOS(idle_2x1, one_task, CONSERVED, "2 workers, 1 submitter, 1 task", 2);
SCENARIOS(idle_2x2, first_waits_for_second, CONSERVED, "2 workers, 1 submitter, 2 tasks, one waits for the other", 2);
SCENARIOS(idle_2x2_submitters, two_submitters, CONSERVED, "2 workers, 2 submitters, 2 dependent tasks", 2);
SCENARIOS(idle_2_spawn, spawner_waits_for_thief, CONSERVED, "2 workers, a task spawns and waits for the other", 2);
WATCHED(idle_2_spawn, spawner_waits_for_thief, CONSERVED, "2 workers, a task spawns and waits for the other", 2);
SCENARIOS(idle_2_busy, spawner_beside_a_busy_worker, CONSERVED,
          "2 workers, one ends a task while the other spawns and waits", 2);
SCENARIOS(idle_2_classes, two_classes, CONSERVED, "2 workers, 2 dependent tasks of two classes", 2);
SCENARIOS(idle_3x3, chain_of_three, CONSERVED, "3 workers, 1 submitter, 3 tasks that must run at once", 3);
SCENARIOS(idle_3_spawn, spawner_waits_for_two_thieves, CONSERVED, "3 workers, a task spawns two and waits for both", 3);
SCENARIOS(idle_4_spawn, two_spawners, CONSERVED, "4 workers, 2 tasks that each spawn and wait for one", 4);

SCENARIO(idle_audit, first_waits_for_second, "at rest the audit finds every task", "2 workers, 2 dependent tasks", 2,
         VIGIL_FENCE_MEMBARRIER, AUDIT, BY_CHANCE);
SCENARIO(idle_audit_spawn, spawner_waits_for_thief, "at rest the audit finds every task",
         "2 workers, a task spawns and waits for the other", 2, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE);
