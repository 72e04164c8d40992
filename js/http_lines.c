/* SPDX-License-Identifier: MIT */
/* Line ends of a request; see http_lines.h. */
#include "http_lines.h"

#include <string.h>

void vg_http_lines_begin(vg_http_lines *lines)
{
    *lines = (vg_http_lines){.part = VG_HTTP_PART_HEAD, .first = true};
}

void vg_http_lines_body(vg_http_lines *lines, bool chunked)
{
    lines->part = chunked ? VG_HTTP_PART_SIZE : VG_HTTP_PART_BODY;
    lines->length = 0;
    lines->sized = false;
}

void vg_http_lines_chunk(vg_http_lines *lines, uint64_t size)
{
    lines->part = size ? VG_HTTP_PART_CHUNK : VG_HTTP_PART_TRAILER;
    lines->left = size + 2;
    lines->length = 0;
    lines->sized = false;
}

/* The bytes before the fault may still be parsed: the parser's own verdict on them comes first. */
static size_t refuse(vg_http_lines *lines, const char *name, const char *text, size_t before)
{
    lines->fault = name;
    lines->fault_text = text;
    return before;
}

static void remember(vg_http_lines *lines, const unsigned char *data, size_t length)
{
    size_t keep = sizeof lines->last;
    if (length >= keep) {
        memcpy(lines->last, data + length - keep, keep);
    } else {
        memmove(lines->last, lines->last + length, keep - length);
        memcpy(lines->last + keep - length, data, length);
    }
}

static bool is_http(const unsigned char *last)
{
    return memcmp(last, "HTTP/1.1", 8) == 0 || memcmp(last, "HTTP/1.0", 8) == 0;
}

/* A CR was there, and a LF has followed. True: it was the empty line that ends the part. */
static bool end_line(vg_http_lines *lines)
{
    bool empty = lines->length == 0;
    lines->cr = false;
    lines->length = 0;
    if (!lines->first)
        return empty;
    if (!empty) { /* empty lines before a request are passed over */
        lines->first = false;
        lines->other_protocol = !is_http(lines->last);
    }
    return false;
}

static size_t check_head(vg_http_lines *lines, const unsigned char *data, size_t length)
{
    size_t at = 0;
    while (at < length) {
        const unsigned char *cr;
        size_t piece;
        if (lines->cr) {
            if (data[at] != '\n')
                return refuse(lines, "HPE_LF_EXPECTED", "Missing expected LF after header value", at);
            at++;
            if (end_line(lines))
                return at;
            continue;
        }
        if (lines->length == 0 && !lines->first && (data[at] == ' ' || data[at] == '\t'))
            return refuse(lines, "HPE_INVALID_HEADER_TOKEN", "Unexpected whitespace after header value", at);
        cr = memchr(data + at, '\r', length - at);
        piece = cr ? (size_t)(cr - data) - at : length - at;
        if (memchr(data + at, '\n', piece))
            return refuse(lines, "HPE_CR_EXPECTED", "Missing expected CR after header value", at);
        if (lines->first)
            remember(lines, data + at, piece);
        lines->length += piece;
        lines->cr = cr != NULL;
        at += piece + (cr ? 1 : 0);
    }
    return at;
}

static bool is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Up to the end of the size's line. */
static size_t check_size(vg_http_lines *lines, const unsigned char *data, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        unsigned char c = data[at];
        if (lines->cr) {
            if (c != '\n')
                return refuse(lines, "HPE_LF_EXPECTED", "Missing expected LF after chunk size", at);
            lines->cr = false;
            return at + 1;
        }
        if (c == '\r')
            lines->cr = true;
        else if (c == '\n')
            return refuse(lines, "HPE_CR_EXPECTED", "Missing expected CR after chunk size", at);
        else if (lines->sized && ((c < 0x20 && c != '\t') || c == 0x7f))
            return refuse(lines, "HPE_STRICT", "Invalid character in chunk extensions", at);
        else if (!lines->sized && c == ';' && lines->length > 0)
            lines->sized = true;
        else if (!lines->sized && !is_hex(c))
            return refuse(lines, "HPE_INVALID_CHUNK_SIZE", "Invalid character in chunk size", at);
        lines->length++;
    }
    return length;
}

size_t vg_http_lines_check(vg_http_lines *lines, const unsigned char *data, size_t length)
{
    size_t count = length;
    switch (lines->part) {
    case VG_HTTP_PART_HEAD:
        count = check_head(lines, data, length);
        lines->seen += count;
        break;
    case VG_HTTP_PART_TRAILER:
        count = check_head(lines, data, length);
        break;
    case VG_HTTP_PART_SIZE:
        count = check_size(lines, data, length);
        break;
    case VG_HTTP_PART_CHUNK:
        if (lines->left < length)
            count = (size_t)lines->left;
        lines->left -= count;
        if (lines->left == 0)
            lines->part = VG_HTTP_PART_SIZE;
        break;
    case VG_HTTP_PART_BODY:
        break;
    }
    return count;
}
