/* SPDX-License-Identifier: MIT */
/*
 * wait.h - a thread says what it waits for, or changes its state.
 */
#ifndef VG_RECORD_WAIT_H
#define VG_RECORD_WAIT_H

#include "format_wait.h"

/* The calling thread waits, and has waited. The first four are what it waits with, the worker's or its ring's. */
static inline void vg_wait_begin(vg_file_wait *wait, vg_wait_kind kind, uint64_t on, uint64_t where, uint64_t now)
{
    vg_change_begin(&wait->writes);
    vg_cell_set(&wait->on, on);
    vg_cell_set(&wait->where, where);
    vg_cell_set(&wait->since, now);
    vg_cell_set(&wait->kind, kind);
    vg_change_end(&wait->writes);
}

/* relaxed, and no change of its own: with this or without, what a reader has copied was true a moment ago */
static inline void vg_wait_end(vg_file_wait *wait)
{
    vg_cell_set(&wait->kind, VG_WAIT_NONE);
}

/* The owner's state has changed. */
static inline void vg_history_put(vg_file_change *history, vg_cell *changes, uint64_t state, uint64_t now)
{
    const uint64_t n = atomic_load_explicit(changes, memory_order_relaxed);
    vg_file_change *change = &history[n % VG_FILE_HISTORY];
    /* release: a reader that has copied any of the two words below sees at least n, and knows by it that what lay here is gone; pairs
       with its second fence (reader_snapshot.c, pool/stats.c) */
    atomic_thread_fence(memory_order_release);
    vg_cell_set(&change->since, now);
    vg_cell_set(&change->state, state);
    /* release: a reader that sees the count sees the change; pairs with its first fence */
    atomic_store_explicit(changes, n + 1, memory_order_release);
}

#endif
