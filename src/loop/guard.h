/* SPDX-License-Identifier: MIT */
/*
 * guard.h - who is calling, and may they.
 */
#ifndef VG_LOOP_GUARD_H
#define VG_LOOP_GUARD_H

#include "base/why.h"
#include "struct.h"

#include <errno.h>

/* VG_NOBODY until the thread runs its first loop: it owns none before. */
extern _Thread_local uintptr_t vg_loop_self;
enum {
    VG_NOBODY = 1 /* no thread's number, and not 0, which a loop without an owner has */
};
__attribute__((cold)) uintptr_t vg_loop_self_new(void);

/* A number that no other thread of the process has or had: addresses and system ids are reused. Above VG_NOBODY. */
static inline uintptr_t vg_self(void)
{
    return __builtin_expect(vg_loop_self != VG_NOBODY, 1) ? vg_loop_self : vg_loop_self_new();
}

/* A thread that is not the owner is inside on_event, in a call that the end of the loop waits for. */
typedef struct vg_report_frame {
    const vigil_loop *loop;
    struct vg_report_frame *outer;
} vg_report_frame;
extern _Thread_local vg_report_frame *vg_reports;

__attribute__((cold, noinline)) int vg_guard_any_slow(const vigil_loop *loop);

static inline int vg_guard_any(const vigil_loop *loop)
{
    const bool good = loop != NULL && !vg_forked_page(&loop->guard);
    return __builtin_expect(good, 1) ? 0 : vg_guard_any_slow(loop);
}

static inline bool vg_is_owner(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->owner, memory_order_relaxed) == vg_loop_self;
}

/* This thread is inside a callback of the loop: waiting for the end would be a deadlock. */
static inline bool vg_inside(const vigil_loop *loop)
{
    if (vg_is_owner(loop))
        return true;
    for (const vg_report_frame *it = vg_reports; it != NULL; it = it->outer) {
        if (it->loop == loop)
            return true;
    }
    return false;
}

/* An owner's call: by the owner, or while nobody runs the loop. */
static inline int vg_guard_owner(vigil_loop *loop)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    uintptr_t owner = atomic_load_explicit(&loop->owner, memory_order_relaxed);
    if (owner != vg_loop_self && owner != 0)
        return vg_why(-EPERM, "this call belongs to the thread that runs the loop; post a callback that makes it");
    return 0;
}

/* The usual case of vg_guard_owner returning 0: false decides nothing. Short calls ask this first and leave all else to
   a function that is not inlined, so that their own code needs no stack. */
static inline bool vg_guard_owner_usual(const vigil_loop *loop)
{
    if (__builtin_expect(loop == NULL || vg_forked_page(&loop->guard), 0))
        return false;
    const uintptr_t owner = atomic_load_explicit(&loop->owner, memory_order_relaxed);
    return __builtin_expect(owner == vg_loop_self || owner == 0, 1);
}

static inline vigil_loop_state vg_state(const vigil_loop *loop)
{
    return (vigil_loop_state)(atomic_load_explicit(&loop->state, memory_order_relaxed) & VG_STATE_MASK);
}

/* The call needs a loop that is not ending: timers, watches. */
static inline int vg_guard_open(vigil_loop *loop)
{
    if (vg_state(loop) >= VIGIL_LOOP_TERMINATING)
        return vg_why(-ESHUTDOWN, "the loop is ending or has ended; make a new one");
    return 0;
}

/* Asked before a call counts itself in flight, so that late calls do not delay the end. */
static inline int vg_guard_over(vigil_loop *loop)
{
    if (vg_state(loop) == VIGIL_LOOP_TERMINATED)
        return vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
    return 0;
}

static inline bool vg_interrupted(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->interrupt, memory_order_relaxed) != 0;
}

#endif
