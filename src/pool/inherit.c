/* SPDX-License-Identifier: MIT */
/*
 * inherit.c - queued work inherits the class of a waiter that cannot run it. A waiter of the same pool runs the job or
 * the members of the group itself; one of another pool submits a call of its own class that runs them, wherever they
 * are queued. If they have begun by then, the call does nothing. It takes no place of max_queue: the waiter must not
 * wait for room. The call for a group is one of its tasks, so the group stays until the call is over.
 */
#include "inherit.h"

#include "call.h"
#include "job.h"
#include "group.h"
#include "job_struct.h"
#include "member.h"

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
    it->job = job;
    vg_handles_hold(job); /* as the caller does */
    if (vg_pool_call_beyond(pool, inheritance_run, inheritance_end, it, mine) != 0)
        inheritance_end(it);
}

typedef struct group_inheritance {
    vigil_pool *pool;
    vigil_group *group; /* counts this call */
} group_inheritance;

static void group_inheritance_end(void *arg)
{
    const group_inheritance it = *(group_inheritance *)arg;
    free(arg);
    vg_group_finish(it.pool, vg_worker_of(it.pool), it.group, 0); /* the last touch of the group */
}

static int group_inheritance_run(void *arg)
{
    const group_inheritance *it = arg;
    (void)vg_members_run(vg_current_worker, it->group);
    group_inheritance_end(arg);
    return 0;
}

void vg_group_inherit(vigil_group *group)
{
    const unsigned mine = vg_current_worker->queue->class_;
    /* The wait lasts until the call has run, so the call must overtake a member. */
    if (!vg_members_below(group, (int)mine))
        return;
    group_inheritance *it = malloc(sizeof *it);
    if (it == NULL)
        return;
    *it = (group_inheritance){.pool = group->vg_pool, .group = group};
    (void)vg_group_open(group, 0);
    if (vg_pool_call_beyond(it->pool, group_inheritance_run, group_inheritance_end, it, mine) != 0)
        group_inheritance_end(it);
}
