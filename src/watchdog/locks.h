/* SPDX-License-Identifier: MIT */
/*
 * locks.h - which mutex a thread of this process sleeps in, and who holds it.
 *
 * The kernel says which futex word a thread sleeps on (/proc/self/task/TID/syscall). If the words behind it look like a contended
 * pthread mutex of glibc, whose layout is ABI, the owner stands in it. Nothing is changed and nobody is stopped.
 */
#ifndef VG_WATCHDOG_LOCKS_H
#define VG_WATCHDOG_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vg_lock_wait {
    uint64_t address; /* of the mutex; 0: it sleeps in none, or in one that is not known */
    int owner;        /* thread id */
    bool owner_gone;  /* that thread has ended */
    bool limited;     /* the wait has a timeout */
} vg_lock_wait;

vg_lock_wait vg_lock_wait_of(int thread);

#endif
