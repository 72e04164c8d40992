/* SPDX-License-Identifier: MIT */
/* One stream of zlib or Brotli, and one step of it. Without the engine: any thread, one at a time. */
#ifndef VG_JS_ZIP_STREAM_H
#define VG_JS_ZIP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vg_zip vg_zip;

typedef struct vg_zip_step {
    const unsigned char *in;
    size_t length; /* in: bytes at `in`; out: those that were not taken */
    size_t most;   /* no more output than this in one step */
    int flush;
    unsigned char *out; /* to be freed */
    size_t used;
    int code;  /* zlib's */
    bool full; /* there is more output */
    char message[64];
} vg_zip_step;

/* What a stream is made with, as in lib/zlib.js. */
typedef struct vg_zip_options {
    bool pack, brotli; /* Brotli's quality, window and mode are level, window and strategy */
    int window, level, memory, strategy;
    unsigned char *dictionary; /* copied; NULL: none */
    size_t dictionary_length;
} vg_zip_options;

/* NULL: no memory, or an option that zlib refuses. */
vg_zip *vg_zip_new(const vg_zip_options *options);
void vg_zip_hold(vg_zip *zip);
/* The last one frees it. Any thread. */
void vg_zip_release(vg_zip *zip);
void vg_zip_step_run(vg_zip *zip, vg_zip_step *step);
/* Room for more output. False: there is none, or there may be no more. */
bool vg_zip_step_grow(vg_zip_step *step, size_t *room);
/* Begin anew with the same options; zlib's code. Not Brotli. */
int vg_zip_reset(vg_zip *zip);
int vg_zip_params(vg_zip *zip, int level, int strategy);

#endif
