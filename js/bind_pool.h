/* SPDX-License-Identifier: MIT */
/* What lib/pool.js sees. */
#ifndef VG_JS_BIND_POOL_H
#define VG_JS_BIND_POOL_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_pool(vigil_js *js);
/* Made when it is first asked for; NULL: no memory. */
struct vg_pool_side *vg_pool_side_of(vigil_js *js);
void vg_js_pool_side_end(vigil_js *js);

#endif
