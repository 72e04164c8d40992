/* SPDX-License-Identifier: MIT */
/* What lib/watch.js sees. */
#ifndef VG_JS_BIND_WATCH_H
#define VG_JS_BIND_WATCH_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_watch(vigil_js *js);
/* Stops the watchdog if this host has started it. Before the engine goes. */
void vg_js_watch_side_end(vigil_js *js);

#endif
