/* SPDX-License-Identifier: MIT */
/* Child processes for lib/child_process.js. */
#ifndef VG_JS_BIND_CHILD_H
#define VG_JS_BIND_CHILD_H

#include "host.h"

bool vg_js_bind_child(vigil_js *js);
/* Children go on; nobody is told of their ends. */
void vg_js_child_end(vigil_js *js);

#endif
