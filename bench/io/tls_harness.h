/* SPDX-License-Identifier: MIT */
/*
 * io-tls: each peer is a TLS server on the first CPU; the harness has made it a certificate (ECDSA, P-256) and is its client.
 */
#ifndef BENCH_IO_TLS_HARNESS_H
#define BENCH_IO_TLS_HARNESS_H

#include <sys/types.h>

enum {
    TLS_BULK = 64 << 20 /* bytes of the answer to GET /bulk */
};
#define TLS_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world\n"
#define TLS_HEAD  "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n"

/* The peer's, in a process of its own: serve until it is killed. The folder has cert.pem, key.pem and the file bulk. GET / is
   answered with "hello world\n", GET /bulk with TLS_BULK bytes. */
void tls_serve(const char *folder, int port);

#endif
