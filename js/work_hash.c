/* SPDX-License-Identifier: MIT */
/* Digests and keys, by libgcrypt. Any thread. */
#include "work_hash.h"

#ifdef VG_HAVE_GCRYPT

#include <fcntl.h>
#include <gcrypt.h>
#include <limits.h>
#ifdef VG_HAVE_OPENSSL
#include <openssl/evp.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

/* In the order of names[]. The names are Node's. */
static const char *const names[] = {"md5",      "ripemd160",  "sha1",       "sha224",   "sha256",
                                    "sha384",   "sha512",     "sha3-224",   "sha3-256", "sha3-384",
                                    "sha3-512", "blake2b512", "blake2s256", NULL};
static const int numbers[] = {GCRY_MD_MD5,        GCRY_MD_RMD160,   GCRY_MD_SHA1,     GCRY_MD_SHA224,
                              GCRY_MD_SHA256,     GCRY_MD_SHA384,   GCRY_MD_SHA512,   GCRY_MD_SHA3_224,
                              GCRY_MD_SHA3_256,   GCRY_MD_SHA3_384, GCRY_MD_SHA3_512, GCRY_MD_BLAKE2B_512,
                              GCRY_MD_BLAKE2S_256};

/* libgcrypt must be initialized once; a second call does no harm. */
static bool ready(void)
{
    if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
        return true;
    if (!gcry_check_version("1.8.0"))
        return false;
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    return true;
}

static int number_of(const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return numbers[i];
    return 0;
}

const char *const *vg_work_digests(void)
{
    return names;
}

unsigned vg_work_digest_length(const char *algorithm)
{
    int number = number_of(algorithm);
    /* Also the place where the library begins: on the owner, before the first work is handed over. */
    return number && ready() ? gcry_md_get_algo_dlen(number) : 0;
}

struct vg_digest {
    gcry_md_hd_t handle;
    unsigned length;
};

vg_digest *vg_digest_new(const char *algorithm, const void *key, size_t key_length)
{
    unsigned length = vg_work_digest_length(algorithm);
    vg_digest *digest = length ? calloc(1, sizeof *digest) : NULL;
    if (!digest)
        return NULL;
    digest->length = length;
    if (gcry_md_open(&digest->handle, number_of(algorithm), key ? GCRY_MD_FLAG_HMAC : 0)) {
        free(digest);
        return NULL;
    }
    if (key && gcry_md_setkey(digest->handle, key, key_length)) {
        vg_digest_free(digest);
        return NULL;
    }
    return digest;
}

vg_digest *vg_digest_copy(vg_digest *digest)
{
    vg_digest *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *digest;
    if (gcry_md_copy(&copy->handle, digest->handle)) {
        free(copy);
        return NULL;
    }
    return copy;
}

void vg_digest_add(vg_digest *digest, const void *bytes, size_t length)
{
    gcry_md_write(digest->handle, bytes, length);
}

const unsigned char *vg_digest_end(vg_digest *digest, size_t *length)
{
    *length = digest->length;
    return gcry_md_read(digest->handle, 0);
}

void vg_digest_free(vg_digest *digest)
{
    gcry_md_close(digest->handle);
    free(digest);
}

static int failed(vg_work *work, gcry_error_t error)
{
    return vg_work_fail(work, gcry_err_code(error) == GPG_ERR_ENOMEM ? -ENOMEM : -EINVAL, gcry_strerror(error));
}

/* A digest, keyed if there is a third argument. */
static int begin(vg_work *work, gcry_md_hd_t *digest)
{
    const vigil_js_datum *args = work->pub.args;
    bool keyed = work->pub.count > 2 && args[2].kind != VIGIL_JS_DATUM_NONE;
    gcry_error_t error = gcry_md_open(digest, number_of(args[0].data), keyed ? GCRY_MD_FLAG_HMAC : 0);
    if (!error && keyed && (error = gcry_md_setkey(*digest, args[2].data, args[2].length)))
        gcry_md_close(*digest);
    return error ? failed(work, error) : 0;
}

static int finish(vg_work *work, gcry_md_hd_t digest)
{
    unsigned length = vg_work_digest_length(work->pub.args[0].data);
    unsigned char *copy = malloc(length + 1U);
    if (copy) {
        memcpy(copy, gcry_md_read(digest, 0), length);
        vg_work_give(work, copy, length);
    }
    gcry_md_close(digest);
    return copy ? 0 : -ENOMEM;
}

static int hash(vg_work *work)
{
    const unsigned char *data = work->pub.args[1].data;
    size_t left = work->pub.args[1].length;
    gcry_md_hd_t digest;
    int error = begin(work, &digest);
    if (error < 0)
        return error;
    while (left > 0) {
        size_t piece = left < VG_WORK_PIECE ? left : VG_WORK_PIECE;
        if (vg_work_cancelled(work)) {
            gcry_md_close(digest);
            return -ECANCELED;
        }
        gcry_md_write(digest, data, piece);
        data += piece;
        left -= piece;
    }
    return finish(work, digest);
}

static int hash_file(vg_work *work)
{
    int fd = open(work->pub.args[1].data, O_RDONLY | O_CLOEXEC), error;
    unsigned char *buffer = malloc(VG_WORK_PIECE);
    gcry_md_hd_t digest = NULL;
    ssize_t got = 0;
    error = fd < 0 ? -errno : buffer ? begin(work, &digest) : -ENOMEM;
    while (error == 0 && (got = read(fd, buffer, VG_WORK_PIECE)) != 0) {
        if (got < 0 && errno != EINTR)
            error = -errno;
        else if (vg_work_cancelled(work))
            error = -ECANCELED;
        else if (got > 0)
            gcry_md_write(digest, buffer, (size_t)got);
    }
    if (error == 0)
        error = finish(work, digest);
    else if (digest)
        gcry_md_close(digest);
    free(buffer);
    if (fd >= 0)
        close(fd);
    return error;
}

static int derive(vg_work *work, int kind, int variant, const vigil_js_datum *password, const vigil_js_datum *salt,
                  double iterations, double length)
{
    unsigned char *key = malloc(length > 0 ? (size_t)length : 1);
    gcry_error_t error;
    if (!key)
        return -ENOMEM;
    error = gcry_kdf_derive(password->data, password->length, kind, variant, salt->data, salt->length,
                            (unsigned long)iterations, (size_t)length, key);
    if (error) {
        free(key);
        return failed(work, error);
    }
    vg_work_give(work, key, (size_t)length);
    return 0;
}

#ifdef VG_HAVE_OPENSSL
/* libgcrypt refuses a salt of no bytes, which the standards allow. */
static int unsalted(vg_work *work, const EVP_MD *digest)
{
    const vigil_js_datum *args = work->pub.args;
    size_t length = (size_t)args[4].number;
    unsigned char *key = malloc(length ? length : 1);
    if (!key)
        return -ENOMEM;
    if (args[1].length > INT_MAX || length > INT_MAX || args[3].number > INT_MAX ||
        PKCS5_PBKDF2_HMAC(args[1].data, (int)args[1].length, NULL, 0, (int)args[3].number, digest, (int)length, key) !=
            1) {
        free(key);
        return -EINVAL;
    }
    vg_work_give(work, key, length);
    return 0;
}
#endif

static int pbkdf2(vg_work *work)
{
    const vigil_js_datum *args = work->pub.args;
#ifdef VG_HAVE_OPENSSL
    const EVP_MD *digest = args[2].length == 0 ? EVP_get_digestbyname(args[0].data) : NULL;
    if (digest)
        return unsalted(work, digest);
#endif
    return derive(work, GCRY_KDF_PBKDF2, number_of(args[0].data), &args[1], &args[2], args[3].number, args[4].number);
}

static int scrypt(vg_work *work)
{
    const vigil_js_datum *args = work->pub.args;
    return derive(work, GCRY_KDF_SCRYPT, (int)args[2].number, &args[0], &args[1], args[3].number, args[4].number);
}

vg_work_fn vg_work_hash_kind(unsigned kind)
{
    switch (kind) {
    case VG_WORK_HASH:
        return hash;
    case VG_WORK_HASH_FILE:
        return hash_file;
    case VG_WORK_PBKDF2:
        return pbkdf2;
    case VG_WORK_SCRYPT:
        return scrypt;
    default:
        return NULL;
    }
}

#else

const char *const *vg_work_digests(void)
{
    return NULL;
}

unsigned vg_work_digest_length(const char *algorithm)
{
    (void)algorithm;
    return 0;
}

vg_work_fn vg_work_hash_kind(unsigned kind)
{
    (void)kind;
    return NULL;
}

#endif
