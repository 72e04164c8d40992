/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.h - a worker waits for another pool.
 */
#ifndef VG_POOL_ELSEWHERE_H
#define VG_POOL_ELSEWHERE_H

#include "bell.h"
#include "job_struct.h"

/* The calling thread's worker if it is inside a task, else NULL. For a caller that is no worker of the pool. */
vg_worker *vg_worker_elsewhere(void);

/* 0 ended; -ETIMEDOUT; -EDEADLK the watchdog has ended the wait. */
int vg_job_wait_elsewhere(vg_worker *worker, vigil_pool *pool, vg_job *job, uint64_t deadline_ns, const void *where);
int vg_group_wait_elsewhere(vg_worker *worker, vigil_group *group, uint64_t deadline_ns); /* 0 ended; -ETIMEDOUT */

/* Register a thread outside with the group. true: all tasks have ended, and nobody will ring. */
bool vg_group_begin_outside(vigil_group *group, vg_bell *bell);
/* Leave again, after the ringing thread's last touch. `down` is what begin returned. true: all tasks have ended. */
bool vg_group_end_outside(vigil_group *group, bool down);

#endif
