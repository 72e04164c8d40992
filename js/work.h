/* SPDX-License-Identifier: MIT */
/*
 * One piece of work for vigil:pool: what came from JavaScript, copied; what it gives back; whether it is still wanted.
 *
 * work_*.c do it, on any thread and without the engine; pool_piece.c brings it to the pool and back. Without its library a kind is
 * NULL in the table, and lib/pool.js names the missing library.
 */
#ifndef VG_JS_WORK_H
#define VG_JS_WORK_H

#include "host.h"

/*
 * What each kind takes and gives:
 *   HASH        algorithm, data, key (or nothing) -> digest
 *   HASH_FILE   algorithm, path, key (or nothing) -> digest
 *   PBKDF2      algorithm, password, salt, iterations, length -> key
 *   SCRYPT      password, salt, cost, parallelization, length -> key
 *   DEFLATE     data, level, window bits -> data
 *   INFLATE     data, window bits, most bytes -> data
 *   CRYPTO      an operation and what it takes: see work_crypto.h
 *   EXPOSED     task number, arguments: a function that the embedder has registered
 */

#define VG_WORK_PIECE ((size_t)1 << 20) /* between two looks at `cancelled` */

typedef struct vg_work {
    vigil_js_work pub; /* arguments, result, message: what the embedder's functions see too */
    _Atomic uint32_t cancelled;
    unsigned char *out; /* the result's bytes, if they are ours to free */
} vg_work;

typedef int (*vg_work_fn)(vg_work *work);

bool vg_work_cancelled(vg_work *work);
/* The result is `length` bytes that free() gives back. */
void vg_work_give(vg_work *work, void *bytes, size_t length);
int vg_work_fail(vg_work *work, int error, const char *message);

#endif
