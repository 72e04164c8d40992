/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_AT_END_H
#define VG_LOOP_AT_END_H

#include "struct.h"

/* The next of what users want to be told at the end, taken off the list; NULL if there is none. */
vigil_at_end *vg_at_end_take(vigil_loop *loop);

#endif
