/* SPDX-License-Identifier: MIT */
/*
 * submit.h - the ways into the pool.
 */
#ifndef VG_POOL_SUBMIT_H
#define VG_POOL_SUBMIT_H

#include "pool_struct.h"

int vg_submit_one(vigil_pool *pool, vigil_task *task, unsigned class_);    /* fields are set, the state is QUEUED */
int vg_submit_beyond(vigil_pool *pool, vigil_task *task, unsigned class_); /* likewise; takes no place of max_queue */
/* To one worker; `counted`: it takes a place of max_queue. Likewise. */
int vg_submit_mail(vigil_pool *pool, vg_seat *seat, vigil_task *task, unsigned class_, bool counted);
void vg_submit_due(vigil_pool *pool, vigil_task *task); /* a delayed task is due; already accepted */
/* Count the task as accepted, and let add(arg) keep it until vg_submit_due. An error of add withdraws it. */
int vg_submit_pending(vigil_pool *pool, vigil_task *task, unsigned class_, int (*add)(void *arg), void *arg);
int vg_submit_delayed(vigil_pool *pool, vigil_task *task, unsigned class_, int64_t delay_ns);

#endif
