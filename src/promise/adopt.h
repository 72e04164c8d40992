/* SPDX-License-Identifier: MIT */
/*
 * adopt.h - a promise that is resolved with another promise, or with a thenable. Owner only.
 */
#ifndef VG_PROMISE_ADOPT_H
#define VG_PROMISE_ADOPT_H

#include "object.h"

void vg_promise_adopt(vigil_promise *promise, vigil_promise *other);
void vg_promise_call_thenable(vigil_promise *promise, vigil_value value);

#endif
