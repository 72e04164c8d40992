/* SPDX-License-Identifier: MIT */
/* How JavaScript lives on the loop; turn.c says how. */
#ifndef VG_JS_TURN_H
#define VG_JS_TURN_H

#include "host.h"

/* Enter JavaScript through dispatch, then bring the loop up to date. Up to three arguments; NULL ones are left out. */
int vg_js_dispatch(vigil_js *js, int kind, vg_val a, vg_val b, vg_val c);
int vg_js_turn_init(vigil_js *js);
void vg_js_turn_end(vigil_js *js);
double vg_js_now_ms(vigil_js *js);
/* Bring the loop up to date with what JavaScript wants; done by dispatch. */
void vg_js_sync(vigil_js *js);
/* The work in flight changes; keeps the loop alive. Owner. */
void vg_js_in_flight(vigil_js *js, int change);

#endif
