/* SPDX-License-Identifier: MIT */
/* What lib/http_link.js calls. */
#ifndef VG_JS_HTTP_BIND_H
#define VG_JS_HTTP_BIND_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_http(vigil_js *js);

#endif
