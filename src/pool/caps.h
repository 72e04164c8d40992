/* SPDX-License-Identifier: MIT */
/*
 * caps.h - class caps.
 */
#ifndef VG_POOL_CAPS_H
#define VG_POOL_CAPS_H

#include "pool_struct.h"

/* Is every place of the class taken? */
static inline bool vg_cap_is_full(vigil_pool *pool, unsigned class_)
{
    return pool->caps[class_] != 0 &&
           atomic_load_explicit(&pool->cap_used[class_], memory_order_relaxed) >= pool->caps[class_];
}

bool vg_cap_enter(vg_worker *worker, unsigned class_);
void vg_cap_leave(vg_worker *worker, unsigned class_); /* vg_caps_look follows */

/* Wake somebody for the classes that the worker has left, unless it has entered them again: a worker that goes on with
   the same class wakes nobody for nothing. Before it runs, parks or returns. */
void vg_caps_look_slow(vg_worker *worker);
static inline void vg_caps_look(vg_worker *worker)
{
    if (__builtin_expect(worker->caps_left != 0, 0))
        vg_caps_look_slow(worker);
}

/* A task that waits gives up its places, because what it waits for may need them. It takes them back regardless of
   the cap. */
void vg_caps_suspend(vg_worker *worker, unsigned held[VG_CLASSES]);
void vg_caps_resume(vg_worker *worker, const unsigned held[VG_CLASSES]);

#endif
