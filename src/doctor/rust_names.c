/* SPDX-License-Identifier: MIT */
/*
 * A name is a tree of tags (letters) and identifiers (a length, and so many bytes). Numbers in base 62 end with '_':
 * they tell equal names apart (s) or point back into the name (B). For a reader the identifiers are enough.
 */
#include "rust_names.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t append(char *to, size_t room, size_t at, const char *text, size_t length)
{
    const size_t needed = length + (at > 0 ? 2 : 0);
    if (at + needed >= room)
        return at;
    if (at > 0) {
        to[at++] = ':';
        to[at++] = ':';
    }
    memcpy(to + at, text, length);
    return at + length;
}

bool vg_rust_name(const char *name, char *to, size_t room)
{
    size_t at = 0;
    if (room == 0 || strncmp(name, "_R", 2) != 0)
        return false;
    for (const char *c = name + 2; *c != '\0' && *c != '.';) {
        if (is_digit(*c)) {
            size_t length = 0;
            while (is_digit(*c) && length < 1000)
                length = length * 10 + (size_t)(*c++ - '0');
            c += *c == '_';
            if (strnlen(c, length) < length)
                break;
            at = length > 0 ? append(to, room, at, c, length) : append(to, room, at, "{closure}", 9);
            c += length;
        } else if (*c == 's' || *c == 'B') {
            const char *end = strchr(c, '_');
            if (end == NULL)
                break;
            c = end + 1;
        } else if (*c == 'N' && c[1] != '\0') { /* and its namespace */
            c += 2;
        } else {
            c++;
        }
    }
    to[at] = '\0';
    return at > 0;
}
