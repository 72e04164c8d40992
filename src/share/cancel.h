/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - a source with a timeout has a timer on a loop, which keeps a reference. When that is the only one left,
 * the timer is cancelled.
 */
#ifndef VG_SHARE_CANCEL_H
#define VG_SHARE_CANCEL_H

#include <vigil/cancel.h>

#include <stdbool.h>

/* Any thread. hold: the clock stays until let_go; lonely: it has the last reference. */
typedef struct vg_cancel_clock {
    void (*hold)(const struct vg_cancel_clock *clock);
    void (*let_go)(const struct vg_cancel_clock *clock, bool lonely);
} vg_cancel_clock;

/* Before the source is shared. */
void vg_cancel_set_clock(vigil_cancel_source *source, const vg_cancel_clock *clock);

#endif
