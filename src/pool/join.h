/* SPDX-License-Identifier: MIT */
/*
 * join.h - a join whose second half leaves the deque by another way than the join's own. README.md, "File by file".
 */
#ifndef VG_POOL_JOIN_H
#define VG_POOL_JOIN_H

#include "pool_struct.h"

#ifdef VIGIL_CHECK
#define VG_JOINS_COUNTED 2
#else
#define VG_JOINS_COUNTED 4096U /* joins that are counted together */
#endif

void vg_join_queue_init(vg_own_queue *queue, vg_worker *worker);
void vg_joins_count(vg_own_queue *queue); /* those that are not counted yet; the owner */

/* The entry has left the deque `from`: see vg_task_from. */
vigil_task *vg_join_taken(vigil_pool *pool, vg_worker *taker, vg_deque *from, vigil_task *entry);

#endif
