/* SPDX-License-Identifier: MIT */
/* The bytes of a text in the encodings of Buffer, whose numbers stand in constants.txt. Texts of one byte per character are read as they are. */
#include "bytes_of_text.h"

#include <string.h>

#include "bind.h"
#include "narrow.h"

static const signed char *base64_values(void)
{
    static signed char values[256];
    static bool made;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!made) { /* threads of several hosts write the same */
        for (int i = 0; i < 256; i++)
            values[i] = -1;
        for (int i = 0; i < 64; i++)
            values[(unsigned char)digits[i]] = (signed char)i;
        values['-'] = 62;
        values['_'] = 63;
        made = true;
    }
    return values;
}

/* The value of a hexadecimal digit plus one; 0: it is none. */
static const unsigned char hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Text of either width. The functions below are compiled once for each: `wide` is a constant in them. */
#define UNIT(i) ((uint16_t)(wide ? from->wide[i] : from->narrow[i]))
#define EITHER  __attribute__((always_inline)) static inline

EITHER size_t put_hex(unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    size_t used = 0;
    for (; used < room && 2 * used + 1 < from->length; used++) {
        const uint16_t high = UNIT(2 * used), low = UNIT(2 * used + 1);
        if ((high | low) > 255 || !hex_values[high] || !hex_values[low])
            break;
        to[used] = (unsigned char)((hex_values[high] - 1) << 4 | (hex_values[low] - 1));
    }
    return used;
}

/* Both alphabets; what is in neither is passed over; '=' ends it. */
EITHER size_t put_base64(unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    const signed char *values = base64_values();
    uint32_t bits = 0;
    unsigned have = 0;
    size_t used = 0, i = 0;
    /* Four digits at a time as long as they are digits. */
    for (; i + 4 <= from->length && used + 3 <= room; i += 4, used += 3) {
        int a, b, c, d;
        if (wide && (UNIT(i) | UNIT(i + 1) | UNIT(i + 2) | UNIT(i + 3)) > 255)
            break;
        a = (int)values[UNIT(i)];
        b = (int)values[UNIT(i + 1)];
        c = (int)values[UNIT(i + 2)];
        d = (int)values[UNIT(i + 3)];
        if ((a | b | c | d) < 0)
            break;
        to[used] = (unsigned char)(a << 2 | b >> 4);
        to[used + 1] = (unsigned char)(b << 4 | c >> 2);
        to[used + 2] = (unsigned char)(c << 6 | d);
    }
    for (; i < from->length && UNIT(i) != '=' && used < room; i++) {
        int value = UNIT(i) < 256 ? values[UNIT(i)] : -1;
        if (value < 0)
            continue;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[used++] = (unsigned char)(bits >> have);
        }
    }
    return used;
}

/* Sixteen units at once, if all are ASCII. */
EITHER bool put_ascii(unsigned char *to, const vg_chars *from, size_t at, bool wide)
{
    if (wide) {
        if (!vg_narrow_ascii(from->wide + at))
            return false;
        vg_narrow(to, from->wide + at);
        return true;
    }
    uint64_t parts[2];
    memcpy(parts, from->narrow + at, sizeof parts);
    if ((parts[0] | parts[1]) & UINT64_C(0x8080808080808080))
        return false;
    memcpy(to, parts, sizeof parts);
    return true;
}

/* Whole characters alone. */
EITHER size_t put_utf8(unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    const size_t count = from->length;
    size_t used = 0, look = 0; /* where the next block is looked at: not at each character of one that is not ASCII */
    for (size_t i = 0; i < count; i++) {
        uint32_t code = UNIT(i);
        size_t length;
        if (i >= look && i + VG_NARROW <= count && used + VG_NARROW <= room) {
            look = i + VG_NARROW;
            if (put_ascii(to + used, from, i, wide)) {
                used += VG_NARROW;
                i += VG_NARROW - 1;
                continue;
            }
        }
        if (code < 0x80) {
            if (used == room)
                return used;
            to[used++] = (unsigned char)code;
            continue;
        }
        if (wide && code >= 0xd800 && code < 0xdc00 && i + 1 < count && UNIT(i + 1) >= 0xdc00 && UNIT(i + 1) < 0xe000) {
            i++;
            code = 0x10000 + ((code - 0xd800) << 10) + (UNIT(i) - 0xdc00U);
        } else if (wide && code >= 0xd800 && code < 0xe000) {
            code = 0xfffd;
        }
        length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (used + length > room)
            return used;
        if (length == 2) {
            to[used++] = (unsigned char)(0xc0 | code >> 6);
            to[used++] = (unsigned char)(0x80 | (code & 0x3f));
            continue;
        }
        for (size_t k = length - 1; k > 0; k--) {
            to[used + k] = (unsigned char)(0x80 | (code & 0x3f));
            code >>= 6;
        }
        to[used] = (unsigned char)((length == 3 ? 0xe0 : 0xf0) | code);
        used += length;
    }
    return used;
}

size_t vg_utf8_length(const vg_chars *from)
{
    const size_t count = from->length;
    const uint16_t *units = from->wide;
    size_t length = count, look = 0;
    if (!units) {
        size_t i = 0;
        while (i + 8 <= count) { /* a count in each of eight bytes, as long as none overflows */
            uint64_t sum = 0, part;
            for (unsigned k = 0; k < 255 && i + 8 <= count; k++, i += 8) {
                memcpy(&part, from->narrow + i, sizeof part);
                sum += part >> 7 & UINT64_C(0x0101010101010101);
            }
            sum = (sum & UINT64_C(0x00ff00ff00ff00ff)) + (sum >> 8 & UINT64_C(0x00ff00ff00ff00ff));
            length += (sum * UINT64_C(0x0001000100010001)) >> 48;
        }
        for (; i < count; i++)
            length += from->narrow[i] >> 7;
        return length;
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= look && i + VG_NARROW <= count) {
            look = i + VG_NARROW;
            if (vg_narrow_ascii(units + i)) {
                i += VG_NARROW - 1;
                continue;
            }
        }
        if (units[i] < 0x80)
            continue;
        length += units[i] < 0x800 ? 1 : 2;
        if (units[i] >= 0xd800 && units[i] < 0xdc00 && i + 1 < count && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000)
            i++; /* a pair: four bytes for two units */
    }
    return length;
}

EITHER size_t put_plain(unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    const size_t used = from->length < room ? from->length : room;
    size_t at = 0;
    if (!wide) {
        if (used)
            memcpy(to, from->narrow, used);
        return used;
    }
    for (; at + VG_NARROW <= used; at += VG_NARROW)
        vg_narrow(to + at, from->wide + at);
    for (; at < used; at++)
        to[at] = (unsigned char)from->wide[at];
    return used;
}

EITHER size_t put_utf16(unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    const size_t used = from->length < room / 2 ? from->length : room / 2;
    size_t i = 0;
    for (; !wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && i + VG_NARROW <= used; i += VG_NARROW)
        vg_widen(to + 2 * i, from->narrow + i);
    if (wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
        memcpy(to, from->wide, 2 * used);
        i = used;
    }
    for (; i < used; i++) {
        to[2 * i] = (unsigned char)UNIT(i);
        to[2 * i + 1] = (unsigned char)(UNIT(i) >> 8);
    }
    return used * 2;
}

EITHER size_t put_width(int encoding, unsigned char *to, size_t room, const vg_chars *from, bool wide)
{
    switch (encoding) {
    case VG_ENCODING_UTF8:
        return put_utf8(to, room, from, wide);
    case VG_ENCODING_BASE64:
        return put_base64(to, room, from, wide);
    case VG_ENCODING_HEX:
        return put_hex(to, room, from, wide);
    case VG_ENCODING_UTF16LE:
        return put_utf16(to, room, from, wide);
    default:
        return put_plain(to, room, from, wide);
    }
}

size_t vg_put_text(double encoding, unsigned char *to, size_t room, const vg_chars *from)
{
    if (from->length == 0)
        return 0;
    return from->wide ? put_width((int)encoding, to, room, from, true)
                      : put_width((int)encoding, to, room, from, false);
}

size_t vg_room_for(double encoding, const vg_chars *from)
{
    switch ((int)encoding) {
    case VG_ENCODING_UTF8:
        return vg_utf8_length(from);
    case VG_ENCODING_BASE64:
        return from->length / 4 * 3 + 3;
    case VG_ENCODING_HEX:
        return from->length / 2;
    case VG_ENCODING_UTF16LE:
        return from->length * 2;
    default:
        return from->length;
    }
}
