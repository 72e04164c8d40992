/* SPDX-License-Identifier: MIT */
/* One connection. Callbacks of OpenSSL only note what they learn; JavaScript is asked between two steps. */
#include "tls_session.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"

#define READ_AT_ONCE 16384
#define MOST_PLAIN   (256U * 1024U)

/* ---- callbacks -------------------------------------------------------------------------------------------------- */

static vg_tls_session *session_of(const SSL *ssl)
{
    return SSL_get_app_data(ssl);
}

/* server_name: a list of one entry of kind 0. */
static void note_host(vg_tls_session *session, const unsigned char *data, size_t length)
{
    size_t size;
    if (length < 5 || data[2] != 0)
        return;
    size = (size_t)data[3] << 8 | data[4];
    if (size + 5 > length || size == 0 || memchr(data + 5, 0, size))
        return;
    free(session->asked_host);
    session->asked_host = strndup((const char *)data + 5, size);
}

static int on_greeting(SSL *ssl, int *alert, void *arg)
{
    vg_tls_session *session = session_of(ssl);
    const unsigned char *data;
    size_t length;
    (void)arg;
    if (!session) {
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_CLIENT_HELLO_ERROR;
    }
    if (session->decided)
        return SSL_CLIENT_HELLO_SUCCESS;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &length))
        note_host(session, data, length);
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data, &length) &&
        length > 2 && length - 2 <= sizeof session->asked) {
        memcpy(session->asked, data + 2, length - 2);
        session->asked_length = length - 2;
    }
    return session->asks ? SSL_CLIENT_HELLO_RETRY : SSL_CLIENT_HELLO_SUCCESS;
}

/* The certificate of the context that was decided for, with its trust. */
static int on_certificate(SSL *ssl, void *arg)
{
    vg_tls_session *session = session_of(ssl);
    SSL_CTX *context = session ? session->other : NULL;
    (void)arg;
    if (!context)
        return 1;
    if (!SSL_set_SSL_CTX(ssl, context) || !SSL_set1_verify_cert_store(ssl, SSL_CTX_get_cert_store(context)))
        return 0;
    SSL_set_client_CA_list(ssl, SSL_dup_CA_list(SSL_CTX_get_client_CA_list(context)));
    return 1;
}

static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                        unsigned in_length, void *arg)
{
    vg_tls_session *session = session_of(ssl);
    (void)arg;
    if (!session)
        return SSL_TLSEXT_ERR_NOACK;
    if (session->chosen) {
        size_t length = strlen(session->chosen);
        for (unsigned at = 0; length > 0 && at < in_length; at += 1U + in[at]) {
            if (in[at] == length && memcmp(in + at + 1, session->chosen, length) == 0) {
                *out = in + at + 1;
                *out_length = in[at];
                return SSL_TLSEXT_ERR_OK;
            }
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    if (!session->offered)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_select_next_proto((unsigned char **)out, out_length, session->offered, (unsigned)session->offered_length,
                                 in, in_length) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int on_ticket(SSL *ssl, SSL_SESSION *ticket)
{
    vg_tls_session *session = session_of(ssl);
    if (!session || session->server || session->ticket_count == VG_TLS_TICKETS)
        return 0;
    session->tickets[session->ticket_count++] = ticket;
    return 1;
}

/* JavaScript judges when all is said. */
static int on_verify(int good, X509_STORE_CTX *store)
{
    (void)good;
    (void)store;
    return 1;
}

void vg_tls_session_hooks(SSL_CTX *context)
{
    SSL_CTX_set_client_hello_cb(context, on_greeting, NULL);
    SSL_CTX_set_cert_cb(context, on_certificate, NULL);
    SSL_CTX_set_alpn_select_cb(context, on_protocols, NULL);
    SSL_CTX_sess_set_new_cb(context, on_ticket);
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

vg_tls_session *vg_tls_session_new(SSL_CTX *context, bool server, bool asks_certificate, bool rejects, bool asks)
{
    vg_tls_session *session = calloc(1, sizeof *session);
    int verify = SSL_VERIFY_NONE;
    if (!session)
        return NULL;
    ERR_clear_error();
    session->ssl = SSL_new(context);
    session->in = BIO_new(BIO_s_mem());
    session->out = BIO_new(BIO_s_mem());
    if (!session->ssl || !session->in || !session->out) {
        BIO_free(session->in);
        BIO_free(session->out);
        SSL_free(session->ssl);
        free(session);
        return NULL;
    }
    BIO_set_mem_eof_return(session->in, -1);
    BIO_set_mem_eof_return(session->out, -1);
    SSL_set_bio(session->ssl, session->in, session->out);
    SSL_set_app_data(session->ssl, session);
    SSL_set_mode(session->ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    session->server = server;
    session->rejects = rejects;
    session->asks = asks;
    if (!server)
        verify = SSL_VERIFY_PEER;
    else if (asks_certificate)
        verify = rejects ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER;
    SSL_set_verify(session->ssl, verify, on_verify);
    if (server)
        SSL_set_accept_state(session->ssl);
    else
        SSL_set_connect_state(session->ssl);
    return session;
}

void vg_tls_session_free(vg_tls_session *session)
{
    if (!session)
        return;
    SSL_set_app_data(session->ssl, NULL);
    SSL_free(session->ssl);
    SSL_CTX_free(session->other);
    for (unsigned i = 0; i < session->ticket_count; i++)
        SSL_SESSION_free(session->tickets[i]);
    free(session->offered);
    free(session->asked_host);
    free(session->chosen);
    vg_buffer_free(&session->plain);
    free(session);
}

bool vg_tls_session_protocols(vg_tls_session *session, const unsigned char *bytes, size_t length)
{
    if (!session->server)
        return SSL_set_alpn_protos(session->ssl, bytes, (unsigned)length) == 0;
    free(session->offered);
    session->offered = malloc(length + 1);
    if (!session->offered)
        return false;
    memcpy(session->offered, bytes, length);
    session->offered_length = length;
    return true;
}

bool vg_tls_session_decide(vg_tls_session *session, SSL_CTX *context, const char *protocol)
{
    session->decided = true;
    session->asks = false;
    if (context && SSL_CTX_up_ref(context)) {
        SSL_CTX_free(session->other);
        session->other = context;
    }
    if (protocol && !(session->chosen = strdup(protocol)))
        return false;
    return true;
}

/* ---- moving on -------------------------------------------------------------------------------------------------- */

/* True: more bytes are needed, which is no failure. */
static bool waits(vg_tls_session *session, int result)
{
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_CLIENT_HELLO_CB:
        return true;
    case SSL_ERROR_ZERO_RETURN:
        session->ended = true;
        return true;
    default:
        session->failed = true;
        session->error = ERR_peek_error();
        return false;
    }
}

static void read_plain(vg_tls_session *session)
{
    unsigned char piece[READ_AT_ONCE];
    while (session->plain.length < MOST_PLAIN && !session->ended) {
        int count = SSL_read(session->ssl, piece, sizeof piece);
        if (count <= 0) {
            waits(session, count);
            return;
        }
        if (!vg_buffer_add(&session->plain, piece, (size_t)count)) {
            session->failed = true;
            return;
        }
    }
}

unsigned vg_tls_session_step(vg_tls_session *session, bool reads)
{
    unsigned state = 0;
    ERR_clear_error();
    if (!session->failed && !session->done) {
        int result = SSL_do_handshake(session->ssl);
        if (result == 1)
            session->done = true;
        else
            waits(session, result);
    }
    if (!session->failed && session->done && reads)
        read_plain(session);
    if (session->done)
        state |= VG_TLS_STATE_SECURE;
    if (!session->done && session->asks && SSL_want(session->ssl) == SSL_CLIENT_HELLO_CB)
        state |= VG_TLS_STATE_ASKS;
    if (session->plain.length > 0)
        state |= VG_TLS_STATE_DATA;
    if (session->plain.length >= MOST_PLAIN)
        state |= VG_TLS_STATE_MORE;
    if (session->ticket_count > 0)
        state |= VG_TLS_STATE_TICKET;
    if (session->ended)
        state |= VG_TLS_STATE_ENDED;
    if (session->failed)
        state |= VG_TLS_STATE_FAILED;
    return state;
}

bool vg_tls_session_write(vg_tls_session *session, const void *bytes, size_t length)
{
    size_t count;
    ERR_clear_error();
    if (session->failed)
        return false;
    if (length == 0)
        return true;
    /* The memory takes all of it. */
    if (SSL_write_ex(session->ssl, bytes, length, &count) == 1 && count == length)
        return true;
    session->failed = true;
    session->error = ERR_peek_error();
    return false;
}

void vg_tls_session_shut(vg_tls_session *session)
{
    ERR_clear_error();
    if (!session->failed && session->done)
        SSL_shutdown(session->ssl);
    ERR_clear_error();
}
