/* SPDX-License-Identifier: MIT */
/*
 * contain.c - pthread_exit and cancellation end a task, not its worker. README.md, "File by file".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "contain.h"

#include "base/raise.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <vigil/base.h>

void vg_contained_hook(vg_worker *worker, void (*hook)(void *user, unsigned worker), void *user)
{
    vg_raise_frame frame; /* not on the chain: in a hook vigil_raise has nowhere to go */
    worker->hook_frame = &frame;
    if (VG_RAISE_LAND(&frame) == 0)
        hook(user, worker->seat.index);
    worker->hook_frame = NULL;
}

#ifdef VIGIL_CHECK
void vg_contained(void (*body)(vg_worker *worker), vg_worker *worker)
{
    body(worker);
}
#else
enum {
    VG_APART = 8192,        /* more than the handler uses before it moves */
    VG_BELOW = 4096,        /* more than a frame of the pool has below its landing place */
    VG_STACK_MOST = 1 << 30 /* farther away is no stack: a sanitizer's fake frame */
};

/* No red zones around what lies apart: others run there. */
#define VG_PLAIN_STACK __attribute__((no_sanitize_address))

static __attribute__((noinline)) void leave_innermost(vg_worker *worker)
{
    if (worker->hook_frame != NULL)
        vg_raise_jump(worker->hook_frame);
    worker->thread_ended = true;
    vigil_raise(-ECANCELED);
}

VG_PLAIN_STACK static void thread_is_ended(void *arg)
{
    vg_worker *worker = arg;
    const vg_raise_frame *top = worker->hook_frame != NULL ? worker->hook_frame : vg_raise_top;
    if (top == NULL)
        abort(); /* not in user code */
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    /* a join inside the frame lies deeper */
    const void *link = vg_raise_links_here->newest;
    const uintptr_t deep = (uintptr_t)(worker->hook_frame == NULL && link != top->links ? link : top);
    if (here > deep && here - deep < VG_STACK_MOST)
        worker->apart = alloca(here - deep + VG_BELOW);
    leave_innermost(worker);
}

VG_PLAIN_STACK void vg_contained(void (*body)(vg_worker *worker), vg_worker *worker)
{
    pthread_cleanup_push(thread_is_ended, worker);
    /* After the push, whose stack pointer the handler gets, and not of a constant size, which would be part of the
       frame. */
    worker->apart = alloca(VG_APART + worker->seat.index % 2 * 16);
    body(worker);
    pthread_cleanup_pop(0);
}
#endif
