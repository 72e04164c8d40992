/* SPDX-License-Identifier: MIT */
/* What lib/tls_link.js calls: contexts and sessions. Both are objects that the engine collects. */
#include "bind_tls.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "tls_session.h"

static void free_context(void *pointer)
{
    SSL_CTX_free(pointer);
}

static void free_session(void *pointer)
{
    vg_tls_session_free(pointer);
}

static bool classes(vigil_js *js)
{
    if (!js->tls_contexts)
        js->tls_contexts = vg_class_new(js->engine, "SecureContext", free_context);
    if (!js->tls_sessions)
        js->tls_sessions = vg_class_new(js->engine, "TLSSession", free_session);
    return js->tls_contexts && js->tls_sessions;
}

static SSL_CTX *context_at(vg_call *call, size_t i)
{
    vigil_js *js = call->host;
    return js->tls_contexts ? vg_instance_pointer(call->engine, js->tls_contexts, vg_arg(call, i)) : NULL;
}

vg_tls_session *vg_js_tls_session(vg_call *call)
{
    vigil_js *js = call->host;
    return js->tls_sessions ? vg_instance_pointer(call->engine, js->tls_sessions, vg_arg(call, 0)) : NULL;
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

vg_val vg_js_tls_bytes(vg_call *call, const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    if (!copy)
        return vg_throw(call, "no memory");
    memcpy(copy, bytes, length);
    return vg_bytes(call->engine, copy, length, free_bytes, NULL);
}

/* [text, library, reason, number]: what OpenSSL says. */
static vg_val fault(vg_call *call, unsigned long error)
{
    char text[256] = "the TLS library gives no reason";
    const char *library = ERR_lib_error_string(error), *reason = ERR_reason_error_string(error);
    vg_val items[4];
    if (error)
        ERR_error_string_n(error, text, sizeof text);
    items[0] = vg_string(call->engine, text);
    items[1] = vg_string(call->engine, library ? library : "");
    items[2] = vg_string(call->engine, reason ? reason : "");
    items[3] = vg_number(call->engine, (double)ERR_GET_REASON(error));
    ERR_clear_error();
    return vg_array(call->engine, 4, items);
}

/* ---- contexts --------------------------------------------------------------------------------------------------- */

/* context(least, most): versions as OpenSSL numbers them; or what went wrong */
static vg_val do_context(vg_call *call)
{
    vigil_js *js = call->host;
    SSL_CTX *context;
    vg_val value;
    ERR_clear_error();
    if (!classes(js))
        return vg_throw(call, "no memory");
    context = vg_tls_context_new((int)vg_arg_number(call, 0), (int)vg_arg_number(call, 1));
    if (!context)
        return fault(call, ERR_peek_error());
    value = vg_instance(call->engine, js->tls_contexts, NULL, context);
    if (!value)
        SSL_CTX_free(context);
    return value;
}

/* What the system trusts is read once. A context that adds to it has one of its own, and says so with a passphrase. */
static bool shared(vg_call *call, SSL_CTX *context, const char *pass)
{
    vigil_js *js = call->host;
    if ((int)vg_arg_number(call, 1) != VG_TLS_PART_SYSTEM || pass || !js->tls_trust)
        return false;
    SSL_CTX_set1_cert_store(context, js->tls_trust);
    return true;
}

/* add(context, part, bytes, passphrase): undefined, or what went wrong */
static vg_val do_add(vg_call *call)
{
    vigil_js *js = call->host;
    SSL_CTX *context = context_at(call, 0);
    unsigned char *bytes = NULL;
    size_t length = 0;
    char *pass = vg_arg_is(call, 3, VG_STRING) ? vg_arg_text(call, 3, NULL) : NULL;
    bool good;
    if (!vg_to_bytes(call->engine, vg_arg(call, 2), &bytes, &length) || !bytes) {
        bytes = (unsigned char *)"";
        length = 0;
    }
    good = context && (shared(call, context, pass) ||
                       vg_tls_context_add(context, (int)vg_arg_number(call, 1), bytes, length, pass));
    if (good && (int)vg_arg_number(call, 1) == VG_TLS_PART_SYSTEM && !pass && !js->tls_trust) {
        js->tls_trust = SSL_CTX_get_cert_store(context);
        X509_STORE_up_ref(js->tls_trust);
    }
    free(pass);
    return good ? NULL : fault(call, ERR_peek_error());
}

/* ciphers(context): the names, those of TLS 1.3 first */
static vg_val do_ciphers(vg_call *call)
{
    SSL_CTX *context = context_at(call, 0);
    STACK_OF(SSL_CIPHER) *list = context ? SSL_CTX_get_ciphers(context) : NULL;
    vg_val names[256];
    size_t count = 0;
    for (int i = 0; i < sk_SSL_CIPHER_num(list) && count < sizeof names / sizeof *names; i++)
        names[count++] = vg_string(call->engine, SSL_CIPHER_get_name(sk_SSL_CIPHER_value(list, i)));
    return vg_array(call->engine, count, names);
}

/* ---- sessions --------------------------------------------------------------------------------------------------- */

/* open(context, server, asksCertificate, rejects, asks, host, protocols, ticket) */
static vg_val do_open(vg_call *call)
{
    vigil_js *js = call->host;
    SSL_CTX *context = context_at(call, 0);
    bool is[4];
    unsigned char *bytes;
    size_t length;
    vg_tls_session *session;
    vg_val value;
    for (size_t i = 0; i < 4; i++)
        is[i] = vg_to_bool(call->engine, vg_arg(call, i + 1));
    session = context && classes(js) ? vg_tls_session_new(context, is[0], is[1], is[2], is[3]) : NULL;
    if (!session)
        return vg_throw(call, "no memory for a TLS session");
    if (vg_arg_is(call, 5, VG_STRING)) {
        char *host = vg_arg_text(call, 5, NULL);
        if (host && *host)
            SSL_set_tlsext_host_name(session->ssl, host);
        free(host);
    }
    if (vg_to_bytes(call->engine, vg_arg(call, 6), &bytes, &length) && length > 0)
        vg_tls_session_protocols(session, bytes, length);
    if (vg_to_bytes(call->engine, vg_arg(call, 7), &bytes, &length) && length > 0) {
        const unsigned char *at = bytes;
        SSL_SESSION *ticket = d2i_SSL_SESSION(NULL, &at, (long)length);
        if (ticket)
            SSL_set_session(session->ssl, ticket);
        SSL_SESSION_free(ticket);
    }
    value = vg_instance(call->engine, js->tls_sessions, NULL, session);
    if (!value)
        vg_tls_session_free(session);
    return value;
}

/* feed(session, bytes): what came from the network */
static vg_val do_feed(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    unsigned char *bytes;
    size_t length, count;
    if (session && vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length) && length > 0 &&
        BIO_write_ex(session->in, bytes, length, &count) != 1)
        session->failed = true;
    return NULL;
}

/* step(session, reads): flags of tlsState */
static vg_val do_step(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    return vg_number(call->engine,
                     session ? vg_tls_session_step(session, vg_to_bool(call->engine, vg_arg(call, 1))) : 0);
}

/* plain(session): what was said */
static vg_val do_plain(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    vg_val value;
    if (!session || session->plain.length == 0)
        return NULL;
    value = vg_js_tls_bytes(call, session->plain.data + session->plain.start, session->plain.length);
    vg_buffer_free(&session->plain);
    return value;
}

/* output(session): what is to be sent; undefined: nothing */
static vg_val do_output(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    char *data = NULL;
    long length = session ? BIO_get_mem_data(session->out, &data) : 0;
    vg_val value;
    if (length <= 0)
        return NULL;
    value = vg_js_tls_bytes(call, data, (size_t)length);
    (void)BIO_reset(session->out);
    return value;
}

/* write(session, bytes): false if it has failed */
static vg_val do_write(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    unsigned char *bytes;
    size_t length;
    bool good = session && vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length) &&
                vg_tls_session_write(session, bytes, length);
    return vg_bool(call->engine, good);
}

static vg_val do_shut(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    if (session)
        vg_tls_session_shut(session);
    return NULL;
}

/* fault(session): why it has failed */
static vg_val do_fault(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    return session ? fault(call, session->error) : NULL;
}

/* greeting(session): [the host, or undefined, and the protocols as they came] */
static vg_val do_greeting(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    vg_val items[2];
    if (!session)
        return NULL;
    items[0] = session->asked_host ? vg_string(call->engine, session->asked_host) : vg_undefined(call->engine);
    items[1] = vg_js_tls_bytes(call, session->asked, session->asked_length);
    return items[1] ? vg_array(call->engine, 2, items) : NULL;
}

/* decide(session, context, protocol) */
static vg_val do_decide(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    char *protocol = vg_arg_is(call, 2, VG_STRING) ? vg_arg_text(call, 2, NULL) : NULL;
    bool good = session && vg_tls_session_decide(session, context_at(call, 1), protocol);
    free(protocol);
    return vg_bool(call->engine, good);
}

/* ticket(session): the next one, for a later session; undefined: none */
static vg_val do_ticket(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    SSL_SESSION *ticket;
    unsigned char *bytes = NULL;
    int length;
    vg_val value = NULL;
    if (!session || session->ticket_count == 0)
        return NULL;
    ticket = session->tickets[0];
    session->ticket_count--;
    memmove(session->tickets, session->tickets + 1, session->ticket_count * sizeof *session->tickets);
    length = i2d_SSL_SESSION(ticket, &bytes);
    if (length > 0)
        value = vg_js_tls_bytes(call, bytes, (size_t)length);
    OPENSSL_free(bytes);
    SSL_SESSION_free(ticket);
    return value;
}

static const vg_binding_entry entries[] = {
    {"tlsContext", do_context}, {"tlsAdd", do_add},       {"tlsCiphers", do_ciphers}, {"tlsOpen", do_open},
    {"tlsFeed", do_feed},       {"tlsStep", do_step},     {"tlsPlain", do_plain},     {"tlsOutput", do_output},
    {"tlsWrite", do_write},     {"tlsShut", do_shut},     {"tlsFault", do_fault},     {"tlsGreeting", do_greeting},
    {"tlsDecide", do_decide},   {"tlsTicket", do_ticket},
};

bool vg_js_bind_tls(vigil_js *js)
{
    vg_val thrown = NULL;
    vg_val version = vg_string(js->engine, OpenSSL_version(OPENSSL_VERSION_STRING));
    return version && vg_set(js->engine, js->binding, "opensslVersion", version, &thrown) &&
           vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries) && vg_js_bind_tls_words(js);
}

void vg_js_tls_end(vigil_js *js)
{
    if (js->tls_contexts)
        vg_class_free(js->tls_contexts);
    if (js->tls_sessions)
        vg_class_free(js->tls_sessions);
    js->tls_contexts = js->tls_sessions = NULL;
    X509_STORE_free(js->tls_trust);
    js->tls_trust = NULL;
}
