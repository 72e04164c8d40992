/* SPDX-License-Identifier: MIT */
/*
 * latch.h - vigil_latch and vigil_barrier, for promises.
 */
#ifndef VG_SHARE_LATCH_H
#define VG_SHARE_LATCH_H

#include "sleeper.h"

/* Queue the sleeper, if it is not NULL. False: the latch is open. */
bool vg_share_latch_join(vigil_latch *latch, vg_sleeper *sleeper);

/* Such a sleeper has left (vg_sleeper_leave): take it out of the list. */
void vg_share_latch_left(vigil_latch *latch, vg_sleeper *sleeper);

/* Arrive. True: everybody was waiting for us, and goes on; else the sleeper is queued, unless it is NULL. */
bool vg_share_barrier_join(vigil_barrier *barrier, vg_sleeper *sleeper);
void vg_share_barrier_left(vigil_barrier *barrier, vg_sleeper *sleeper); /* it has left, and not arrived */

#endif
