/* SPDX-License-Identifier: MIT */
/* How a host ends; ending.c says how. */
#ifndef VG_JS_ENDING_H
#define VG_JS_ENDING_H

#include "host.h"

/* Turns of the loop until everything that was accepted has run. 0; 1: the program has ended or was unwound; errors of
   vigil_loop_run. */
int vg_js_drain(vigil_js *js);

/* Of host.c: runs to the end and emits exit. Returns the exit code; errors of vigil_loop_run. */
int vg_js_run_to_end(vigil_js *js);
void vg_js_unpark(vigil_js *js);

#endif
