/* SPDX-License-Identifier: MIT */
/* Certificates, trust and settings; see context.h. */
#include "context.h"

#include "filter.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int vg_tls_say(int error, const char *form, ...)
{
    char text[192];
    va_list values;
    va_start(values, form);
    (void)vsnprintf(text, sizeof text, form, values);
    va_end(values);
    return vigil_why_set(error, text);
}

const char *vg_tls_error_words(char *text, size_t room)
{
    const unsigned long error = ERR_get_error();
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    (void)snprintf(text, room, "%s", reason != NULL ? reason : "no reason was given");
    ERR_clear_error();
    return text;
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

/* SNI: the first certificate that is for this name; without one, the first of all. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
    vigil_tls *tls = arg;
    const char *host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    (void)alert;
    if (host == NULL)
        return SSL_TLSEXT_ERR_NOACK;
    for (size_t i = 0; i < tls->pair_count; i++) {
        if (tls->pairs[i].certificate != NULL && X509_check_host(tls->pairs[i].certificate, host, 0, 0, NULL) == 1) {
            (void)SSL_set_SSL_CTX(ssl, tls->pairs[i].context);
            break;
        }
    }
    return SSL_TLSEXT_ERR_OK;
}

static int on_protocols(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered,
                        unsigned offered_length, void *arg)
{
    vigil_tls *tls = arg;
    unsigned char *chosen;
    (void)ssl;
    if (SSL_select_next_proto(&chosen, length, tls->protocols, tls->protocols_length, offered, offered_length) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- sessions of a client ------------------------------------------------------------------------------------------ */

static vg_tls_kept *kept_of(vigil_tls *tls, const char *host)
{
    for (size_t i = 0; i < VG_TLS_SESSIONS; i++)
        if (tls->kept[i].host != NULL && strcasecmp(tls->kept[i].host, host) == 0)
            return &tls->kept[i];
    return NULL;
}

SSL_SESSION *vg_tls_session_of(vigil_tls *tls, const char *host)
{
    const vg_tls_kept *kept = host != NULL ? kept_of(tls, host) : NULL;
    return kept != NULL ? kept->session : NULL;
}

static void kept_clear(vg_tls_kept *kept)
{
    free(kept->host);
    SSL_SESSION_free(kept->session);
    *kept = (vg_tls_kept){NULL, NULL};
}

/* 1: the session is ours now. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    const char *host = vg_tls_filter_host(ssl);
    vigil_tls *tls = vg_tls_filter_context(ssl);
    if (host == NULL || tls == NULL)
        return 0;
    vg_tls_kept *kept = kept_of(tls, host);
    if (kept == NULL) {
        kept = &tls->kept[tls->next_kept++ % VG_TLS_SESSIONS];
        char *copy = strdup(host);
        if (copy == NULL)
            return 0;
        kept_clear(kept);
        kept->host = copy;
    }
    SSL_SESSION_free(kept->session);
    kept->session = session;
    return 1;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static int check_file(const char *path)
{
    if (access(path, R_OK) != 0)
        return vg_tls_say(-errno, "%.120s: %s", path, strerror(errno));
    return 0;
}

static int load_certificate(SSL_CTX *context, const vigil_tls_certificate *files)
{
    char words[96];
    int error = check_file(files->chain);
    if (error == 0)
        error = check_file(files->key);
    if (error != 0)
        return error;
    if (SSL_CTX_use_certificate_chain_file(context, files->chain) != 1)
        return vg_tls_say(-EBADMSG, "%.90s: no certificate can be read: %s", files->chain,
                          vg_tls_error_words(words, sizeof words));
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1) {
        const bool mismatch = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH;
        vg_tls_error_words(words, sizeof words);
        if (mismatch)
            return vg_tls_say(-EKEYREJECTED, "%.70s is not the key of %.70s", files->key, files->chain);
        return vg_tls_say(-EBADMSG, "%.90s: no key can be read: %s", files->key, words);
    }
    if (SSL_CTX_check_private_key(context) != 1)
        return vg_tls_say(-EKEYREJECTED, "%.70s is not the key of %.70s", files->key, files->chain);
    return 0;
}

static int load_trust(SSL_CTX *context, const vigil_tls *tls)
{
    char words[96];
    if (tls->trust == NULL) {
        if (SSL_CTX_set_default_verify_paths(context) != 1)
            return vg_tls_say(-EBADMSG, "the system's certificates: %s", vg_tls_error_words(words, sizeof words));
        return 0;
    }
    const int error = check_file(tls->trust);
    if (error != 0)
        return error;
    if (SSL_CTX_load_verify_locations(context, tls->trust, NULL) != 1)
        return vg_tls_say(-EBADMSG, "%.90s: no certificate can be read: %s", tls->trust,
                          vg_tls_error_words(words, sizeof words));
    if (tls->options.server && tls->options.clients != VIGIL_TLS_CLIENTS_ANY)
        SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(tls->trust));
    return 0;
}

static int verify_mode(const vigil_tls *tls)
{
    if (!tls->options.server)
        return tls->options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
    if (tls->options.clients == VIGIL_TLS_CLIENTS_ANY)
        return SSL_VERIFY_NONE;
    return SSL_VERIFY_PEER | (tls->options.clients == VIGIL_TLS_CLIENTS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
}

static int set_up(SSL_CTX *context, vigil_tls *tls)
{
    static const unsigned char name[] = "vigil";
    (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(context,
                              SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    /* The stream gives the same bytes again after a refusal, perhaps elsewhere in memory. An idle stream holds no buffers. */
    /* What is sent is the file of the chain. Else OpenSSL looks for issuers among the trusted at each handshake, which reads
       a whole directory. */
    (void)SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1); /* one recv for a record, not two */
    SSL_CTX_set_verify(context, verify_mode(tls), vg_tls_filter_verify);
    if (tls->options.server) {
        (void)SSL_CTX_set_num_tickets(context, 1);
        (void)SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
        (void)SSL_CTX_set_tlsext_servername_callback(context, on_server_name);
        (void)SSL_CTX_set_tlsext_servername_arg(context, tls);
        if (tls->protocols_length != 0)
            SSL_CTX_set_alpn_select_cb(context, on_protocols, tls);
    } else {
        (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(context, on_session);
        if (tls->protocols_length != 0)
            (void)SSL_CTX_set_alpn_protos(context, tls->protocols, tls->protocols_length);
    }
    return tls->options.insecure && !tls->options.server ? 0 : load_trust(context, tls);
}

static void free_pairs(vg_tls_pair *pairs, size_t count)
{
    for (size_t i = 0; pairs != NULL && i < count; i++)
        SSL_CTX_free(pairs[i].context);
    free(pairs);
}

static int make_pairs(vigil_tls *tls, vg_tls_pair **made)
{
    vg_tls_pair *pairs = calloc(tls->pair_count, sizeof *pairs);
    int error = pairs == NULL ? -ENOMEM : 0;
    ERR_clear_error();
    for (size_t i = 0; error == 0 && i < tls->pair_count; i++) {
        pairs[i].context = SSL_CTX_new(tls->options.server ? TLS_server_method() : TLS_client_method());
        if (pairs[i].context == NULL)
            error = -ENOMEM;
        else
            error = set_up(pairs[i].context, tls);
        if (error == 0 && i < tls->options.count) {
            error = load_certificate(pairs[i].context, &tls->files[i]);
            pairs[i].certificate = SSL_CTX_get0_certificate(pairs[i].context);
        }
    }
    ERR_clear_error();
    if (error != 0) {
        free_pairs(pairs, tls->pair_count);
        return error == -ENOMEM ? vigil_why_set(-ENOMEM, "no memory for a TLS context") : error;
    }
    *made = pairs;
    return 0;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static int copy_protocols(vigil_tls *tls, const char *list)
{
    while (list != NULL && *list != 0) {
        const size_t length = strcspn(list, ",");
        if (length == 0 || length > 63 || tls->protocols_length + length + 1 > sizeof tls->protocols)
            return vg_tls_say(-EINVAL, "options.protocols: '%.60s' is too long, or has an empty name", list);
        tls->protocols[tls->protocols_length++] = (unsigned char)length;
        memcpy(tls->protocols + tls->protocols_length, list, length);
        tls->protocols_length += (unsigned)length;
        list += length + (list[length] == ',');
    }
    return 0;
}

static int copy_options(vigil_tls *tls, const vigil_tls_options *options)
{
    tls->options = *options;
    tls->pair_count = options->server && options->count > 1 ? options->count : 1;
    tls->files = calloc(options->count + 1, sizeof *tls->files);
    tls->trust = options->trust != NULL ? strdup(options->trust) : NULL;
    if (tls->files == NULL || (options->trust != NULL && tls->trust == NULL))
        return vigil_why_set(-ENOMEM, "no memory for a TLS context");
    for (size_t i = 0; i < options->count; i++) {
        if (options->certificates[i].chain == NULL || options->certificates[i].key == NULL)
            return vg_tls_say(-EINVAL, "options.certificates[%zu]: chain or key is NULL", i);
        tls->files[i].chain = strdup(options->certificates[i].chain);
        tls->files[i].key = strdup(options->certificates[i].key);
        if (tls->files[i].chain == NULL || tls->files[i].key == NULL)
            return vigil_why_set(-ENOMEM, "no memory for a TLS context");
    }
    return copy_protocols(tls, options->protocols);
}

static void context_free(vigil_tls *tls)
{
    free_pairs(tls->pairs, tls->pair_count);
    for (size_t i = 0; tls->files != NULL && i < tls->options.count; i++) {
        free((char *)(uintptr_t)tls->files[i].chain);
        free((char *)(uintptr_t)tls->files[i].key);
    }
    for (size_t i = 0; i < VG_TLS_SESSIONS; i++)
        kept_clear(&tls->kept[i]);
    free(tls->files);
    free(tls->trust);
    free(tls);
}

void vg_tls_unref(vigil_tls *tls)
{
    if (--tls->references == 0)
        context_free(tls);
}

int vigil_tls_create(vigil_tls **tls, const vigil_tls_options *options)
{
    if (tls == NULL || options == NULL || options->size != sizeof *options)
        return vigil_why_set(-EINVAL, "tls is NULL, or options does not start from VIGIL_TLS_OPTIONS_INIT");
    if (options->certificates == NULL && options->count != 0)
        return vigil_why_set(-EINVAL, "options.certificates is NULL, and options.count is not 0");
    if (options->server && options->count == 0)
        return vigil_why_set(-EINVAL, "a server needs a certificate");
    if (options->server && options->insecure)
        return vigil_why_set(-EINVAL, "options.insecure is for clients");
    vigil_tls *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a TLS context");
    it->references = 1;
    int error = copy_options(it, options);
    if (error == 0)
        error = make_pairs(it, &it->pairs);
    if (error != 0) {
        context_free(it);
        return error;
    }
    *tls = it;
    return 0;
}

int vigil_tls_reload(vigil_tls *tls)
{
    vg_tls_pair *pairs;
    unsigned char keys[80];
    if (tls == NULL)
        return vigil_why_set(-EINVAL, "tls is NULL");
    const int error = make_pairs(tls, &pairs);
    if (error != 0)
        return error;
    /* Sessions from before are still resumed. */
    if (tls->options.server && SSL_CTX_get_tlsext_ticket_keys(tls->pairs[0].context, keys, sizeof keys) == 1)
        for (size_t i = 0; i < tls->pair_count; i++)
            (void)SSL_CTX_set_tlsext_ticket_keys(pairs[i].context, keys, sizeof keys);
    OPENSSL_cleanse(keys, sizeof keys);
    free_pairs(tls->pairs, tls->pair_count); /* connections have references of their own */
    tls->pairs = pairs;
    return 0;
}

void vigil_tls_destroy(vigil_tls *tls)
{
    if (tls != NULL)
        vg_tls_unref(tls);
}
