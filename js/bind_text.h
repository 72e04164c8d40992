/* SPDX-License-Identifier: MIT */
/* Text in bytes, bytes in text. */
#ifndef VG_JS_BIND_TEXT_H
#define VG_JS_BIND_TEXT_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_text(vigil_js *js);

#endif
