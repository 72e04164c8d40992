/* SPDX-License-Identifier: MIT */
/*
 * format_loop.h - the block of a loop in the file.
 */
#ifndef VG_RECORD_FORMAT_LOOP_H
#define VG_RECORD_FORMAT_LOOP_H

#include "format_hist.h"
#include "format_wait.h"

#include <stdalign.h>

/* One writer, the owner's thread, except where noted. */
typedef struct vg_file_loop {
    char name[32];
    uint64_t born_ticks;
    vg_cell state, state_since; /* vigil_loop_state as the owner last knew it */
    vg_cell changes;
    vg_file_change history[VG_FILE_HISTORY];
    vg_cell phase, phase_since; /* vigil_loop_phase; NONE between phases and asleep */
    vg_cell call_function;      /* the callback that runs; 0: none */
    vg_cell call_since;         /* ticks; at the latest when it began: short ones share it */
    vg_cell tid;                /* of the thread that runs the loop; 0: nobody does */
    vg_cell thread;             /* serial of its vg_file_thread */

    vg_cell turns;
    vg_cell posts_cancelled;
    vg_cell internal_run, internal_cancelled;
    vg_cell ticks_run, microtasks_run, microtask_breaches;
    vg_cell timers_started, timers_fired, timers_cancelled, timers_ended;
    vg_cell fd_events, stale_events;
    vg_cell signals_delivered, children_reaped;
    vg_cell immediates_run, closes_run, prepares_run, checks_run, uncaught;
    vg_cell sleeps, sleeps_avoided, wakes_useful, wakes_spurious;
    vg_cell poll_calls, poll_ticks, work_ticks;
    vg_cell phase_ticks[VG_FILE_PHASES];

    alignas(64) vg_cell refused; /* several writers, as the next four */
    vg_cell internal_refused, wakes_sent, fds_gone;
    vg_cell called_at; /* when it was last woken; by the waker */

    /* Written by the owner before it sleeps, and by any thread of the process that takes a sample. */
    alignas(64) vg_cell sampled_at;
    vg_cell posts_accepted, posts_taken; /* taken: run or cancelled */
    vg_cell keep;                        /* what keeps it alive: references and watches */
    vg_cell watches;

    alignas(64) vg_file_hist callback; /* how long callbacks ran */
    vg_file_hist delay;                /* how late timers fired */
    vg_file_hist poll;                 /* how long it was blocked */
    vg_file_hist wake;                 /* from the waker's call to the owner's first step */
} vg_file_loop;

#endif
