/* SPDX-License-Identifier: MIT */
/*
 * mutex.h - vigil_mutex, for conditions and promises.
 */
#ifndef VG_SHARE_MUTEX_H
#define VG_SHARE_MUTEX_H

#include "sleeper.h"

/* Lock for `owner` if nobody has it. */
bool vg_share_lock_now(vigil_mutex *mutex, uint32_t owner);

/* Lock for the owner of a sleeper that has a notify, or queue it. True: locked, and notify will not be called. */
bool vg_share_lock_async(vigil_mutex *mutex, vg_sleeper *sleeper);

/* Such a sleeper has left (vg_sleeper_leave): take it out of the list. */
void vg_share_lock_left(vigil_mutex *mutex, vg_sleeper *sleeper);

/* A claimed sleeper of a condition goes on when the mutex is free. */
void vg_share_requeue(vigil_mutex *mutex, vg_sleeper *sleeper);

/* The waiter of a condition was moved to the mutex and goes on by itself: it left, or was woken to look again. */
void vg_share_relock(vigil_mutex *mutex, vg_sleeper *sleeper, bool woken);

#endif
