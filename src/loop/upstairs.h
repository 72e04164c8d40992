/* SPDX-License-Identifier: MIT */
/*
 * upstairs.h - what the room above (promises) may ask of a loop, and what the loop asks of it.
 *
 *   vigil_loop_post_internal      settle from any thread: embedded node, no allocation
 *   vigil_loop_microtask     a reaction: embedded node, no allocation
 *   vg_loop_keep, vg_loop_unkeep  work in flight keeps the loop alive (post.h)
 *   vg_is_owner, vg_guard_*       who is calling (guard.h)
 *   vg_end_hook                   runs between "drained, Terminated" and "poller closed"
 *   vg_upstairs                   the same for the room as a whole, and its other moments
 */
#ifndef VG_LOOP_UPSTAIRS_H
#define VG_LOOP_UPSTAIRS_H

#include <vigil/loop.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Runs on the owner when everything is drained and the state is Terminated. Microtasks that it queues still run. */
typedef struct vg_end_hook {
    struct vg_end_hook *next;
    void (*run)(struct vg_end_hook *hook, vigil_loop *loop);
} vg_end_hook;

/* The state of the room above for one loop. Any thread creates it on first use; the loop calls it on the owner. */
typedef struct vg_upstairs {
    /* End of a checkpoint: both queues are empty and upstairs_waits was set. Must not raise. */
    void (*checkpoint)(struct vg_upstairs *upstairs, vigil_loop *loop);
    /* Terminated. Called again after the microtasks that it queues, as long as it returns true. */
    bool (*end)(struct vg_upstairs *upstairs, vigil_loop *loop);
    /* The loop is destroyed (or, in the child of a fork, freed). True: its memory is still needed; call
       vg_loop_free when it is not. */
    bool (*gone)(struct vg_upstairs *upstairs, vigil_loop *loop);
    /* The loop is about to block: say what is open, below. */
    void (*rest)(struct vg_upstairs *upstairs, vigil_loop *loop);
    /* The oldest promise that only the program can settle, as of the last rest; 0: none. For the watchdog. */
    _Atomic uint64_t open_since_ns;
    _Atomic uintptr_t open_created;
    /* vigil_loop_fork: this is the child, and nobody else is here. */
    void (*forked)(struct vg_upstairs *upstairs, vigil_loop *loop);
} vg_upstairs;

#endif
