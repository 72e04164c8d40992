/* SPDX-License-Identifier: MIT */
/* Ending JavaScript that does not end by itself. */
#ifndef VG_JS_LIMIT_H
#define VG_JS_LIMIT_H

#include "host.h"

void vg_js_limit_begin(vigil_js *js);
/* End the JavaScript that runs, uncatchably. */
void vg_js_unwind(vigil_js *js);

#endif
