/* SPDX-License-Identifier: MIT */
/*
 * Bytes for lib/buffer.js: text in and out, searching, comparing. Texts of one byte per character come straight from the engine's units, not by
 * way of UTF-8. Encodings are numbers of constants.txt.
 */
#include "bind_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "narrow.h"

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

/* ---- from text -------------------------------------------------------------------------------------------------- */

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

static int hex_value(uint16_t c)
{
    return c < 256 ? hex_values[c] - 1 : -1;
}

/* Both alphabets; what is in neither is passed over; '=' ends it. */
static size_t put_base64(unsigned char *to, size_t room, const uint16_t *units, size_t count)
{
    const signed char *values = base64_values();
    uint32_t bits = 0;
    unsigned have = 0;
    size_t used = 0, i = 0;
    /* Four digits at a time as long as they are digits. */
    for (; i + 4 <= count && used + 3 <= room; i += 4, used += 3) {
        int a, b, c, d;
        if ((units[i] | units[i + 1] | units[i + 2] | units[i + 3]) > 255)
            break;
        a = (int)values[units[i]];
        b = (int)values[units[i + 1]];
        c = (int)values[units[i + 2]];
        d = (int)values[units[i + 3]];
        if ((a | b | c | d) < 0)
            break;
        to[used] = (unsigned char)(a << 2 | b >> 4);
        to[used + 1] = (unsigned char)(b << 4 | c >> 2);
        to[used + 2] = (unsigned char)(c << 6 | d);
    }
    for (; i < count && units[i] != '=' && used < room; i++) {
        int value = units[i] < 256 ? values[units[i]] : -1;
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

/* Whole characters alone. */
static size_t put_utf8(unsigned char *to, size_t room, const uint16_t *units, size_t count)
{
    size_t used = 0, look = 0; /* where the next block is looked at: not at each character of one that is not ASCII */
    for (size_t i = 0; i < count; i++) {
        uint32_t code = units[i];
        size_t length;
        if (i >= look && i + VG_NARROW <= count && used + VG_NARROW <= room) {
            look = i + VG_NARROW;
            if (vg_narrow_ascii(units + i)) {
                vg_narrow(to + used, units + i);
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
        if (code >= 0xd800 && code < 0xdc00 && i + 1 < count && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (units[++i] - 0xdc00U);
        else if (code >= 0xd800 && code < 0xe000)
            code = 0xfffd;
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

static size_t utf8_length(const uint16_t *units, size_t count)
{
    size_t length = count, look = 0;
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

static size_t put_text(double encoding, unsigned char *to, size_t room, const vg_units *from)
{
    size_t count = from->length, used = 0;
    switch ((int)encoding) {
    case VG_ENCODING_UTF8:
        return put_utf8(to, room, from->units, count);
    case VG_ENCODING_BASE64:
        return put_base64(to, room, from->units, count);
    case VG_ENCODING_HEX:
        for (; used < room && 2 * used + 1 < count; used++) {
            int high = hex_value(from->units[2 * used]), low = hex_value(from->units[2 * used + 1]);
            if ((high | low) < 0)
                return used;
            to[used] = (unsigned char)(high << 4 | low);
        }
        return used;
    case VG_ENCODING_UTF16LE:
        used = count < room / 2 ? count : room / 2;
        for (size_t i = 0; i < used; i++) {
            to[2 * i] = (unsigned char)from->units[i];
            to[2 * i + 1] = (unsigned char)(from->units[i] >> 8);
        }
        return used * 2;
    default:
        used = count < room ? count : room;
        size_t at = 0;
        for (; at + VG_NARROW <= used; at += VG_NARROW)
            vg_narrow(to + at, from->units + at);
        for (; at < used; at++)
            to[at] = (unsigned char)from->units[at];
        return used;
    }
}

static size_t room_for(double encoding, const vg_units *from)
{
    switch ((int)encoding) {
    case VG_ENCODING_UTF8:
        return utf8_length(from->units, from->length);
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

enum {
    LONG = 1 << 20
};

/* bytesOf(text, encoding): a Uint8Array */
static vg_val bytes_of(vg_call *call)
{
    double encoding = vg_arg_number(call, 1);
    unsigned char *data;
    vg_units text;
    size_t room;
    vg_val value;
    if (!vg_units_open(call->engine, vg_arg(call, 0), &text))
        return vg_throw(call, "text is expected");
    /* UTF-8 of a text that is not long gets the most it may need, and gives the rest back: counting costs as much as writing. */
    bool most = encoding == VG_ENCODING_UTF8 && text.length < LONG;
    room = most ? text.length * 3 : room_for(encoding, &text);
    data = malloc(room ? room : 1);
    if (data) {
        size_t used = put_text(encoding, data, room, &text);
        unsigned char *fitted = most && used + 64 < room ? realloc(data, used ? used : 1) : NULL;
        data = fitted ? fitted : data;
        room = used;
    }
    vg_units_close(&text);
    value = data ? vg_bytes(call->engine, data, room, free_bytes, NULL) : NULL;
    return value ? value : vg_throw(call, "no memory");
}

/* writeText(bytes, text, encoding, start, most): how many were written */
static vg_val write_text(vg_call *call)
{
    double start = vg_arg_number(call, 3), most = vg_arg_number(call, 4);
    unsigned char *data;
    size_t length, room, used;
    vg_units text;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &data, &length) || !(start >= 0 && start <= (double)length) ||
        !vg_units_open(call->engine, vg_arg(call, 1), &text))
        return vg_throw(call, "bytes and a text are expected");
    room = length - (size_t)start;
    if (most >= 0 && most < (double)room)
        room = (size_t)most;
    used = room ? put_text(vg_arg_number(call, 2), data + (size_t)start, room, &text) : 0;
    vg_units_close(&text);
    return vg_number(call->engine, (double)used);
}

static vg_val utf8_length_of(vg_call *call)
{
    vg_units text;
    size_t length;
    if (!vg_units_open(call->engine, vg_arg(call, 0), &text))
        return vg_throw(call, "text is expected");
    length = utf8_length(text.units, text.length);
    vg_units_close(&text);
    return vg_number(call->engine, (double)length);
}

/* ---- searching, comparing --------------------------------------------------------------------------------------- */

static const unsigned char *last_of(const unsigned char *in, size_t from, const unsigned char *what, size_t length)
{
    for (size_t at = from + 1; at-- > 0;)
        if (in[at] == what[0] && memcmp(in + at, what, length) == 0)
            return in + at;
    return NULL;
}

/* find(bytes, what, start, backwards, step): where it begins, or -1. `step` 2: only at even distances, as UTF-16 has it. */
static vg_val find_bytes(vg_call *call)
{
    double start = vg_arg_number(call, 2);
    bool backwards = vg_to_bool(call->engine, vg_arg(call, 3));
    size_t step = vg_arg_number(call, 4) == 2 ? 2 : 1, length, count, from;
    unsigned char *data, *what, byte;
    const unsigned char *found = NULL;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &data, &length))
        return vg_throw(call, "bytes are expected");
    if (vg_arg_is(call, 1, VG_NUMBER)) {
        byte = (unsigned char)(int64_t)vg_arg_number(call, 1);
        what = &byte;
        count = 1;
    } else if (!vg_to_bytes(call->engine, vg_arg(call, 1), &what, &count)) {
        return vg_throw(call, "bytes are expected");
    }
    if (step == 2 && start >= 0)
        start -= (double)((uint64_t)start & 1U);
    if (count == 0 || count > length || !(start >= 0))
        return vg_number(call->engine, -1);
    if (backwards) {
        from = start > (double)(length - count) ? length - count : (size_t)start;
        for (found = last_of(data, from, what, count); found && step == 2 && ((size_t)(found - data) & 1U);)
            found = found == data ? NULL : last_of(data, (size_t)(found - data) - 1, what, count);
    } else if (start <= (double)(length - count)) {
        from = (size_t)start;
        do {
            found = count == 1 ? memchr(data + from, what[0], length - from)
                               : memmem(data + from, length - from, what, count);
            from = found ? (size_t)(found - data) + 1 : length;
        } while (found && step == 2 && ((size_t)(found - data) & 1U) && from + count <= length);
        if (found && step == 2 && ((size_t)(found - data) & 1U))
            found = NULL;
    }
    return vg_number(call->engine, found ? (double)(found - data) : -1);
}

/* compareBytes(a, b): -1, 0 or 1 */
static vg_val compare_bytes(vg_call *call)
{
    unsigned char *a, *b;
    size_t a_length, b_length;
    int order;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &a, &a_length) ||
        !vg_to_bytes(call->engine, vg_arg(call, 1), &b, &b_length))
        return vg_throw(call, "bytes are expected");
    order = a_length && b_length ? memcmp(a, b, a_length < b_length ? a_length : b_length) : 0;
    if (order == 0)
        order = a_length < b_length ? -1 : a_length > b_length;
    return vg_number(call->engine, order < 0 ? -1 : order > 0);
}

/* asciiDecode(bytes, start, end): seven bits of each */
static vg_val ascii_decode(vg_call *call)
{
    double start = vg_arg_number(call, 1), end = vg_arg_number(call, 2);
    unsigned char *data, *copy;
    size_t length;
    vg_val value;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &data, &length))
        return vg_throw(call, "bytes are expected");
    if (!(end <= (double)length))
        end = (double)length;
    if (!(start >= 0))
        start = 0;
    if (start > end)
        start = end;
    length = (size_t)(end - start);
    copy = malloc(length ? length : 1);
    if (!copy)
        return vg_throw(call, "no memory");
    for (size_t i = 0; i < length; i++)
        copy[i] = data[(size_t)start + i] & 0x7f;
    value = vg_latin1(call->engine, copy, length);
    free(copy);
    return value;
}

static const vg_binding_entry entries[] = {
    {"bytesOf", bytes_of},     {"writeText", write_text},       {"utf8Length", utf8_length_of},
    {"findBytes", find_bytes}, {"compareBytes", compare_bytes}, {"asciiDecode", ascii_decode},
};

bool vg_js_bind_buffer(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
