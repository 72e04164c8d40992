/* SPDX-License-Identifier: MIT */
/*
 * bound.h - max_queue: a bound on queued tasks.
 */
#ifndef VG_POOL_BOUND_H
#define VG_POOL_BOUND_H

#include "pool_struct.h"

/* Take places for `count` tasks. Waits if the pool says so and the caller is not a worker. 0; -EAGAIN; -ESHUTDOWN */
int vg_bound_take(vigil_pool *pool, const vg_worker *worker, uint64_t count);
void vg_bound_give_back(vigil_pool *pool, uint64_t count);
void vg_room_release(vigil_pool *pool); /* a counted task has left its queue */
void vg_room_signal(vigil_pool *pool);  /* there is room, or the pool closes */

#endif
