/* SPDX-License-Identifier: MIT */
/* Keys, signatures and ciphers, for lib/crypto_*.js and lib/subtle*.js. */
#ifndef VG_JS_BIND_CRYPTO_H
#define VG_JS_BIND_CRYPTO_H

#include "host.h"

bool vg_js_bind_crypto(vigil_js *js);
/* After the engine is gone. */
void vg_js_crypto_end(vigil_js *js);

#endif
