/* SPDX-License-Identifier: MIT */
/* filter.h - TLS between a stream and its descriptor. */
#ifndef VG_TLS_FILTER_H
#define VG_TLS_FILTER_H

#include "context.h"

/* Of a connection: the host that was asked for, and the context. NULL: it is not ours any more. */
const char *vg_tls_filter_host(const SSL *ssl);
vigil_tls *vg_tls_filter_context(const SSL *ssl);
/* What OpenSSL asks for each certificate of the chain. */
int vg_tls_filter_verify(int good, X509_STORE_CTX *store);

#endif
