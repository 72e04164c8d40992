/* SPDX-License-Identifier: MIT */
/*
 * TLS for JavaScript, with OpenSSL and without the engine: a session is a machine between two memories. JavaScript brings what came from
 * the network, and takes what is to be sent and what was said; any stream can carry it.
 *
 *   tls_context.c      certificates, keys, trust and settings
 *   tls_session.c      one connection
 *   tls_certificate.c  a certificate in words
 *   bind_tls.c         what lib/tls_link.js calls
 */
#ifndef VG_JS_TLS_SESSION_H
#define VG_JS_TLS_SESSION_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "buffer.h"

enum {
    VG_TLS_TICKETS = 8,
    VG_TLS_PROTOCOLS = 1024
};

typedef struct vg_tls_session {
    SSL *ssl;
    BIO *in, *out; /* of ssl */
    bool server, rejects;
    bool asks;    /* JavaScript decides about the greeting of a client */
    bool decided; /* it has */
    bool done, ended, failed;
    SSL_CTX *other;         /* the context that was decided for */
    unsigned char *offered; /* protocols: ours to choose from, in the order of preference */
    size_t offered_length;
    char *asked_host; /* of a client's greeting */
    unsigned char asked[VG_TLS_PROTOCOLS];
    size_t asked_length;
    char *chosen; /* by JavaScript; "" refuses */
    vg_buffer plain;
    SSL_SESSION *tickets[VG_TLS_TICKETS];
    unsigned ticket_count;
    unsigned long error; /* OpenSSL's */
} vg_tls_session;

/* ---- tls_context.c */
SSL_CTX *vg_tls_context_new(int least, int most);
/* One of VG_TLS_PART_*; false: OpenSSL's queue says why. pass may be NULL. */
bool vg_tls_context_add(SSL_CTX *context, int part, const void *bytes, size_t length, const char *pass);

/* ---- tls_session.c */
/* What every context calls for a session. */
void vg_tls_session_hooks(SSL_CTX *context);
vg_tls_session *vg_tls_session_new(SSL_CTX *context, bool server, bool asks_certificate, bool rejects, bool asks);
void vg_tls_session_free(vg_tls_session *session);
/* ALPN: each with its length before it. */
bool vg_tls_session_protocols(vg_tls_session *session, const unsigned char *bytes, size_t length);
/* After VG_TLS_STATE_ASKS. context and protocol may be NULL. */
bool vg_tls_session_decide(vg_tls_session *session, SSL_CTX *context, const char *protocol);
/* Go on as far as it goes; reads only if told so. VG_TLS_STATE_*. */
unsigned vg_tls_session_step(vg_tls_session *session, bool reads);
/* False: it has failed. */
bool vg_tls_session_write(vg_tls_session *session, const void *bytes, size_t length);
void vg_tls_session_shut(vg_tls_session *session);

/* ---- tls_certificate.c */
/* The name of a result of the verification, without X509_V_ERR_. */
const char *vg_tls_verify_name(long result);
/* The alternative names of a certificate: "DNS:a.example, IP Address:127.0.0.1". Adds to text; false: there are none. */
bool vg_tls_names(const X509 *certificate, BIO *text);

#endif
