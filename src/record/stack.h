/* SPDX-License-Identifier: MIT */
/*
 * stack.h - the stack of another thread. A signal's handler walks it into memory that the watchdog reads: no
 * allocation, no lock. Threads of the library block all signals, and open this one once a watchdog has started.
 */
#ifndef VG_RECORD_STACK_H
#define VG_RECORD_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VG_STACK_FRAMES = 48
};

typedef struct vg_stack {
    int thread;
    int depth; /* 0: see why */
    void *frames[VG_STACK_FRAMES];
    const char *why; /* there is nothing; static */
} vg_stack;

/* The watchdog's thread or its starter. signal: 0 off. 0; -EINVAL. */
int vg_stack_begin(int signal);
void vg_stack_end(void);
void vg_stack_after_fork(void); /* in the child: nobody was asked */

/* The watchdog's thread: ask a thread that runs, and wait for its answer. One that sleeps most of the time may not give
   one. */
void vg_stack_take(int thread, uint64_t within_ns, vg_stack *stack);

/* A library thread, on a cold path: unblock the signal if one is wanted. */
extern _Atomic int vg_stack_signal; /* 0: none */
void vg_stack_open_slow(void);
extern _Thread_local int vg_stack_opened;
static inline void vg_stack_open_signal(void)
{
    /* relaxed: seen late, it opens late */
    if (__builtin_expect(atomic_load_explicit(&vg_stack_signal, memory_order_relaxed) != vg_stack_opened, 0))
        vg_stack_open_slow();
}

#endif
