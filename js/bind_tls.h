/* SPDX-License-Identifier: MIT */
/* What lib/tls_link.js calls. */
#ifndef VG_JS_BIND_TLS_H
#define VG_JS_BIND_TLS_H

#include "bind.h"

bool vg_js_bind_tls(vigil_js *js);
void vg_js_tls_end(vigil_js *js);

/* ---- bind_tls_words.c: what is asked of a session, and certificates in words */
typedef struct vg_tls_session vg_tls_session;
vg_tls_session *vg_js_tls_session(vg_call *call);
/* A Uint8Array with a copy. */
vg_val vg_js_tls_bytes(vg_call *call, const void *bytes, size_t length);
bool vg_js_bind_tls_words(vigil_js *js);

#endif
