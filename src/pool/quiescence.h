/* SPDX-License-Identifier: MIT */
/*
 * quiescence.h - waiting until every accepted task has ended.
 */
#ifndef VG_POOL_QUIESCENCE_H
#define VG_POOL_QUIESCENCE_H

#include "pool_struct.h"

int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns); /* 0; -ETIMEDOUT */
void vg_quiescence_signal(vigil_pool *pool); /* after the caller's fence: signal wait_idle if the pool is idle */

/* A wait for an idle pool without a thread. `idle` is called once, on any thread, under no lock, perhaps before
   vg_idle_watch_add returns. */
struct vg_idle_watch {
    vg_idle_watch *next; /* under idle_lock */
    uint32_t ticket;
    void (*idle)(vg_idle_watch *watch);
};
void vg_idle_watch_add(vigil_pool *pool, vg_idle_watch *watch);
bool vg_idle_watch_remove(vigil_pool *pool, vg_idle_watch *watch); /* false: it was called, or is about to be */

/* Likewise after one task was discarded: O(1), amortised. */
void vg_quiescence_ended(vigil_pool *pool);

#endif
