/* SPDX-License-Identifier: MIT */
/*
 * semaphore.h - vigil_semaphore, for promises.
 */
#ifndef VG_SHARE_SEMAPHORE_H
#define VG_SHARE_SEMAPHORE_H

#include "sleeper.h"

/* Take units if newcomers may. */
bool vg_share_acquire_now(vigil_semaphore *semaphore, uint64_t units);

/* Take sleeper->amount units for a sleeper that has a notify, or queue it. True: taken, and notify will not be
   called. */
bool vg_share_acquire_async(vigil_semaphore *semaphore, vg_sleeper *sleeper);

/* Such a sleeper has left (vg_sleeper_leave): take it out of the list, and let those behind it go on. */
void vg_share_acquire_left(vigil_semaphore *semaphore, vg_sleeper *sleeper);

#endif
