/* SPDX-License-Identifier: MIT */
/* The parser of answers, for lib/http_client.js. */
#ifndef VG_JS_HTTP_ANSWER_H
#define VG_JS_HTTP_ANSWER_H

#include "host.h"

bool vg_js_bind_answer(vigil_js *js);
void vg_js_answer_end(vigil_js *js);

#endif
