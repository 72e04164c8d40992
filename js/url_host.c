/* SPDX-License-Identifier: MIT */
/*
 * The URL Standard's host parser for most hosts. For names in ASCII all that is left of the mapping is lower case, unless a label is
 * encoded already ("xn--"). A name may have letters beyond ASCII of a few scripts whose lower-case letters stand for
 * themselves (UTS #46), are written from left to right, and have no marks that combine: for these, mapping and normalization change
 * nothing but the case, and all that is left is Punycode (RFC 3492).
 */
#include "url_host.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* More than any address. */
#define NUMBER_MAX (UINT64_C(1) << 32)

enum {
    LABEL = 63,    /* code points; longer labels beyond ASCII are for the whole algorithm */
    DECODED = 256, /* bytes of a host with '%' */
    PIECES = 8     /* of an IPv6 address */
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

/* ---- addresses with dots -------------------------------------------------------------------------------------------- */

/* A number as C writes it, in 8, 10 or 16 digits; what is too large for an address is NUMBER_MAX. Texts are in lower case here. */
static bool read_number(const char *text, size_t length, uint64_t *value)
{
    unsigned radix = 10;
    *value = 0;
    if (length == 0)
        return false;
    if (length >= 2 && text[0] == '0') {
        radix = text[1] == 'x' ? 16 : 8;
        text += radix == 16 ? 2 : 1;
        length -= radix == 16 ? 2 : 1;
    }
    for (size_t i = 0; i < length; i++) {
        const int figure = hex(text[i]);
        if (figure < 0 || (unsigned)figure >= radix)
            return false;
        *value = *value * radix + (unsigned)figure;
        if (*value > NUMBER_MAX)
            *value = NUMBER_MAX;
    }
    return true;
}

static size_t put_byte(char *to, unsigned value)
{
    size_t used = 0;
    if (value >= 100)
        to[used++] = (char)('0' + value / 100);
    if (value >= 10)
        to[used++] = (char)('0' + value / 10 % 10);
    to[used++] = (char)('0' + value % 10);
    return used;
}

/* A name in ASCII and lower case whose last label is a number is an address, or no host. Any other stays as it is. A dot at its end does not
   count. */
static size_t put_if_address(char *name, size_t length)
{
    const size_t end = length > 1 && name[length - 1] == '.' ? length - 1 : length;
    uint64_t value, address = 0;
    size_t last = end, count = 0, used = 0;
    bool number = true;
    while (last > 0 && name[last - 1] != '.')
        last--;
    for (size_t i = last; i < end && number; i++)
        number = digit(name[i]);
    if (last == end || (!number && !read_number(name + last, end - last, &value)))
        return length;
    for (size_t at = 0; at <= end; at++) {
        const char *dot = memchr(name + at, '.', end - at);
        const size_t part = dot ? (size_t)(dot - name) - at : end - at;
        if (count == 4 || !read_number(name + at, part, &value) ||
            value >= (dot ? 256 : UINT64_C(1) << 8 * (4 - count)))
            return VG_URL_NO_HOST;
        address |= value << (dot ? 8 * (3 - count) : 0);
        count++;
        at += part;
    }
    for (unsigned shift = 24;; shift -= 8) {
        used += put_byte(name + used, (unsigned)(address >> shift & 255));
        if (shift == 0)
            return used;
        name[used++] = '.';
    }
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
    if (at[0] >= 0xc2 && at[0] < 0xe0 && left >= 2 && at[1] >> 6 == 2) {
        *text += 2;
        return (uint32_t)(at[0] & 31) << 6 | (at[1] & 63);
    }
    if (at[0] >= 0xe0 && at[0] < 0xf0 && left >= 3 && at[1] >> 6 == 2 && at[2] >> 6 == 2) {
        const uint32_t point = (uint32_t)(at[0] & 15) << 12 | (uint32_t)(at[1] & 63) << 6 | (at[2] & 63);
        *text += 3;
        return point < 0x800 ? 0 : point; /* written with more bytes than it needs */
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

/* No host has these (the standard's forbidden domain code points). */
static bool forbidden(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f || strchr("#%/:<>?@[\\]^|", c) != NULL;
}

/* Labels of letters, digits, '-' and '_', none of them encoded, and some beyond ASCII. */
static size_t put_labels(char *to, const char *text, size_t length)
{
    const char *end = text + length;
    size_t used = 0;
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
        if (count == 0)
            return 0;
        if (!ascii)
            used += put_punycode(to + used, label, count);
        else
            for (size_t i = 0; i < count; i++)
                to[used++] = (char)label[i];
        if (text == end)
            return used;
        to[used++] = *text++;
    }
}

static bool has_encoded_label(const char *text, size_t length)
{
    for (size_t i = 0; i + 4 <= length; i++)
        if ((i == 0 || text[i - 1] == '.') && lower(text[i]) == 'x' && lower(text[i + 1]) == 'n' &&
            text[i + 2] == '-' && text[i + 3] == '-')
            return true;
    return false;
}

static size_t put_name(char *to, const char *host, size_t length)
{
    bool ascii = true, known = true;
    for (size_t i = 0; i < length; i++) {
        ascii = ascii && (unsigned char)host[i] < 0x80;
        known = known && (letter(host[i]) || !forbidden(host[i]));
        to[i] = lower(host[i]);
    }
    if (has_encoded_label(host, length))
        return 0;
    /* Behind ASCII characters, marks that combine may make another one of them. */
    if (!ascii && (length = put_labels(to, host, length)) == 0)
        return 0;
    return known ? put_if_address(to, length) : VG_URL_NO_HOST;
}

/* '%' and two digits stand for a byte. What is no UTF-8 then is for the whole algorithm. */
static size_t put_decoded(char *to, const char *host, size_t length)
{
    char decoded[DECODED];
    size_t used = 0;
    if (length > sizeof decoded)
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (host[i] == '%' && length - i > 2 && hex(host[i + 1]) >= 0 && hex(host[i + 2]) >= 0) {
            decoded[used++] = (char)(hex(host[i + 1]) * 16 + hex(host[i + 2]));
            i += 2;
        } else {
            decoded[used++] = host[i];
        }
    }
    return put_name(to, decoded, used);
}

size_t vg_url_host(char *to, const char *host, size_t length)
{
    uint16_t pieces[PIECES];
    if (length == 0)
        return VG_URL_NO_HOST;
    if (host[0] == '[')
        return host[length - 1] == ']' && read_ipv6(host + 1, length - 2, pieces) ? write_ipv6(to, pieces)
                                                                                  : VG_URL_NO_HOST;
    return memchr(host, '%', length) ? put_decoded(to, host, length) : put_name(to, host, length);
}
