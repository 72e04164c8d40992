/* SPDX-License-Identifier: MIT */
#include "futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int vg_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
    /* FUTEX_WAIT_BITSET takes an absolute time, so signals cannot stretch the wait. */
    struct timespec at;
    struct timespec *until = NULL;
    if (deadline_ns != VG_NO_DEADLINE) {
        at.tv_sec = (time_t)(deadline_ns / 1000000000U);
        at.tv_nsec = (long)(deadline_ns % 1000000000U);
        until = &at;
    }
    int saved = errno; /* a wait inside a task keeps the task's errno */
    long rc =
        syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until, NULL, FUTEX_BITSET_MATCH_ANY);
    int error = rc < 0 ? errno : 0;
    errno = saved;
    return error == ETIMEDOUT ? -ETIMEDOUT : 0; /* EAGAIN (the word differs), EINTR: the caller looks again */
}

int vg_futex_wake(_Atomic uint32_t *word, int count)
{
    int saved = errno;
    long rc = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
    errno = saved; /* EFAULT: the owner freed the word; nobody sleeps on it */
    return rc < 0 ? 0 : (int)rc;
}
