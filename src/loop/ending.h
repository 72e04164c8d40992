/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_ENDING_H
#define VG_LOOP_ENDING_H

#include "struct.h"

/* From Terminating to done. The caller is the owner and does not touch the loop afterwards. */
void vg_loop_end(vigil_loop *loop);
bool vg_end_is_overdue(vigil_loop *loop);

#endif
