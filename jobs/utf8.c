/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <errno.h>
#include <stddef.h>

#include "why.h"

/* The length of the character at the beginning of a text that is not empty; 0: it is none. By RFC 3629: no overlong
   form, no surrogate, nothing above U+10FFFF. */
static size_t character(const unsigned char *text)
{
    unsigned char first = text[0], lowest = 0x80, highest = 0xbf;
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (first == 0xe0)
        lowest = 0xa0;
    if (first == 0xed)
        highest = 0x9f;
    if (first == 0xf0)
        lowest = 0x90;
    if (first == 0xf4)
        highest = 0x8f;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < lowest || text[i] > highest) /* so does the zero at the end */
            return 0;
        lowest = 0x80;
        highest = 0xbf;
    }
    return length;
}

int vg_jobs_utf8_check(const char *text, const char *what)
{
    const unsigned char *at = (const unsigned char *)text;
    while (at != NULL && *at != '\0') {
        size_t length = character(at);
        if (length == 0)
            return vg_jobs_why(-EINVAL, "%s is not UTF-8", what);
        at += length;
    }
    return 0;
}

char *vg_jobs_utf8_mend(char *text)
{
    unsigned char *at = (unsigned char *)text;
    while (at != NULL && *at != '\0') {
        size_t length = character(at);
        if (length == 0)
            *at = '?';
        at += length > 0 ? length : 1;
    }
    return text;
}
