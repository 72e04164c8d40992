/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_TIMER_SORT_H
#define VG_LOOP_TIMER_SORT_H

#include "timers.h"

/* Throw the dead out of the heap: O(size). */
void vg_timers_sweep(vg_timers *timers);

/* Move the deadlines of all timers with the flag, by so much: O(size). Those of the batch are due and stay. */
void vg_timers_shift(vg_timers *timers, unsigned flag, int64_t by);

/* Sort by key, then number, in O(n), in place; `spare` has room for as many. */
void vg_timer_sort(vg_heap_entry *entries, vg_heap_entry *spare, size_t count);

/* Move every due entry out of the heap into `to`, in any order: O(size). Returns how many. */
size_t vg_timer_extract(vg_heap *heap, uint64_t now, vg_heap_entry *to);

#endif
