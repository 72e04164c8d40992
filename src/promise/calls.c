/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include "value.h"

#include "base/raise.h"

/* Apart, because whatever calls setjmp is poor in registers. */
__attribute__((noinline)) void vg_call_then(vigil_value *result, vigil_then_fn fn, vigil_value *value, void *arg)
{
    vg_raise_frame frame;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        vigil_value made = fn(value, arg);
        vg_value_copy(result, &made);
    } else {
        *result = vigil_value_error(frame.status);
    }
    vg_raise_pop(&frame);
}

__attribute__((noinline)) vigil_value vg_call_plain(vigil_value (*fn)(void *arg), void *arg)
{
    vg_raise_frame frame;
    vigil_value result;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        result = fn(arg);
    else
        result = vigil_value_error(frame.status);
    vg_raise_pop(&frame);
    return result;
}

__attribute__((noinline)) void vg_call_done(void (*done)(void *arg), void *arg)
{
    if (done == NULL)
        return;
    vg_raise_frame frame;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        done(arg);
    vg_raise_pop(&frame);
}
