/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_TURN_H
#define VG_LOOP_TURN_H

#include "struct.h"

/* Go through the steps from where the loop is, to the end of the turn or an interrupt. Entered again after a raise. */
void vg_turn(vigil_loop *loop);
vigil_loop_phase vg_phase_of(vg_step step);
void vg_update_now(vigil_loop *loop);
/* Owner, as a run begins: what runs from here on counts for VIGIL_RUN_ONCE. own_calls does not: nudges of other
   threads, posts that were taken back, descriptors of signals, children and clocks. */
void vg_once_begin(vigil_loop *loop);
/* VIGIL_RUN_ONCE: a callback has run, or nothing is left to wait for. */
bool vg_once_is_over(const vigil_loop *loop);
/* For the drain: internal, posts, immediates, close. */
bool vg_drain_some(vigil_loop *loop);

#endif
