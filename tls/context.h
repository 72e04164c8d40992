/* SPDX-License-Identifier: MIT */
/* context.h - certificates, trust and settings. Owner only, after the creation. */
#ifndef VG_TLS_CONTEXT_H
#define VG_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include <vigil/tls.h>

enum {
    VG_TLS_SESSIONS = 64 /* that a client keeps, of as many hosts */
};

typedef struct vg_tls_pair {
    SSL_CTX *context;
    X509 *certificate; /* borrowed from the context; NULL: a client without one */
} vg_tls_pair;

typedef struct vg_tls_kept {
    char *host;
    SSL_SESSION *session;
} vg_tls_kept;

struct vigil_tls {
    size_t references;
    vigil_tls_options options; /* with copies of our own */
    vigil_tls_certificate *files;
    char *trust;
    unsigned char protocols[256]; /* as ALPN has them */
    unsigned protocols_length;
    vg_tls_pair *pairs; /* as many as certificates, at least one */
    size_t pair_count;
    vg_tls_kept kept[VG_TLS_SESSIONS];
    size_t next_kept;
};

void vg_tls_unref(vigil_tls *tls);
/* The session that was kept for this host, or NULL. It stays ours. */
SSL_SESSION *vg_tls_session_of(vigil_tls *tls, const char *host);
/* Why a call fails, in a sentence. Returns error. */
int vg_tls_say(int error, const char *form, ...) __attribute__((format(printf, 2, 3)));
/* The first error that OpenSSL has queued, in words; the queue is empty afterwards. */
const char *vg_tls_error_words(char *text, size_t room);

#endif
