/* SPDX-License-Identifier: MIT */
/*
 * adopt.h - static data that belongs to one process: whoever comes first sets it up, and again in the child of a fork.
 *
 *     uint32_t before;
 *     if (vg_adopt_begin(&owner, &before)) {
 *         ... set up: nobody else is here, and a lock may be held by a thread that has stayed behind ...
 *         vg_adopt_end(&owner);
 *     }
 *
 * The word is the number of the process whose data it is, 0 before the first; with the top bit while a thread of that process sets it
 * up. A fork may come in the middle of that: then the child finds its parent's number with the bit, and not its own, and begins again.
 */
#ifndef VG_BASE_ADOPT_H
#define VG_BASE_ADOPT_H

#include "futex.h"

#include <stdbool.h>
#include <unistd.h>

#define VG_ADOPTING (UINT32_C(1) << 31) /* no process has a number that large */

/* True: the caller sets up, and ends with vg_adopt_end. before: 0, or another process was here. False: it is done. */
static inline bool vg_adopt_begin(_Atomic uint32_t *owner, uint32_t *before)
{
    const uint32_t self = (uint32_t)getpid();
    for (;;) {
        /* acquire: what was set up; pairs with the release in vg_adopt_end */
        uint32_t seen = atomic_load_explicit(owner, memory_order_acquire);
        if (seen == self)
            return false;
        if (seen == (self | VG_ADOPTING)) {
            /* Another thread of ours is at it. Not in a loop: it may be one that cannot run as long as we do. */
            (void)vg_futex_wait(owner, seen, VG_NO_DEADLINE);
            continue;
        }
        *before = seen;
        /* relaxed: whoever gets the right to set up shares nothing with anybody before */
        if (atomic_compare_exchange_strong_explicit(owner, &seen, self | VG_ADOPTING, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
    }
}

static inline void vg_adopt_end(_Atomic uint32_t *owner)
{
    /* release: set up before it is ours; pairs with the acquire in vg_adopt_begin */
    atomic_store_explicit(owner, (uint32_t)getpid(), memory_order_release);
    (void)vg_futex_wake(owner, VG_WAKE_ALL);
}

#endif
