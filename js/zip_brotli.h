/* SPDX-License-Identifier: MIT */
/* One stream of Brotli, stepped as a stream of zlib is (zip_stream.h), whose flushes and codes it takes and gives. */
#ifndef VG_JS_ZIP_BROTLI_H
#define VG_JS_ZIP_BROTLI_H

#include "zip_stream.h"

typedef struct vg_brotli vg_brotli;

/* The quality, the logarithm of the window and the mode are for packing, as in Brotli's own interface; negative: as a stream of the web has it.
   NULL: no memory, or a build without Brotli. */
vg_brotli *vg_brotli_new(bool pack, int quality, int window, int mode);
void vg_brotli_free(vg_brotli *stream);
void vg_brotli_step(vg_brotli *stream, vg_zip_step *step);

#endif
