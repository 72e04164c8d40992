/* SPDX-License-Identifier: MIT */
/*
 * blocking.h - sections in which a worker is blocked.
 */
#ifndef VG_POOL_BLOCKING_H
#define VG_POOL_BLOCKING_H

#include "pool_struct.h"

void vg_offer_credit(vigil_pool *pool); /* a credit exists: start a spare if work is queued */

/* For the watchdog: treat a worker as blocked although it did not say so, and stop that. 0; -EAGAIN */
int vg_credit_lend(vigil_pool *pool);
void vg_credit_take_back(vigil_pool *pool);

/* The caller is about to wait for this pool from outside. If it is a worker of another pool, that pool is
   informed. */
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
