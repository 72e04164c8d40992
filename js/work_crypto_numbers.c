/* SPDX-License-Identifier: MIT */
/* Large numbers: primes, and the numbers of Diffie and Hellman. */
#include <openssl/bn.h>
#include <openssl/dh.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "work_crypto.h"

/* OpenSSL counts lengths in int. */
static BIGNUM *number_of(const vg_work *work, size_t i)
{
    const vigil_js_datum *datum = vg_crypto_arg(work, i);
    return datum->kind == VIGIL_JS_DATUM_BYTES && datum->length <= INT32_MAX
               ? BN_bin2bn(datum->data, (int)datum->length, NULL)
               : NULL;
}

/* The result is the number; `length`: with zeros in front up to that length. */
static int give_number(vg_work *work, const BIGNUM *number, int length)
{
    int least = BN_num_bytes(number), size = length > least ? length : least;
    unsigned char *bytes = malloc((size_t)size + 1);
    if (!bytes)
        return -ENOMEM;
    if (BN_bn2binpad(number, bytes, size) < 0) {
        free(bytes);
        return vg_crypto_fail(work, "the number cannot be written");
    }
    vg_work_give(work, bytes, (size_t)size);
    return 0;
}

int vg_crypto_prime(vg_work *work)
{
    int bits = (int)vg_crypto_number(work, 1, 0), error;
    BIGNUM *prime = BN_secure_new(), *step = number_of(work, 3), *rest = number_of(work, 4);
    BN_CTX *context = BN_CTX_secure_new();
    bool good =
        prime && context && BN_generate_prime_ex2(prime, bits, vg_crypto_truth(work, 2), step, rest, NULL, context);
    error = good ? give_number(work, prime, (bits + 7) / 8) : vg_crypto_fail(work, "there is no such prime");
    BN_CTX_free(context);
    BN_clear_free(prime);
    BN_free(step);
    BN_free(rest);
    return error;
}

int vg_crypto_is_prime(vg_work *work)
{
    BIGNUM *number = number_of(work, 1);
    BN_CTX *context = BN_CTX_secure_new();
    int checks = (int)vg_crypto_number(work, 2, 0), result = -1;
    if (number && context) {
        /* More rounds than OpenSSL makes by itself: it offers no other way. */
        ERR_set_mark();
        result = BN_check_prime(number, context, NULL);
        for (int done = 64; result == 1 && done < checks; done += 64)
            result = BN_check_prime(number, context, NULL);
        ERR_pop_to_mark();
    }
    BN_CTX_free(context);
    BN_free(number);
    return result < 0 ? vg_crypto_fail(work, "the number cannot be tested") : vg_crypto_give_truth(work, result == 1);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static BIGNUM *known_prime(const char *name)
{
    static BIGNUM *(*const primes[])(BIGNUM *) = {
        [1] = BN_get_rfc2409_prime_768,   [2] = BN_get_rfc2409_prime_1024,  [5] = BN_get_rfc3526_prime_1536,
        [14] = BN_get_rfc3526_prime_2048, [15] = BN_get_rfc3526_prime_3072, [16] = BN_get_rfc3526_prime_4096,
        [17] = BN_get_rfc3526_prime_6144, [18] = BN_get_rfc3526_prime_8192,
    };
    unsigned long number = name && strncmp(name, "modp", 4) == 0 ? strtoul(name + 4, NULL, 10) : 0;
    return number < sizeof primes / sizeof *primes && primes[number] ? primes[number](NULL) : NULL;
}

int vg_crypto_group(vg_work *work)
{
    BIGNUM *prime = known_prime(vg_crypto_text(work, 1));
    int error = prime ? give_number(work, prime, 0) : vg_work_fail(work, -EINVAL, "Unknown DH group");
    BN_free(prime);
    return error;
}

/* The low-level functions are deprecated, but no other ones take numbers that make no valid key. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Arguments i: prime, generator, private number or nothing. NULL: they make no group. */
static DH *group_of(const vg_work *work, size_t i)
{
    BIGNUM *prime = number_of(work, i), *generator = number_of(work, i + 1), *private = number_of(work, i + 2);
    DH *group = DH_new();
    if (prime && generator && group && DH_set0_pqg(group, prime, NULL, generator)) {
        prime = generator = NULL; /* the group's now */
        if (!private || DH_set0_key(group, NULL, private))
            return group;
    }
    DH_free(group);
    BN_free(prime);
    BN_free(generator);
    BN_clear_free(private);
    return NULL;
}

int vg_crypto_new_group(vg_work *work)
{
    DH *group = DH_new();
    int bits = (int)vg_crypto_number(work, 1, 0), generator = (int)vg_crypto_number(work, 2, 2);
    bool good = group && DH_generate_parameters_ex(group, bits, generator, NULL);
    int error = good ? give_number(work, DH_get0_p(group), 0) : vg_crypto_fail(work, "there is no such group");
    DH_free(group);
    return error;
}

int vg_crypto_check_group(vg_work *work)
{
    DH *group = group_of(work, 1);
    int found = 0;
    vg_packed list = {0};
    bool good = group && DH_check(group, &found);
    DH_free(group);
    if (!good)
        return vg_crypto_fail(work, "the numbers make no group");
    vg_pack_number(&list, found);
    return vg_crypto_give_packed(work, &list);
}

int vg_crypto_group_keys(vg_work *work)
{
    DH *group = group_of(work, 1);
    int error = group && DH_generate_key(group) ? 0 : vg_crypto_fail(work, "the group has no keys");
    vg_packed list = {0};
    if (error == 0)
        error = give_number(work, DH_get0_priv_key(group), 0);
    if (error == 0) {
        vg_pack(&list, work->out, work->pub.result.length);
        error = give_number(work, DH_get0_pub_key(group), 0);
    }
    if (error == 0) {
        vg_pack(&list, work->out, work->pub.result.length);
        error = vg_crypto_give_packed(work, &list);
    } else {
        free(list.bytes);
    }
    DH_free(group);
    return error;
}

int vg_crypto_group_secret(vg_work *work)
{
    DH *group = group_of(work, 1);
    BIGNUM *other = number_of(work, 4);
    unsigned char *secret = group ? malloc((size_t)DH_size(group) + 1) : NULL;
    int found = 0, length = -1, error = 0;
    if (secret && other && DH_check_pub_key(group, other, &found) && found == 0)
        length = DH_compute_key_padded(secret, other, group);
    if (found & DH_CHECK_PUBKEY_TOO_SMALL)
        error = vg_work_fail(work, -EINVAL, "Supplied key is too small");
    else if (found & DH_CHECK_PUBKEY_TOO_LARGE)
        error = vg_work_fail(work, -EINVAL, "Supplied key is too large");
    else if (length < 0)
        error = vg_crypto_fail(work, "Invalid key type");
    else
        vg_work_give(work, secret, (size_t)length);
    if (error < 0)
        free(secret);
    BN_free(other);
    DH_free(group);
    return error;
}
#pragma GCC diagnostic pop
