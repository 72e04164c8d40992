/* SPDX-License-Identifier: MIT */
/* The embedding API's part in the end of a host. */
#ifndef VG_JS_EMBED_H
#define VG_JS_EMBED_H

#include "host.h"

/* Keep what was thrown for vigil_js_error_get. Returns -EIO; -ENOMEM. */
int vg_js_threw(vigil_js *js, vg_val thrown);
void vg_js_embed_end(vigil_js *js, bool engine_gone);

#endif
