/* SPDX-License-Identifier: MIT */
/*
 * urgent.h - the jobs and groups of a pool that workers of other pools wait for. WAITING.md, "Waits across pools".
 */
#ifndef VG_POOL_URGENT_H
#define VG_POOL_URGENT_H

#include "base/list.h"
#include "job_struct.h"
#include "pool_struct.h"

/* On the stack of the waiter, from begin to end. One of the two; the waiter holds a reference to the job, or is
   registered with the group. */
typedef struct vg_urgent {
    vg_list_link link; /* under urgent_lock */
    vg_job *job;
    vigil_group *group;
} vg_urgent;

void vg_urgent_begin(vigil_pool *pool, vg_urgent *it);
void vg_urgent_end(vigil_pool *pool, vg_urgent *it);

/* Something urgent can be begun: if no worker of the pool is free, call one that waits for another pool. */
void vg_urgent_call(vigil_pool *pool);

/* For such a worker, between these two: it can be called. */
void vg_urgent_sleeper_begin(vg_worker *worker);
void vg_urgent_sleeper_end(vg_worker *worker);

bool vg_urgent_visible(vigil_pool *pool); /* can something urgent be begun? */
void vg_urgent_run(vg_worker *worker);    /* run one urgent job, or the members of one group, if there is one */

#endif
