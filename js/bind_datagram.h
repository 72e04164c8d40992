/* SPDX-License-Identifier: MIT */
/* What lib/dgram.js sees. */
#ifndef VG_JS_BIND_DATAGRAM_H
#define VG_JS_BIND_DATAGRAM_H

#include "host.h"

/* Adds functions to js->binding. False: no memory. */
bool vg_js_bind_datagram(vigil_js *js);

#endif
