/* SPDX-License-Identifier: MIT */
/*
 * inherit.c - a queued job inherits the class of a waiter that cannot run it. A waiter of the same pool runs the job
 * itself; one of another pool submits a call of its own class that runs the job, wherever that is queued. If the job
 * has begun by then, the call does nothing. It takes no place of max_queue: the waiter must not wait for room.
 */
#include "inherit.h"

#include "call.h"
#include "job.h"
#include "job_struct.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct inheritance {
    vigil_pool *pool;
    vg_job *job; /* referenced */
} inheritance;

static void inheritance_end(void *arg)
{
    inheritance *it = arg;
    (void)vg_handles_release(&it->pool->jobs, it->job);
    free(it);
}

static int inheritance_run(void *arg)
{
    const inheritance *it = arg;
    (void)vg_job_run_here(vg_current_worker, it->job);
    inheritance_end(arg);
    return 0;
}

void vg_job_inherit(vigil_pool *pool, vg_job *job)
{
    const unsigned mine = vg_current_worker->queue->class_;
    if (mine >= job->task.vg_class || !vg_job_may_be_run(job))
        return;
    inheritance *it = malloc(sizeof *it);
    if (it == NULL)
        return;
    it->pool = pool;
    it->job = vg_handles_acquire(&pool->jobs, vg_handles_name(job)); /* held by the caller: not stale */
    if (vg_pool_call_beyond(pool, inheritance_run, inheritance_end, it, mine) != 0)
        inheritance_end(it);
}
