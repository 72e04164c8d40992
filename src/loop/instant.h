/* SPDX-License-Identifier: MIT */
/*
 * instant.h - the time of this instant, for the price of a counter. Late by a microsecond at most, never early:
 * TIMERS.md.
 */
#ifndef VG_LOOP_INSTANT_H
#define VG_LOOP_INSTANT_H

#include "base/clock.h"

typedef struct vg_instant_clock {
    vg_tick_base base;    /* when the loop was made */
    uint64_t ticks;       /* at the last reading of the clock */
    uint64_t ns;          /* what it said, and the margin */
    uint64_t horizon;     /* ticks for which that is good; 0: not measured yet */
    uint64_t length;      /* of a tick, ns * 2^32 */
    uint64_t measured_at; /* ns: measure again when the loop is twice as old */
} vg_instant_clock;

void vg_instant_init(vg_instant_clock *instant, vg_tick_base base);

/* Read the clock. */
uint64_t vg_instant_read(vg_instant_clock *instant);

static inline uint64_t vg_instant_now(vg_instant_clock *instant)
{
    uint64_t passed = vg_ticks() - instant->ticks;
    if (passed >= instant->horizon)
        return vg_instant_read(instant);
    return instant->ns + (passed * instant->length >> 32);
}

#endif
