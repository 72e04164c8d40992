/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_SIGNALS_H
#define VG_LOOP_SIGNALS_H

#include "struct.h"

bool vg_signals_pending(const vigil_loop *loop);
void vg_signals_resume(vigil_loop *loop);
void vg_signals_drop(vigil_loop *loop);
void vg_signals_close(vigil_loop *loop);

#endif
