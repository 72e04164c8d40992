/* SPDX-License-Identifier: MIT */
/*
 * rwlock.h - vigil_rwlock, for promises.
 */
#ifndef VG_SHARE_RWLOCK_H
#define VG_SHARE_RWLOCK_H

#include "sleeper.h"

/* Take the lock if it can be had at once. */
bool vg_share_rwlock_now(vigil_rwlock *lock, bool write, uint32_t owner);

/* Queue a sleeper that has a notify, which is called when it has the lock: perhaps before this returns.
   sleeper->amount: 1 for a writer. */
void vg_share_rwlock_async(vigil_rwlock *lock, vg_sleeper *sleeper);

/* A sleeper has left (vg_sleeper_leave): take it out of the list, and let those behind it go on. */
void vg_share_rwlock_left(vigil_rwlock *lock, vg_sleeper *sleeper);

#endif
