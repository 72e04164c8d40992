/* SPDX-License-Identifier: MIT */
/* zlib's streams for lib/zlib.js. */
#ifndef VG_JS_BIND_ZIP_H
#define VG_JS_BIND_ZIP_H

#include "host.h"

bool vg_js_bind_zip(vigil_js *js);
void vg_js_zip_end(vigil_js *js);

#endif
