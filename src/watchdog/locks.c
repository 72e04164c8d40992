/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "locks.h"

#include "base/lock_words.h"
#include "threads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    LOCK_CHAIN = 4,              /* owners that one line names */
    LOCK_PI_2 = 13,              /* FUTEX_LOCK_PI2, which older headers do not have */
    OWNER_IS_ASYNC = 1 << 27,    /* in a lock of src/share: an asynchronous function holds it, no thread */
    OWNER_THREAD = (1 << 27) - 1 /* the bits above are flags */
};

/* The memory may be gone: the kernel copies it or fails. */
static bool read_own(uint64_t address, void *to, size_t size)
{
    const struct iovec here = {.iov_base = to, .iov_len = size};
    const struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size}; // NOLINT
    return address != 0 && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

uint64_t vg_own_word(uint64_t address)
{
    uint64_t word = 0;
    return read_own(address, &word, sizeof word) ? word : 0;
}

int vg_own_lock_owner(uint64_t word)
{
    uint32_t owner = 0;
    if (!read_own(word, &owner, sizeof owner) || (owner & OWNER_IS_ASYNC) != 0)
        return 0;
    return (int)(owner & OWNER_THREAD);
}

typedef struct futex_call {
    uint64_t address, command, expected, timeout;
    bool is_private;
} futex_call;

/* False: the thread does not sleep on a futex. */
static bool read_futex_call(int thread, futex_call *call)
{
    char path[64];
    char text[256];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (got <= 0)
        return false;
    text[got] = 0;
    long number = 0;
    uint64_t op = 0;
    if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &call->address, &op, // NOLINT
               &call->expected, &call->timeout) != 5 ||
        number != SYS_futex)
        return false;
    call->command = op & (uint64_t)FUTEX_CMD_MASK;
    call->is_private = (op & FUTEX_PRIVATE_FLAG) != 0;
    return true;
}

bool vg_futex_limited(int thread)
{
    futex_call call;
    return read_futex_call(thread, &call) && call.timeout != 0;
}

#if defined(__GLIBC__) && __SIZEOF_POINTER__ == 8

static bool thread_is_here(int thread)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d", thread);
    return access(path, F_OK) == 0;
}

/* A condition variable or a semaphore may lie here as well; all of this together they do not have. */
static bool find_mutex(const futex_call *call, vg_lock_wait *wait)
{
    vg_mutex_words words;
    if (!read_own(call->address, &words, sizeof words) || !vg_mutex_words_fit(&words) ||
        (words.kind & 0xf) > VG_MUTEX_TYPE)
        return false;
    const int owner = vg_mutex_words_owner(&words, (uint32_t)call->expected);
    if (owner <= 0)
        return false;
    wait->what = VG_LOCK_MUTEX;
    wait->address = call->address;
    wait->owner = owner;
    wait->owner_gone = !thread_is_here(owner);
    return true;
}

/* With priority inheritance the kernel itself keeps the owner in the word. */
static bool find_inherit(const futex_call *call, vg_lock_wait *wait)
{
    uint32_t word = 0;
    if (!read_own(call->address, &word, sizeof word) || (word & VG_FUTEX_TID) == 0)
        return false;
    wait->what = VG_LOCK_MUTEX;
    wait->address = call->address;
    wait->owner = (int)(word & VG_FUTEX_TID);
    wait->owner_gone = !thread_is_here(wait->owner);
    return true;
}

static bool find_rwlock(const futex_call *call, vg_lock_wait *wait)
{
    static const unsigned back[] = {VG_RWLOCK_PHASE_AT, VG_RWLOCK_WRITERS_AT};
    for (unsigned i = 0; i < 2; i++) {
        vg_rwlock_words words;
        if (!read_own(call->address - back[i], &words, sizeof words) || !vg_rwlock_words_fit(&words) ||
            (words.readers & VG_RWLOCK_WRITTEN) == 0 || words.writer <= 0 || !thread_is_here(words.writer))
            continue;
        wait->what = VG_LOCK_RWLOCK;
        wait->address = call->address - back[i];
        wait->owner = words.writer;
        return true;
    }
    return false;
}

/* The kernel clears the word and wakes it when the thread whose number it holds has ended. It is never private. */
static bool find_join(const futex_call *call, int thread, vg_lock_wait *wait)
{
    uint32_t word = 0;
    if (call->is_private || !read_own(call->address, &word, sizeof word) || word != (uint32_t)call->expected ||
        word == 0 || word > VG_FUTEX_TID || (int)word == thread || !thread_is_here((int)word))
        return false;
    wait->what = VG_LOCK_JOIN;
    wait->address = call->address;
    wait->owner = (int)word;
    return true;
}

vg_lock_wait vg_lock_wait_of(int thread)
{
    vg_lock_wait wait = {0};
    futex_call call;
    if (!read_futex_call(thread, &call))
        return wait;
    const bool plain = call.command == FUTEX_WAIT || call.command == FUTEX_WAIT_BITSET;
    const bool inherit = call.command == FUTEX_LOCK_PI || call.command == LOCK_PI_2;
    if (inherit ? find_inherit(&call, &wait)
                : plain && (find_mutex(&call, &wait) || find_rwlock(&call, &wait) || find_join(&call, thread, &wait)))
        wait.limited = call.timeout != 0;
    return wait;
}

#else

vg_lock_wait vg_lock_wait_of(int thread)
{
    (void)thread;
    return (vg_lock_wait){0};
}

#endif

void vg_say_lock(vg_words *to, const vg_lock_wait *lock)
{
    if (lock->what == VG_LOCK_JOIN)
        vg_say(to, "the end of thread %d", lock->owner);
    else
        vg_say(to, "the %s at 0x%" PRIx64, lock->what == VG_LOCK_MUTEX ? "mutex" : "read-write lock", lock->address);
}

void vg_say_lock_chain(vg_words *to, int thread, int *last)
{
    *last = 0;
    for (unsigned i = 0; i < LOCK_CHAIN; i++) {
        const vg_lock_wait lock = vg_lock_wait_of(thread);
        if (lock.address == 0)
            break;
        vg_say(to, i == 0 ? "; waits for " : ", which waits for ");
        vg_say_lock(to, &lock);
        if (lock.what != VG_LOCK_JOIN)
            vg_say(to, " that thread %d %s", lock.owner, lock.owner_gone ? "held when it ended" : "holds");
        if (lock.owner_gone || lock.owner == thread)
            return;
        thread = lock.owner;
        *last = thread;
    }
    if (*last == 0)
        return;
    vg_thread_look look;
    vg_thread_look_at(*last, &look);
    if (look.known && look.state != 'R')
        vg_say(to, ", which is asleep%s%s", look.where[0] != 0 ? " in " : "", look.where);
    else if (look.known)
        vg_say(to, ", which runs or waits for a CPU");
}
