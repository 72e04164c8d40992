/* SPDX-License-Identifier: MIT */
/*
 * past.h - the last minute of a worker in the recorder, in steps of half a second (record/format_past.h): the ring of a
 * busy worker remembers only milliseconds.
 */
#ifndef VG_POOL_PAST_H
#define VG_POOL_PAST_H

#include "pool_struct.h"

void vg_past_begin(vg_worker *worker);              /* on its own thread, which has its ring */
void vg_past_step(vg_worker *worker, uint64_t now); /* a step is due */

/* Tasks of a class waited so long. */
static inline void vg_past_waited(vg_worker *worker, unsigned class_, uint64_t ticks, uint32_t times)
{
    const unsigned top = ticks > 1 ? 63U - (unsigned)__builtin_clzll(ticks) : 1;
    const unsigned half = 2 * top + (unsigned)(ticks >> (top - 1) & 1);
    worker->past.waits[class_][half < VG_PAST_WAITS ? half : VG_PAST_WAITS - 1] += times;
}

static inline void vg_past_look(vg_worker *worker, uint64_t now)
{
    if (__builtin_expect(now >= worker->past.next, 0))
        vg_past_step(worker, now);
}

#endif
