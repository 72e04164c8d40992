/* SPDX-License-Identifier: MIT */
/*
 * sleeper_words.h - what the memory of a sleeper (share/sleeper.h) and the word of a mutex say, for those who read them
 * from outside: the doctor.
 */
#ifndef VG_BASE_SLEEPER_WORDS_H
#define VG_BASE_SLEEPER_WORDS_H

#include <stdint.h>

/* What a sleeper waits for. The watchdog and the doctor read it out of the memory around the futex word. */
enum {
    VG_SHARE_MUTEX = 1,
    VG_SHARE_RWLOCK,
    VG_SHARE_CONDITION,
    VG_SHARE_SEMAPHORE,
    VG_SHARE_ONCE,
    VG_SHARE_LATCH,
    VG_SHARE_BARRIER,
    VG_SHARE_CHANNEL,
    VG_SHARE_POOL, /* asynchronous functions alone */
    VG_SHARE_RATE
};

#define VG_SLEEPER_MAGIC UINT32_C(0x5a1ee9e5)

/* In the word of a mutex: the number of the thread that holds it; with ASYNC, of the loop's. */
#define VG_OWNER_ASYNC  (UINT32_C(1) << 27)
#define VG_OWNER_THREAD (VG_OWNER_ASYNC - 1)

#endif
