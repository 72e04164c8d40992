/* SPDX-License-Identifier: MIT */
/* File operations for lib/fs.js. */
#ifndef VG_JS_BIND_FS_H
#define VG_JS_BIND_FS_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_fs(vigil_js *js);

#endif
