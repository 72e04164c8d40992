/* SPDX-License-Identifier: MIT */
/*
 * clock.h - two clocks. vg_now_ns is CLOCK_MONOTONIC, for deadlines. vg_ticks is the cheapest counter of the machine,
 * for stamps; its unit is found by comparing both over the life of an object (vg_tick_base).
 */
#ifndef VG_BASE_CLOCK_H
#define VG_BASE_CLOCK_H

#include <stdint.h>

uint64_t vg_now_ns(void);

/* now + timeout, saturating; VG_NO_DEADLINE for a negative timeout. */
uint64_t vg_deadline_after(int64_t timeout_ns);

#if defined(__x86_64__) && !defined(VIGIL_CHECK)
static inline uint64_t vg_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t vg_ticks(void)
{
    return vg_now_ns();
}
#endif

typedef struct vg_tick_base {
    uint64_t ticks;
    uint64_t ns;
} vg_tick_base;

vg_tick_base vg_tick_base_now(void);

/* Nanoseconds per tick, measured from `base` to now. */
double vg_tick_length(vg_tick_base base);

static inline uint64_t vg_ticks_to_ns(uint64_t ticks, double length)
{
    return (uint64_t)((double)ticks * length);
}

#endif
