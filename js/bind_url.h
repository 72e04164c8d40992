/* SPDX-License-Identifier: MIT */
/* Plain URLs for lib/url.js. */
#ifndef VG_JS_BIND_URL_H
#define VG_JS_BIND_URL_H

#include <stdbool.h>
#include <vigil/js.h>

bool vg_js_bind_url(vigil_js *js);

#endif
