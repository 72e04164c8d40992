/* SPDX-License-Identifier: MIT */
/*
 * patience.h - how long a wait for a message spins.
 *
 * Two threads that answer each other go on without sleeping as long as each of them is awake when the other's message
 * comes. Once one sleeps, its wake lasts longer than the other's short spin, so that one sleeps too, and so on. So a
 * wait spins for as long as a sleep and a wake would cost. If that did not pay, the next waits of the side skip it: 1,
 * 3, 7, ... 63 of them, until one pays. Low half of `doubt`: how many to skip; high half: how often in a row it did
 * not. All relaxed: a guess.
 */
#ifndef VG_SHARE_PATIENCE_H
#define VG_SHARE_PATIENCE_H

#include "base/clock.h"
#include "channel.h"

enum {
#ifdef VIGIL_CHECK
    CHANNEL_PATIENCE_NS = 0,
#else
    CHANNEL_PATIENCE_NS = 12000, /* about what a sleep and its wake cost both sides */
#endif
    CHANNEL_DOUBT_SHIFT = 16,
    CHANNEL_DOUBT_MOST = 6
};

static inline bool side_is_patient(vg_channel_side *side)
{
    if (CHANNEL_PATIENCE_NS == 0)
        return false;
    const uint32_t doubt = atomic_load_explicit(&side->doubt, memory_order_relaxed);
    if ((doubt & ((1U << CHANNEL_DOUBT_SHIFT) - 1)) == 0)
        return true;
    atomic_store_explicit(&side->doubt, doubt - 1, memory_order_relaxed);
    return false;
}

static inline void side_was_patient(vg_channel_side *side, bool it_paid)
{
    const uint32_t doubt = atomic_load_explicit(&side->doubt, memory_order_relaxed);
    uint32_t times = doubt >> CHANNEL_DOUBT_SHIFT;
    if (it_paid && doubt == 0)
        return; /* the usual case writes nothing */
    times = it_paid ? 0 : times < CHANNEL_DOUBT_MOST ? times + 1 : times;
    atomic_store_explicit(&side->doubt, times << CHANNEL_DOUBT_SHIFT | ((1U << times) - 1), memory_order_relaxed);
}

/* Until when a wait may spin. */
static inline uint64_t patient_until(uint64_t deadline_ns)
{
    const uint64_t until = vg_now_ns() + CHANNEL_PATIENCE_NS;
    return until < deadline_ns ? until : deadline_ns;
}

/* Between two looks; every eighth time others get the processor. */
static inline void patient_pause(unsigned turn)
{
    if (turn % 8 == 7) {
        vg_thread_yield();
        return;
    }
    for (unsigned i = 0; i < 4; i++)
        vg_spin_pause();
}

#endif
