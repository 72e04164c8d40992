/* SPDX-License-Identifier: MIT */
/*
 * waits.h - what a worker waits for.
 */
#ifndef VG_POOL_WAITS_H
#define VG_POOL_WAITS_H

#include "record/facts.h"
#include "pool_struct.h"

/* Returns the number of the wait. */
uint64_t vg_wait_note_begin(vg_worker *worker, vg_wait_what what, const void *object, const void *function,
                            uint64_t deadline_ns, const void *word);
void vg_wait_note_owner(vg_worker *worker, const void *word); /* of the innermost wait */
void vg_wait_note_end(vg_worker *worker);

static inline bool vg_wait_rejected(const vg_worker *worker, uint64_t number)
{
    /* relaxed: the watchdog wakes the worker afterwards, which orders it */
    return atomic_load_explicit(&worker->seat.rejected, memory_order_relaxed) == number;
}

#endif
