/* SPDX-License-Identifier: MIT */
/*
 * futex.h - sleep until a word changes.
 *
 * The kernel compares the word with `expected` under the lock that vg_futex_wake takes too, so a wake that follows a
 * change of the word is never lost. Everything else (who writes which value when) is the caller's protocol.
 * Returns come for no reason as well: always look at the word again.
 *
 * The word may be gone by the time of the wake (its owner saw the new value and freed it): the kernel uses only the
 * address, and a stray wake is one more return for no reason.
 */
#ifndef VG_BASE_FUTEX_H
#define VG_BASE_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleep while *word == expected. deadline_ns: absolute CLOCK_MONOTONIC time, or VG_NO_DEADLINE.
   0 woken or changed (or for no reason), -ETIMEDOUT. */
int vg_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);

/* Wake at most `count` sleepers; returns how many were woken. */
int vg_futex_wake(_Atomic uint32_t *word, int count);

#define VG_NO_DEADLINE UINT64_MAX
#define VG_WAKE_ALL    INT32_MAX

#endif
