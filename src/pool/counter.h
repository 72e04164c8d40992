/* SPDX-License-Identifier: MIT */
/*
 * counter.h - counters with one writer each; they are stored in the recorder (record/format.h).
 */
#ifndef VG_POOL_COUNTER_H
#define VG_POOL_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* Add to a counter that only the calling thread writes. Release: a reader of the new value sees everything counted
   before it; pairs with the acquire in vg_read_counter. */
static inline void vg_count_release(_Atomic uint64_t *counter, uint64_t amount)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + amount, memory_order_release);
}

#endif
