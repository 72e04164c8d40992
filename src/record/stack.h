/* SPDX-License-Identifier: MIT */
/*
 * stack.h - the stack of another thread.
 *
 * The thread is sent a signal whose handler walks its own stack into a place that the watchdog reads. Nothing is allocated and no
 * lock is taken there; the unwinder is loaded and tried before the first signal. Threads of the library block all signals; those that
 * are about to sleep or begin open this one (vg_stack_open_signal) once a watchdog has been started, and not before.
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

/* The watchdog's thread or whoever starts it. signal: which; 0 off. 0; -EINVAL it cannot be had. */
int vg_stack_begin(int signal);
void vg_stack_end(void);
void vg_stack_after_fork(void); /* in the child: nobody was asked */

/* The watchdog's thread: ask the thread for its stack; waits at most a fifth of a second for the answer. */
void vg_stack_take(int thread, vg_stack *stack);

/* A thread of the library, at a slow moment: let the signal through if one is wanted. */
extern _Atomic int vg_stack_signal; /* 0: none */
void vg_stack_open_slow(void);
extern _Thread_local int vg_stack_opened;
static inline void vg_stack_open_signal(void)
{
    /* relaxed: a thread that sees it late is opened late */
    if (__builtin_expect(atomic_load_explicit(&vg_stack_signal, memory_order_relaxed) != vg_stack_opened, 0))
        vg_stack_open_slow();
}

#endif
