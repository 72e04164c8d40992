/* SPDX-License-Identifier: MIT */
/*
 * judge_old.h - waits and promises that have been open for long.
 */
#ifndef VG_WATCHDOG_JUDGE_OLD_H
#define VG_WATCHDOG_JUDGE_OLD_H

#include "pool_history.h"

void vg_judge_old_waits(const vg_pool_history *history, const vg_subject *subject, const vg_look *look);
void vg_judge_old_promise(const vg_loop_facts *facts, const vg_subject *subject, const vg_look *look);

#endif
