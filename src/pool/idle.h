/* SPDX-License-Identifier: MIT */
/*
 * idle.h - sleeping and waking. The protocol and its argument are in IDLE.md; the word is in idle_word.h.
 */
#ifndef VG_POOL_IDLE_H
#define VG_POOL_IDLE_H

#include "pool_struct.h"

void vg_idle_init(vg_idle *idle);

/* Announce work of one class that was pushed to an injector or that became takeable. Any thread. */
void vg_announce(vigil_pool *pool, unsigned class_);

/* Wake one worker if that is needed (see IDLE.md). Any thread. */
void vg_wake_one(vigil_pool *pool);

/* Is work of these classes (bits) queued where somebody could take it? Call after the fence that the caller's step needs. */
bool vg_work_visible(vigil_pool *pool, unsigned classes);

/* The calling worker counts as searching, and no longer does. */
void vg_search_begin(vigil_pool *pool);
void vg_search_end(vigil_pool *pool);

/* What a worker waits for, besides work. */
typedef struct vg_wait {
    bool (*over)(vg_worker *worker, void *arg); /* is it there? */
    void *arg;
    uint64_t deadline_ns;
} vg_wait;

/* Sleep on the worker's own word until somebody calls vg_unpark, outside the idle protocol. false: the deadline has passed. */
bool vg_sleep_until_called(vg_worker *worker, uint64_t deadline_ns);

/*
 * The searching worker found nothing in the classes `looked_at`: give up its token and sleep until somebody wakes it or
 * wait->over. Returns searching again. false: the deadline has passed (it is searching again all the same).
 */
bool vg_park(vg_worker *worker, unsigned looked_at, const vg_wait *wait);

/* Wake this worker, parked or not. */
void vg_unpark(vg_seat *seat);
void vg_rewake(vg_seat *seat); /* wake a parked worker whatever the protocol believes; the watchdog's */

#endif
