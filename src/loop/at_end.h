/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_AT_END_H
#define VG_LOOP_AT_END_H

#include "struct.h"

/* Take the next node off the list; NULL: none. */
vigil_at_end *vg_at_end_take(vigil_loop *loop);

#endif
