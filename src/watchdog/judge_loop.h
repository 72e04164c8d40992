/* SPDX-License-Identifier: MIT */
/*
 * judge_loop.h - loops: a callback that keeps it, a lost wake-up, posts that pile up.
 */
#ifndef VG_WATCHDOG_JUDGE_LOOP_H
#define VG_WATCHDOG_JUDGE_LOOP_H

#include "judge_spin.h"

typedef struct vg_loop_history {
    uint64_t serial;
    bool seen, any;
    vg_loop_facts facts;
    uint64_t progress;
    vg_stay stay; /* since progress changed */
    uint64_t lost_wake_since;
    vg_spin spin;
    uint64_t taken;
    vg_growth growth;
} vg_loop_history;

void vg_judge_loop(vg_loop_history *history, const vg_subject *subject, const vg_look *look);

#endif
