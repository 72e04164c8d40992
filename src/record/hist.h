/* SPDX-License-Identifier: MIT */
/*
 * hist.h - adding to a histogram.
 */
#ifndef VG_RECORD_HIST_H
#define VG_RECORD_HIST_H

#include "format_hist.h"

/* Only the calling thread adds to this histogram. */
static inline void vg_hist_put(vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    vg_cell_add(&hist->buckets[vg_hist_bucket(ticks)], times);
    vg_cell_add(&hist->sum, ticks * times);
    if (ticks > atomic_load_explicit(&hist->longest, memory_order_relaxed))
        vg_cell_set(&hist->longest, ticks);
}

/* Others add to it at the same time. */
void vg_hist_put_shared(vg_file_hist *hist, uint64_t ticks, uint64_t times);

#endif
