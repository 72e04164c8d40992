/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_LOOP_H
#define VG_LOOP_LOOP_H

#include "upstairs.h"

extern vg_upstairs vg_upstairs_none; /* in loop->upstairs: the loop has ended without one */

/* Free a destroyed loop; see vg_upstairs. */
void vg_loop_free(vigil_loop *loop);

#endif
