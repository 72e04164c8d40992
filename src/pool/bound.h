/* SPDX-License-Identifier: MIT */
/*
 * bound.h - max_queue: a bound on queued tasks.
 */
#ifndef VG_POOL_BOUND_H
#define VG_POOL_BOUND_H

#include "base/futex.h"
#include "pool_struct.h"

/* Take places for `count` tasks. Waits if the pool says so. 0; -EAGAIN; -ETIMEDOUT; -ESHUTDOWN */
int vg_bound_wait(vigil_pool *pool, uint64_t count, uint64_t deadline_ns);
static inline int vg_bound_take(vigil_pool *pool, uint64_t count)
{
    return pool->max_queue == 0 ? 0 : vg_bound_wait(pool, count, VG_NO_DEADLINE);
}
void vg_bound_give_back(vigil_pool *pool, uint64_t count);
void vg_room_release(vigil_pool *pool); /* a counted task has left its queue */
void vg_room_signal(vigil_pool *pool);  /* there may be room */
void vg_room_close(vigil_pool *pool);   /* the pool closes */

#endif
