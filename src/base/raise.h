/* SPDX-License-Identifier: MIT */
/*
 * raise.h - the way out of a task or callback (vigil_raise). A runner of user code pushes a frame:
 *
 *     vg_raise_push(&frame);
 *     if (VG_RAISE_LAND(&frame) == 0)
 *         status = user_function(...);
 *     else
 *         status = frame.status;          -- left by vigil_raise
 *     vg_raise_pop(&frame);
 *
 * Locals changed after VG_RAISE_LAND and read after a raise must not live in registers (NOTES.md: vg_raise_call).
 */
#ifndef VG_BASE_RAISE_H
#define VG_BASE_RAISE_H

#include "raise_links.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(VIGIL_CHECK) || !defined(__x86_64__) || \
    defined(__ILP32__) || defined(__CET__) || defined(__AVX512F__)
#define VG_RAISE_LIBC 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define VG_RAISE_LIBC 1
#endif
#endif

/*
 * One link of the thread's chain. With `clean` it is no landing place: vigil_raise takes it off and calls it. It may
 * become a landing place later.
 */
typedef struct vg_raise_frame {
    struct vg_raise_frame *outer;
    void (*clean)(struct vg_raise_frame *frame); /* NULL: a raise lands here */
    void *links;                                 /* vg_raise_links_here->newest when it was pushed */
#ifdef VG_RAISE_LIBC
    jmp_buf where;
#else
    void *where[8]; /* the builtin pair needs 5 */
#endif
    int status;
} vg_raise_frame;

extern _Thread_local vg_raise_frame *vg_raise_top;

static inline void vg_raise_push(vg_raise_frame *frame)
{
    frame->outer = vg_raise_top;
    frame->clean = NULL;
    frame->links = vg_raise_links_here->newest;
    vg_raise_top = frame;
}

static inline void vg_raise_push_on(vg_raise_frame **top, vg_raise_frame *frame, void (*clean)(vg_raise_frame *frame))
{
    frame->outer = *top;
    frame->clean = clean;
    frame->links = vg_raise_links_here->newest;
    *top = frame;
}

static inline void vg_raise_pop(const vg_raise_frame *frame)
{
    vg_raise_top = frame->outer;
}

/*
 * vg_raise_call: fn(arg), or the status of a raise; *raised tells which. The frame is on the chain and stays.
 * vg_raise_jump: go to the frame.
 */
#ifdef VG_RAISE_LIBC
#define VG_RAISE_LAND(frame) _setjmp((frame)->where)
static __attribute__((noinline, unused)) int vg_raise_call(vg_raise_frame *frame, int (*fn)(void *arg), void *arg,
                                                           bool *raised)
{
    frame->clean = NULL;
    *raised = false;
    if (VG_RAISE_LAND(frame) == 0)
        return fn(arg);
    *raised = true;
    return vg_raise_top->status;
}

static inline _Noreturn void vg_raise_jump(vg_raise_frame *frame)
{
    longjmp(frame->where, 1); /* the name that the thread sanitizer knows; no signal mask is saved */
}
#else
#define VG_RAISE_LAND(frame) __builtin_setjmp((frame)->where)
_Static_assert(offsetof(vg_raise_frame, status) == offsetof(vg_raise_frame, where) + 64, "as below");

/* After vg_raise_call: did a raise land? Never inlined. */
__attribute__((noinline)) bool vg_raise_landed(const vg_raise_frame *frame);

static inline __attribute__((always_inline)) int vg_raise_call(vg_raise_frame *frame, int (*fn)(void *arg), void *arg,
                                                               bool *raised)
{
    int status;
    void **where = frame->where;
    frame->clean = NULL;
    /* The words of __builtin_setjmp: frame pointer, address, stack pointer (NOTES.md). */
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rbp, (%[where])\n\t"
                     "movq %%rax, 8(%[where])\n\t"
                     "movq %%rsp, 16(%[where])\n\t"
                     "movq %%rbx, 24(%[where])\n\t"
                     "movq %%r12, 32(%[where])\n\t"
                     "movq %%r13, 40(%[where])\n\t"
                     "movq %%r14, 48(%[where])\n\t"
                     "movq %%r15, 56(%[where])\n\t"
                     "call *%[fn]\n"
                     "0:\n\t"
                     ".pushsection .text.unlikely,\"ax\",@progbits\n"
                     "1:\n\t"
                     "movq 24(%%rax), %%rbx\n\t"
                     "movq 32(%%rax), %%r12\n\t"
                     "movq 40(%%rax), %%r13\n\t"
                     "movq 48(%%rax), %%r14\n\t"
                     "movq 56(%%rax), %%r15\n\t"
                     "movq $0, 8(%%rax)\n\t"
                     "movl 64(%%rax), %%eax\n\t"
                     "jmp 0b\n\t"
                     ".popsection"
                     : "=&a"(status), [fn] "+S"(fn), "+D"(arg), [where] "+c"(where)
                     :
                     : "rdx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                       "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    /* A call that the compiler sees: without one the stack is not aligned. */
    *raised = __builtin_expect(status < 0, 0) && vg_raise_landed(frame);
    return status;
}

static inline _Noreturn void vg_raise_jump(vg_raise_frame *frame)
{
    __asm__ volatile("movq (%%rax), %%rbp\n\t"
                     "movq 16(%%rax), %%rsp\n\t"
                     "jmp *8(%%rax)"
                     :
                     : "a"(frame->where)
                     : "memory");
    __builtin_unreachable();
}
#endif

#endif
