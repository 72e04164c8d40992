/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include "futex.h"

#include <time.h>

uint64_t vg_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock exists and the pointer is good */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t vg_deadline_after(int64_t timeout_ns)
{
    if (timeout_ns < 0)
        return VG_NO_DEADLINE;
    uint64_t now = vg_now_ns();
    uint64_t deadline = now + (uint64_t)timeout_ns;
    return deadline < now ? VG_NO_DEADLINE : deadline;
}

enum {
    CLOSE_TICKS = 1000 /* less than a microsecond where a tick is a cycle */
};

vg_tick_base vg_tick_base_now(void)
{
    vg_tick_base base = {.ticks = vg_ticks(), .ns = vg_now_ns()};
#ifndef VIGIL_CHECK
    /* A thread that loses its core between the two makes every later length wrong: take the closest pair of some. */
    uint64_t gap = vg_ticks() - base.ticks;
    for (int i = 0; i < 4 && gap > CLOSE_TICKS; i++) {
        const vg_tick_base again = {.ticks = vg_ticks(), .ns = vg_now_ns()};
        const uint64_t between = vg_ticks() - again.ticks;
        if (between < gap) {
            base = again;
            gap = between;
        }
    }
#endif
    return base;
}

double vg_tick_length(vg_tick_base base)
{
    vg_tick_base now = vg_tick_base_now();
    uint64_t ticks = now.ticks - base.ticks;
    uint64_t ns = now.ns - base.ns;
    if (ticks == 0)
        return 1.0;
    return (double)ns / (double)ticks;
}
