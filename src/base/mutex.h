/* SPDX-License-Identifier: MIT */
/*
 * mutex.h - a small futex lock for cold paths: 0 free, 1 held, 2 held and somebody may sleep. Never held while a
 * callback runs.
 */
#ifndef VG_BASE_MUTEX_H
#define VG_BASE_MUTEX_H

#include "futex.h"

typedef struct vg_mutex {
    _Atomic uint32_t state;
} vg_mutex;

static inline void vg_mutex_init(vg_mutex *mutex)
{
    atomic_init(&mutex->state, 0U);
}

static inline void vg_mutex_lock(vg_mutex *mutex)
{
    uint32_t seen = 0;
    /* acquire: what the last holder wrote; pairs with the release in vg_mutex_unlock */
    if (atomic_compare_exchange_strong_explicit(&mutex->state, &seen, 1, memory_order_acquire, memory_order_relaxed))
        return;
    /* A sleeper takes the lock as 2: others may still sleep. acquire: as above. */
    while (atomic_exchange_explicit(&mutex->state, 2, memory_order_acquire) != 0)
        (void)vg_futex_wait(&mutex->state, 2, VG_NO_DEADLINE);
}

static inline void vg_mutex_unlock(vg_mutex *mutex)
{
    /* release: what we wrote; pairs with the acquires in vg_mutex_lock */
    if (atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2)
        (void)vg_futex_wake(&mutex->state, 1);
}

#endif
