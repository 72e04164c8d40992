/* SPDX-License-Identifier: MIT */
/* One stream of Brotli. */
#include "zip_brotli.h"

#if defined VG_HAVE_ZLIB && defined VG_HAVE_BROTLI

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* Brotli's own default, 11, is for files that are packed once and read often. A stream is packed while it flows. */
#define QUALITY 5

struct vg_brotli {
    BrotliEncoderState *packer; /* one of the two */
    BrotliDecoderState *unpacker;
};

vg_brotli *vg_brotli_new(bool pack, int quality, int window, int mode)
{
    vg_brotli *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    if (pack)
        stream->packer = BrotliEncoderCreateInstance(NULL, NULL, NULL);
    else
        stream->unpacker = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (!stream->packer && !stream->unpacker) {
        free(stream);
        return NULL;
    }
    if (pack) {
        (void)BrotliEncoderSetParameter(stream->packer, BROTLI_PARAM_QUALITY,
                                        quality >= 0 ? (uint32_t)quality : QUALITY);
        if (window >= 0)
            (void)BrotliEncoderSetParameter(stream->packer, BROTLI_PARAM_LGWIN, (uint32_t)window);
        if (mode >= 0)
            (void)BrotliEncoderSetParameter(stream->packer, BROTLI_PARAM_MODE, (uint32_t)mode);
    }
    return stream;
}

void vg_brotli_free(vg_brotli *stream)
{
    if (!stream)
        return;
    if (stream->packer)
        BrotliEncoderDestroyInstance(stream->packer);
    if (stream->unpacker)
        BrotliDecoderDestroyInstance(stream->unpacker);
    free(stream);
}

/* Takes what it can. True: there is more output. */
static bool pack(vg_brotli *stream, vg_zip_step *step, size_t *room, unsigned char **out)
{
    BrotliEncoderOperation operation = step->flush == Z_NO_FLUSH ? BROTLI_OPERATION_PROCESS
                                       : step->flush == Z_FINISH ? BROTLI_OPERATION_FINISH
                                                                 : BROTLI_OPERATION_FLUSH;
    if (!BrotliEncoderCompressStream(stream->packer, operation, &step->length, &step->in, room, out, NULL)) {
        step->code = Z_MEM_ERROR;
        return false;
    }
    if (BrotliEncoderIsFinished(stream->packer))
        step->code = Z_STREAM_END;
    return step->length > 0 || BrotliEncoderHasMoreOutput(stream->packer);
}

static bool unpack(vg_brotli *stream, vg_zip_step *step, size_t *room, unsigned char **out)
{
    switch (BrotliDecoderDecompressStream(stream->unpacker, &step->length, &step->in, room, out, NULL)) {
    case BROTLI_DECODER_RESULT_SUCCESS:
        step->code = Z_STREAM_END;
        return false;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        return false;
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        return true;
    default:
        step->code = Z_DATA_ERROR;
        (void)snprintf(step->message, sizeof step->message, "%s",
                       BrotliDecoderErrorString(BrotliDecoderGetErrorCode(stream->unpacker)));
        return false;
    }
}

void vg_brotli_step(vg_brotli *stream, vg_zip_step *step)
{
    size_t room = 0;
    step->used = 0;
    step->full = false;
    step->code = Z_OK;
    if (!vg_zip_step_grow(step, &room)) {
        step->code = Z_MEM_ERROR;
        return;
    }
    for (;;) {
        unsigned char *out = step->out + step->used;
        size_t left = room - step->used;
        bool more = stream->packer ? pack(stream, step, &left, &out) : unpack(stream, step, &left, &out);
        step->used = room - left;
        if (step->code != Z_OK || !more)
            return;
        if (left == 0 && !vg_zip_step_grow(step, &room)) {
            step->full = true;
            return;
        }
    }
}

#else

vg_brotli *vg_brotli_new(bool pack, int quality, int window, int mode)
{
    (void)pack;
    (void)quality;
    (void)window;
    (void)mode;
    return NULL;
}

void vg_brotli_free(vg_brotli *stream)
{
    (void)stream;
}

void vg_brotli_step(vg_brotli *stream, vg_zip_step *step)
{
    (void)stream;
    (void)step;
}

#endif
