/* SPDX-License-Identifier: MIT */
/* Text and bytes, for lib/encoding.js and lib/buffer.js. */
#include "bind_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "engine_look.h"

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val take(vg_engine *engine, char *data, size_t length)
{
    vg_val value = data ? vg_bytes(engine, data, length, free_bytes, NULL) : NULL;
    return value ? value : vg_undefined(engine);
}

enum {
    SMALL = 512 /* bytes that are put together on the stack */
};

/* text -> Uint8Array */
static vg_val utf8_encode(vg_call *call)
{
    size_t length = 0;
    char *text = vg_arg_text(call, 0, &length);
    return take(call->engine, text, length);
}

/* (bytes, start, end) -> the part that is there */
static bool part_of(vg_call *call, unsigned char **data, size_t *length)
{
    double start = vg_arg_number(call, 1), end = vg_arg_number(call, 2);
    if (!vg_bytes_look(call->engine, vg_arg(call, 0), data, length))
        return false;
    if (!(end >= 0) || end > (double)*length)
        end = (double)*length;
    if (!(start >= 0))
        start = 0;
    if (start > end)
        start = end;
    *data += (size_t)start;
    *length = (size_t)(end - start);
    return true;
}

static vg_val utf8_decode(vg_call *call)
{
    unsigned char *data;
    size_t length;
    if (!part_of(call, &data, &length))
        return vg_throw(call, "bytes are expected");
    return vg_text(call->engine, (const char *)data, length);
}

static vg_val latin1_decode(vg_call *call)
{
    unsigned char *data;
    size_t length;
    if (!part_of(call, &data, &length))
        return vg_throw(call, "bytes are expected");
    return vg_latin1(call->engine, data, length);
}

static vg_val utf16_decode(vg_call *call)
{
    unsigned char *data;
    size_t length;
    uint16_t *units;
    vg_val value;
    if (!part_of(call, &data, &length))
        return vg_throw(call, "bytes are expected");
    units = malloc(length + 2);
    if (!units)
        return vg_throw(call, "no memory");
    memcpy(units, data, length / 2 * 2);
    value = vg_utf16(call->engine, units, length / 2);
    free(units);
    return value;
}

/* The two digits of each byte. */
static const char hex_pairs[] = "000102030405060708090a0b0c0d0e0f"
                                "101112131415161718191a1b1c1d1e1f"
                                "202122232425262728292a2b2c2d2e2f"
                                "303132333435363738393a3b3c3d3e3f"
                                "404142434445464748494a4b4c4d4e4f"
                                "505152535455565758595a5b5c5d5e5f"
                                "606162636465666768696a6b6c6d6e6f"
                                "707172737475767778797a7b7c7d7e7f"
                                "808182838485868788898a8b8c8d8e8f"
                                "909192939495969798999a9b9c9d9e9f"
                                "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
                                "b0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
                                "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
                                "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
                                "e0e1e2e3e4e5e6e7e8e9eaebecedeeef"
                                "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

static vg_val hex_encode(vg_call *call)
{
    unsigned char *data;
    size_t length;
    char small[SMALL], *text = small;
    vg_val value;
    if (!part_of(call, &data, &length) || (length * 2 > sizeof small && !(text = malloc(length * 2))))
        return vg_throw(call, "bytes are expected");
    for (size_t i = 0; i < length; i++)
        memcpy(text + 2 * i, hex_pairs + 2 * (size_t)data[i], 2);
    value = vg_latin1(call->engine, (const unsigned char *)text, length * 2);
    if (text != small)
        free(text);
    return value;
}

static const char alphabets[2][65] = {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
/* The two digits of each twelve bits, for texts that are worth a table of that size. */
enum {
    LONG = 1024
};
static char base64_pairs[2][2 * 4096];
static pthread_once_t pairs_once = PTHREAD_ONCE_INIT;

static void make_pairs(void)
{
    for (unsigned url = 0; url < 2; url++) {
        for (unsigned i = 0; i < 4096; i++) {
            base64_pairs[url][2 * i] = alphabets[url][i >> 6];
            base64_pairs[url][2 * i + 1] = alphabets[url][i & 63];
        }
    }
}

/* (bytes, start, end, url) -> text */
static vg_val base64_encode(vg_call *call)
{
    bool url = vg_to_bool(call->engine, vg_arg(call, 3));
    const char *digits = alphabets[url];
    unsigned char *data;
    size_t length, used = 0;
    char small[SMALL], *text = small;
    vg_val value;
    if (!part_of(call, &data, &length) || (length / 3 * 4 + 5 > sizeof small && !(text = malloc(length / 3 * 4 + 5))))
        return vg_throw(call, "bytes are expected");
    size_t i = 0;
    if (length >= LONG) {
        pthread_once(&pairs_once, make_pairs);
        for (; i + 3 <= length; i += 3, used += 4) {
            unsigned bits = (unsigned)data[i] << 16 | (unsigned)data[i + 1] << 8 | data[i + 2];
            memcpy(text + used, base64_pairs[url] + (size_t)(bits >> 12) * 2, 2);
            memcpy(text + used + 2, base64_pairs[url] + (size_t)(bits & 4095) * 2, 2);
        }
    }
    for (; i < length; i += 3) {
        unsigned left = length - i > 2 ? 3 : (unsigned)(length - i);
        unsigned bits = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                        (left > 2 ? (unsigned)data[i + 2] : 0);
        text[used++] = digits[bits >> 18 & 63];
        text[used++] = digits[bits >> 12 & 63];
        if (left > 1)
            text[used++] = digits[bits >> 6 & 63];
        else if (!url)
            text[used++] = '=';
        if (left > 2)
            text[used++] = digits[bits & 63];
        else if (!url)
            text[used++] = '=';
    }
    value = vg_latin1(call->engine, (const unsigned char *)text, used);
    if (text != small)
        free(text);
    return value;
}

/* How many of the first bytes are below 0x80, in steps of eight. */
static size_t ascii_steps(const unsigned char *data, size_t length)
{
    size_t i = 0;
    for (uint64_t part; i + sizeof part <= length; i += sizeof part) {
        memcpy(&part, data + i, sizeof part);
        if (part & UINT64_C(0x8080808080808080))
            break;
    }
    return i;
}

/* asciiOnly(bytes) */
static vg_val ascii_only(vg_call *call)
{
    unsigned char *data;
    size_t length, i;
    if (!part_of(call, &data, &length))
        return vg_throw(call, "bytes are expected");
    for (i = ascii_steps(data, length); i < length && data[i] < 0x80; i++)
        ;
    return vg_bool(call->engine, i == length);
}

/* Whether bytes are UTF-8. */
static vg_val utf8_valid(vg_call *call)
{
    unsigned char *data;
    size_t length;
    if (!part_of(call, &data, &length))
        return vg_throw(call, "bytes are expected");
    for (size_t i = ascii_steps(data, length); i < length;) {
        unsigned char c = data[i];
        size_t more = c < 0x80                 ? 0
                      : c >= 0xc2 && c <= 0xdf ? 1
                      : c >= 0xe0 && c <= 0xef ? 2
                      : c >= 0xf0 && c <= 0xf4 ? 3
                                               : 9;
        if (more == 9 || i + more >= length)
            return vg_bool(call->engine, false);
        if (more >= 1) {
            unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
            unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
            if (data[i + 1] < low || data[i + 1] > high)
                return vg_bool(call->engine, false);
        }
        for (size_t k = 2; k <= more; k++)
            if ((data[i + k] & 0xc0) != 0x80)
                return vg_bool(call->engine, false);
        i += more + 1;
    }
    return vg_bool(call->engine, true);
}

static const vg_binding_entry entries[] = {
    {"utf8Encode", utf8_encode},   {"utf8Decode", utf8_decode}, {"latin1Decode", latin1_decode},
    {"utf16Decode", utf16_decode}, {"hexEncode", hex_encode},   {"base64Encode", base64_encode},
    {"utf8Valid", utf8_valid},     {"asciiOnly", ascii_only},
};

bool vg_js_bind_text(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
