/* SPDX-License-Identifier: MIT */
/* Digests, HMAC and key derivation. */
#ifndef VG_JS_WORK_HASH_H
#define VG_JS_WORK_HASH_H

#include "work.h"

/* NULL: not one of its kinds, or this build lacks the library. */
vg_work_fn vg_work_hash_kind(unsigned kind);
/* The length of the algorithm's digest; 0: it is unknown. For an answer before anything is submitted. */
unsigned vg_work_digest_length(const char *algorithm);
/* The names, NULL at the end; NULL: no library. */
const char *const *vg_work_digests(void);

#endif
