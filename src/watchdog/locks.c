/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "locks.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__GLIBC__) && __SIZEOF_POINTER__ == 8

/* The beginning of glibc's pthread_mutex_t on 64-bit machines. */
typedef struct mutex_words {
    uint32_t lock; /* 0 free, 1 held, 2 held and contended; of PI mutexes: the owner and flags */
    uint32_t count;
    int32_t owner;
    uint32_t users;
    int32_t kind;
} mutex_words;

enum {
    MUTEX_CONTENDED = 2,
    MUTEX_KINDS = 0x3ff, /* type, robust, PI, PP, shared, elision */
    MUTEX_TYPES = 3
};

static bool thread_is_here(int thread)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d", thread);
    return access(path, F_OK) == 0;
}

static bool read_mutex(uint64_t address, mutex_words *words)
{
    struct iovec to = {.iov_base = words, .iov_len = sizeof *words};
    struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = sizeof *words}; // NOLINT
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *words;
}

vg_lock_wait vg_lock_wait_of(int thread)
{
    const vg_lock_wait none = {0};
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return none;
    const bool got = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    long number = 0;
    uint64_t arg[4];
    if (!got ||
        sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &arg[0], &arg[1], &arg[2], // NOLINT
               &arg[3]) != 5 ||
        number != SYS_futex)
        return none;
    const uint64_t op = arg[1] & (uint64_t)FUTEX_CMD_MASK;
    mutex_words words;
    if ((op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET) || arg[2] != MUTEX_CONTENDED || !read_mutex(arg[0], &words))
        return none;
    /* A condition variable or a semaphore may lie here as well; all of this together they do not have. */
    if (words.lock != MUTEX_CONTENDED || words.owner <= 0 || (words.kind & ~MUTEX_KINDS) != 0 ||
        (words.kind & 0xf) > MUTEX_TYPES || words.users > UINT16_MAX)
        return none;
    return (vg_lock_wait){
        .address = arg[0], .owner = words.owner, .owner_gone = !thread_is_here(words.owner), .limited = arg[3] != 0};
}

#else

vg_lock_wait vg_lock_wait_of(int thread)
{
    (void)thread;
    return (vg_lock_wait){0};
}

#endif
