/* SPDX-License-Identifier: MIT */
/*
 * adopt.h - static data of one process, set up by the first thread that comes, and again in the child of a fork.
 *
 *     uint32_t before;
 *     if (vg_adopt_begin(&owner, &before)) {
 *         ... set up: nobody else is here ...
 *         vg_adopt_end(&owner);
 *     }
 *
 * The word is the number of the owner (lineage.h), 0 before the first, with the top bit during the setup. A fork may
 * come during the setup: the child then finds its parent's number and begins again.
 */
#ifndef VG_BASE_ADOPT_H
#define VG_BASE_ADOPT_H

#include "futex.h"
#include "lineage.h"

#include <stdbool.h>

#define VG_ADOPTING (UINT32_C(1) << 31) /* no process has a number that large */

/* True: set up, then call vg_adopt_end; *before: 0, or the number of another process. False: it is done. */
static inline bool vg_adopt_begin(_Atomic uint32_t *owner, uint32_t *before)
{
    const uint32_t self = vg_lineage();
    for (;;) {
        /* acquire: what was set up; pairs with the release in vg_adopt_end */
        uint32_t seen = atomic_load_explicit(owner, memory_order_acquire);
        if (seen == self)
            return false;
        if (seen == (self | VG_ADOPTING)) {
            /* Another thread sets up. Yield: it may be unable to run while we spin. */
            (void)vg_futex_wait(owner, seen, VG_NO_DEADLINE);
            continue;
        }
        *before = seen;
        /* relaxed: the winner shares nothing with threads before it */
        if (atomic_compare_exchange_strong_explicit(owner, &seen, self | VG_ADOPTING, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
    }
}

static inline void vg_adopt_end(_Atomic uint32_t *owner)
{
    /* release: set up before it is ours; pairs with the acquire in vg_adopt_begin */
    atomic_store_explicit(owner, vg_lineage(), memory_order_release);
    (void)vg_futex_wake(owner, VG_WAKE_ALL);
}

#endif
