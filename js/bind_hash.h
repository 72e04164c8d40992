/* SPDX-License-Identifier: MIT */
/* Digests in steps and keys at once, for lib/crypto_hash.js. */
#ifndef VG_JS_BIND_HASH_H
#define VG_JS_BIND_HASH_H

#include "host.h"

bool vg_js_bind_hash(vigil_js *js);
void vg_js_hash_end(vigil_js *js);

#endif
