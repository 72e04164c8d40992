/* SPDX-License-Identifier: MIT */
/* What the operations of work_crypto.h share: arguments, results, errors. */
#include "work_crypto.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vg_crypto_fail(vg_work *work, const char *otherwise)
{
    unsigned long code = ERR_peek_error();
    char text[sizeof work->pub.message];
    if (code)
        ERR_error_string_n(code, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", otherwise);
    ERR_clear_error();
    return vg_work_fail(work, -EINVAL, text);
}

const vigil_js_datum *vg_crypto_arg(const vg_work *work, size_t i)
{
    static const vigil_js_datum none = {.kind = VIGIL_JS_DATUM_NONE};
    return i < work->pub.count ? &work->pub.args[i] : &none;
}

const char *vg_crypto_text(const vg_work *work, size_t i)
{
    const vigil_js_datum *datum = vg_crypto_arg(work, i);
    return datum->kind == VIGIL_JS_DATUM_TEXT ? datum->data : NULL;
}

double vg_crypto_number(const vg_work *work, size_t i, double otherwise)
{
    const vigil_js_datum *datum = vg_crypto_arg(work, i);
    return datum->kind == VIGIL_JS_DATUM_NUMBER ? datum->number : otherwise;
}

bool vg_crypto_truth(const vg_work *work, size_t i)
{
    return vg_crypto_arg(work, i)->number != 0;
}

bool vg_crypto_has(const vg_work *work, size_t i)
{
    return vg_crypto_arg(work, i)->kind != VIGIL_JS_DATUM_NONE;
}

EVP_PKEY *vg_crypto_key(const vg_work *work, size_t i)
{
    const vigil_js_datum *der = vg_crypto_arg(work, i);
    const unsigned char *at = der->data;
    EVP_PKEY *key = NULL;
    if (der->kind != VIGIL_JS_DATUM_BYTES)
        return NULL;
    if (vg_crypto_truth(work, i + 1)) {
        PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der->length);
        key = info ? EVP_PKCS82PKEY(info) : NULL;
        PKCS8_PRIV_KEY_INFO_free(info);
        return key;
    }
    return d2i_PUBKEY(NULL, &at, (long)der->length);
}

int vg_crypto_give_copy(vg_work *work, const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    if (!copy)
        return -ENOMEM;
    if (length)
        memcpy(copy, bytes, length);
    vg_work_give(work, copy, length);
    return 0;
}

int vg_crypto_give_truth(vg_work *work, bool truth)
{
    const unsigned char byte = truth;
    ERR_clear_error();
    return vg_crypto_give_copy(work, &byte, 1);
}

int vg_crypto_give_key(vg_work *work, EVP_PKEY *key, bool private)
{
    PKCS8_PRIV_KEY_INFO *info = private ? EVP_PKEY2PKCS8(key) : NULL;
    unsigned char *der = NULL;
    int length = private ? info ? i2d_PKCS8_PRIV_KEY_INFO(info, &der) : -1 : i2d_PUBKEY(key, &der);
    int error =
        length > 0 ? vg_crypto_give_copy(work, der, (size_t)length) : vg_crypto_fail(work, "the key cannot be written");
    PKCS8_PRIV_KEY_INFO_free(info);
    OPENSSL_clear_free(der, length > 0 ? (size_t)length : 0);
    return error;
}

void vg_pack(vg_packed *list, const void *item, size_t length)
{
    unsigned char *bytes = list->failed ? NULL : realloc(list->bytes, list->length + 4 + length);
    if (!bytes) {
        list->failed = true;
        return;
    }
    list->bytes = bytes;
    bytes += list->length;
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(length >> (24 - 8 * i));
    if (length)
        memcpy(bytes + 4, item, length);
    list->length += 4 + length;
}

void vg_pack_text(vg_packed *list, const char *text)
{
    vg_pack(list, text, strlen(text));
}

void vg_pack_number(vg_packed *list, double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.0f", number);
    vg_pack_text(list, text);
}

int vg_crypto_give_packed(vg_work *work, vg_packed *list)
{
    if (list->failed) {
        free(list->bytes);
        return -ENOMEM;
    }
    ERR_clear_error();
    vg_work_give(work, list->bytes, list->length);
    return 0;
}

int vg_crypto_run(vg_work *work)
{
    static const vg_work_fn operations[VG_COUNT_crypto] = {
        [VG_CRYPTO_READ] = vg_crypto_read,
        [VG_CRYPTO_WRITE] = vg_crypto_write,
        [VG_CRYPTO_GENERATE] = vg_crypto_generate,
        [VG_CRYPTO_PUBLIC] = vg_crypto_public,
        [VG_CRYPTO_INFO] = vg_crypto_info,
        [VG_CRYPTO_PARTS] = vg_crypto_parts,
        [VG_CRYPTO_MAKE] = vg_crypto_make,
        [VG_CRYPTO_SIGN] = vg_crypto_sign,
        [VG_CRYPTO_VERIFY] = vg_crypto_verify,
        [VG_CRYPTO_CRYPT] = vg_crypto_crypt,
        [VG_CRYPTO_DERIVE] = vg_crypto_derive,
        [VG_CRYPTO_CIPHER] = vg_crypto_cipher,
        [VG_CRYPTO_SCRYPT] = vg_crypto_scrypt,
        [VG_CRYPTO_CERTIFICATE] = vg_crypto_certificate,
        [VG_CRYPTO_CERTIFIED] = vg_crypto_certified,
        [VG_CRYPTO_ISSUED] = vg_crypto_issued,
        [VG_CRYPTO_NAMED] = vg_crypto_named,
        [VG_CRYPTO_PRIME] = vg_crypto_prime,
        [VG_CRYPTO_IS_PRIME] = vg_crypto_is_prime,
        [VG_CRYPTO_GROUP_KEYS] = vg_crypto_group_keys,
        [VG_CRYPTO_GROUP_SECRET] = vg_crypto_group_secret,
        [VG_CRYPTO_GROUP] = vg_crypto_group,
        [VG_CRYPTO_CHECK_GROUP] = vg_crypto_check_group,
        [VG_CRYPTO_NEW_GROUP] = vg_crypto_new_group,
    };
    double operation = vg_crypto_number(work, 0, -1);
    if (!(operation >= 0 && operation < VG_COUNT_crypto))
        return vg_work_fail(work, -EINVAL, "there is no such operation");
    /* Threads of the pool may still compute when the process ends. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    ERR_clear_error();
    return operations[(int)operation](work);
}
