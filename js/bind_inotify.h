/* SPDX-License-Identifier: MIT */
/* What lib/fs_watch.js sees. */
#ifndef VG_JS_BIND_INOTIFY_H
#define VG_JS_BIND_INOTIFY_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_inotify(vigil_js *js);

#endif
