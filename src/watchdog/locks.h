/* SPDX-License-Identifier: MIT */
/*
 * locks.h - which lock a thread of this process sleeps in, and who holds it.
 *
 * The kernel says which futex word a thread sleeps on (/proc/self/task/TID/syscall). If the words around it are a lock
 * of glibc (base/lock_words.h), the owner stands in it. Nothing is changed and nobody is stopped.
 */
#ifndef VG_WATCHDOG_LOCKS_H
#define VG_WATCHDOG_LOCKS_H

#include "base/say.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum vg_lock_what {
    VG_LOCK_NONE,
    VG_LOCK_MUTEX,
    VG_LOCK_RWLOCK, /* held by a writer; readers leave no name */
    VG_LOCK_JOIN    /* the end of a thread, which is the owner */
} vg_lock_what;

typedef struct vg_lock_wait {
    vg_lock_what what;
    uint64_t address; /* of the lock; 0: it sleeps in none, or in one that is not known */
    int owner;        /* thread id */
    bool owner_gone;  /* that thread has ended */
    bool limited;     /* the wait has a timeout */
} vg_lock_wait;

vg_lock_wait vg_lock_wait_of(int thread);

/* Does it sleep on a futex with a timeout? */
bool vg_futex_limited(int thread);

/* Who holds the lock of the library whose word (record/format_wait.h) is here; 0: nobody, no thread, or it is gone. */
int vg_own_lock_owner(uint64_t word);

/* A word of this process that may be gone; 0 then. */
uint64_t vg_own_word(uint64_t address);

/* "the mutex at 0x5581", "the end of thread 4711" */
void vg_say_lock(vg_words *to, const vg_lock_wait *lock);

/* "; waits for the mutex at 0x5581 that thread 4712 holds, which is asleep in pipe_read": a line from the thread along
   the owners to the one that could go on. Nothing if it sleeps in no lock. *last: that thread; 0: there was nothing to
   say. */
void vg_say_lock_chain(vg_words *to, int thread, int *last);

#endif
