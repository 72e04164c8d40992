/* SPDX-License-Identifier: MIT */
/*
 * tally.h - counters of the loop. Each has one writer, the owner; anybody reads.
 */
#ifndef VG_LOOP_TALLY_H
#define VG_LOOP_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

static inline void vg_tally(_Atomic uint64_t *counter, uint64_t more)
{
    /* One writer: no read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

static inline uint64_t vg_tally_read(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* each counter stands alone */
}

#endif
