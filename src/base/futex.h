/* SPDX-License-Identifier: MIT */
/*
 * futex.h - sleep until a word changes. The kernel compares the word under the lock that a wake takes too, so a wake
 * after a change is never lost. Returns may be spurious: look at the word again. The word may be freed before the
 * wake: only its address is used.
 */
#ifndef VG_BASE_FUTEX_H
#define VG_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleep while *word == expected, until deadline_ns (absolute CLOCK_MONOTONIC) or VG_NO_DEADLINE. 0, also spuriously;
   -ETIMEDOUT. */
int vg_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* Wake at most `count` sleepers; returns how many. */
int vg_futex_wake(_Atomic uint32_t *word, int count);

#define VG_NO_DEADLINE UINT64_MAX
#define VG_WAKE_ALL    INT32_MAX

#endif
