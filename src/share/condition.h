/* SPDX-License-Identifier: MIT */
/*
 * condition.h - vigil_condition, for promises.
 */
#ifndef VG_SHARE_CONDITION_H
#define VG_SHARE_CONDITION_H

#include "mutex.h"

/* Queue the sleeper and unlock its mutex, which its owner holds. A signal moves it to the mutex, which ends it. */
void vg_share_condition_join(vigil_condition *condition, vg_sleeper *sleeper);

/* A sleeper has left (vg_sleeper_leave): take it out of the list. True: it was signalled before. */
bool vg_share_condition_left(vigil_condition *condition, vg_sleeper *sleeper);

#endif
