/* SPDX-License-Identifier: MIT */
/*
 * drift.h - a pool that has become worse than it was.
 */
#ifndef VG_WATCHDOG_DRIFT_H
#define VG_WATCHDOG_DRIFT_H

#include "pool_history.h"

/* Once a look. The first call allocates history->drift. */
void vg_judge_drift(vg_pool_history *history, const vg_subject *subject, const vg_look *look);

#endif
