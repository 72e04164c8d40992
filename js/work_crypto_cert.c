/* SPDX-License-Identifier: MIT */
/* Certificates of X.509: what stands in one, who signed it, which names fit it. */
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "work_crypto.h"

/* PEM or DER; NULL: neither. */
static X509 *certificate_at(const vg_work *work, size_t i)
{
    const vigil_js_datum *file = vg_crypto_arg(work, i);
    const unsigned char *at = file->data;
    X509 *it;
    if (file->kind != VIGIL_JS_DATUM_BYTES || file->length > INT32_MAX)
        return NULL;
    it = d2i_X509(NULL, &at, (long)file->length);
    if (!it) {
        BIO *bio = BIO_new_mem_buf(file->data, (int)file->length);
        ERR_clear_error();
        it = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
        BIO_free(bio);
    }
    return it;
}

static void pack_bio(vg_packed *list, BIO *bio)
{
    char *text = NULL;
    long length = BIO_get_mem_data(bio, &text);
    vg_pack(list, text, length > 0 ? (size_t)length : 0);
    (void)BIO_reset(bio);
}

static void pack_name(vg_packed *list, BIO *bio, const X509_NAME *name)
{
    X509_NAME_print_ex(bio, name, 0,
                       ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT |
                           XN_FLAG_SEP_MULTILINE | XN_FLAG_FN_SN);
    pack_bio(list, bio);
}

static void pack_extension(vg_packed *list, BIO *bio, X509 *it, int which)
{
    int at = X509_get_ext_by_NID(it, which, -1);
    if (at >= 0)
        X509V3_EXT_print(bio, X509_get_ext(it, at), 0, 0);
    pack_bio(list, bio);
}

static void pack_usage(vg_packed *list, BIO *bio, X509 *it)
{
    EXTENDED_KEY_USAGE *usage = X509_get_ext_d2i(it, NID_ext_key_usage, NULL, NULL);
    for (int i = 0; usage && i < sk_ASN1_OBJECT_num(usage); i++) {
        char text[64];
        OBJ_obj2txt(text, sizeof text, sk_ASN1_OBJECT_value(usage, i), 1);
        BIO_printf(bio, "%s%s", i ? "," : "", text);
    }
    sk_ASN1_OBJECT_pop_free(usage, ASN1_OBJECT_free);
    pack_bio(list, bio);
}

static void pack_serial(vg_packed *list, const X509 *it)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(it), NULL);
    char *text = number ? BN_bn2hex(number) : NULL;
    vg_pack_text(list, text ? text : "");
    OPENSSL_free(text);
    BN_free(number);
}

/* DER, key, subject, issuer, other names, access, begin, end, serial number, usages, "1" if it is an authority's. */
int vg_crypto_certificate(vg_work *work)
{
    X509 *it = certificate_at(work, 1);
    BIO *bio = it ? BIO_new(BIO_s_mem()) : NULL;
    EVP_PKEY *key = it ? X509_get0_pubkey(it) : NULL;
    vg_packed list = {0};
    unsigned char *der = NULL, *spki = NULL;
    int length, key_length;
    if (!bio || (length = i2d_X509(it, &der)) <= 0) {
        X509_free(it);
        return vg_crypto_fail(work, "this is no certificate");
    }
    vg_pack(&list, der, (size_t)length);
    key_length = key ? i2d_PUBKEY(key, &spki) : 0;
    vg_pack(&list, spki, key_length > 0 ? (size_t)key_length : 0);
    pack_name(&list, bio, X509_get_subject_name(it));
    pack_name(&list, bio, X509_get_issuer_name(it));
    pack_extension(&list, bio, it, NID_subject_alt_name);
    pack_extension(&list, bio, it, NID_info_access);
    ASN1_TIME_print(bio, X509_get0_notBefore(it));
    pack_bio(&list, bio);
    ASN1_TIME_print(bio, X509_get0_notAfter(it));
    pack_bio(&list, bio);
    pack_serial(&list, it);
    pack_usage(&list, bio, it);
    vg_pack_text(&list, X509_check_ca(it) == 1 ? "1" : "0");
    OPENSSL_free(der);
    OPENSSL_free(spki);
    BIO_free(bio);
    X509_free(it);
    return vg_crypto_give_packed(work, &list);
}

int vg_crypto_certified(vg_work *work)
{
    const vigil_js_datum args[2] = {*vg_crypto_arg(work, 2), {.kind = VIGIL_JS_DATUM_BOOL, .number = 0}};
    vg_work reading = {.pub = {.args = args, .count = 2}};
    X509 *it = certificate_at(work, 1);
    EVP_PKEY *key = vg_crypto_key(&reading, 0);
    bool fits = it && key && X509_verify(it, key) == 1;
    EVP_PKEY_free(key);
    X509_free(it);
    return vg_crypto_give_truth(work, fits);
}

int vg_crypto_issued(vg_work *work)
{
    X509 *it = certificate_at(work, 1), *issuer = certificate_at(work, 2);
    bool fits = it && issuer && X509_check_issued(issuer, it) == X509_V_OK;
    X509_free(issuer);
    X509_free(it);
    return vg_crypto_give_truth(work, fits);
}

int vg_crypto_named(vg_work *work)
{
    X509 *it = certificate_at(work, 1);
    const char *kind = vg_crypto_text(work, 2);
    const vigil_js_datum *name = vg_crypto_arg(work, 3);
    unsigned flags = (unsigned)vg_crypto_number(work, 4, 0);
    char *peer = NULL;
    int found = 0, error = 0;
    if (it && kind && name->kind == VIGIL_JS_DATUM_TEXT) {
        if (strcmp(kind, "host") == 0)
            found = X509_check_host(it, name->data, name->length, flags, &peer);
        else if (strcmp(kind, "email") == 0)
            found = X509_check_email(it, name->data, name->length, flags);
        else
            found = X509_check_ip_asc(it, name->data, flags);
    }
    if (found == 1)
        error =
            peer ? vg_crypto_give_copy(work, peer, strlen(peer)) : vg_crypto_give_copy(work, name->data, name->length);
    else
        error = vg_crypto_give_copy(work, "", 0);
    OPENSSL_free(peer);
    X509_free(it);
    return error;
}
