/* SPDX-License-Identifier: MIT */
/*
 * inherit.h - queued work inherits the class of a waiter that cannot run it.
 */
#ifndef VG_POOL_INHERIT_H
#define VG_POOL_INHERIT_H

#include "pool_struct.h"

struct vg_job;

/* The caller, in a task of another pool, is about to wait for the job. Does not block; cannot fail: without memory, or
   in a pool that no longer accepts work, the job keeps its class. */
void vg_job_inherit(vigil_pool *pool, struct vg_job *job);

/* The same for the members of a group. Until they have run or been left to others the group has one task more. */
void vg_group_inherit(vigil_group *group);

#endif
