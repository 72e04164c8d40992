/* SPDX-License-Identifier: MIT */
/*
 * Bytes for lib/buffer.js: text in and out, searching, comparing. Texts of one byte per character come straight from the engine's units, not by
 * way of UTF-8. Encodings are numbers of constants.txt.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem, memrchr */
#endif
#include "bind_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "engine_look.h"
#include "bytes_of_text.h"

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

/* ---- from text -------------------------------------------------------------------------------------------------- */

enum {
    LONG = 1 << 20
};

/* bytesOf(text, encoding): a Uint8Array */
static vg_val bytes_of(vg_call *call)
{
    double encoding = vg_arg_number(call, 1);
    unsigned char *data;
    vg_chars text;
    size_t room;
    vg_val value;
    if (!vg_chars_open(call->engine, vg_arg(call, 0), &text))
        return vg_throw(call, "text is expected");
    /* UTF-8 of a text that is not long gets the most it may need, and gives the rest back: counting costs as much as writing. */
    bool most = encoding == VG_ENCODING_UTF8 && text.length < LONG;
    room = most ? text.length * 3 : vg_room_for(encoding, &text);
    data = malloc(room ? room : 1);
    if (data) {
        size_t used = vg_put_text(encoding, data, room, &text);
        unsigned char *fitted = most && used + 64 < room ? realloc(data, used ? used : 1) : NULL;
        data = fitted ? fitted : data;
        room = used;
    }
    vg_chars_close(&text);
    value = data ? vg_bytes(call->engine, data, room, free_bytes, NULL) : NULL;
    return value ? value : vg_throw(call, "no memory");
}

/* writeText(bytes, text, encoding, start, most): how many were written */
static vg_val write_text(vg_call *call)
{
    double start = vg_arg_number(call, 3), most = vg_arg_number(call, 4);
    unsigned char *data;
    size_t length, room, used;
    vg_chars text;
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &data, &length) || !(start >= 0 && start <= (double)length) ||
        !vg_chars_open(call->engine, vg_arg(call, 1), &text))
        return vg_throw(call, "bytes and a text are expected");
    room = length - (size_t)start;
    if (most >= 0 && most < (double)room)
        room = (size_t)most;
    used = room ? vg_put_text(vg_arg_number(call, 2), data + (size_t)start, room, &text) : 0;
    vg_chars_close(&text);
    return vg_number(call->engine, (double)used);
}

static vg_val utf8_length_of(vg_call *call)
{
    vg_chars text;
    size_t length;
    if (!vg_chars_open(call->engine, vg_arg(call, 0), &text))
        return vg_throw(call, "text is expected");
    length = vg_utf8_length(&text);
    vg_chars_close(&text);
    return vg_number(call->engine, (double)length);
}

/* ---- searching, comparing --------------------------------------------------------------------------------------- */

static const unsigned char *last_of(const unsigned char *in, size_t from, const unsigned char *what, size_t length)
{
    const unsigned char *at = in + from + 1;
    while ((at = memrchr(in, what[0], (size_t)(at - in))) && memcmp(at, what, length) != 0)
        ;
    return at;
}

/* memmem prepares for the worst, which costs as much as the pattern is long: first some tries without. */
static const unsigned char *first_of(const unsigned char *in, size_t length, const unsigned char *what, size_t count)
{
    const unsigned char *at = in, *end = in + length - count + 1;
    for (unsigned tries = 0; tries < 32; tries++, at++) {
        if (at >= end || !(at = memchr(at, what[0], (size_t)(end - at))))
            return NULL;
        if (memcmp(at, what, count) == 0)
            return at;
    }
    return at < end ? memmem(at, length - (size_t)(at - in), what, count) : NULL;
}

typedef struct pattern {
    const unsigned char *bytes;
    size_t count;
    unsigned char small[256];
    unsigned char *large; /* to be freed */
} pattern;

/* A number, bytes, or a text in an encoding. */
static bool pattern_open(vg_call *call, size_t i, double encoding, pattern *it)
{
    unsigned char *bytes;
    vg_chars text;
    size_t room;
    it->large = NULL;
    it->bytes = it->small;
    if (vg_arg_is(call, i, VG_NUMBER)) {
        it->small[0] = (unsigned char)(int64_t)vg_arg_number(call, i);
        it->count = 1;
        return true;
    }
    if (!vg_chars_open(call->engine, vg_arg(call, i), &text)) {
        if (!vg_bytes_look(call->engine, vg_arg(call, i), &bytes, &it->count))
            return false;
        it->bytes = bytes;
        return true;
    }
    room = text.length <= sizeof it->small / 3 ? sizeof it->small : vg_room_for(encoding, &text);
    bytes = room <= sizeof it->small ? it->small : (it->large = malloc(room));
    it->bytes = bytes;
    it->count = bytes ? vg_put_text(encoding, bytes, room, &text) : 0;
    vg_chars_close(&text);
    return bytes;
}

static double find_pattern(const unsigned char *data, size_t length, const pattern *what, double start, bool backwards,
                           size_t step)
{
    const size_t count = what->count;
    const unsigned char *found = NULL;
    size_t from;
    if (step == 2 && start >= 0)
        start -= (double)((uint64_t)start & 1U);
    if (count == 0)
        return start < (double)length ? start : (double)length;
    if (count > length || !(start >= 0))
        return -1;
    if (backwards) {
        from = start > (double)(length - count) ? length - count : (size_t)start;
        for (found = last_of(data, from, what->bytes, count); found && step == 2 && ((size_t)(found - data) & 1U);)
            found = found == data ? NULL : last_of(data, (size_t)(found - data) - 1, what->bytes, count);
    } else if (start <= (double)(length - count)) {
        from = (size_t)start;
        do {
            found = first_of(data + from, length - from, what->bytes, count);
            from = found ? (size_t)(found - data) + 1 : length;
        } while (found && step == 2 && ((size_t)(found - data) & 1U) && from + count <= length);
        if (found && step == 2 && ((size_t)(found - data) & 1U))
            found = NULL;
    }
    return found ? (double)(found - data) : -1;
}

/* findBytes(bytes, what, start, backwards, step, encoding): where it begins, or -1. `step` 2: only at even distances, as UTF-16 has it. */
static vg_val find_bytes(vg_call *call)
{
    const double start = vg_arg_number(call, 2);
    const bool backwards = vg_to_bool(call->engine, vg_arg(call, 3));
    const size_t step = vg_arg_number(call, 4) == 2 ? 2 : 1;
    const double encoding = vg_arg_number(call, 5);
    unsigned char *data;
    size_t length;
    double found;
    pattern what;
    if (!pattern_open(call, 1, encoding, &what))
        return vg_throw(call, "bytes are expected");
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &data, &length)) {
        free(what.large);
        return vg_throw(call, "bytes are expected");
    }
    found = find_pattern(data, length, &what, start, backwards, step);
    free(what.large);
    return vg_number(call->engine, found);
}

/* fillBytes(bytes, what, encoding, start, end): the length of the pattern; 0: it has none, and nothing was written. */
static vg_val fill_bytes(vg_call *call)
{
    const double start = vg_arg_number(call, 3), end = vg_arg_number(call, 4);
    unsigned char *data;
    size_t length, done, all;
    pattern what;
    if (!pattern_open(call, 1, vg_arg_number(call, 2), &what))
        return vg_throw(call, "bytes are expected");
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &data, &length) || !(start >= 0 && start <= end) ||
        !(end <= (double)length)) {
        free(what.large);
        return vg_throw(call, "bytes and a part of them are expected");
    }
    all = (size_t)(end - start);
    if (what.count && all) {
        done = what.count < all ? what.count : all;
        memmove(data + (size_t)start, what.bytes, done); /* the pattern may be a part of them */
        /* The pattern once, then what is there again and again, each time twice as much. */
        while (done < all) {
            const size_t more = done < all - done ? done : all - done;
            memcpy(data + (size_t)start + done, data + (size_t)start, more);
            done += more;
        }
    }
    free(what.large);
    return vg_number(call->engine, (double)what.count);
}

/* copyBytes(to, at, from, start, count): inside both, or nothing; they may overlap. */
static vg_val copy_bytes(vg_call *call)
{
    const double at = vg_arg_number(call, 1), start = vg_arg_number(call, 3), count = vg_arg_number(call, 4);
    unsigned char *to, *from;
    size_t to_length, from_length;
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &to, &to_length) ||
        !vg_bytes_look(call->engine, vg_arg(call, 2), &from, &from_length) || !(at >= 0 && start >= 0 && count >= 0) ||
        !(at + count <= (double)to_length) || !(start + count <= (double)from_length))
        return vg_throw(call, "bytes and parts of them are expected");
    if (count > 0)
        memmove(to + (size_t)at, from + (size_t)start, (size_t)count);
    return NULL;
}

/* swapBytes(bytes, width): the order in each group of 2, 4 or 8 */
static vg_val swap_bytes(vg_call *call)
{
    const double width = vg_arg_number(call, 1);
    unsigned char *data;
    size_t length;
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &data, &length))
        return vg_throw(call, "bytes are expected");
    size_t pairs = 0;
    for (; width == 2 && pairs + 8 <= length; pairs += 8) {
        uint64_t group;
        memcpy(&group, data + pairs, sizeof group);
        group = (group >> 8 & UINT64_C(0x00ff00ff00ff00ff)) | (group & UINT64_C(0x00ff00ff00ff00ff)) << 8;
        memcpy(data + pairs, &group, sizeof group);
    }
    for (; width == 2 && pairs + 2 <= length; pairs += 2) {
        uint16_t group;
        memcpy(&group, data + pairs, sizeof group);
        group = __builtin_bswap16(group);
        memcpy(data + pairs, &group, sizeof group);
    }
    for (size_t i = 0; width == 4 && i + 4 <= length; i += 4) {
        uint32_t group;
        memcpy(&group, data + i, sizeof group);
        group = __builtin_bswap32(group);
        memcpy(data + i, &group, sizeof group);
    }
    for (size_t i = 0; width == 8 && i + 8 <= length; i += 8) {
        uint64_t group;
        memcpy(&group, data + i, sizeof group);
        group = __builtin_bswap64(group);
        memcpy(data + i, &group, sizeof group);
    }
    return NULL;
}

/* compareBytes(a, b): -1, 0 or 1 */
static vg_val compare_bytes(vg_call *call)
{
    unsigned char *a, *b;
    size_t a_length, b_length;
    int order;
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &a, &a_length) ||
        !vg_bytes_look(call->engine, vg_arg(call, 1), &b, &b_length))
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
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), &data, &length))
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
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t part;
        memcpy(&part, data + (size_t)start + i, sizeof part);
        part &= UINT64_C(0x7f7f7f7f7f7f7f7f);
        memcpy(copy + i, &part, sizeof part);
    }
    for (; i < length; i++)
        copy[i] = data[(size_t)start + i] & 0x7f;
    value = vg_latin1(call->engine, copy, length);
    free(copy);
    return value;
}

static const vg_binding_entry entries[] = {
    {"bytesOf", bytes_of},     {"writeText", write_text},       {"utf8Length", utf8_length_of},
    {"findBytes", find_bytes}, {"compareBytes", compare_bytes}, {"asciiDecode", ascii_decode},
    {"fillBytes", fill_bytes}, {"copyBytes", copy_bytes},       {"swapBytes", swap_bytes},
};

bool vg_js_bind_buffer(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
