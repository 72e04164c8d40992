/* SPDX-License-Identifier: MIT */
/*
 * my_thread.h - the number of the calling thread, asked for once, and the locks that it holds (vigil_self).
 */
#ifndef VG_BASE_MY_THREAD_H
#define VG_BASE_MY_THREAD_H

#include <stdint.h>
#include <vigil/sync.h>

/* Ask the system once. A forked child keeps the number that its locks carry. */
__attribute__((cold)) uint32_t vg_my_thread_learn(void);

static inline uint32_t vg_my_thread(void)
{
    const uint32_t number = vigil_self.vg_number;
    return __builtin_expect(number != 0, 1) ? number : vg_my_thread_learn();
}

/* The calling thread holds one more lock, or one less. While a task holds any, its waits run only what they wait for: a
   stranger on top of its stack could want the same lock. A lock of an asynchronous reader is unlocked here and was not
   counted, so the count stops at 0. */
static inline void vg_locks_held(int change)
{
    if (change > 0 || vigil_self.vg_locks > 0)
        vigil_self.vg_locks = (uint32_t)((int)vigil_self.vg_locks + change);
}

#endif
