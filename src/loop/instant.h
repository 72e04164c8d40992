/* SPDX-License-Identifier: MIT */
/*
 * instant.h - what time is it, for the price of a counter.
 *
 * A timer's delay counts from the instant of the call. Reading CLOCK_MONOTONIC for each costs 20 ns, and more than that: the read
 * waits for everything before it, so a program that re-arms many timers waits for each cache miss alone. The tick
 * counter (clock.h) costs half and waits for nothing.
 *
 * So the clock is read at most every VG_INSTANT_HORIZON of time, and in between ticks are added to that. The result may be late and
 * never early, which is what a deadline may be:
 *   - the counter is read before the clock, so that the pair is late by the time between;
 *   - the length of a tick is measured over the life of the loop and taken 1/1024 too long: late by 1 us at the horizon;
 *   - MARGIN covers what the processor may do out of order.
 * Until the loop has lived long enough for a good measurement, and wherever the counter makes no sense (it went back, or
 * jumped ahead), the clock itself is read.
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
