/* SPDX-License-Identifier: MIT */
/* A piece of work: to the pool, on it, and back. */
#ifndef VG_JS_POOL_PIECE_H
#define VG_JS_POOL_PIECE_H

#include "pool_side.h"

/* Does the piece, on whatever thread this is. */
int vg_piece_run(void *arg);
/* (id, priority, kind, task number, arguments...): 0, or an errno if it was not begun. */
vg_val vg_piece_later(vg_call *call);
/* (id): true if it will never run. */
vg_val vg_piece_cancel(vg_call *call);

#endif
