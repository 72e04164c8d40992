/* SPDX-License-Identifier: MIT */
/* Sockets for lib/net_link.js. */
#ifndef VG_JS_BIND_NET_H
#define VG_JS_BIND_NET_H

#include "host.h"

bool vg_js_bind_net(vigil_js *js);
/* A server listens, or a connection is open that keeps the program alive. */
bool vg_js_net_busy(vigil_js *js);
/* Closes everything; the memory stays until vg_js_net_free. */
void vg_js_net_end(vigil_js *js);
void vg_js_net_free(vigil_js *js);

#endif
