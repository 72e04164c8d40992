/* SPDX-License-Identifier: MIT */
/*
 * batch.h - short runs are noted together, because reading the clock costs a third of an empty task. About
 * VG_BATCH_SPAN passes between two looks. A long run is told from the short ones by what those usually take.
 */
#ifndef VG_RECORD_BATCH_H
#define VG_RECORD_BATCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VG_BATCH_SPAN = 8192,      /* ticks: about 3 us */
    VG_BATCH_MOST = 32,        /* tasks */
    VG_BATCH_MOST_CALLS = 256, /* callbacks of a loop: an empty one takes a tenth of an empty task */
};

typedef struct vg_batch_share {
    uint64_t long_run; /* ticks of the one long run */
    bool has_long;
    unsigned short_runs; /* how many others there are, `usual` ticks each */
} vg_batch_share;

/* `count` runs took `took` ticks. *usual is kept between calls. */
static inline vg_batch_share vg_batch_divide(uint64_t took, unsigned count, uint64_t *usual)
{
    if (count == 1 || took < UINT64_C(2) * VG_BATCH_SPAN) {
        *usual = count == 1 ? took : (uint32_t)took / count; /* half the price of a division of 64 bits */
        return (vg_batch_share){.short_runs = count};
    }
    const uint64_t others = *usual * (count - 1);
    return (vg_batch_share){.long_run = took > others ? took - others : 0, .has_long = true, .short_runs = count - 1};
}

/* How many runs pass before the next look, at most `most`. may_grow: the batch was full. */
static inline unsigned vg_batch_next(unsigned interval, unsigned most, uint64_t took, bool may_grow)
{
    if (took >= UINT64_C(2) * VG_BATCH_SPAN)
        return 1;
    if (took > VG_BATCH_SPAN && interval > 1)
        return interval / 2;
    if (took < VG_BATCH_SPAN / 2 && may_grow && interval < most) {
        const unsigned next =
            took < VG_BATCH_SPAN / 16 ? interval * 8 : interval * 2; /* a note costs seven short calls */
        return next < most ? next : most;
    }
    return interval;
}

#endif
