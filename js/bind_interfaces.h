/* SPDX-License-Identifier: MIT */
/* The network interfaces, for lib/os.js. */
#ifndef VG_JS_BIND_INTERFACES_H
#define VG_JS_BIND_INTERFACES_H

#include "host.h"

/* Adds a function to js->binding. False: no memory. */
bool vg_js_bind_interfaces(vigil_js *js);

#endif
