/* SPDX-License-Identifier: MIT */
/* The embedding API's part in the end of a host. */
#ifndef VG_JS_EMBED_H
#define VG_JS_EMBED_H

#include "host.h"

void vg_js_embed_end(vigil_js *js, bool engine_gone);

#endif
