/* SPDX-License-Identifier: MIT */
/*
 * once.h - vigil_once, for promises.
 */
#ifndef VG_SHARE_ONCE_H
#define VG_SHARE_ONCE_H

#include "sleeper.h"

typedef enum vg_once_state {
    VG_ONCE_DONE,
    VG_ONCE_MINE, /* the caller tries, and says vg_share_once_end */
    VG_ONCE_BUSY  /* the sleeper is queued: GIVEN when it is done, RETRY when the next may try */
} vg_once_state;

bool vg_share_once_done(const vigil_once *once);

/* sleeper: NULL joins nothing. owner: as in a sleeper. */
vg_once_state vg_share_once_join(vigil_once *once, uint32_t owner, vg_sleeper *sleeper);
void vg_share_once_left(vigil_once *once, vg_sleeper *sleeper); /* it has left: take it out of the list */
void vg_share_once_end(vigil_once *once, bool failed);
void vg_share_once_next(vigil_once *once); /* a waiter that was woken to try is gone: wake another */

#endif
