/* SPDX-License-Identifier: MIT */
/* certs.h - certificates that a test makes for itself, in a folder of its own. */
#ifndef VG_TEST_CERTS_H
#define VG_TEST_CERTS_H

#include "../loop/loop_test.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

struct cert {
    EVP_PKEY *key;
    X509 *x509;
    char chain[128], file[128]; /* of the certificate, of the key */
};

static char certs_folder[64];

static inline void certs_begin(void)
{
    (void)snprintf(certs_folder, sizeof certs_folder, "/tmp/vigil-tls-XXXXXX");
    must(mkdtemp(certs_folder) != NULL);
}

static inline void cert_extension(X509 *x509, int id, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, x509, x509, NULL, NULL, 0);
    X509_EXTENSION *it = X509V3_EXT_conf_nid(NULL, &context, id, value);
    must(it != NULL);
    must_equal(X509_add_ext(x509, it, -1), 1);
    X509_EXTENSION_free(it);
}

static inline void cert_write(struct cert *cert, const char *name)
{
    (void)snprintf(cert->chain, sizeof cert->chain, "%s/%s.pem", certs_folder, name);
    (void)snprintf(cert->file, sizeof cert->file, "%s/%s.key", certs_folder, name);
    FILE *out = fopen(cert->chain, "w");
    must(out != NULL);
    must_equal(PEM_write_X509(out, cert->x509), 1);
    must_equal(fclose(out), 0);
    out = fopen(cert->file, "w");
    must(out != NULL);
    must_equal(PEM_write_PrivateKey(out, cert->key, NULL, NULL, 0, NULL, NULL), 1);
    must_equal(fclose(out), 0);
}

/* names: "DNS:a.test,IP:127.0.0.1"; NULL: an authority. issuer NULL: signed by itself. Valid from and until so many seconds from now. */
static inline void cert_make(struct cert *cert, const char *name, const char *names, const struct cert *issuer,
                             long from, long until)
{
    static long serial = 1;
    cert->key = EVP_EC_gen("P-256");
    cert->x509 = X509_new();
    must(cert->key != NULL && cert->x509 != NULL);
    must_equal(X509_set_version(cert->x509, 2), 1);
    must_equal(ASN1_INTEGER_set(X509_get_serialNumber(cert->x509), serial++), 1);
    must(X509_gmtime_adj(X509_getm_notBefore(cert->x509), from) != NULL);
    must(X509_gmtime_adj(X509_getm_notAfter(cert->x509), until) != NULL);
    must_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert->x509), "CN", MBSTRING_ASC,
                                          (const unsigned char *)name, -1, -1, 0),
               1);
    must_equal(X509_set_issuer_name(cert->x509, X509_get_subject_name(issuer != NULL ? issuer->x509 : cert->x509)), 1);
    must_equal(X509_set_pubkey(cert->x509, cert->key), 1);
    if (names != NULL)
        cert_extension(cert->x509, NID_subject_alt_name, names);
    else
        cert_extension(cert->x509, NID_basic_constraints, "critical,CA:TRUE");
    must(X509_sign(cert->x509, issuer != NULL ? issuer->key : cert->key, EVP_sha256()) > 0);
    cert_write(cert, name);
}

static inline void cert_free(struct cert *cert)
{
    (void)unlink(cert->chain);
    (void)unlink(cert->file);
    X509_free(cert->x509);
    EVP_PKEY_free(cert->key);
}

#endif
