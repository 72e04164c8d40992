/* SPDX-License-Identifier: MIT */
/*
 * TLS between a stream and its descriptor. OpenSSL reads and writes through a BIO of our own: its socket BIO would raise
 * SIGPIPE.
 */
#include "filter.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RECORD = 16384
};

typedef struct vg_tls_filter {
    SSL *ssl;
    vigil_tls *tls;
    vigil_stream *stream;
    char *host; /* of a client */
    bool dry;   /* what OpenSSL holds is no complete record */
    bool started;
    bool cut_off; /* the descriptor has ended, and TLS has not */
    int status;   /* of the verification, or of the descriptor */
    char why[320];
} vg_tls_filter;

/* ---- the descriptor ----------------------------------------------------------------------------------------------- */

static int bio_write(BIO *bio, const char *bytes, int length)
{
    vg_tls_filter *it = BIO_get_data(bio);
    ssize_t sent;
    BIO_clear_retry_flags(bio);
    do
        sent = send(vigil_stream_fd(it->stream), bytes, (size_t)length, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    else if (sent < 0)
        it->status = -errno;
    return (int)sent;
}

static int bio_read(BIO *bio, char *bytes, int room)
{
    vg_tls_filter *it = BIO_get_data(bio);
    ssize_t got;
    BIO_clear_retry_flags(bio);
    do
        got = recv(vigil_stream_fd(it->stream), bytes, (size_t)room, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    else if (got < 0)
        it->status = -errno;
    else if (got == 0)
        it->cut_off = true;
    return (int)got;
}

static long bio_control(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *method;
static int filter_index;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_method(void)
{
    filter_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vigil stream");
    if (method != NULL) {
        (void)BIO_meth_set_write(method, bio_write);
        (void)BIO_meth_set_read(method, bio_read);
        (void)BIO_meth_set_ctrl(method, bio_control);
    }
}

static vg_tls_filter *filter_of(const SSL *ssl)
{
    return SSL_get_ex_data(ssl, filter_index);
}

const char *vg_tls_filter_host(const SSL *ssl)
{
    const vg_tls_filter *it = filter_of(ssl);
    return it != NULL ? it->host : NULL;
}

vigil_tls *vg_tls_filter_context(const SSL *ssl)
{
    const vg_tls_filter *it = filter_of(ssl);
    return it != NULL ? it->tls : NULL;
}

/* ---- why ---------------------------------------------------------------------------------------------------------- */

static void name_of(X509 *certificate, char *text, size_t room)
{
    BIO *out = BIO_new(BIO_s_mem());
    char *bytes;
    text[0] = 0;
    if (out == NULL || certificate == NULL) {
        BIO_free(out);
        return;
    }
    (void)X509_NAME_print_ex(out, X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
    const long length = BIO_get_mem_data(out, &bytes);
    (void)snprintf(text, room, "%.*s", (int)length, bytes);
    BIO_free(out);
}

static void time_of(const ASN1_TIME *time, char *text, size_t room)
{
    struct tm parts;
    if (ASN1_TIME_to_tm(time, &parts) != 1 || strftime(text, room, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        (void)snprintf(text, room, "an unknown time");
}

/* A sentence about the certificate that was refused. */
static void explain(vg_tls_filter *it, int error, X509 *certificate)
{
    char name[128], when[32];
    name_of(certificate, name, sizeof name);
    it->status = -EKEYREJECTED;
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        time_of(X509_get0_notAfter(certificate), when, sizeof when);
        it->status = -EKEYEXPIRED;
        (void)snprintf(it->why, sizeof it->why, "the certificate of %s has expired: it was valid until %s", name, when);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        time_of(X509_get0_notBefore(certificate), when, sizeof when);
        (void)snprintf(it->why, sizeof it->why, "the certificate of %s is not valid yet: it will be from %s", name,
                       when);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        (void)snprintf(it->why, sizeof it->why, "the certificate of %s is not for %.100s", name,
                       it->host != NULL ? it->host : "this host");
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        (void)snprintf(it->why, sizeof it->why, "the certificate of %s is signed by itself and is not trusted", name);
        break;
    default:
        time_of(X509_get0_notAfter(certificate), when, sizeof when);
        (void)snprintf(it->why, sizeof it->why, "the certificate of %s (valid until %s) is refused: %s", name, when,
                       X509_verify_cert_error_string(error));
        break;
    }
}

int vg_tls_filter_verify(int good, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    vg_tls_filter *it = ssl != NULL ? filter_of(ssl) : NULL;
    if (!good && it != NULL && it->why[0] == 0)
        explain(it, X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store));
    return good;
}

/* What OpenSSL's answer means for the stream. */
static int64_t answer(vg_tls_filter *it, int rc, unsigned *wants)
{
    char words[160];
    const int error = SSL_get_error(it->ssl, rc);
    switch (error) {
    case SSL_ERROR_WANT_READ:
        *wants = VIGIL_FD_READ;
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        *wants = VIGIL_FD_WRITE;
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        break;
    }
    if (it->status == 0)
        it->status = it->cut_off || error == SSL_ERROR_SYSCALL ? -ECONNRESET : -EPROTO;
    if (it->why[0] == 0) {
        if (it->cut_off)
            (void)snprintf(it->why, sizeof it->why, "the peer has closed the connection without ending TLS");
        else if (it->status != -EPROTO)
            (void)snprintf(it->why, sizeof it->why, "the connection has failed: %s", strerror(-it->status));
        else
            (void)snprintf(it->why, sizeof it->why, "TLS has failed: %s", vg_tls_error_words(words, sizeof words));
    }
    ERR_clear_error();
    return vigil_why_set(it->status, it->why);
}

/* ---- what the stream calls ----------------------------------------------------------------------------------------- */

static int filter_start(void *filter, unsigned *wants)
{
    vg_tls_filter *it = filter;
    ERR_clear_error();
    const int rc = SSL_do_handshake(it->ssl);
    if (rc == 1) {
        it->started = true;
        return 0;
    }
    const int64_t status = answer(it, rc, wants);
    return status == 0 ? -EPROTO : (int)status;
}

static int64_t filter_receive(void *filter, void *buffer, size_t room, unsigned *wants)
{
    vg_tls_filter *it = filter;
    size_t got = 0;
    ERR_clear_error();
    const int rc = SSL_read_ex(it->ssl, buffer, room, &got);
    if (rc == 1) {
        it->dry = false;
        return (int64_t)got;
    }
    const int64_t status = answer(it, rc, wants);
    it->dry = status == -EAGAIN;
    return status;
}

static bool filter_pending(void *filter)
{
    const vg_tls_filter *it = filter;
    return !it->dry && SSL_has_pending(it->ssl) == 1;
}

static int64_t filter_send(void *filter, const struct iovec *parts, size_t count, unsigned *wants)
{
    vg_tls_filter *it = filter;
    char together[RECORD];
    const void *bytes = parts[0].iov_base;
    size_t length = parts[0].iov_len;
    size_t sent = 0;
    if (length < RECORD && count > 1) { /* one record and one send for several small parts */
        length = 0;
        for (size_t i = 0; i < count && length < RECORD; i++) {
            const size_t room = RECORD - length;
            const size_t piece = parts[i].iov_len < room ? parts[i].iov_len : room;
            memcpy(together + length, parts[i].iov_base, piece);
            length += piece;
        }
        bytes = together;
    }
    ERR_clear_error();
    const int rc = SSL_write_ex(it->ssl, bytes, length, &sent);
    if (rc == 1)
        return (int64_t)sent;
    const int64_t status = answer(it, rc, wants);
    return status == 0 ? -EPIPE : status;
}

static int filter_finish(void *filter, unsigned *wants)
{
    vg_tls_filter *it = filter;
    if (!it->started || it->status != 0)
        return 0; /* nothing was agreed that could be ended */
    ERR_clear_error();
    const int rc = SSL_shutdown(it->ssl);
    if (rc >= 0)
        return 0;
    const int error = SSL_get_error(it->ssl, rc);
    ERR_clear_error();
    if (error != SSL_ERROR_WANT_WRITE)
        return 0; /* the peer has gone: reading tells it */
    *wants = VIGIL_FD_WRITE;
    return -EAGAIN;
}

static void filter_destroy(void *filter)
{
    vg_tls_filter *it = filter;
    (void)SSL_set_ex_data(it->ssl, filter_index, NULL);
    if (it->started && it->status == 0)
        SSL_set_shutdown(it->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* its session may be resumed */
    SSL_free(it->ssl);
    vg_tls_unref(it->tls);
    free(it->host);
    free(it);
}

/* ---- the public calls --------------------------------------------------------------------------------------------- */

static int set_host(vg_tls_filter *it, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    const bool is_address = inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    it->host = strdup(host);
    if (it->host == NULL)
        return -ENOMEM;
    if (is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(it->ssl), host) == 1 ? 0 : -ENOMEM;
    SSL_set_hostflags(it->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(it->ssl, host) != 1 || SSL_set_tlsext_host_name(it->ssl, host) != 1)
        return vg_tls_say(-EINVAL, "host '%.80s' is no host name", host);
    return 0;
}

static int make_filter(vg_tls_filter **made, vigil_tls *tls, vigil_stream *stream, const char *host)
{
    if (tls == NULL || stream == NULL)
        return vigil_why_set(-EINVAL, "tls or stream is NULL");
    if (!tls->options.server && host == NULL && !tls->options.insecure)
        return vigil_why_set(-EINVAL, "host is NULL: a client must know whom it verifies");
    (void)pthread_once(&once, make_method);
    vg_tls_filter *it = calloc(1, sizeof *it);
    BIO *bio = method != NULL ? BIO_new(method) : NULL;
    if (it != NULL)
        it->ssl = SSL_new(tls->pairs[0].context);
    if (it == NULL || bio == NULL || it->ssl == NULL || SSL_set_ex_data(it->ssl, filter_index, it) != 1) {
        BIO_free(bio);
        SSL_free(it != NULL ? it->ssl : NULL);
        free(it);
        return vigil_why_set(-ENOMEM, "no memory for a TLS connection");
    }
    BIO_set_data(bio, it);
    BIO_set_init(bio, 1);
    SSL_set_bio(it->ssl, bio, bio);
    it->tls = tls;
    tls->references++;
    it->stream = stream;
    int error = 0;
    if (tls->options.server) {
        SSL_set_accept_state(it->ssl);
    } else {
        SSL_set_connect_state(it->ssl);
        error = host != NULL ? set_host(it, host) : 0;
        SSL_SESSION *session = vg_tls_session_of(tls, host);
        if (error == 0 && session != NULL)
            (void)SSL_set_session(it->ssl, session);
    }
    if (error != 0) {
        filter_destroy(it);
        return error;
    }
    *made = it;
    return 0;
}

static vigil_filter_calls calls_of(void)
{
    vigil_filter_calls calls = VIGIL_FILTER_CALLS_INIT;
    calls.start = filter_start;
    calls.receive = filter_receive;
    calls.pending = filter_pending;
    calls.send = filter_send;
    calls.finish = filter_finish;
    calls.destroy = filter_destroy;
    return calls;
}

int vigil_tls_start(vigil_tls *tls, vigil_stream *stream, const char *host, vigil_filter_fn started, void *arg)
{
    vg_tls_filter *it;
    const vigil_filter_calls calls = calls_of();
    int error = make_filter(&it, tls, stream, host);
    if (error != 0)
        return error;
    error = vigil_stream_filter(stream, &calls, it, started, arg);
    if (error != 0)
        filter_destroy(it);
    return error;
}

int vigil_promise_tls(vigil_tls *tls, vigil_stream *stream, const char *host, vigil_cancel_token *token,
                      vigil_promise **promise)
{
    vg_tls_filter *it;
    const vigil_filter_calls calls = calls_of();
    int error = make_filter(&it, tls, stream, host);
    if (error != 0)
        return error;
    error = vigil_promise_filter(stream, &calls, it, token, promise);
    if (error != 0)
        filter_destroy(it);
    return error;
}

const char *vigil_tls_why(const vigil_stream *stream)
{
    const vg_tls_filter *it = vigil_stream_filter_of(stream, filter_receive);
    return it != NULL ? it->why : "";
}

int vigil_tls_info_get(const vigil_stream *stream, vigil_tls_info *info)
{
    if (stream == NULL || info == NULL || info->size != sizeof *info)
        return vigil_why_set(-EINVAL, "stream is NULL, or info does not start from VIGIL_TLS_INFO_INIT");
    const vg_tls_filter *it = vigil_stream_filter_of(stream, filter_receive);
    if (it == NULL || !it->started)
        return vigil_why_set(-ENOTCONN, "the stream has no TLS, or it has not started");
    const unsigned char *protocol;
    unsigned length;
    X509 *peer = SSL_get0_peer_certificate(it->ssl);
    const char *host = SSL_get_servername(it->ssl, TLSEXT_NAMETYPE_host_name);
    SSL_get0_alpn_selected(it->ssl, &protocol, &length);
    *info = (vigil_tls_info){.size = sizeof *info,
                             .resumed = SSL_session_reused(it->ssl) == 1,
                             .version = SSL_get_version(it->ssl),
                             .cipher = SSL_get_cipher_name(it->ssl)};
    (void)snprintf(info->protocol, sizeof info->protocol, "%.*s", (int)length, (const char *)protocol);
    (void)snprintf(info->host, sizeof info->host, "%s", host != NULL ? host : it->host != NULL ? it->host : "");
    name_of(peer, info->peer, sizeof info->peer);
    struct tm parts;
    if (peer != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(peer), &parts) == 1)
        info->valid_until = (int64_t)timegm(&parts);
    return 0;
}
