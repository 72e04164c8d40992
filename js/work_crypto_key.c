/* SPDX-License-Identifier: MIT */
/* Keys: from files and to files, made anew and of parts. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/dh.h>
#include <openssl/dsa.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "work_crypto.h"

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Instead of a question on the terminal. */
// NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL's type
static int no_passphrase(char *buffer, int size, int writes, void *arg)
{
    (void)buffer, (void)size, (void)writes;
    *(bool *)arg = true;
    return -1;
}

static EVP_PKEY *decode(const vg_work *work, int selection, bool *asked)
{
    const vigil_js_datum *file = vg_crypto_arg(work, 1), *passphrase = vg_crypto_arg(work, 3);
    EVP_PKEY *key = NULL;
    const unsigned char *at = file->data;
    size_t left = file->length;
    OSSL_DECODER_CTX *decoder = OSSL_DECODER_CTX_new_for_pkey(&key, NULL, NULL, NULL, selection, NULL, NULL);
    if (!decoder)
        return NULL;
    if (passphrase->kind != VIGIL_JS_DATUM_NONE)
        OSSL_DECODER_CTX_set_passphrase(decoder, passphrase->data, passphrase->length);
    else
        OSSL_DECODER_CTX_set_pem_password_cb(decoder, no_passphrase, asked);
    if (!OSSL_DECODER_from_data(decoder, &at, &left)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    OSSL_DECODER_CTX_free(decoder);
    return key;
}

static EVP_PKEY *certified_key(const vg_work *work)
{
    const vigil_js_datum *file = vg_crypto_arg(work, 1);
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->length);
    X509 *certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = certificate ? X509_get_pubkey(certificate) : NULL;
    X509_free(certificate);
    BIO_free(bio);
    return key;
}

int vg_crypto_read(vg_work *work)
{
    bool private = vg_crypto_truth(work, 2), asked = false;
    vg_packed list = {0};
    EVP_PKEY *key = NULL;
    int error;
    if (vg_crypto_arg(work, 1)->length > INT32_MAX)
        return vg_work_fail(work, -EINVAL, "the key is too long");
    if (!private)
        key = decode(work, EVP_PKEY_PUBLIC_KEY, &asked);
    if (!private && !key)
        key = certified_key(work);
    ERR_clear_error(); /* of the attempts */
    if (!key)
        key = decode(work, EVP_PKEY_KEYPAIR, &asked);
    if (!key)
        return asked ? vg_work_fail(work, -EACCES, "Passphrase required for encrypted key")
                     : vg_crypto_fail(work, "the key cannot be read");
    error = vg_crypto_give_key(work, key, private);
    if (error == 0) {
        vg_pack_text(&list, EVP_PKEY_get0_type_name(key));
        vg_pack(&list, work->out, work->pub.result.length);
        error = vg_crypto_give_packed(work, &list);
    }
    EVP_PKEY_free(key);
    return error;
}

int vg_crypto_write(vg_work *work)
{
    EVP_PKEY *key = vg_crypto_key(work, 1);
    const vigil_js_datum *passphrase = vg_crypto_arg(work, 6);
    int selection = vg_crypto_truth(work, 2) ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, error = 0;
    unsigned char *bytes = NULL;
    size_t length = 0;
    OSSL_ENCODER_CTX *encoder =
        key ? OSSL_ENCODER_CTX_new_for_pkey(key, selection, vg_crypto_text(work, 4), vg_crypto_text(work, 3), NULL)
            : NULL;
    bool good = encoder != NULL;
    if (good && vg_crypto_text(work, 5))
        good = OSSL_ENCODER_CTX_set_cipher(encoder, vg_crypto_text(work, 5), NULL) &&
               OSSL_ENCODER_CTX_set_passphrase(encoder, passphrase->data, passphrase->length);
    if (good && OSSL_ENCODER_to_data(encoder, &bytes, &length))
        error = vg_crypto_give_copy(work, bytes, length);
    else
        error = vg_crypto_fail(work, "the key cannot be written so");
    OPENSSL_clear_free(bytes, length);
    OSSL_ENCODER_CTX_free(encoder);
    EVP_PKEY_free(key);
    return error;
}

int vg_crypto_public(vg_work *work)
{
    vigil_js_datum args[2] = {*vg_crypto_arg(work, 1), {.kind = VIGIL_JS_DATUM_BOOL, .number = 1}};
    vg_work reading = {.pub = {.args = args, .count = 2}};
    EVP_PKEY *key = vg_crypto_key(&reading, 0);
    int error = key ? vg_crypto_give_key(work, key, false) : vg_crypto_fail(work, "this is no private key");
    EVP_PKEY_free(key);
    return error;
}

/* ---- new ones --------------------------------------------------------------------------------------------------- */

static int curve_of(const char *name)
{
    int curve = EC_curve_nist2nid(name);
    return curve ? curve : OBJ_txt2nid(name);
}

static bool set_up_rsa(const vg_work *work, EVP_PKEY_CTX *context, bool pss)
{
    BIGNUM *exponent = BN_new();
    bool good = exponent && BN_set_word(exponent, (BN_ULONG)vg_crypto_number(work, 3, 65537)) &&
                EVP_PKEY_CTX_set_rsa_keygen_bits(context, (int)vg_crypto_number(work, 2, 2048)) > 0 &&
                EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, exponent) > 0;
    BN_free(exponent);
    if (good && pss && vg_crypto_text(work, 4))
        good = EVP_PKEY_CTX_set_rsa_pss_keygen_md_name(context, vg_crypto_text(work, 4), NULL) > 0;
    if (good && pss && vg_crypto_text(work, 5))
        good = EVP_PKEY_CTX_set_rsa_pss_keygen_mgf1_md_name(context, vg_crypto_text(work, 5)) > 0;
    if (good && pss && vg_crypto_has(work, 6))
        good = EVP_PKEY_CTX_set_rsa_pss_keygen_saltlen(context, (int)vg_crypto_number(work, 6, 0)) > 0;
    return good;
}

/* DSA, and Diffie-Hellman: the numbers that many keys share come first. */
static EVP_PKEY *shared_numbers(const vg_work *work, const char *type)
{
    bool dsa = strcasecmp(type, "dsa") == 0;
    const vigil_js_datum *prime = vg_crypto_arg(work, 2), *generator = vg_crypto_arg(work, 3);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *numbers = NULL;
    if (!context)
        return NULL;
    if (prime->kind == VIGIL_JS_DATUM_BYTES) {
        OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
        OSSL_PARAM *parts = NULL;
        BIGNUM *p = BN_bin2bn(prime->data, (int)prime->length, NULL), *g = BN_new();
        if (build && p && g && BN_set_word(g, (BN_ULONG)vg_crypto_number(work, 3, 2)) &&
            OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_FFC_P, p) &&
            OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_FFC_G, g) && (parts = OSSL_PARAM_BLD_to_param(build)) &&
            EVP_PKEY_fromdata_init(context) > 0)
            (void)EVP_PKEY_fromdata(context, &numbers, EVP_PKEY_KEY_PARAMETERS, parts);
        OSSL_PARAM_free(parts);
        OSSL_PARAM_BLD_free(build);
        BN_free(p);
        BN_free(g);
    } else if (EVP_PKEY_paramgen_init(context) > 0) {
        int bits = (int)prime->number;
        bool good = dsa ? EVP_PKEY_CTX_set_dsa_paramgen_bits(context, bits) > 0 &&
                              (generator->kind == VIGIL_JS_DATUM_NONE ||
                               EVP_PKEY_CTX_set_dsa_paramgen_q_bits(context, (int)generator->number) > 0)
                        : EVP_PKEY_CTX_set_dh_paramgen_prime_len(context, bits) > 0 &&
                              EVP_PKEY_CTX_set_dh_paramgen_generator(context, (int)vg_crypto_number(work, 3, 2)) > 0;
        if (good)
            (void)EVP_PKEY_paramgen(context, &numbers);
    }
    EVP_PKEY_CTX_free(context);
    return numbers;
}

int vg_crypto_generate(vg_work *work)
{
    const char *type = vg_crypto_text(work, 1);
    bool shared = type && (strcasecmp(type, "dsa") == 0 || strcasecmp(type, "dh") == 0), good;
    EVP_PKEY *numbers = shared ? shared_numbers(work, type) : NULL, *key = NULL;
    EVP_PKEY_CTX *context = numbers  ? EVP_PKEY_CTX_new(numbers, NULL)
                            : shared ? NULL
                                     : EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    int error;
    good = context && EVP_PKEY_keygen_init(context) > 0;
    if (good && strncasecmp(type, "rsa", 3) == 0)
        good = set_up_rsa(work, context, strcasecmp(type, "rsa-pss") == 0);
    else if (good && strcasecmp(type, "ec") == 0)
        good = vg_crypto_text(work, 2) &&
               EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve_of(vg_crypto_text(work, 2))) > 0 &&
               EVP_PKEY_CTX_set_ec_param_enc(context, vg_crypto_truth(work, 3) ? OPENSSL_EC_EXPLICIT_CURVE
                                                                               : OPENSSL_EC_NAMED_CURVE) > 0;
    if (good)
        good = EVP_PKEY_keygen(context, &key) > 0;
    error = good ? vg_crypto_give_key(work, key, true) : vg_crypto_fail(work, "such a key cannot be made");
    EVP_PKEY_free(key);
    EVP_PKEY_free(numbers);
    EVP_PKEY_CTX_free(context);
    return error;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void pack_number_of(vg_packed *list, EVP_PKEY *key, const char *name, int length)
{
    BIGNUM *number = NULL;
    unsigned char bytes[2048];
    int got = 0;
    if (EVP_PKEY_get_bn_param(key, name, &number) && BN_num_bytes(number) <= (int)sizeof bytes)
        got = BN_bn2binpad(number, bytes, length ? length : BN_num_bytes(number));
    vg_pack(list, bytes, got > 0 ? (size_t)got : 0);
    BN_clear_free(number);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static void pack_bytes_of(vg_packed *list, EVP_PKEY *key, const char *name)
{
    unsigned char bytes[128];
    size_t length = 0;
    if (!EVP_PKEY_get_octet_string_param(key, name, bytes, sizeof bytes, &length))
        length = 0;
    vg_pack(list, bytes, length);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static void pack_text_of(vg_packed *list, EVP_PKEY *key, const char *name)
{
    char text[64] = "";
    if (!EVP_PKEY_get_utf8_string_param(key, name, text, sizeof text, NULL))
        text[0] = 0;
    vg_pack_text(list, text);
}

int vg_crypto_info(vg_work *work)
{
    EVP_PKEY *key = vg_crypto_key(work, 1);
    vg_packed list = {0};
    int salt = -1;
    if (!key)
        return vg_crypto_fail(work, "this is no key");
    vg_pack_text(&list, EVP_PKEY_get0_type_name(key));
    vg_pack_number(&list, EVP_PKEY_get_bits(key));
    pack_text_of(&list, key, OSSL_PKEY_PARAM_GROUP_NAME);
    pack_number_of(&list, key, OSSL_PKEY_PARAM_RSA_E, 0);
    pack_text_of(&list, key, OSSL_PKEY_PARAM_RSA_DIGEST);
    pack_text_of(&list, key, OSSL_PKEY_PARAM_RSA_MGF1_DIGEST);
    if (!EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_RSA_PSS_SALTLEN, &salt))
        salt = -1;
    vg_pack_number(&list, salt);
    pack_number_of(&list, key, OSSL_PKEY_PARAM_FFC_Q, 0);
    EVP_PKEY_free(key);
    return vg_crypto_give_packed(work, &list);
}

static const char *const rsa_parts[] = {OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,
                                        OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
                                        OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
                                        OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1};
#define RSA_PARTS (sizeof rsa_parts / sizeof *rsa_parts)

int vg_crypto_parts(vg_work *work)
{
    EVP_PKEY *key = vg_crypto_key(work, 1);
    bool private = vg_crypto_truth(work, 2);
    vg_packed list = {0};
    int size;
    if (!key)
        return vg_crypto_fail(work, "this is no key");
    size = (EVP_PKEY_get_bits(key) + 7) / 8;
    if (EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "RSA-PSS")) {
        for (size_t i = 0; i < (private ? RSA_PARTS : 2); i++)
            pack_number_of(&list, key, rsa_parts[i], 0);
    } else if (EVP_PKEY_is_a(key, "EC")) {
        pack_text_of(&list, key, OSSL_PKEY_PARAM_GROUP_NAME);
        pack_number_of(&list, key, OSSL_PKEY_PARAM_EC_PUB_X, size);
        pack_number_of(&list, key, OSSL_PKEY_PARAM_EC_PUB_Y, size);
        if (private)
            pack_number_of(&list, key, OSSL_PKEY_PARAM_PRIV_KEY, size);
    } else {
        pack_bytes_of(&list, key, OSSL_PKEY_PARAM_PUB_KEY);
        if (private)
            pack_bytes_of(&list, key, OSSL_PKEY_PARAM_PRIV_KEY);
    }
    EVP_PKEY_free(key);
    return vg_crypto_give_packed(work, &list);
}

static BIGNUM *number_at(const vg_work *work, size_t i)
{
    const vigil_js_datum *datum = vg_crypto_arg(work, i);
    return datum->kind == VIGIL_JS_DATUM_BYTES ? BN_bin2bn(datum->data, (int)datum->length, NULL) : NULL;
}

static bool build_rsa(const vg_work *work, OSSL_PARAM_BLD *build, BIGNUM **numbers)
{
    bool good = true;
    for (size_t i = 0; good && i < RSA_PARTS && vg_crypto_has(work, 3 + i); i++)
        good = (numbers[i] = number_at(work, 3 + i)) && OSSL_PARAM_BLD_push_BN(build, rsa_parts[i], numbers[i]);
    return good;
}

/* The point of a private number: OpenSSL does not compute it for a key that is made of parts. */
static size_t point_of(int curve, const BIGNUM *number, unsigned char *point, size_t room)
{
    EC_GROUP *group = EC_GROUP_new_by_curve_name(curve);
    EC_POINT *product = group ? EC_POINT_new(group) : NULL;
    size_t length = 0;
    if (product && BN_cmp(number, EC_GROUP_get0_order(group)) < 0 && !BN_is_zero(number) &&
        EC_POINT_mul(group, product, number, NULL, NULL, NULL))
        length = EC_POINT_point2oct(group, product, POINT_CONVERSION_UNCOMPRESSED, point, room, NULL);
    EC_POINT_free(product);
    EC_GROUP_free(group);
    return length;
}

/* Any form of a point becomes the long one. */
static size_t long_point(int curve, const vigil_js_datum *from, unsigned char *point, size_t room)
{
    EC_GROUP *group = EC_GROUP_new_by_curve_name(curve);
    EC_POINT *it = group ? EC_POINT_new(group) : NULL;
    size_t length = 0;
    if (it && EC_POINT_oct2point(group, it, from->data, from->length, NULL))
        length = EC_POINT_point2oct(group, it, POINT_CONVERSION_UNCOMPRESSED, point, room, NULL);
    EC_POINT_free(it);
    EC_GROUP_free(group);
    return length;
}

static bool build_ec(const vg_work *work, OSSL_PARAM_BLD *build, BIGNUM **numbers, unsigned char *point, size_t room)
{
    int curve = vg_crypto_text(work, 3) ? curve_of(vg_crypto_text(work, 3)) : 0;
    size_t length;
    if (!curve || !OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, OBJ_nid2sn(curve), 0))
        return false;
    if (vg_crypto_has(work, 5) && !(numbers[0] = number_at(work, 5)))
        return false;
    length = vg_crypto_has(work, 4) ? long_point(curve, vg_crypto_arg(work, 4), point, room)
             : numbers[0]           ? point_of(curve, numbers[0], point, room)
                                    : 0;
    if (length == 0 || !OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, length))
        return false;
    return !numbers[0] || OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, numbers[0]);
}

/* The curves of Edwards and Montgomery. */
static EVP_PKEY *plain_key(const vg_work *work, const char *type)
{
    const vigil_js_datum *public = vg_crypto_arg(work, 3), *private = vg_crypto_arg(work, 4);
    return private->kind == VIGIL_JS_DATUM_BYTES
               ? EVP_PKEY_new_raw_private_key_ex(NULL, type, NULL, private->data, private->length)
               : EVP_PKEY_new_raw_public_key_ex(NULL, type, NULL, public->data, public->length);
}

int vg_crypto_make(vg_work *work)
{
    const char *type = vg_crypto_text(work, 1);
    bool private = vg_crypto_truth(work, 2), rsa = type && strcasecmp(type, "rsa") == 0,
         ec = type && strcasecmp(type, "ec") == 0, good;
    BIGNUM *numbers[RSA_PARTS] = {NULL};
    unsigned char point[160];
    EVP_PKEY_CTX *context = NULL;
    OSSL_PARAM *parts = NULL;
    EVP_PKEY *key = NULL;
    int error;
    if (rsa || ec) {
        OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
        good = build && (rsa ? build_rsa(work, build, numbers) : build_ec(work, build, numbers, point, sizeof point)) &&
               (parts = OSSL_PARAM_BLD_to_param(build)) && (context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL)) &&
               EVP_PKEY_fromdata_init(context) > 0 &&
               EVP_PKEY_fromdata(context, &key, private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parts) > 0;
        OSSL_PARAM_BLD_free(build);
    } else {
        good = type && (key = plain_key(work, type));
    }
    error = good ? vg_crypto_give_key(work, key, private) : vg_crypto_fail(work, "these are no parts of a key");
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parts);
    for (size_t i = 0; i < RSA_PARTS; i++)
        BN_clear_free(numbers[i]);
    return error;
}
