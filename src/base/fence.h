/* SPDX-License-Identifier: MIT */
/*
 * fence.h - the asymmetric pair of full fences (NOTES.md). The mode is chosen before any thread uses it, and never
 * changes.
 */
#ifndef VG_BASE_FENCE_H
#define VG_BASE_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

typedef enum vg_fence_mode {
    VG_FENCE_SYMMETRIC = 0,
    VG_FENCE_MEMBARRIER = 1,
} vg_fence_mode;

/* Register for membarrier; -ENOSYS if the kernel lacks it. Any thread, repeatable. */
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
