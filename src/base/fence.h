/* SPDX-License-Identifier: MIT */
/*
 * fence.h - the asymmetric pair of full fences.
 *
 * Where one side of a store-load pair runs often and the other seldom, the often side can do with a compiler barrier if
 * the seldom side makes every running thread of the process pass a full fence (membarrier(2), private expedited). The
 * pair then has the same meaning as two seq_cst fences:
 *
 *     often:   store X;  vg_fence_light();  load Y
 *     seldom:  store Y;  vg_fence_heavy();  load X      at least one of them sees the other's store
 *
 * Where the kernel has no membarrier, or it is told not to use it, both are seq_cst fences. Both modes are explored by
 * the checker. The mode is chosen once, before any thread that uses it is started, and never changes.
 */
#ifndef VG_BASE_FENCE_H
#define VG_BASE_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum vg_fence_mode {
    VG_FENCE_SYMMETRIC = 0,
    VG_FENCE_MEMBARRIER = 1,
} vg_fence_mode;

/* Register this process for membarrier; -ENOSYS where it cannot be had. Any thread, any number of times. */
int vg_fence_register(void);

/* The system call itself; only in membarrier mode. */
void vg_fence_membarrier(void);

static inline void vg_fence_light(vg_fence_mode mode)
{
    if (__builtin_expect(mode == VG_FENCE_SYMMETRIC, 0))
        atomic_thread_fence(memory_order_seq_cst); /* full fence: the caller names its partner */
    else
        atomic_signal_fence(memory_order_seq_cst); /* compiler barrier; the partner's membarrier does the rest */
}

static inline void vg_fence_heavy(vg_fence_mode mode)
{
    if (mode == VG_FENCE_SYMMETRIC)
        atomic_thread_fence(memory_order_seq_cst); /* full fence: the caller names its partner */
    else
        vg_fence_membarrier();
}

#endif
