/* SPDX-License-Identifier: MIT */
/* A function of its own for each kind of work. */
#ifndef VG_JS_POOL_NAMES_H
#define VG_JS_POOL_NAMES_H

#include "pool_side.h"

/* What to run, and under which function of ours; NULL: there is no such thing. */
vg_job_fn vg_pool_choose(vg_piece *it, const vg_pool_side *side, double kind, double number);
/* Tell the viewers the names of the built-in kinds. */
void vg_pool_name_kinds(void);

#endif
