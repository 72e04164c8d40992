/* SPDX-License-Identifier: MIT */
/*
 * raise.h - the way out of a task or callback from deep inside it (vigil_raise).
 *
 * Whoever runs user code puts a frame on the thread's chain first, and takes it off afterwards:
 *
 *     vg_raise_frame frame;
 *     int status;
 *     vg_raise_push(&frame);
 *     if (VG_RAISE_LAND(&frame) == 0)
 *         status = user_function(...);
 *     else
 *         status = frame.status;            -- left by vigil_raise
 *     vg_raise_pop(&frame);
 *
 * Locals that are changed after VG_RAISE_LAND and read after a raise must not live in registers: keep them in the frame's
 * own struct or reload them. The builtin pair saves three words instead of a whole register set; sanitizers and the
 * checker get the library's _setjmp, which they understand.
 */
#ifndef VG_CORE_RAISE_H
#define VG_CORE_RAISE_H

#include <setjmp.h>
#include <stddef.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(VIGIL_CHECK) || !defined(__x86_64__)
#define VG_RAISE_LIBC 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define VG_RAISE_LIBC 1
#endif
#endif

/*
 * One link of the thread's chain. With `clean` it is no landing place: something must be put in order before the stack that it lies on
 * is left, and vigil_raise, on its way out, takes the link off and calls it. Such a link may become a landing place later.
 */
typedef struct vg_raise_frame {
    struct vg_raise_frame *outer;
    void (*clean)(struct vg_raise_frame *frame); /* NULL: a raise lands here */
#ifdef VG_RAISE_LIBC
    jmp_buf where;
#else
    void *where[5];
#endif
    int status;
} vg_raise_frame;

extern _Thread_local vg_raise_frame *vg_raise_top;

static inline void vg_raise_push(vg_raise_frame *frame)
{
    frame->outer = vg_raise_top;
    frame->clean = NULL;
    vg_raise_top = frame;
}

/* top: the thread's vg_raise_top, for whoever has its address at hand. */
static inline void vg_raise_push_on(vg_raise_frame **top, vg_raise_frame *frame, void (*clean)(vg_raise_frame *frame))
{
    frame->outer = *top;
    frame->clean = clean;
    *top = frame;
}

static inline void vg_raise_pop(const vg_raise_frame *frame)
{
    vg_raise_top = frame->outer;
}

#ifdef VG_RAISE_LIBC
#define VG_RAISE_LAND(frame) _setjmp((frame)->where)
#else
#define VG_RAISE_LAND(frame) __builtin_setjmp((frame)->where)
#endif

#endif
