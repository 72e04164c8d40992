/* SPDX-License-Identifier: MIT */
/*
 * spent.h - the ticks that a worker has spent in each state, so that a reader does not see them fall.
 *
 * Each state has the sum of its stays that are over. One word tells of the stay that lasts: its state, and when it
 * would have begun if that state had lasted for its sum and this stay without a break. A reader takes its clock first,
 * then that word, then the sums. So each time that it tells was true at a moment of the reading: of a stay that began
 * after the clock was read the sum is told, and one that ended since then is in the sum or lasts, but does not count
 * twice.
 *
 * What remains is the time between the writer's clock and its store: nanoseconds, unless it loses its CPU just there.
 */
#ifndef VG_RECORD_SPENT_H
#define VG_RECORD_SPENT_H

#include "cell.h"

enum {
    VG_SPENT_STATE = 60 /* bits below the state; ticks are counted without those above */
};
#define VG_SPENT_TICKS ((UINT64_C(1) << VG_SPENT_STATE) - 1)

/* Of `state`, from its sum and from what lasts; `now` was read before both. State 0 is not timed. */
static inline uint64_t vg_spent_in(unsigned state, uint64_t lasts, uint64_t sum, uint64_t now)
{
    if (state == 0 || lasts >> VG_SPENT_STATE != state)
        return sum;
    const uint64_t ticks = (now - lasts) & VG_SPENT_TICKS;
    return ticks > sum && ticks <= VG_SPENT_TICKS / 2 ? ticks : sum; /* else `now` is before its beginning */
}

/* One writer. */
static inline void vg_spent_change(vg_cell *lasts, vg_cell *sums, unsigned state, uint64_t now)
{
    const uint64_t word = atomic_load_explicit(lasts, memory_order_relaxed);
    const unsigned before = (unsigned)(word >> VG_SPENT_STATE);
    if (before != 0)
        vg_cell_set(&sums[before],
                    vg_spent_in(before, word, atomic_load_explicit(&sums[before], memory_order_relaxed), now));
    const uint64_t begin = now - atomic_load_explicit(&sums[state], memory_order_relaxed);
    /* release: the sum before the word that no longer counts its stay; pairs with vg_spent_lasts, and in the file with
       the order of the fields */
    atomic_store_explicit(lasts, state == 0 ? 0 : (uint64_t)state << VG_SPENT_STATE | (begin & VG_SPENT_TICKS),
                          memory_order_release);
}

static inline uint64_t vg_spent_lasts(const vg_cell *lasts)
{
    return atomic_load_explicit(lasts, memory_order_acquire); /* before the sums; pairs with vg_spent_change */
}

#endif
