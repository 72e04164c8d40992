/* SPDX-License-Identifier: MIT */
/*
 * awaits.h - operations that wait for time, descriptors, children, signals, or another promise.
 */
#ifndef VG_PROMISE_AWAITS_H
#define VG_PROMISE_AWAITS_H

#include "op.h"

/* Owner. What it waits for has come; only its microtask is outstanding, and nothing else finishes it. */
bool vg_op_is_served(vg_op *op);

#endif
