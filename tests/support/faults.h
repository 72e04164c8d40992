/* SPDX-License-Identifier: MIT */
/*
 * faults.h - make the system fail on demand, and count what is asked of it.
 *
 * Programs in tests/faults are linked so that the calls below go through faults.c first (-Wl,--wrap). Only calls from our
 * own objects do; libc's inner ones stay as they are, and so do those that the tests' support code makes.
 */
#ifndef VG_TEST_FAULTS_H
#define VG_TEST_FAULTS_H

#include <stdint.h>

typedef enum fault_kind {
    FAULT_ALLOC,  /* malloc, calloc, realloc, aligned_alloc, posix_memalign, mmap: memory, whatever the name */
    FAULT_THREAD, /* pthread_create: EAGAIN */
    FAULT_KINDS
} fault_kind;

/* Nothing fails from here on, and all counts are zero. */
void faults_reset(void);

/* The k-th call of that kind from now on fails, once; the first is 1. */
void faults_fail_at(fault_kind kind, uint64_t k);
/* Every call of that kind after the next `good` ones fails. */
void faults_fail_after(fault_kind kind, uint64_t good);

/* Calls since the last reset, and how many of them were made to fail. */
uint64_t faults_calls(fault_kind kind);
uint64_t faults_failed(fault_kind kind);

/* What a futex wait does instead of sleeping. */
typedef enum fault_futex {
    FUTEX_HONEST,
    FUTEX_EINTR,    /* a signal came */
    FUTEX_EAGAIN,   /* the word differs (it may have differed, and be back) */
    FUTEX_SPURIOUS, /* returns 0 for no reason */
    FUTEX_MIXED     /* each of the four in turn */
} fault_futex;

/* Of the waits from now on, `of` - 1 out of `of` behave so and the last one sleeps really. */
void faults_futex(fault_futex how, uint32_t of);

/* Since the last reset, all threads together. */
typedef struct fault_syscalls {
    uint64_t futex_wait;
    uint64_t futex_wake;
    uint64_t membarrier;
    uint64_t yield;
    uint64_t other;
    uint64_t faked; /* of futex_wait: answered without the kernel */
} fault_syscalls;

fault_syscalls faults_syscalls(void);

/* membarrier answers ENOSYS from here on till the next reset. */
void faults_no_membarrier(void);

#endif
