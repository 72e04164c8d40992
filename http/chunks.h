/* SPDX-License-Identifier: MIT */
/* chunks.h - a body in chunks (RFC 9112, 7.1), strictly: every line ends in CR LF, a size has 1 to 15 hexadecimal digits. */
#ifndef VG_WEB_CHUNKS_H
#define VG_WEB_CHUNKS_H

#include "trailers.h"

#include <stddef.h>
#include <stdint.h>

typedef struct vg_web_chunks {
    uint64_t left; /* of this chunk */
    uint32_t line; /* bytes of the line, or of all trailers */
    uint32_t most; /* bytes of all trailers */
    uint16_t most_fields;
    uint8_t state;
    vg_web_trailers *trailers; /* NULL: none has come */
} vg_web_chunks;

/* A new body. What is left of the limits of a head is that of the trailers. */
void vg_web_chunks_begin(vg_web_chunks *chunks, size_t most, unsigned most_fields);
/* Its trailers go. */
void vg_web_chunks_end(vg_web_chunks *chunks);

/* Take bytes. *piece: where data lies in them, NULL if none was found; *piece_length: how much. How many bytes were taken;
   -EBADMSG not chunks; -EMSGSIZE too many trailers; -ENOMEM. Call again with what is left. */
int64_t vg_web_chunks_take(vg_web_chunks *chunks, const char *bytes, size_t length, const char **piece,
                           size_t *piece_length);

/* The last chunk and the trailers are over. */
int vg_web_chunks_over(const vg_web_chunks *chunks);

#endif
