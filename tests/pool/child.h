/* SPDX-License-Identifier: MIT */
/* A member of a group that can be told what to do, and a way to run a function inside a task. */
#ifndef VG_TEST_CHILD_H
#define VG_TEST_CHILD_H

#include "support.h"

/* Run one task to its end from outside. */
static inline void run_root(vigil_pool *pool, vigil_task *task)
{
    must_equal(vigil_pool_submit(pool, task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

struct child {
    vigil_task task;
    struct gate *gate;     /* pass it, if any */
    struct event *finish;  /* set it, if any */
    struct event *require; /* wait for it, if any */
    int status;
    int ran_on;
    _Atomic unsigned runs;
};

static inline int child_run(vigil_task *task)
{
    struct child *child = container_of(task, struct child, task);
    child->ran_on = vigil_pool_current_worker();
    if (child->gate != NULL)
        gate_pass(child->gate);
    if (child->require != NULL)
        event_wait(child->require);
    (void)atomic_fetch_add_explicit(&child->runs, 1, memory_order_relaxed);
    if (child->finish != NULL)
        event_set(child->finish);
    return child->status;
}

static inline void child_init(struct child *child)
{
    *child = (struct child){.ran_on = -1};
    vigil_task_init(&child->task, child_run, NULL);
}

struct inside {
    vigil_task task;
    vigil_pool *pool;
    void (*body)(vigil_pool *pool, void *arg);
    void *arg;
};

static inline int inside_run(vigil_task *task)
{
    struct inside *inside = container_of(task, struct inside, task);
    inside->body(inside->pool, inside->arg);
    return 0;
}

/* Run body inside a task of the pool. */
static inline void run_inside(vigil_pool *pool, void (*body)(vigil_pool *pool, void *arg), void *arg)
{
    struct inside inside = {.pool = pool, .body = body, .arg = arg};
    vigil_task_init(&inside.task, inside_run, NULL);
    run_root(pool, &inside.task);
}

static inline vigil_pool *pool_without_spares(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.no_spares = true;
    return pool_with(&options);
}

#endif
