/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_TURN_H
#define VG_LOOP_TURN_H

#include "struct.h"

/* Goes through the steps from where the loop is; returns between two callbacks if interrupted, else when the turn is
   over. A callback that raises leaves it, and it is entered again. */
void vg_turn(vigil_loop *loop);
vigil_loop_phase vg_phase_of(vg_step step);
void vg_update_now(vigil_loop *loop);
/* Called in the middle of a drain: internal, posts, immediates, close without the rest. */
bool vg_drain_some(vigil_loop *loop);

#endif
