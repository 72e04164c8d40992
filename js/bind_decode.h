/* SPDX-License-Identifier: MIT */
/* Legacy encodings for lib/encoding.js. */
#ifndef VG_JS_BIND_DECODE_H
#define VG_JS_BIND_DECODE_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_decode(vigil_js *js);
/* After the engine has gone. */
void vg_js_decode_end(vigil_js *js);

#endif
