/* SPDX-License-Identifier: MIT */
/*
 * vigil/tls.h - TLS on a stream, with OpenSSL 3. Its library is libvigil-tls.
 *
 * A stream with TLS is a stream like any other (vigil/io.h): it is read, written, limited and
 * closed with the same calls. TLS is put on a stream that is connected, before anything else.
 *
 * A client verifies the server: its chain of certificates against those that are trusted, their
 * dates, and the host name. It does so unless options.insecure says otherwise. If it does not
 * hold, the stream fails with one of
 *
 *   -EKEYEXPIRED    a certificate has expired
 *   -EKEYREJECTED   a certificate is for another name, is not valid yet, or is not trusted
 *   -EPROTO         the peer does not speak TLS, or has refused ours
 *
 * and vigil_tls_why says which certificate, why, and until when it was valid. A peer that closes
 * the connection without saying in TLS that nothing follows may have been cut off by somebody
 * between: reading answers -ECONNRESET then, and not an end.
 *
 * Versions: TLS 1.2 and 1.3. Sessions are resumed without being asked for.
 */
#ifndef VIGIL_TLS_H
#define VIGIL_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/io.h>
#include <vigil/io_filter.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Certificates, trust and settings, for many streams. */
typedef struct vigil_tls vigil_tls;

/* A certificate with its chain, and its key: names of PEM files. */
typedef struct vigil_tls_certificate {
    const char *chain;
    const char *key;
} vigil_tls_certificate;

/* Whether a server wants its clients to have certificates. */
typedef enum vigil_tls_clients {
    VIGIL_TLS_CLIENTS_ANY = 0, /* they are not asked */
    VIGIL_TLS_CLIENTS_ASKED,   /* one that is given is verified */
    VIGIL_TLS_CLIENTS_REQUIRED
} vigil_tls_clients;

/* Start from VIGIL_TLS_OPTIONS_INIT. Everything is copied. */
typedef struct vigil_tls_options {
    size_t size;
    bool server;
    /* A server's own; the one whose names have the name that the client asks for (SNI) is shown,
       otherwise the first. A client's own: the first is shown if the server asks for one. */
    const vigil_tls_certificate *certificates;
    size_t count;
    const char *trust;         /* a PEM file with trusted certificates; NULL: the system's */
    vigil_tls_clients clients; /* of a server */
    const char *protocols;     /* ALPN, in the order of preference: "h2,http/1.1". NULL: none */
    bool insecure;             /* a client verifies nothing: for tests alone */
} vigil_tls_options;
#define VIGIL_TLS_OPTIONS_INIT VG_SIZED(vigil_tls_options)

/* Read the files and make a context. Any thread; blocks while it reads files.
   0; -EINVAL; -ENOENT and the like of a file; -EBADMSG a file is not what it should be;
   -EKEYREJECTED the key is not that of the certificate; -ENOMEM; vigil_why() names the file. */
VIGIL_API int vigil_tls_create(vigil_tls **tls, const vigil_tls_options *options);

/* Read the files again. Connections that are made from here on use what is in them; those that
   are open go on. If it fails, nothing changes. Owner of the streams; blocks while it reads files.
   0; as vigil_tls_create. */
VIGIL_API int vigil_tls_reload(vigil_tls *tls);

/* Give the context back; streams that use it go on. NULL is allowed. Owner of the streams; does
   not block. */
VIGIL_API void vigil_tls_destroy(vigil_tls *tls);

/* Put TLS on a stream, which must be at rest (vigil_stream_filter). host, of a client: the name
   or address that the server's certificate must be for; NULL only with options.insecure. Of a
   server: NULL. started, if not NULL, is called when both sides have agreed or have not. What is
   written before waits. The stream stays the caller's. Owner; does not block.
   0; -EINVAL; -ENOMEM; and what vigil_stream_filter answers. */
VIGIL_API int vigil_tls_start(vigil_tls *tls, vigil_stream *stream, const char *host,
                              vigil_filter_fn started, void *arg);

/* The same as a promise (VIGIL_NONE). If the token is aborted the stream has failed. Owner; does
   not block.
   0; -EINVAL; -ENOMEM; and what vigil_promise_filter answers. */
VIGIL_API int vigil_promise_tls(vigil_tls *tls, vigil_stream *stream, const char *host,
                                vigil_cancel_token *token, vigil_promise **promise);

/* Connect and put TLS on the stream. *promise is fulfilled with it, as that of
   vigil_promise_connect is; options.timeout_ns is for both steps. options and token may be NULL.
   Owner; does not block.
   0; -EINVAL; -ENOMEM; and what vigil_promise_connect answers. */
VIGIL_API int vigil_promise_tls_connect(vigil_tls *tls, vigil_loop *loop,
                                        const vigil_address *addresses, size_t count,
                                        const char *host, const vigil_connect_options *options,
                                        vigil_cancel_token *token, vigil_promise **promise);

typedef struct vigil_tls_info {
    size_t size;
    bool resumed;
    int64_t valid_until; /* of the peer's certificate, in seconds since 1970; 0: it has none */
    const char *version; /* "TLSv1.3" */
    const char *cipher;  /* "TLS_AES_128_GCM_SHA256" */
    char protocol[64];   /* by ALPN; "": none */
    char host[256];      /* that the client has asked for (SNI) */
    char peer[256];      /* whom the peer's certificate names: "CN = ada"; "": it has none */
} vigil_tls_info;
#define VIGIL_TLS_INFO_INIT VG_SIZED(vigil_tls_info)

/* What was agreed. *info starts from VIGIL_TLS_INFO_INIT. Owner; does not block.
   0; -EINVAL; -ENOTCONN the stream has no TLS, or it has not started. */
VIGIL_API int vigil_tls_info_get(const vigil_stream *stream, vigil_tls_info *info);

/* Why TLS on this stream has failed, in a sentence: "the certificate of CN = a.example has
   expired: it was valid until 2024-01-31 12:00:00 UTC". Owner; does not block. Returns a text that
   is valid until the stream is closed; "" if it has not failed. */
VIGIL_API const char *vigil_tls_why(const vigil_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
