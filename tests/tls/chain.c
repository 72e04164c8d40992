/* SPDX-License-Identifier: MIT */
/* A server sends the certificates of its file, and does not look for more of them. */
#include "certs.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <vigil/tls.h>
#include <vigil/vigil.h>

/* How many certificates a client of OpenSSL's own is sent. */
static int certificates_sent(vigil_tls *tls)
{
    int ends[2], rc;
    vigil_stream *stream;
    vigil_loop *loop = loop_plain();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    must(ssl != NULL);
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    must_equal(vigil_stream_open(&stream, loop, ends[0], NULL), 0);
    must_equal(vigil_tls_start(tls, stream, NULL, NULL, NULL), 0);
    must_equal(SSL_set_fd(ssl, ends[1]), 1);
    while ((rc = SSL_connect(ssl)) != 1) {
        must_equal(SSL_get_error(ssl, rc), SSL_ERROR_WANT_READ);
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    }
    const int count = sk_X509_num(SSL_get_peer_cert_chain(ssl));
    SSL_free(ssl);
    SSL_CTX_free(context);
    must_equal(vigil_stream_reset(stream), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(close(ends[1]), 0);
    return count;
}

static void a_server_sends_its_file_alone(void **state)
{
    (void)state;
    struct cert authority, good;
    vigil_tls *tls;
    certs_begin();
    cert_make(&authority, "authority", NULL, NULL, -3600, 3600);
    cert_make(&good, "good.test", "DNS:good.test", &authority, -3600, 3600);
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    const vigil_tls_certificate files = {good.chain, good.file};
    options.server = true;
    options.certificates = &files;
    options.count = 1;
    options.clients = VIGIL_TLS_CLIENTS_ASKED;
    options.trust = authority.chain; /* the issuer is at hand: a look for it would find it */
    must_equal(vigil_tls_create(&tls, &options), 0);
    must_equal(certificates_sent(tls), 1);
    vigil_tls_destroy(tls);
    FILE *out = fopen(good.chain, "a");
    must(out != NULL);
    must_equal(PEM_write_X509(out, authority.x509), 1);
    must_equal(fclose(out), 0);
    must_equal(vigil_tls_create(&tls, &options), 0);
    must_equal(certificates_sent(tls), 2);
    vigil_tls_destroy(tls);
    cert_free(&authority);
    cert_free(&good);
    must_equal(rmdir(certs_folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_sends_its_file_alone),
    };
    return run_all(tests);
}
