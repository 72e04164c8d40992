/* SPDX-License-Identifier: MIT */
/*
 * The URL Standard's host parser for most hosts. A name may have letters beyond ASCII of a few scripts whose lower-case letters stand for
 * themselves (UTS #46), are written from left to right, and have no marks that combine: for these, mapping and normalization change
 * nothing but the case, and all that is left is Punycode (RFC 3492).
 */
#include "url_host.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    LABEL = 63, /* code points; longer labels are for the whole algorithm */
    PIECES = 8  /* of an IPv6 address */
};

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

/* Four numbers as they are written most often. */
static bool is_address(const char *host, size_t length, uint32_t *address)
{
    unsigned dots = 0, value = 0, digits = 0;
    *address = 0;
    for (size_t i = 0; i < length; i++) {
        if (host[i] == '.') {
            if (digits == 0)
                return false;
            dots++;
            *address = *address << 8 | value;
            value = digits = 0;
        } else if (!digit(host[i]) || (digits > 0 && value == 0) || digits == 3) {
            return false;
        } else {
            value = value * 10 + (unsigned)(host[i] - '0');
            digits++;
            if (value > 255)
                return false;
        }
    }
    *address = *address << 8 | value;
    return dots == 3 && digits > 0;
}

/* ---- addresses with colons ------------------------------------------------------------------------------------------ */

static int hex(char c)
{
    if (digit(c))
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_ipv6(const char *text, size_t length, uint16_t pieces[PIECES])
{
    const char *end = text + length;
    size_t count = 0, gap = SIZE_MAX;
    memset(pieces, 0, PIECES * sizeof *pieces);
    if (length >= 2 && text[0] == ':' && text[1] == ':') {
        gap = 0;
        text += 2;
    }
    while (text < end) {
        const char *start = text;
        unsigned value = 0;
        uint32_t address;
        if (count == PIECES)
            return false;
        while (text < end && text - start < 4 && hex(*text) >= 0)
            value = value * 16 + (unsigned)hex(*text++);
        if (text < end && *text == '.') {
            if (count > PIECES - 2 || !is_address(start, (size_t)(end - start), &address))
                return false;
            pieces[count++] = (uint16_t)(address >> 16);
            pieces[count++] = (uint16_t)address;
            text = end;
            break;
        }
        if (text == start)
            return false;
        pieces[count++] = (uint16_t)value;
        if (text == end)
            break;
        if (*text++ != ':' || text == end)
            return false;
        if (*text == ':') {
            if (gap != SIZE_MAX)
                return false;
            gap = count;
            text++;
        }
    }
    if (gap == SIZE_MAX)
        return count == PIECES;
    if (count == PIECES)
        return false;
    memmove(pieces + PIECES - (count - gap), pieces + gap, (count - gap) * sizeof *pieces);
    memset(pieces + gap, 0, (PIECES - count) * sizeof *pieces);
    return true;
}

/* The first of the longest runs of zeros, if one is longer than a single one, is left out. */
static size_t write_ipv6(char *to, const uint16_t pieces[PIECES])
{
    static const char digits[] = "0123456789abcdef";
    size_t gap = PIECES, longest = 1, length = 0;
    for (size_t i = 0; i < PIECES; i++) {
        size_t run = 0;
        while (i + run < PIECES && pieces[i + run] == 0)
            run++;
        if (run > longest) {
            gap = i;
            longest = run;
        }
    }
    to[length++] = '[';
    for (size_t i = 0; i < PIECES; i++) {
        unsigned shift = 12;
        if (i == gap) {
            to[length++] = ':';
            if (i == 0)
                to[length++] = ':';
            i += longest - 1;
            continue;
        }
        while (shift > 0 && pieces[i] >> shift == 0)
            shift -= 4;
        for (;; shift -= 4) {
            to[length++] = digits[pieces[i] >> shift & 15];
            if (shift == 0)
                break;
        }
        if (i + 1 < PIECES)
            to[length++] = ':';
    }
    to[length++] = ']';
    return length;
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

/* The next code point, or 0: no UTF-8. */
static uint32_t next_point(const char **text, const char *end)
{
    const unsigned char *at = (const unsigned char *)*text;
    const size_t left = (size_t)(end - *text);
    if (at[0] < 0x80) {
        *text += 1;
        return at[0];
    }
    if (at[0] >= 0xc2 && at[0] < 0xe0 && left >= 2) {
        *text += 2;
        return (uint32_t)(at[0] & 31) << 6 | (at[1] & 63);
    }
    if (at[0] >= 0xe0 && at[0] < 0xf0 && left >= 3) {
        *text += 3;
        return (uint32_t)(at[0] & 15) << 12 | (uint32_t)(at[1] & 63) << 6 | (at[2] & 63);
    }
    return 0;
}

/* The code point in lower case, or 0: it is not one of those that stand for themselves. */
static uint32_t mapped(uint32_t point)
{
    if (point < 0x80)
        return letter((char)point) || digit((char)point) || point == '-' || point == '_' ? (uint32_t)lower((char)point)
                                                                                         : 0;
    if ((point >= 0xc0 && point <= 0xde && point != 0xd7) || (point >= 0x410 && point <= 0x42f))
        return point + 32; /* capital letters of Latin-1 and of Russian */
    if ((point >= 0xdf && point <= 0xff && point != 0xf7) || (point >= 0x3b1 && point <= 0x3c9) ||
        (point >= 0x430 && point <= 0x45f))
        return point; /* the same, and Greek */
    if ((point >= 0x3041 && point <= 0x3096) || (point >= 0x30a1 && point <= 0x30fa) ||
        (point >= 0x4e00 && point <= 0x9fa5) || (point >= 0xac00 && point <= 0xd7a3))
        return point; /* Hiragana, Katakana, Han, Hangul */
    return 0;
}

static char punycode_digit(uint32_t value)
{
    return (char)(value < 26 ? 'a' + value : '0' + value - 26);
}

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
    uint32_t k = 0;
    delta = first ? delta / 700 : delta / 2;
    delta += delta / points;
    for (; delta > 455; k += 36)
        delta /= 35;
    return k + 36 * delta / (delta + 38);
}

static size_t put_punycode(char *to, const uint32_t *label, size_t count)
{
    static const char prefix[4] = {'x', 'n', '-', '-'};
    uint32_t point = 128, delta = 0, bias = 72;
    size_t length = sizeof prefix, handled, basic;
    memcpy(to, prefix, sizeof prefix);
    for (size_t i = 0; i < count; i++)
        if (label[i] < 128)
            to[length++] = (char)label[i];
    handled = basic = length - sizeof prefix;
    if (basic > 0)
        to[length++] = '-';
    while (handled < count) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (label[i] >= point && label[i] < next)
                next = label[i];
        delta += (next - point) * (uint32_t)(handled + 1);
        point = next;
        for (size_t i = 0; i < count; i++) {
            if (label[i] < point)
                delta++;
            if (label[i] != point)
                continue;
            uint32_t q = delta;
            for (uint32_t k = 36;; k += 36) {
                const uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
                if (q < threshold)
                    break;
                to[length++] = punycode_digit(threshold + (q - threshold) % (36 - threshold));
                q = (q - threshold) / (36 - threshold);
            }
            to[length++] = punycode_digit(q);
            bias = adapt(delta, (uint32_t)handled + 1, handled == basic);
            delta = 0;
            handled++;
        }
        delta++;
        point++;
    }
    return length;
}

/* Labels of letters, digits, '-' and '_', none of them encoded. A last one that begins with a digit may be an address. */
static size_t put_name(char *to, const char *host, size_t length)
{
    const char *text = host, *end = host + length;
    size_t used = 0;
    uint32_t address;
    for (;;) {
        uint32_t label[LABEL];
        size_t count = 0;
        bool ascii = true;
        while (text < end && *text != '.') {
            const uint32_t point = mapped(next_point(&text, end));
            if (point == 0 || count == LABEL)
                return 0;
            ascii = ascii && point < 128;
            label[count++] = point;
        }
        if (count == 0 || (count >= 4 && label[0] == 'x' && label[1] == 'n' && label[2] == '-' && label[3] == '-'))
            return 0;
        if (!ascii) {
            used += put_punycode(to + used, label, count);
        } else {
            if (text == end && digit((char)label[0]) && !is_address(host, length, &address))
                return 0;
            for (size_t i = 0; i < count; i++)
                to[used++] = (char)label[i];
        }
        if (text == end)
            return used;
        to[used++] = *text++;
    }
}

size_t vg_url_host(char *to, const char *host, size_t length)
{
    uint16_t pieces[PIECES];
    if (length == 0)
        return 0;
    if (host[0] != '[')
        return put_name(to, host, length);
    return host[length - 1] == ']' && read_ipv6(host + 1, length - 2, pieces) ? write_ipv6(to, pieces) : 0;
}
