/* SPDX-License-Identifier: MIT */
/*
 * judge_spin.h - a loop that turns without rest for something that is never done.
 */
#ifndef VG_WATCHDOG_JUDGE_SPIN_H
#define VG_WATCHDOG_JUDGE_SPIN_H

#include "judge.h"

enum {
    VG_SPIN_FDS = 8 /* descriptors in trouble that are remembered */
};

/* What a loop has done in a row of looks without rest. */
typedef struct vg_spin {
    bool any;
    uint64_t since; /* look.now; when it last had rest, or was first seen */
    uint64_t turns, fd_events, timers_fired, microtasks, breaches; /* then */
    unsigned looks;
    unsigned breached; /* looks in a row with breaches of the microtask budget */
    uint64_t last_breaches, last_turns, last_poll_ticks, last_ticks, last_now, last_real;
    vg_thread_look begun, last; /* of its thread: when it last had rest, and at the last look */
    unsigned fd_count;
    struct {
        int fd;
        short events;
        unsigned looks; /* in a row in which it was ready with an error or a hang-up */
    } fds[VG_SPIN_FDS];
} vg_spin;

void vg_judge_spin(vg_spin *spin, const vg_loop_facts *facts, const vg_subject *subject, const vg_look *look);

#endif
