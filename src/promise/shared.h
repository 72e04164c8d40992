/* SPDX-License-Identifier: MIT */
/*
 * shared.h - waits of src/share as operations.
 */
#ifndef VG_PROMISE_SHARED_H
#define VG_PROMISE_SHARED_H

#include "op.h"

/* Owner. The operation waits for a lock, units or a channel and was just given it: an abort or timeout comes too late.
   If not, its sleeper has left, and the operation must be finished. */
bool vg_op_was_given(vg_op *op);

#endif
