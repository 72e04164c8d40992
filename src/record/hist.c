/* SPDX-License-Identifier: MIT */
#include "hist.h"

void vg_hist_put_shared(vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    (void)atomic_fetch_add_explicit(&hist->buckets[vg_hist_bucket(ticks)], times, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&hist->sum, ticks * times, memory_order_relaxed);
    uint64_t longest = atomic_load_explicit(&hist->longest, memory_order_relaxed);
    while (ticks > longest && !atomic_compare_exchange_weak_explicit(&hist->longest, &longest, ticks,
                                                                     memory_order_relaxed, memory_order_relaxed)) {
    }
}
