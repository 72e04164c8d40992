/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - a source that aborts itself after a time has a timer on some loop, which keeps a reference to it. When nobody else has
 * one any more the timer is taken back: that is all that cancel.c knows of it.
 */
#ifndef VG_PROMISE_CANCEL_H
#define VG_PROMISE_CANCEL_H

#include <vigil/cancel.h>

#include <stdbool.h>

/* Any thread. hold: the clock must stay until let_go, which says whether it is the only one that still has the source. */
typedef struct vg_cancel_clock {
    void (*hold)(const struct vg_cancel_clock *clock);
    void (*let_go)(const struct vg_cancel_clock *clock, bool lonely);
} vg_cancel_clock;

/* Before the source is shared. */
void vg_cancel_set_clock(vigil_cancel_source *source, const vg_cancel_clock *clock);

#endif
