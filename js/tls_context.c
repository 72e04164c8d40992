/* SPDX-License-Identifier: MIT */
/* Certificates, keys, trust and settings. */
#include "tls_session.h"

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"

/* Never asks a terminal. */
static int give_pass(char *buffer, int size, int writing, void *arg)
{
    const char *pass = arg;
    int length = pass ? (int)strlen(pass) : -1;
    (void)writing;
    if (length > size)
        return -1;
    if (length > 0)
        memcpy(buffer, pass, (size_t)length);
    return length;
}

SSL_CTX *vg_tls_context_new(int least, int most)
{
    SSL_CTX *context;
    /* No handler at exit: workers' engines may still run then. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    context = SSL_CTX_new(TLS_method());
    if (!context)
        return NULL;
    SSL_CTX_set_options(context, SSL_OP_NO_SSLv2 | SSL_OP_NO_SSLv3 | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_dh_auto(context, 1);
    if (!SSL_CTX_set_min_proto_version(context, least) || !SSL_CTX_set_max_proto_version(context, most)) {
        SSL_CTX_free(context);
        return NULL;
    }
    vg_tls_session_hooks(context);
    return context;
}

/* The certificate, and those that stand behind it as its chain. */
static bool add_chain(SSL_CTX *context, BIO *from, const char *pass)
{
    X509 *certificate = PEM_read_bio_X509_AUX(from, NULL, give_pass, (void *)pass);
    bool good = certificate && SSL_CTX_use_certificate(context, certificate) == 1;
    X509_free(certificate);
    if (good)
        SSL_CTX_clear_chain_certs(context);
    while (good && (certificate = PEM_read_bio_X509(from, NULL, give_pass, (void *)pass)) != NULL) {
        good = SSL_CTX_add0_chain_cert(context, certificate) == 1;
        if (!good)
            X509_free(certificate);
    }
    if (good)
        ERR_clear_error(); /* the end of the text */
    return good;
}

static bool add_key(SSL_CTX *context, BIO *from, const char *pass)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, give_pass, (void *)pass);
    bool good = key && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    return good;
}

static bool trust(SSL_CTX *context, X509 *certificate)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    return X509_STORE_add_cert(store, certificate) == 1 && SSL_CTX_add_client_CA(context, certificate) == 1;
}

static bool add_trusted(SSL_CTX *context, BIO *from)
{
    unsigned count = 0;
    X509 *certificate;
    bool good = true;
    while (good && (certificate = PEM_read_bio_X509_AUX(from, NULL, give_pass, NULL)) != NULL) {
        good = trust(context, certificate);
        X509_free(certificate);
        count++;
    }
    if (good && count > 0)
        ERR_clear_error();
    return good && count > 0;
}

static bool add_revoked(SSL_CTX *context, BIO *from)
{
    X509_CRL *list = PEM_read_bio_X509_CRL(from, NULL, give_pass, NULL);
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    bool good = list && X509_STORE_add_crl(store, list) == 1 &&
                X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
    X509_CRL_free(list);
    return good;
}

/* Key, certificate and those that are to be trusted, in one. */
static bool add_bundle(SSL_CTX *context, BIO *from, const char *pass)
{
    PKCS12 *bundle = d2i_PKCS12_bio(from, NULL);
    EVP_PKEY *key = NULL;
    X509 *certificate = NULL;
    STACK_OF(X509) *others = NULL;
    bool good = bundle && PKCS12_parse(bundle, pass, &key, &certificate, &others) == 1 && certificate &&
                SSL_CTX_use_certificate(context, certificate) == 1 && key && SSL_CTX_use_PrivateKey(context, key) == 1;
    for (int i = 0; good && i < sk_X509_num(others); i++)
        good =
            SSL_CTX_add1_chain_cert(context, sk_X509_value(others, i)) == 1 && trust(context, sk_X509_value(others, i));
    sk_X509_pop_free(others, X509_free);
    X509_free(certificate);
    EVP_PKEY_free(key);
    PKCS12_free(bundle);
    return good;
}

/* Whether the system's certificates are files that are found by a hash of their names. */
static bool has_hashes(void)
{
    const char *folder = getenv(X509_get_default_cert_dir_env());
    DIR *list = opendir(folder ? folder : X509_get_default_cert_dir());
    const struct dirent *entry;
    bool found = false;
    while (list && !found && (entry = readdir(list)) != NULL) {
        size_t length = strlen(entry->d_name);
        found = length == 10 && strcmp(entry->d_name + 8, ".0") == 0;
    }
    if (list)
        closedir(list);
    return found;
}

/* One file with all of them takes 60 ms to read; those in a folder are read when they are asked for. */
static bool trust_system(SSL_CTX *context)
{
    if (!getenv(X509_get_default_cert_file_env()) && has_hashes())
        return SSL_CTX_set_default_verify_dir(context) == 1;
    return SSL_CTX_set_default_verify_paths(context) == 1;
}

bool vg_tls_context_add(SSL_CTX *context, int part, const void *bytes, size_t length, const char *pass)
{
    BIO *from = BIO_new_mem_buf(bytes, (int)length);
    char *text = OPENSSL_strndup(bytes, length);
    bool good = from && text;
    ERR_clear_error();
    if (good)
        switch (part) {
        case VG_TLS_PART_CERTIFICATE:
            good = add_chain(context, from, pass);
            break;
        case VG_TLS_PART_KEY:
            good = add_key(context, from, pass);
            break;
        case VG_TLS_PART_TRUST:
            good = add_trusted(context, from);
            break;
        case VG_TLS_PART_SYSTEM:
            good = trust_system(context);
            break;
        case VG_TLS_PART_REVOKED:
            good = add_revoked(context, from);
            break;
        case VG_TLS_PART_BUNDLE:
            good = add_bundle(context, from, pass);
            break;
        case VG_TLS_PART_CIPHERS:
            good = SSL_CTX_set_cipher_list(context, text) == 1;
            break;
        case VG_TLS_PART_SUITES:
            good = SSL_CTX_set_ciphersuites(context, text) == 1;
            break;
        case VG_TLS_PART_GROUPS:
            good = SSL_CTX_set1_groups_list(context, text) == 1;
            break;
        case VG_TLS_PART_SIGNATURES:
            good = SSL_CTX_set1_sigalgs_list(context, text) == 1;
            break;
        case VG_TLS_PART_SESSIONS:
            good = SSL_CTX_set_session_id_context(context, bytes, (unsigned)length) == 1;
            break;
        case VG_TLS_PART_SERVER_ORDER:
            SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
            break;
        case VG_TLS_PART_TICKET_KEYS:
            good = SSL_CTX_set_tlsext_ticket_keys(context, (void *)(uintptr_t)bytes, (long)length) == 1;
            break;
        case VG_TLS_PART_CHECK:
            good = SSL_CTX_check_private_key(context) == 1;
            break;
        default:
            good = false;
        }
    OPENSSL_free(text);
    BIO_free(from);
    return good;
}
