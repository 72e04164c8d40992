/* SPDX-License-Identifier: MIT */
/* Digests, HMAC and key derivation. */
#ifndef VG_JS_WORK_HASH_H
#define VG_JS_WORK_HASH_H

#include "work.h"

/* NULL: not one of its kinds, or this build lacks the library. */
vg_work_fn vg_work_hash_kind(unsigned kind);
/* The length of the algorithm's digest; 0: it is unknown. For an answer before anything is submitted. */
unsigned vg_work_digest_length(const char *algorithm);
/* A digest in steps, keyed if `key` is not NULL. NULL: unknown, or no memory. Each call is the owner's. */
typedef struct vg_digest vg_digest;
vg_digest *vg_digest_new(const char *algorithm, const void *key, size_t key_length);
vg_digest *vg_digest_copy(vg_digest *digest);
void vg_digest_add(vg_digest *digest, const void *bytes, size_t length);
/* The bytes of the digest, valid until it is freed; its length in *length. */
const unsigned char *vg_digest_end(vg_digest *digest, size_t *length);
void vg_digest_free(vg_digest *digest);
/* The names, NULL at the end; NULL: no library. */
const char *const *vg_work_digests(void);

#endif
