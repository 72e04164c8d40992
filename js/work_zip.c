/* SPDX-License-Identifier: MIT */
/* Packing and unpacking, by zlib. The window bits choose the format, as zlib has it. Any thread. */
#include "work_zip.h"

#ifdef VG_HAVE_ZLIB

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "work.h"

typedef int (*step_fn)(z_stream *stream, int flush);

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Feed all of the input, a piece at a time, and grow the output as need be; at most `most` bytes of it. */
static int pump(vg_work *work, z_stream *stream, step_fn step, size_t most)
{
    const vigil_js_datum *input = &work->pub.args[0];
    size_t left = input->length, room = smaller(most, left + 256), used = 0;
    unsigned char *out = malloc(room + 1);
    int result = Z_OK;
    stream->next_in = (unsigned char *)(uintptr_t)input->data;
    while (out && result == Z_OK && !vg_work_cancelled(work)) {
        size_t piece, given;
        if (stream->avail_in == 0) {
            stream->avail_in = (unsigned)smaller(left, VG_WORK_PIECE);
            left -= stream->avail_in;
        }
        if (used == room && room < most) {
            room = smaller(most, room * 2);
            unsigned char *more = realloc(out, room + 1);
            if (!more)
                free(out);
            out = more;
            continue;
        }
        piece = given = smaller(room - used, VG_WORK_PIECE);
        stream->next_out = out + used;
        stream->avail_out = (unsigned)piece;
        result = step(stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
        used += given - stream->avail_out;
        /* Several packed texts in a row are one; anything else behind the end is left alone, as gzip does. */
        if (result == Z_STREAM_END && step == inflate && stream->avail_in + left > 1 && stream->next_in[0] == 0x1f &&
            stream->next_in[1] == 0x8b)
            result = inflateReset(stream);
        if (result == Z_BUF_ERROR && (used < room || room < most))
            result = stream->avail_in == 0 && left == 0 && stream->avail_out > 0 ? Z_DATA_ERROR : Z_OK;
    }
    if (out && result == Z_STREAM_END) {
        vg_work_give(work, out, used);
        return 0;
    }
    free(out);
    if (!out || result == Z_MEM_ERROR)
        return -ENOMEM;
    if (vg_work_cancelled(work))
        return -ECANCELED;
    if (result == Z_BUF_ERROR)
        return vg_work_fail(work, -EMSGSIZE, "the result is larger than maxOutputLength");
    return vg_work_fail(work, -EBADMSG, stream->msg ? stream->msg : "unexpected end of file");
}

static int pack(vg_work *work)
{
    z_stream stream = {0};
    int error;
    if (deflateInit2(&stream, (int)work->pub.args[1].number, Z_DEFLATED, (int)work->pub.args[2].number, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    error = pump(work, &stream, deflate, SIZE_MAX / 4);
    deflateEnd(&stream);
    return error;
}

static int unpack(vg_work *work)
{
    z_stream stream = {0};
    int error;
    if (inflateInit2(&stream, (int)work->pub.args[1].number) != Z_OK)
        return -ENOMEM;
    error = pump(work, &stream, inflate, (size_t)work->pub.args[2].number);
    inflateEnd(&stream);
    return error;
}

vg_work_fn vg_work_zip_kind(unsigned kind)
{
    return kind == VG_WORK_DEFLATE ? pack : kind == VG_WORK_INFLATE ? unpack : NULL;
}

#else

vg_work_fn vg_work_zip_kind(unsigned kind)
{
    (void)kind;
    return NULL;
}

#endif
