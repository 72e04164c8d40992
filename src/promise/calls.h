/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calling what the user gave, with a way out for vigil_raise.
 */
#ifndef VG_PROMISE_CALLS_H
#define VG_PROMISE_CALLS_H

#include <vigil/promise.h>

/* Call and answer with what it returned or raised. */
void vg_call_then(vigil_value *result, vigil_then_fn fn, vigil_value *value, void *arg);
vigil_value vg_call_plain(vigil_value (*fn)(void *arg), void *arg);
void vg_call_done(void (*done)(void *arg), void *arg);

#endif
