/* SPDX-License-Identifier: MIT */
/*
 * judge_cycle.h - waits: tasks and threads that wait for each other in a circle.
 */
#ifndef VG_WATCHDOG_JUDGE_CYCLE_H
#define VG_WATCHDOG_JUDGE_CYCLE_H

#include "judge_loop.h"
#include "pool_history.h"

/* All pools and loops together: circles may go through several. The facts of all histories are of this look. */
void vg_judge_cycles(vg_pool_history *const *pools, size_t pool_count, vg_loop_history *const *loops, size_t loop_count,
                     const vg_look *look);

#endif
