/* SPDX-License-Identifier: MIT */
/* How long work waited and ran. */
#ifndef VG_JS_POOL_TIMES_H
#define VG_JS_POOL_TIMES_H

#include "pool_side.h"

void vg_times_note(vg_times *to, uint64_t ns);
vg_val vg_times_of(vg_engine *engine, const vg_times *from);

#endif
