/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at `at`, of which `left` bytes exist; 0 if there is none. */
static size_t utf8_sequence(const unsigned char *at, size_t left, uint32_t *code)
{
    const size_t length = at[0] < 0x80                    ? 1
                          : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                          : (at[0] & 0xf0) == 0xe0        ? 3
                          : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                          : 0;
    if (length == 0 || length > left)
        return 0;
    *code = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    const bool too_long = (length == 3 && *code < 0x800) || (length == 4 && *code < 0x10000);
    return too_long || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : length;
}

static bool is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ||                        /* controls */
           code == 0x61c || code == 0xad || (code >= 0x200b && code <= 0x200f) || /* marks, zero widths */
           (code >= 0x2028 && code <= 0x202e) ||                                  /* line ends, embeddings, overrides */
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) || /* isolates */
           (code >= 0xe0000 && code <= 0xe0fff);                                                         /* tags */
}

void vg_text_copy(char *to, size_t room, const char *from, size_t length, bool lines)
{
    size_t out = 0;
    if (room == 0)
        return;
    length = strnlen(from, length);
    for (size_t i = 0; i < length;) {
        char escape[16];
        uint32_t code = 0;
        size_t step = utf8_sequence((const unsigned char *)from + i, length - i, &code);
        const char *put = from + i;
        size_t bytes = step;
        if (step == 0 || (is_unsafe(code) && !(lines && code == '\n'))) {
            const char *form = step == 0 || code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
            bytes = (size_t)snprintf(escape, sizeof escape, form, step == 0 ? (unsigned char)from[i] : code);
            put = escape;
            step = step == 0 ? 1 : step;
        }
        if (out + bytes >= room)
            break;
        memcpy(to + out, put, bytes);
        out += bytes;
        i += step;
    }
    to[out] = 0;
}
