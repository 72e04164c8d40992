/* SPDX-License-Identifier: MIT */
/* A body in chunks; see chunks.h. Extensions are checked, counted and thrown away. */
#include "chunks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    SIZE,      /* digits */
    EXTENSION, /* behind the size */
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,    /* at the begin of a line */
    TRAILER_IN, /* within one */
    TRAILER_LF,
    LAST_LF,
    OVER
};

enum {
    MOST_DIGITS = 15,
    MOST_LINE = 256 /* of a size with its extensions */
};

void vg_web_chunks_begin(vg_web_chunks *chunks, size_t most, unsigned most_fields)
{
    vg_web_chunks_end(chunks);
    *chunks = (vg_web_chunks){.most = (uint32_t)most, .most_fields = (uint16_t)most_fields, .state = SIZE};
}

void vg_web_chunks_end(vg_web_chunks *chunks)
{
    free(chunks->trailers);
    chunks->trailers = NULL;
}

int vg_web_chunks_over(const vg_web_chunks *chunks)
{
    return chunks->state == OVER;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static bool is_text(char c)
{
    return (unsigned char)c >= 0x20 ? c != 0x7f : c == '\t';
}

/* One byte that is not data. False: it does not belong here. */
static bool step(vg_web_chunks *it, char c)
{
    switch (it->state) {
    case SIZE:
        if (digit(c) >= 0) {
            it->left = it->left * 16 + (uint64_t)digit(c);
            return ++it->line <= MOST_DIGITS;
        }
        it->state = c == ';' ? EXTENSION : SIZE_LF;
        return it->line > 0 && (c == ';' || c == '\r');
    case EXTENSION:
        if (c == '\r')
            it->state = SIZE_LF;
        return c == '\r' || (is_text(c) && ++it->line <= MOST_LINE);
    case SIZE_LF:
        it->state = it->left != 0 ? DATA : TRAILER;
        it->line = 0;
        return c == '\n';
    case DATA_CR:
        it->state = DATA_LF;
        return c == '\r';
    case DATA_LF:
        it->state = SIZE;
        return c == '\n';
    case TRAILER:
        it->state = c == '\r' ? LAST_LF : TRAILER_IN;
        return c == '\r' || (is_text(c) && c != ' ' && c != '\t' && c != ':');
    case TRAILER_IN:
        if (c == '\r')
            it->state = TRAILER_LF;
        return c == '\r' || is_text(c);
    case TRAILER_LF:
        it->state = TRAILER;
        return c == '\n';
    case LAST_LF:
        it->state = OVER;
        return c == '\n';
    default:
        return false;
    }
}

/* A byte behind the last chunk. 0; an error. */
static int step_trailer(vg_web_chunks *it, char c)
{
    if (!step(it, c))
        return -EBADMSG;
    if (it->state == OVER)
        return vg_web_trailers_check(it->trailers, it->most_fields);
    if (it->state == LAST_LF)
        return 0;
    if (++it->line > it->most)
        return -EMSGSIZE;
    return vg_web_trailers_add(&it->trailers, c);
}

int64_t vg_web_chunks_take(vg_web_chunks *it, const char *bytes, size_t length, const char **piece,
                           size_t *piece_length)
{
    size_t at = 0;
    *piece = NULL;
    *piece_length = 0;
    while (at < length && it->state != OVER) {
        if (it->state >= TRAILER) {
            const int error = step_trailer(it, bytes[at++]);
            if (error != 0)
                return error;
            continue;
        }
        if (it->state != DATA) {
            if (!step(it, bytes[at++]))
                return -EBADMSG;
            continue;
        }
        const size_t room = length - at;
        *piece = bytes + at;
        *piece_length = it->left < room ? (size_t)it->left : room;
        it->left -= *piece_length;
        if (it->left == 0)
            it->state = DATA_CR;
        return (int64_t)(at + *piece_length);
    }
    return (int64_t)at;
}
