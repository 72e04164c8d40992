/* SPDX-License-Identifier: MIT */
/*
 * wait.h - a thread records a wait or a change of state.
 */
#ifndef VG_RECORD_WAIT_H
#define VG_RECORD_WAIT_H

#include "format_wait.h"

/* Begin and end of a wait of the calling thread, in its worker or its ring. */
static inline void vg_wait_begin(vg_file_wait *wait, vg_wait_kind kind, uint64_t on, uint64_t where, uint64_t now)
{
    vg_change_begin(&wait->writes);
    vg_cell_set(&wait->on, on);
    vg_cell_set(&wait->where, where);
    vg_cell_set(&wait->since, now);
    vg_cell_set(&wait->kind, kind);
    vg_change_end(&wait->writes);
}

/* relaxed, without a change count: either way the copy was true a moment ago */
static inline void vg_wait_end(vg_file_wait *wait)
{
    vg_cell_set(&wait->kind, VG_WAIT_NONE);
}

/* The owner's state has changed. */
static inline void vg_history_put(vg_file_change *history, vg_cell *changes, uint64_t state, uint64_t now)
{
    const uint64_t n = atomic_load_explicit(changes, memory_order_relaxed);
    vg_file_change *change = &history[n % VG_FILE_HISTORY];
    /* release: a reader of either word below sees at least n, and discards what lay here; pairs with its second
       fence (reader_snapshot.c, pool/stats.c) */
    atomic_thread_fence(memory_order_release);
    vg_cell_set(&change->since, now);
    vg_cell_set(&change->state, state);
    /* release: the change before the count; pairs with its first fence */
    atomic_store_explicit(changes, n + 1, memory_order_release);
}

#endif
