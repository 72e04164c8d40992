/* SPDX-License-Identifier: MIT */
/*
 * Line ends of a request, checked before the parser sees them: every line of a head, of a chunk's size and of a trailer ends in CR LF,
 * no CR or LF stands elsewhere, no line of a head begins with a blank (folding), and nothing but an extension follows a
 * chunk's size. The parser of some systems is laxer than that, and what it takes differs between versions.
 */
#ifndef VG_JS_HTTP_LINES_H
#define VG_JS_HTTP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum vg_http_part {
    VG_HTTP_PART_HEAD,
    VG_HTTP_PART_BODY, /* bytes with a length that the parser counts */
    VG_HTTP_PART_SIZE, /* the line in front of a chunk */
    VG_HTTP_PART_CHUNK,
    VG_HTTP_PART_TRAILER
} vg_http_part;

typedef struct vg_http_lines {
    vg_http_part part;
    bool first;          /* the request line is not over */
    bool cr;             /* the last byte was a CR */
    bool sized;          /* behind the digits of a chunk's size */
    bool other_protocol; /* the request line does not end in HTTP/1.0 or HTTP/1.1 */
    size_t length;       /* of the line so far */
    uint64_t left;       /* of the chunk, with its CR LF */
    size_t seen;         /* bytes of the head */
    unsigned char last[8];
    const char *fault, *fault_text; /* NULL: none so far */
} vg_http_lines;

void vg_http_lines_begin(vg_http_lines *lines);
/* How many of these bytes the parser may see at once; 0 with lines->fault set: none. Never beyond the end of the part. */
size_t vg_http_lines_check(vg_http_lines *lines, const unsigned char *data, size_t length);
/* The head is over; a body follows, if any. */
void vg_http_lines_body(vg_http_lines *lines, bool chunked);
/* The parser has read a chunk's size. */
void vg_http_lines_chunk(vg_http_lines *lines, uint64_t size);

#endif
