/* SPDX-License-Identifier: MIT */
/* Ciphers in one go, and scrypt. bind_crypto.c has ciphers in steps. */
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "work_crypto.h"

static bool is_authenticated(const EVP_CIPHER *cipher)
{
    return EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER;
}

/* The context knows cipher, key and vector; false: they do not fit. */
static bool set_up(const vg_work *work, EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, bool encrypt)
{
    const vigil_js_datum *key = vg_crypto_arg(work, 3), *iv = vg_crypto_arg(work, 4);
    if (EVP_CIPHER_get_mode(cipher) == EVP_CIPH_WRAP_MODE)
        EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    if (EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, encrypt) <= 0)
        return false;
    if (is_authenticated(cipher) && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)iv->length, NULL) <= 0)
        return false;
    if ((size_t)EVP_CIPHER_CTX_get_key_length(context) != key->length ||
        (size_t)EVP_CIPHER_CTX_get_iv_length(context) != iv->length)
        return false;
    return EVP_CipherInit_ex(context, NULL, NULL, key->data, iv->length ? iv->data : NULL, encrypt) > 0;
}

int vg_crypto_cipher(vg_work *work)
{
    const EVP_CIPHER *cipher = EVP_get_cipherbyname(vg_crypto_text(work, 1));
    const vigil_js_datum *data = vg_crypto_arg(work, 5), *extra = vg_crypto_arg(work, 6);
    bool encrypt = vg_crypto_truth(work, 2), good;
    size_t tag = cipher && is_authenticated(cipher) ? (size_t)vg_crypto_number(work, 7, 16) : 0, length = data->length;
    const unsigned char *in = data->data;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char *out = malloc(length + 64);
    int first = 0, last = 0, skipped;
    good = cipher && context && out && length < INT32_MAX - 64 && tag <= 16 && (encrypt || length >= tag) &&
           set_up(work, context, cipher, encrypt);
    if (good && tag && !encrypt) {
        length -= tag;
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)tag, (void *)(uintptr_t)(in + length)) > 0;
    }
    if (good && extra->length > 0)
        good = EVP_CipherUpdate(context, NULL, &skipped, extra->data, (int)extra->length) > 0;
    good = good && EVP_CipherUpdate(context, out, &first, in, (int)length) > 0 &&
           EVP_CipherFinal_ex(context, out + first, &last) > 0;
    if (good && tag && encrypt)
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)tag, out + first + last) > 0;
    if (good)
        vg_work_give(work, out, (size_t)first + (size_t)last + (encrypt ? tag : 0));
    else
        free(out);
    EVP_CIPHER_CTX_free(context);
    return good ? 0 : vg_crypto_fail(work, "Cipher job failed");
}

int vg_crypto_scrypt(vg_work *work)
{
    const vigil_js_datum *password = vg_crypto_arg(work, 1), *salt = vg_crypto_arg(work, 2);
    size_t length = (size_t)vg_crypto_number(work, 7, 0);
    unsigned char *key = malloc(length + 1);
    if (!key)
        return -ENOMEM;
    if (EVP_PBE_scrypt(password->data, password->length, salt->data, salt->length,
                       (uint64_t)vg_crypto_number(work, 3, 0), (uint64_t)vg_crypto_number(work, 4, 0),
                       (uint64_t)vg_crypto_number(work, 5, 0), (uint64_t)vg_crypto_number(work, 6, 0), key,
                       length) <= 0) {
        free(key);
        return vg_crypto_fail(work, "Invalid scrypt params");
    }
    vg_work_give(work, key, length);
    return 0;
}
