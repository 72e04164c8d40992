/* SPDX-License-Identifier: MIT */
/*
 * group.h - a group's fields. group.c explains vg_open.
 */
#ifndef VG_POOL_GROUP_H
#define VG_POOL_GROUP_H

#include "pool_struct.h"

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

void vg_group_finish(vigil_pool *pool, vg_worker *worker, vigil_group *group, int status);

#endif
