/* SPDX-License-Identifier: MIT */
/* Bytes for lib/buffer.js: text in and out, searching, comparing. */
#ifndef VG_JS_BIND_BUFFER_H
#define VG_JS_BIND_BUFFER_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_buffer(vigil_js *js);

#endif
