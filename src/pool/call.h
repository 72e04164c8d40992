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

#endif
