/* SPDX-License-Identifier: MIT */
/*
 * moving.h - a thread says that it moves tasks, for the audit and for destroy.
 */
#ifndef VG_POOL_MOVING_H
#define VG_POOL_MOVING_H

#include "pool_struct.h"

/* A call that moves tasks begins and ends. */
static inline vg_stripe *vg_visit_begin(vigil_pool *pool)
{
    vg_stripe *stripe = vg_stripe_of_caller(pool);
    (void)atomic_fetch_add_explicit(&stripe->entered, 1, memory_order_relaxed);
    return stripe;
}

static inline void vg_visit_end(vg_stripe *stripe)
{
    /* release: our last touch of the pool; pairs with the acquire in vigil_pool_destroy */
    (void)atomic_fetch_add_explicit(&stripe->left, 1, memory_order_release);
}

/* The worker is between a queue and a counter. release: an audit that sees the end sees counter and queue
   (audit.c). */
static inline void vg_handling(vg_worker *worker, uint32_t yes)
{
    atomic_store_explicit(&worker->seat.handling, yes, memory_order_release);
}

#endif
