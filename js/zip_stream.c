/* SPDX-License-Identifier: MIT */
/* One stream of zlib, or the way to one of Brotli. */
#include "zip_stream.h"

#ifdef VG_HAVE_ZLIB

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "zip_brotli.h"

#define PIECE ((size_t)1 << 20) /* of input or output that zlib sees at once: its counters have 32 bits */

struct vg_zip {
    z_stream stream;
    vg_brotli *brotli; /* NULL: zlib's */
    _Atomic unsigned refs;
    bool pack, set_dictionary; /* a raw stream wants its dictionary at once, another one when it asks */
    unsigned char *dictionary;
    size_t dictionary_length;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int set_dictionary(vg_zip *zip)
{
    unsigned length = (unsigned)zip->dictionary_length;
    return zip->pack ? deflateSetDictionary(&zip->stream, zip->dictionary, length)
                     : inflateSetDictionary(&zip->stream, zip->dictionary, length);
}

vg_zip *vg_zip_new(const vg_zip_options *options)
{
    vg_zip *zip = calloc(1, sizeof *zip);
    if (!zip)
        return NULL;
    zip->pack = options->pack;
    /* relaxed: nobody else knows the stream yet. */
    atomic_store_explicit(&zip->refs, 1U, memory_order_relaxed);
    if (options->brotli) {
        zip->brotli = vg_brotli_new(options->pack, options->level, options->window, options->strategy);
        if (zip->brotli)
            return zip;
        free(zip);
        return NULL;
    }
    if (options->dictionary) {
        zip->dictionary = malloc(options->dictionary_length + 1);
        if (!zip->dictionary) {
            free(zip);
            return NULL;
        }
        memcpy(zip->dictionary, options->dictionary, options->dictionary_length);
        zip->dictionary_length = options->dictionary_length;
        zip->set_dictionary = options->pack || options->window < 0;
    }
    int code = options->pack ? deflateInit2(&zip->stream, options->level, Z_DEFLATED, options->window, options->memory,
                                            options->strategy)
                             : inflateInit2(&zip->stream, options->window);
    if (code == Z_OK && zip->set_dictionary)
        code = set_dictionary(zip);
    if (code != Z_OK) {
        vg_zip_release(zip);
        return NULL;
    }
    return zip;
}

void vg_zip_hold(vg_zip *zip)
{
    /* relaxed: the caller has a reference. */
    atomic_fetch_add_explicit(&zip->refs, 1U, memory_order_relaxed);
}

void vg_zip_release(vg_zip *zip)
{
    /* acq_rel: pairs with the releases of the others; what they did to the stream comes before its end. */
    if (atomic_fetch_sub_explicit(&zip->refs, 1U, memory_order_acq_rel) != 1)
        return;
    if (zip->stream.state)
        (void)(zip->pack ? deflateEnd(&zip->stream) : inflateEnd(&zip->stream));
    vg_brotli_free(zip->brotli);
    free(zip->dictionary);
    free(zip);
}

int vg_zip_reset(vg_zip *zip)
{
    if (zip->brotli)
        return Z_STREAM_ERROR;
    int code = zip->pack ? deflateReset(&zip->stream) : inflateReset(&zip->stream);
    return code == Z_OK && zip->set_dictionary ? set_dictionary(zip) : code;
}

int vg_zip_params(vg_zip *zip, int level, int strategy)
{
    return zip->pack && !zip->brotli ? deflateParams(&zip->stream, level, strategy) : Z_STREAM_ERROR;
}

bool vg_zip_step_grow(vg_zip_step *step, size_t *room)
{
    size_t wanted = smaller(step->most, *room ? *room * 2 : smaller(step->length * 2 + 256, 16384));
    if (wanted <= *room)
        return false;
    unsigned char *more = realloc(step->out, wanted);
    if (!more)
        return false;
    step->out = more;
    *room = wanted;
    return true;
}

void vg_zip_step_run(vg_zip *zip, vg_zip_step *step)
{
    z_stream *stream = &zip->stream;
    size_t room = 0;
    if (zip->brotli) {
        vg_brotli_step(zip->brotli, step);
        return;
    }
    step->used = 0;
    step->full = false;
    step->code = Z_OK;
    if (!vg_zip_step_grow(step, &room)) {
        step->code = Z_MEM_ERROR;
        return;
    }
    for (;;) {
        unsigned in = (unsigned)smaller(step->length, PIECE), out = (unsigned)smaller(room - step->used, PIECE);
        stream->next_in = (unsigned char *)(uintptr_t)step->in;
        stream->avail_in = in;
        stream->next_out = step->out + step->used;
        stream->avail_out = out;
        int flush = in == step->length ? step->flush : Z_NO_FLUSH;
        step->code = zip->pack ? deflate(stream, flush) : inflate(stream, flush);
        if (step->code == Z_NEED_DICT && zip->dictionary) {
            step->code = set_dictionary(zip);
            if (step->code == Z_DATA_ERROR) {
                step->code = Z_NEED_DICT;
                (void)snprintf(step->message, sizeof step->message, "Bad dictionary");
            }
        } else if (step->code == Z_NEED_DICT) {
            (void)snprintf(step->message, sizeof step->message, "Missing dictionary");
        }
        step->in += in - stream->avail_in;
        step->length -= in - stream->avail_in;
        step->used += out - stream->avail_out;
        /* No progress is possible is no error: there was nothing to do, or the output is full. */
        if (step->code == Z_BUF_ERROR)
            step->code = Z_OK;
        if (step->code != Z_OK)
            break;
        if (step->used < room) {
            if (step->length == 0 || (stream->avail_in == in && stream->avail_out == out))
                break;
        } else if (!vg_zip_step_grow(step, &room)) {
            step->full = true;
            break;
        }
    }
    if (step->code < 0 && step->message[0] == 0 && stream->msg)
        (void)snprintf(step->message, sizeof step->message, "%s", stream->msg);
}

#endif
