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

/* The worker is between a queue and a counter. Begins and ends need not alternate. Each end stores a new even number,
   which an audit compares: it sees moves that began and ended between its looks. release: an audit that sees the end
   sees counter and queue; pairs with the fences in audit.c. */
static inline void vg_handling(vg_worker *worker, bool yes)
{
    atomic_store_explicit(&worker->seat.handling, yes ? 1 : (worker->moves += 2), memory_order_release);
}

/* A callback of the user runs in the middle of a move. The moves that it makes must not end the outer one: until
   vg_handling_go_on, every end stores an odd number. true: this call began it; else nothing moves, or an outer call
   did. */
static inline bool vg_handling_hold(vg_worker *worker)
{
    if (worker->moves % 2 != 0 || atomic_load_explicit(&worker->seat.handling, memory_order_relaxed) % 2 == 0)
        return false;
    worker->moves++;
    return true;
}

static inline void vg_handling_go_on(vg_worker *worker)
{
    worker->moves++;
}

/* The same end for the hot paths, with the old number: the move has raised the number of accepted or started tasks,
   which the audit compares too. release: as above. */
static inline void vg_handled_and_counted(vg_worker *worker)
{
    atomic_store_explicit(&worker->seat.handling, worker->moves, memory_order_release);
}

#endif
