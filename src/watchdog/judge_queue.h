/* SPDX-License-Identifier: MIT */
/*
 * judge_queue.h - queues: a starved class, a lost task, a queue that grows.
 */
#ifndef VG_WATCHDOG_JUDGE_QUEUE_H
#define VG_WATCHDOG_JUDGE_QUEUE_H

#include "pool_history.h"

void vg_judge_queues(vg_pool_history *history, const vg_subject *subject, const vg_look *look);

#endif
