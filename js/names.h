/* SPDX-License-Identifier: MIT */
/* Names of JavaScript functions, for viewers. */
#ifndef VG_JS_NAMES_H
#define VG_JS_NAMES_H

#include "host.h"

/* What was compiled under this name: a function, or a text that was run. */
void vg_js_names_learn(vigil_js *js, vg_val result, const char *url);
/* This function is about to run, inside a callback of the loop; NULL: anything. */
void vg_js_shows(vigil_js *js, vg_val function);
void vg_js_shows_frame(vigil_js *js, const char *frame);
void vg_js_names_end(vigil_js *js);

#endif
