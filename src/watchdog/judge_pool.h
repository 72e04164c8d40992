/* SPDX-License-Identifier: MIT */
/*
 * judge_pool.h - workers between tasks: lost wake-ups, frozen workers.
 */
#ifndef VG_WATCHDOG_JUDGE_POOL_H
#define VG_WATCHDOG_JUDGE_POOL_H

#include "pool_history.h"

/* Once a look, with fresh facts. Calls the judges of tasks and queues. */
void vg_judge_pool(vg_pool_history *history, const vg_subject *subject, const vg_look *look);
void vg_pool_history_free(vg_pool_history *history);

#endif
