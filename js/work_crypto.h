/* SPDX-License-Identifier: MIT */
/*
 * Keys, signatures, ciphers and certificates, by OpenSSL. Each operation is a function of plain bytes and runs on any thread.
 *
 * A key is DER: PKCS #8 if it is private, SubjectPublicKeyInfo if it is public. No object of OpenSSL lives across two calls, so JavaScript
 * has nothing to free and no thread shares anything. The first argument is the operation (VG_CRYPTO_*). "Packed" is a list: four bytes
 * of length, the most significant one first, and the item, for each.
 *
 *   READ         file, private?, passphrase or nothing -> packed: type, DER
 *   WRITE        key, private?, structure, format, cipher or nothing, passphrase or nothing -> file
 *   GENERATE     type, bits or curve, exponent, digest, digest of the mask, length of salt -> private key
 *                EC: curve, parameters in full?; DSA: bits, bits of the divisor; DH: prime or bits, generator
 *   PUBLIC       private key -> public key
 *   INFO         key, private? -> packed: type, bits, curve, exponent, digest, digest of the mask, length of salt, divisor
 *   PARTS        key, private? -> packed: the numbers of an RSA key; curve, x, y, d; public and private bytes
 *   MAKE         type, private?, parts as PARTS gives them (EC: curve, point, d) -> key
 *   SIGN         key, private?, digest, hashed already?, data, padding, length of salt, plain r and s? -> signature
 *   VERIFY       the same and the signature -> one byte
 *   CRYPT        key, private?, mode, data, padding, digest, label -> data
 *   DERIVE       private key, public key -> secret
 *   CIPHER       name, encrypt?, key, iv, data, further data, length of tag -> data, with the tag behind it
 *   SCRYPT       password, salt, cost, block size, parallelization, most memory, length -> key
 *   CERTIFICATE  file -> packed: see work_crypto_cert.c
 *   CERTIFIED    certificate, public key -> one byte: the key has signed it
 *   ISSUED       certificate, another one -> one byte: the other one's owner has issued it
 *   NAMED        certificate, kind, name, flags -> the name that fits, or nothing
 *   PRIME        bits, safe?, step or nothing, rest or nothing -> a new prime
 *   IS_PRIME     number, rounds -> one byte
 *   GROUP        name -> the prime of a known group
 *   NEW_GROUP    bits, generator -> a prime
 *   CHECK_GROUP  prime, generator -> packed: what DH_check finds
 *   GROUP_KEYS   prime, generator, private number or nothing -> packed: private and public number
 *   GROUP_SECRET prime, generator, private number, the other's public number -> secret
 */
#ifndef VG_JS_WORK_CRYPTO_H
#define VG_JS_WORK_CRYPTO_H

#include <openssl/evp.h>

#include "work.h"

/* The operation that work->pub.args[0] names. */
int vg_crypto_run(vg_work *work);

/* ---- for the files of the operations */
/* Fails with the first error of OpenSSL, or with `otherwise` if there is none. */
int vg_crypto_fail(vg_work *work, const char *otherwise);
/* Argument i is a DER key, and i + 1 says whether it is private. NULL: it is none. */
EVP_PKEY *vg_crypto_key(const vg_work *work, size_t i);
/* The result is that key, as DER. */
int vg_crypto_give_key(vg_work *work, EVP_PKEY *key, bool private);
int vg_crypto_give_copy(vg_work *work, const void *bytes, size_t length);
int vg_crypto_give_truth(vg_work *work, bool truth);
/* Argument i; one with kind NONE if there are fewer. */
const vigil_js_datum *vg_crypto_arg(const vg_work *work, size_t i);
/* Its text, or NULL. */
const char *vg_crypto_text(const vg_work *work, size_t i);
double vg_crypto_number(const vg_work *work, size_t i, double otherwise);
bool vg_crypto_truth(const vg_work *work, size_t i);
bool vg_crypto_has(const vg_work *work, size_t i);

/* A packed list under construction. */
typedef struct vg_packed {
    unsigned char *bytes;
    size_t length;
    bool failed;
} vg_packed;
void vg_pack(vg_packed *list, const void *item, size_t length);
void vg_pack_text(vg_packed *list, const char *text);
void vg_pack_number(vg_packed *list, double number);
int vg_crypto_give_packed(vg_work *work, vg_packed *list);

int vg_crypto_read(vg_work *work);
int vg_crypto_write(vg_work *work);
int vg_crypto_generate(vg_work *work);
int vg_crypto_public(vg_work *work);
int vg_crypto_info(vg_work *work);
int vg_crypto_parts(vg_work *work);
int vg_crypto_make(vg_work *work);
int vg_crypto_sign(vg_work *work);
int vg_crypto_verify(vg_work *work);
int vg_crypto_crypt(vg_work *work);
int vg_crypto_derive(vg_work *work);
int vg_crypto_cipher(vg_work *work);
int vg_crypto_scrypt(vg_work *work);
int vg_crypto_certificate(vg_work *work);
int vg_crypto_certified(vg_work *work);
int vg_crypto_issued(vg_work *work);
int vg_crypto_named(vg_work *work);
int vg_crypto_prime(vg_work *work);
int vg_crypto_is_prime(vg_work *work);
int vg_crypto_group(vg_work *work);
int vg_crypto_check_group(vg_work *work);
int vg_crypto_new_group(vg_work *work);
int vg_crypto_group_keys(vg_work *work);
int vg_crypto_group_secret(vg_work *work);

#endif
