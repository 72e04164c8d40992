/* SPDX-License-Identifier: MIT */
/*
 * seats.h - the table of seats, and their threads.
 */
#ifndef VG_POOL_SEATS_H
#define VG_POOL_SEATS_H

#include "pool_struct.h"

static inline vg_seat *vg_seat_at(vigil_pool *pool, unsigned index)
{
    return atomic_load_explicit(&pool->seats[index], memory_order_acquire); /* pairs with S1 in seats.c */
}

/* The first seat from `index` on, VG_MAX_SEATS at the end: for (i = 0; (i = vg_seat_next(pool, i)) < ...; i++) */
static inline unsigned vg_seat_next(vigil_pool *pool, unsigned index)
{
    const unsigned workers = atomic_load_explicit(&pool->high, memory_order_relaxed);
    const unsigned spares = VG_MAX_WORKERS + atomic_load_explicit(&pool->spare_high, memory_order_relaxed);
    for (;; index++) {
        if (index >= workers && index < VG_MAX_WORKERS)
            index = VG_MAX_WORKERS;
        if (index >= spares)
            return VG_MAX_SEATS;
        if (vg_seat_at(pool, index) != NULL)
            return index;
    }
}

int vg_seat_start(vigil_pool *pool, unsigned index);       /* under admin; the caller has counted the token */
int vg_spare_start(vigil_pool *pool);                      /* likewise, under its own lock; 0 or a negative errno */
int vg_guest_seat(vigil_pool *pool, vg_worker **worker);   /* under spare_lock; 0; -EAGAIN none is free; -ENOMEM */
void vg_seats_quit(vigil_pool *pool);                      /* all must leave; under admin */
int vg_seats_wait(vigil_pool *pool, uint64_t deadline_ns); /* until the last has ended; 0; -ETIMEDOUT */
void vg_seats_join(vigil_pool *pool);                      /* under admin, after that */
void vg_seats_free(vigil_pool *pool);

#endif
