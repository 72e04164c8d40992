/* SPDX-License-Identifier: MIT */
/* The cache of rewritten modules, for lib/esm.js. */
#ifndef VG_JS_BIND_MODULES_H
#define VG_JS_BIND_MODULES_H

#include "host.h"

bool vg_js_bind_modules(vigil_js *js);
void vg_js_modules_end(vigil_js *js);

#endif
