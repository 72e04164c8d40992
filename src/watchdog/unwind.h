/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - the stack of a thread of this process that sleeps in the kernel, without touching the thread.
 *
 * A signal would end sleep(3) early and make poll(2) fail with EINTR; so would a ptrace stop with epoll_wait(2). A
 * thread in a system call has a stack that does not change, and the kernel says where it begins
 * (/proc/self/task/TID/syscall: stack pointer and program counter). From there the unwind tables (.eh_frame_hdr) lead
 * from caller to caller.
 *
 * Other registers are unknown at first. A function that needs one of them (a frame pointer that nobody has saved
 * further in) is skipped by looking for the next word that is a return address; preferred is one with a saved frame
 * pointer below it.
 *
 * The stack is copied by process_vm_readv, so that a thread that ends during the copy costs an error and no signal. If
 * the kernel names another place afterwards, the thread has moved and the result is dropped.
 */
#ifndef VG_WATCHDOG_UNWIND_H
#define VG_WATCHDOG_UNWIND_H

#include "record/stack.h"

typedef enum vg_unwind_result {
    VG_UNWIND_DONE,
    VG_UNWIND_RUNS,  /* the thread is on a CPU or waits for one */
    VG_UNWIND_FAILED /* stack->why */
} vg_unwind_result;

/* The watchdog's thread. */
vg_unwind_result vg_unwind_sleeper(int thread, vg_stack *stack);

/* The same for a stack that is known: for tests. */
int vg_unwind_from(uintptr_t pc, uintptr_t sp, void **frames, int most);

#endif
