/* SPDX-License-Identifier: MIT */
/*
 * group_word.h - vg_open of a group: bits 48-63 who waits (seat + 1, or VG_GROUP_OUTSIDE), bit 47 vg_members has been
 * used, bit 46 cancelled, bits 0-45 the count, biased by VG_GROUP_COUNT_ZERO.
 */
#ifndef VG_POOL_GROUP_WORD_H
#define VG_POOL_GROUP_WORD_H

#include "group.h"

#define VG_GROUP_COUNT_MASK   ((UINT64_C(1) << 46) - 1)
#define VG_GROUP_MEMBERS      (UINT64_C(1) << 47)
#define VG_GROUP_WAITER_SHIFT 48
#define VG_GROUP_OUTSIDE      UINT64_C(0xffff)

/* Have all tasks ended? For the owner or the waiter. */
static inline bool vg_group_all_done(vigil_group *group)
{
    /* G2 acquire: pairs with G1 of every task, through the chain of read-modify-writes */
    uint64_t open = atomic_load_explicit(&group->vg_open, memory_order_acquire);
    return (int64_t)((open & VG_GROUP_COUNT_MASK) - VG_GROUP_COUNT_ZERO) + group->vg_local == 0;
}

/* `waiter` is about to sleep; from here on only vg_open counts. */
static inline void vg_group_register(vigil_group *group, uint64_t waiter)
{
    int64_t local = group->vg_local;
    group->vg_local = 0;
    /* relaxed: the last decrement reads the waiter from the same word */
    (void)atomic_fetch_add_explicit(&group->vg_open, (uint64_t)local + (waiter << VG_GROUP_WAITER_SHIFT),
                                    memory_order_relaxed);
}

static inline uint64_t vg_group_unregister(vigil_group *group, uint64_t waiter)
{
    return atomic_fetch_sub_explicit(&group->vg_open, waiter << VG_GROUP_WAITER_SHIFT, memory_order_relaxed);
}

#endif
