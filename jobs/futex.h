/* SPDX-License-Identifier: MIT */
/* futex.h - sleep on a word of this process. */
#ifndef VG_JOBS_FUTEX_H
#define VG_JOBS_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleep while the word has this value; at most timeout_ms, or without limit if that is negative. */
static inline void vg_jobs_futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ms)
{
    struct timespec time = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000};
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ms < 0 ? NULL : &time, NULL, 0);
}

static inline void vg_jobs_futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
