/* SPDX-License-Identifier: MIT */
/*
 * clocks.h - timers on clocks that jump: boot time and the time of day.
 *
 * Such a timer has a deadline on the loop's clock (CLOCK_MONOTONIC) like any other. The distance between the clocks
 * changes only by jumps: when the time is set, and when the machine has slept. The kernel tells of both through one
 * descriptor; then every such timer is moved by the difference.
 */
#ifndef VG_LOOP_CLOCKS_H
#define VG_LOOP_CLOCKS_H

#include "struct.h"

/* Owner: report jumps from now on. 0; -EMFILE, -ENFILE, -ENOMEM, -EINVAL: the fast path is forced. */
int vg_clocks_open(vigil_loop *loop);

/* A time on a clock as a time of the loop, and back. The flags of a timer say which clock; never early. */
uint64_t vg_clock_to_loop(const vigil_loop *loop, unsigned flags, uint64_t time);
uint64_t vg_clock_from_loop(const vigil_loop *loop, unsigned flags, uint64_t time);

void vg_clocks_drop(vigil_loop *loop);      /* the loop ends: its watches go */
void vg_clocks_close(vigil_loop *loop);     /* and it is destroyed */
int vg_clocks_after_fork(vigil_loop *loop); /* 0; -EMFILE, -ENFILE, -ENOMEM: call again */

#endif
