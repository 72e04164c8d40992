/* SPDX-License-Identifier: MIT */
/*
 * delay.h - tasks that become ready later.
 */
#ifndef VG_POOL_DELAY_H
#define VG_POOL_DELAY_H

#include "pool_struct.h"

int vg_delay_add(vigil_pool *pool, vigil_task *task, int64_t delay_ns);
void vg_delay_close(vigil_pool *pool);      /* no more; tasks in the heap stay until they are due */
void vg_delay_cancel_all(vigil_pool *pool); /* discard all */
void vg_delay_stop(vigil_pool *pool);       /* end the thread; the heap may hold only husks */
void vg_delay_free(vigil_pool *pool);       /* without the thread, after fork */

#endif
