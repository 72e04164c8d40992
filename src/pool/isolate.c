/* SPDX-License-Identifier: MIT */
/*
 * isolate.c - keep strangers off a stack, or let one on it. WAITING.md, step 3.
 */
#include "rule.h"
#include "worker.h"

#include "base/raise.h"

#include <errno.h>
#include <stddef.h>
#include <vigil/flow.h>

/* A raise leaves the section as well. */
static void isolated_by_raise(vg_raise_frame *frame)
{
    (void)frame;
    vg_locks_held(-1);
}

int vigil_isolate(int (*fn)(void *arg), void *arg)
{
    vg_worker *worker = vg_current_worker;
    if (fn == NULL)
        return VG_WHY_NULL("fn");
    if (worker == NULL || worker->depth == 0)
        return fn(arg);
    vg_raise_frame frame;
    vg_raise_push_on(worker->raise_top, &frame, isolated_by_raise);
    vg_locks_held(1); /* what a held lock means to waits is what is wanted */
    const int status = fn(arg);
    vg_locks_held(-1);
    *worker->raise_top = frame.outer;
    return status;
}

int vigil_task_yield(void)
{
    vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->depth == 0)
        return vg_why(-EPERM, "the caller is not inside a task");
    return vg_may_help(worker) && vg_worker_run_above(worker, worker->queue->class_);
}
