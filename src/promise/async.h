/* SPDX-License-Identifier: MIT */
/*
 * async.h - calls on the pool.
 */
#ifndef VG_PROMISE_ASYNC_H
#define VG_PROMISE_ASYNC_H

#include "op.h"

bool vg_op_on_pool(const vg_op *op); /* a pool has it, or is to get it */
void vg_call_forked(vg_op *op);
/* Owner. Its promise has just been resolved: the loop's side leaves arg after the present handlers. */
void vg_call_settled(vg_op *op, vigil_promise *promise);

#endif
