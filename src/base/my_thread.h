/* SPDX-License-Identifier: MIT */
/*
 * my_thread.h - the number of the calling thread, asked for once.
 */
#ifndef VG_BASE_MY_THREAD_H
#define VG_BASE_MY_THREAD_H

#include <stdint.h>

extern _Thread_local uint32_t vg_my_thread_number; /* 0: not asked yet */

/* Ask the system once. A forked child keeps the number that its locks carry. */
__attribute__((cold)) uint32_t vg_my_thread_learn(void);

static inline uint32_t vg_my_thread(void)
{
    const uint32_t number = vg_my_thread_number;
    return __builtin_expect(number != 0, 1) ? number : vg_my_thread_learn();
}

#endif
