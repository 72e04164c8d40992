/* SPDX-License-Identifier: MIT */
/*
 * group.h - a group's fields. group.c explains vg_open.
 */
#ifndef VG_POOL_GROUP_H
#define VG_POOL_GROUP_H

#include "pool_struct.h"

#define VG_GROUP_CANCELLED (UINT64_C(1) << 46) /* in vg_open */

/* An empty group owned by the worker (NULL: by nobody), with `local` tasks that it is about to spawn. */
static inline void vg_group_prepare(vigil_group *group, vigil_pool *pool, vg_worker *worker, int64_t local)
{
    group->vg_pool = pool;
    group->vg_owner = worker;
    group->vg_parent = worker != NULL ? worker->group : NULL;
    group->vg_local = local;
    atomic_init(&group->vg_open, VG_GROUP_COUNT_ZERO);
    /* status, thief, flags, told at once and without atomics: nobody else has the group yet */
    memset((char *)group + offsetof(vigil_group, vg_status), 0, sizeof *group - offsetof(vigil_group, vg_status));
}

/* Tasks that have not begun are discarded. relaxed: see vigil_group_cancel */
static inline bool vg_group_is_cancelled(const vigil_group *group)
{
    return (atomic_load_explicit(&group->vg_open, memory_order_relaxed) & VG_GROUP_CANCELLED) != 0;
}

/* Count one more task; `amount` may carry VG_GROUP_MEMBERS. Any thread. Returns the word before. */
uint64_t vg_group_open(vigil_group *group, uint64_t amount);

bool vg_group_run_some(vg_worker *worker, vigil_group *group); /* steps 1 and 2 of a wait; false: nothing to run */
bool vg_group_is_over(vg_worker *worker, void *group);         /* for the one that waits and is registered */
void vg_group_finish(vigil_pool *pool, vg_worker *worker, vigil_group *group, int status);

#endif
