/* SPDX-License-Identifier: MIT */
/*
 * blocking.h - sections in which a worker is not there for the pool.
 */
#ifndef VG_POOL_BLOCKING_H
#define VG_POOL_BLOCKING_H

#include "pool_struct.h"

void vg_offer_credit(vigil_pool *pool); /* a credit is there: is there work for a spare? */

/* A worker that does not say that it is blocked is taken for one, and no longer; the watchdog's. 0; -EAGAIN */
int vg_credit_lend(vigil_pool *pool);
void vg_credit_take_back(vigil_pool *pool);

/* The calling thread is about to wait for this pool from outside. If it is a worker of another pool that one has to know. */
static inline bool vg_block_elsewhere(void)
{
    return vigil_blocking_begin() == 0;
}

static inline void vg_unblock_elsewhere(bool blocked)
{
    if (blocked)
        (void)vigil_blocking_end();
}

#endif
