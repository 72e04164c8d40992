/* SPDX-License-Identifier: MIT */
/* Names and addresses for lib/dns.js. */
#ifndef VG_JS_BIND_DNS_H
#define VG_JS_BIND_DNS_H

#include "host.h"

bool vg_js_bind_dns(vigil_js *js);

#endif
