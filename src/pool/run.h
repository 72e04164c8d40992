/* SPDX-License-Identifier: MIT */
/*
 * run.h - a task that has left its queue.
 */
#ifndef VG_POOL_RUN_H
#define VG_POOL_RUN_H

#include "pool_struct.h"

void vg_run(vg_worker *worker, vigil_task *task);
void vg_mark_raised(void);                      /* the running task left by vigil_raise */
void *vg_task_function(const vigil_task *task); /* the user's function */
void vg_task_failed(vg_worker *worker, unsigned class_, int status, void *function); /* count and report */
void vg_run_claimed(vg_worker *worker, vigil_task *task);                            /* its job is already RUNNING */
void vg_run_awaited(vg_worker *worker,
                    vigil_task *task);               /* likewise, in the class of the running task if that is higher */
void vg_discard(vigil_pool *pool, vigil_task *task); /* any thread: cancel callback instead of a run */
void vg_discard_claimed(vigil_pool *pool, vigil_task *task);
bool vg_drop_husk(vigil_pool *pool, vigil_task *task); /* if it is a husk */

/* Must the claimed task be discarded instead of run? */
bool vg_must_discard(const vigil_pool *pool, const vigil_task *task);

/* A cancel callback on the calling thread's stack; its task has not ended. */
typedef struct vg_cancelling {
    const vigil_pool *pool;
    struct vg_cancelling *outer;
} vg_cancelling;

extern _Thread_local vg_cancelling *vg_cancelling_top;

/* Would the caller wait for itself in a wait for the pool? */
static inline bool vg_part_of(const vigil_pool *pool)
{
    for (const vg_cancelling *at = vg_cancelling_top; at != NULL; at = at->outer)
        if (at->pool == pool)
            return true;
    return vg_worker_of(pool) != NULL;
}

#endif
