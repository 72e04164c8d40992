/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_TIMER_API_H
#define VG_LOOP_TIMER_API_H

#include "struct.h"

void vg_timers_run(vigil_loop *loop);
void vg_timers_drop(vigil_loop *loop);

#endif
