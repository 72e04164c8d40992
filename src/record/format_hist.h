/* SPDX-License-Identifier: MIT */
/*
 * format_hist.h - a histogram in the file.
 */
#ifndef VG_RECORD_FORMAT_HIST_H
#define VG_RECORD_FORMAT_HIST_H

#include "cell.h"
#include "format_base.h"

/*
 * Log-linear: below 16 ticks one bucket per value; above, 16 buckets per power of two. The middle of a bucket is off
 * by at most 1/32, up to 2^48 ticks (a day at 3 GHz), where values are cut.
 */
enum {
    VG_HIST_SUB_BITS = 4,
    VG_HIST_SUB = 1 << VG_HIST_SUB_BITS,
    VG_HIST_BUCKETS = (VG_HIST_TOP_BITS - VG_HIST_SUB_BITS + 1) * VG_HIST_SUB
};

typedef struct vg_file_hist {
    vg_cell sum; /* ticks */
    vg_cell longest;
    vg_cell buckets[VG_HIST_BUCKETS];
} vg_file_hist;

static inline unsigned vg_hist_bucket(uint64_t ticks)
{
    if (ticks < VG_HIST_SUB)
        return (unsigned)ticks;
    const unsigned top = 63U - (unsigned)__builtin_clzll(ticks);
    if (top >= VG_HIST_TOP_BITS)
        return VG_HIST_BUCKETS - 1;
    return ((top - VG_HIST_SUB_BITS + 1) << VG_HIST_SUB_BITS) +
           (unsigned)((ticks >> (top - VG_HIST_SUB_BITS)) & (VG_HIST_SUB - 1));
}

/* The least value of a bucket; of VG_HIST_BUCKETS: the end. */
static inline uint64_t vg_hist_floor(unsigned bucket)
{
    if (bucket < VG_HIST_SUB)
        return bucket;
    return (uint64_t)(VG_HIST_SUB + bucket % VG_HIST_SUB) << (bucket / VG_HIST_SUB - 1);
}

#endif
