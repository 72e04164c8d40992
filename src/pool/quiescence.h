/* SPDX-License-Identifier: MIT */
/*
 * quiescence.h - waiting until every accepted task has ended.
 */
#ifndef VG_POOL_QUIESCENCE_H
#define VG_POOL_QUIESCENCE_H

#include "pool_struct.h"

int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns); /* 0; -ETIMEDOUT */
void vg_quiescence_signal(vigil_pool *pool); /* after the caller's fence: signal wait_idle if the pool is idle */

/* Likewise after one task was discarded: O(1), amortised. */
void vg_quiescence_ended(vigil_pool *pool);

#endif
