/* SPDX-License-Identifier: MIT */
/*
 * call.h - a function and an argument, as a task.
 */
#ifndef VG_POOL_CALL_H
#define VG_POOL_CALL_H

#include <vigil/pool.h>

#include <stddef.h>

size_t vg_pool_call_size(void);
void *vg_pool_call_function(const vigil_task *task);

/* Instead of the task's cancel, which holds the function. */
void vg_pool_call_cancel(vigil_pool *pool, vigil_task *task);

/* vigil_pool_call without a place of max_queue: it never waits for room. 0; -ENOMEM; -ESHUTDOWN */
int vg_pool_call_beyond(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg), void *arg, unsigned class_);

#endif
