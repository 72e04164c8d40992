/* SPDX-License-Identifier: MIT */
/*
 * judge_task.h - workers inside tasks: hogs, all blocked, no CPU.
 */
#ifndef VG_WATCHDOG_JUDGE_TASK_H
#define VG_WATCHDOG_JUDGE_TASK_H

#include "pool_history.h"

/* frozen_told: a finding of this look says that a worker stands between two tasks. */
void vg_judge_tasks(vg_pool_history *history, const vg_subject *subject, const vg_look *look, bool frozen_told);

#endif
