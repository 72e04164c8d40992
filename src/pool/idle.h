/* SPDX-License-Identifier: MIT */
/*
 * idle.h - sleeping and waking. IDLE.md holds protocol and argument, idle_word.h the word.
 */
#ifndef VG_POOL_IDLE_H
#define VG_POOL_IDLE_H

#include "pool_struct.h"

void vg_idle_init(vg_idle *idle);

/* Announce work of one class that was pushed to an injector or became takeable. Any thread. */
void vg_announce(vigil_pool *pool, unsigned class_);

/* Wake one worker if needed (IDLE.md). Any thread. */
void vg_wake_one(vigil_pool *pool);

/* Is work of these classes (bits) queued where somebody could take it? Call after the fence that the caller's step
   needs. */
bool vg_work_visible(vigil_pool *pool, unsigned classes);

/* The calling worker begins and ends to count as searching. */
void vg_search_begin(vigil_pool *pool);
void vg_search_end(vigil_pool *pool);

/* What a worker waits for, besides work. */
typedef struct vg_wait {
    bool (*over)(vg_worker *worker, void *arg);
    void *arg;
    uint64_t deadline_ns;
} vg_wait;

/* No spare is to be had: one sleeping waiter of this kind (vg_seat.waiter) must work itself. false: there is none. */
bool vg_call_waiter(vigil_pool *pool, uint32_t kind);

/* Sleep on the worker's own word until vg_unpark, outside the idle protocol. false: timeout. */
bool vg_sleep_until_called(vg_worker *worker, uint64_t deadline_ns);

/*
 * The searching worker found nothing in the classes `looked_at`: give up the token and sleep until a wake. Returns
 * searching again. false: timeout.
 */
bool vg_park(vg_worker *worker, unsigned looked_at, const vg_wait *wait);

/* Wake this worker, parked or not. Wakes are sticky: never lost, at worst redundant. */
void vg_unpark(vg_seat *seat);
void vg_rewake(vg_seat *seat); /* for the watchdog: wake it whatever the protocol believes */

#endif
