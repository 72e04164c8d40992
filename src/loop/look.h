/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_LOOK_H
#define VG_LOOP_LOOK_H

#include "struct.h"

/* Any thread: callbacks that have run. */
uint64_t vg_loop_callbacks(const vigil_loop *loop);

#endif
