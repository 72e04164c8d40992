/* SPDX-License-Identifier: MIT */
/* What is done with a pair of keys: signatures, RSA as a cipher, shared secrets. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/dh.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "work_crypto.h"

/* ---- signatures ------------------------------------------------------------------------------------------------- */

/* How RSA pads: said when a program says so, or when the key is of a kind that has no other way. */
static bool set_padding(const vg_work *work, EVP_PKEY *key, EVP_PKEY_CTX *context)
{
    int padding = (int)vg_crypto_number(work, 6, 0);
    if (!EVP_PKEY_is_a(key, "RSA") && !EVP_PKEY_is_a(key, "RSA-PSS"))
        return true;
    if (padding == 0)
        padding = EVP_PKEY_is_a(key, "RSA-PSS") ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING;
    if (EVP_PKEY_CTX_set_rsa_padding(context, padding) <= 0)
        return false;
    return padding != RSA_PKCS1_PSS_PADDING || !vg_crypto_has(work, 7) ||
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, (int)vg_crypto_number(work, 7, 0)) > 0;
}

static size_t half_of(EVP_PKEY *key)
{
    return ((size_t)EVP_PKEY_get_bits(key) + 7) / 8;
}

/* r and s one behind the other, as long as the curve's order. */
static int give_plain(vg_work *work, EVP_PKEY *key, const unsigned char *der, size_t length)
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)length);
    size_t half = half_of(key);
    unsigned char *out = pair ? malloc(2 * half + 1) : NULL;
    int error = -ENOMEM;
    if (out && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, (int)half) >= 0 &&
        BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + half, (int)half) >= 0) {
        vg_work_give(work, out, 2 * half);
        out = NULL;
        error = 0;
    }
    free(out);
    ECDSA_SIG_free(pair);
    return error;
}

/* DER of r and s; to be freed with OPENSSL_free. */
static unsigned char *from_plain(const vigil_js_datum *signature, size_t half, size_t *length)
{
    const unsigned char *bytes = signature->data;
    ECDSA_SIG *pair = signature->length == 2 * half ? ECDSA_SIG_new() : NULL;
    BIGNUM *r = pair ? BN_bin2bn(bytes, (int)half, NULL) : NULL;
    BIGNUM *s = pair ? BN_bin2bn(bytes + half, (int)half, NULL) : NULL;
    unsigned char *der = NULL;
    int got = 0;
    if (r && s && ECDSA_SIG_set0(pair, r, s))
        got = i2d_ECDSA_SIG(pair, &der);
    ECDSA_SIG_free(pair);
    *length = got > 0 ? (size_t)got : 0;
    return der;
}

/* Signs into `out`, which has room for *length bytes. */
static bool sign_into(const vg_work *work, EVP_PKEY *key, unsigned char *out, size_t *length)
{
    const vigil_js_datum *data = vg_crypto_arg(work, 5);
    const char *digest = vg_crypto_text(work, 3);
    EVP_PKEY_CTX *context = NULL;
    bool good;
    if (digest && vg_crypto_truth(work, 4)) {
        const EVP_MD *md = EVP_get_digestbyname(digest);
        context = EVP_PKEY_CTX_new(key, NULL);
        good = md && context && EVP_PKEY_sign_init(context) > 0 && set_padding(work, key, context) &&
               EVP_PKEY_CTX_set_signature_md(context, md) > 0 &&
               EVP_PKEY_sign(context, out, length, data->data, data->length) > 0;
        EVP_PKEY_CTX_free(context);
    } else {
        EVP_MD_CTX *state = EVP_MD_CTX_new();
        good = state && EVP_DigestSignInit_ex(state, &context, digest, NULL, NULL, key, NULL) > 0 &&
               set_padding(work, key, context) && EVP_DigestSign(state, out, length, data->data, data->length) > 0;
        EVP_MD_CTX_free(state);
    }
    return good;
}

int vg_crypto_sign(vg_work *work)
{
    EVP_PKEY *key = vg_crypto_key(work, 1);
    size_t length = key ? (size_t)EVP_PKEY_get_size(key) : 0;
    unsigned char *out = key ? malloc(length + 1) : NULL;
    int error;
    if (!out || !sign_into(work, key, out, &length))
        error = vg_crypto_fail(work, "this key cannot sign so");
    else if (vg_crypto_truth(work, 8) && EVP_PKEY_is_a(key, "EC"))
        error = give_plain(work, key, out, length);
    else
        error = vg_crypto_give_copy(work, out, length);
    free(out);
    EVP_PKEY_free(key);
    return error;
}

/* 1: it fits; 0: it does not; negative: it could not be tried. */
static int compare(const vg_work *work, EVP_PKEY *key, const unsigned char *signature, size_t length)
{
    const vigil_js_datum *data = vg_crypto_arg(work, 5);
    const char *digest = vg_crypto_text(work, 3);
    EVP_PKEY_CTX *context = NULL;
    int result = -1;
    if (digest && vg_crypto_truth(work, 4)) {
        const EVP_MD *md = EVP_get_digestbyname(digest);
        context = EVP_PKEY_CTX_new(key, NULL);
        if (md && context && EVP_PKEY_verify_init(context) > 0 && set_padding(work, key, context) &&
            EVP_PKEY_CTX_set_signature_md(context, md) > 0)
            result = EVP_PKEY_verify(context, signature, length, data->data, data->length) == 1;
        EVP_PKEY_CTX_free(context);
    } else {
        EVP_MD_CTX *state = EVP_MD_CTX_new();
        if (state && EVP_DigestVerifyInit_ex(state, &context, digest, NULL, NULL, key, NULL) > 0 &&
            set_padding(work, key, context))
            result = EVP_DigestVerify(state, signature, length, data->data, data->length) == 1;
        EVP_MD_CTX_free(state);
    }
    return result;
}

int vg_crypto_verify(vg_work *work)
{
    EVP_PKEY *key = vg_crypto_key(work, 1);
    const vigil_js_datum *signature = vg_crypto_arg(work, 9);
    const unsigned char *bytes = signature->data;
    size_t length = signature->length;
    unsigned char *der = NULL;
    int result = -1;
    if (key && vg_crypto_truth(work, 8) && EVP_PKEY_is_a(key, "EC")) {
        bytes = der = from_plain(signature, half_of(key), &length);
        if (!der)
            result = 0;
    }
    if (key && bytes)
        result = compare(work, key, bytes, length);
    OPENSSL_free(der);
    EVP_PKEY_free(key);
    return result < 0 ? vg_crypto_fail(work, "this key cannot verify so") : vg_crypto_give_truth(work, result == 1);
}

/* ---- RSA as a cipher -------------------------------------------------------------------------------------------- */

enum {
    ENCRYPT,
    DECRYPT,
    WITH_PRIVATE, /* privateEncrypt */
    WITH_PUBLIC   /* publicDecrypt */
};

typedef int crypt_fn(EVP_PKEY_CTX *context, unsigned char *out, size_t *length, const unsigned char *in,
                     size_t in_length);

int vg_crypto_crypt(vg_work *work)
{
    static int (*const starts[])(EVP_PKEY_CTX *) = {EVP_PKEY_encrypt_init, EVP_PKEY_decrypt_init, EVP_PKEY_sign_init,
                                                    EVP_PKEY_verify_recover_init};
    static crypt_fn *const runs[] = {EVP_PKEY_encrypt, EVP_PKEY_decrypt, EVP_PKEY_sign, EVP_PKEY_verify_recover};
    int mode = (int)vg_crypto_number(work, 3, 0), padding = (int)vg_crypto_number(work, 5, RSA_PKCS1_OAEP_PADDING);
    const vigil_js_datum *data = vg_crypto_arg(work, 4), *label = vg_crypto_arg(work, 7);
    EVP_PKEY *key = vg_crypto_key(work, 1);
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    size_t length = key ? (size_t)EVP_PKEY_get_size(key) : 0;
    unsigned char *out = malloc(length + 1);
    bool good = out && context && mode >= ENCRYPT && mode <= WITH_PUBLIC && starts[mode](context) > 0 &&
                EVP_PKEY_CTX_set_rsa_padding(context, padding) > 0;
    if (good && padding == RSA_PKCS1_OAEP_PADDING && vg_crypto_text(work, 6))
        good = EVP_PKEY_CTX_set_rsa_oaep_md_name(context, vg_crypto_text(work, 6), NULL) > 0;
    if (good && padding == RSA_PKCS1_OAEP_PADDING && label->length > 0) {
        void *copy = OPENSSL_memdup(label->data, label->length); /* the context's from here on, if it takes it */
        good = copy && EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, (int)label->length) > 0;
        if (!good)
            OPENSSL_free(copy);
    }
    if (good && runs[mode](context, out, &length, data->data, data->length) > 0) {
        vg_work_give(work, out, length);
        out = NULL;
    } else {
        good = false;
    }
    free(out);
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    return good ? 0 : vg_crypto_fail(work, "this key does not fit the data");
}

/* ---- shared secrets --------------------------------------------------------------------------------------------- */

int vg_crypto_derive(vg_work *work)
{
    const vigil_js_datum own[2] = {*vg_crypto_arg(work, 1), {.kind = VIGIL_JS_DATUM_BOOL, .number = 1}};
    const vigil_js_datum other[2] = {*vg_crypto_arg(work, 2), {.kind = VIGIL_JS_DATUM_BOOL, .number = 0}};
    vg_work reading = {.pub = {.args = own, .count = 2}};
    EVP_PKEY *key = vg_crypto_key(&reading, 0), *peer;
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    unsigned char *out = NULL;
    size_t length = 0;
    int error = 0;
    reading.pub.args = other;
    peer = vg_crypto_key(&reading, 0);
    if (context && peer && EVP_PKEY_derive_init(context) > 0 && EVP_PKEY_derive_set_peer(context, peer) > 0 &&
        (!EVP_PKEY_is_a(key, "DH") || EVP_PKEY_CTX_set_dh_pad(context, 1) > 0) &&
        EVP_PKEY_derive(context, NULL, &length) > 0 && (out = malloc(length + 1)) &&
        EVP_PKEY_derive(context, out, &length) > 0) {
        vg_work_give(work, out, length);
    } else {
        free(out);
        error = vg_crypto_fail(work, "these keys share no secret");
    }
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(key);
    return error;
}
