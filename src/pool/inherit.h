/* SPDX-License-Identifier: MIT */
/*
 * inherit.h - a queued job inherits the class of a waiter that cannot run it.
 */
#ifndef VG_POOL_INHERIT_H
#define VG_POOL_INHERIT_H

#include "pool_struct.h"

struct vg_job;

/* The caller, in a task of another pool, is about to wait for the job. Does not block; cannot fail: without memory, or
   in a pool that no longer accepts work, the job keeps its class. */
void vg_job_inherit(vigil_pool *pool, struct vg_job *job);

#endif
