/* SPDX-License-Identifier: MIT */
/*
 * submit.h - the ways into the pool.
 */
#ifndef VG_POOL_SUBMIT_H
#define VG_POOL_SUBMIT_H

#include "pool_struct.h"

int vg_submit_one(vigil_pool *pool, vigil_task *task, unsigned class_); /* fields are set, the state is QUEUED */
void vg_submit_due(vigil_pool *pool, vigil_task *task);                 /* a delayed task is due; already accepted */
int vg_submit_delayed(vigil_pool *pool, vigil_task *task, unsigned class_, int64_t delay_ns);

#endif
