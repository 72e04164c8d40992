/* SPDX-License-Identifier: MIT */
/*
 * Where the engine keeps the characters of a string and the bytes of a Uint8Array. The C API copies the former to two bytes each, and makes an
 * ArrayBuffer for the latter. No header promises these fields:
 *
 *     a string cell     at 8: the text, a pointer whose lowest bit is set as long as it is not put together
 *     a text            at 4: its length; at 8: its characters; at 16: flags, one of which says that there is one byte per character
 *     a Uint8Array      at 16: its first byte; at 24: its length; at 40: how it keeps them, which for a length that may change is special
 *     every cell        at 5: its type
 *
 * So they are tried out on values that are known, once for each engine and when they are first asked for. If anything differs, the C API
 * is asked each time. js/tests/fallback.c has a test of both ways.
 */
#include "engine_jsc.h"
#include "engine_look.h"

#include <string.h>

enum {
    TYPE_BYTE = 5,
    TEXT_AT = 8,
    LENGTH_AT = 4,
    UNITS_AT = 8,
    FLAGS_AT = 16,
    BYTES_AT = 16,
    COUNT_AT = 24,
    MODE_AT = 40,
};
/* Numbers, true, false, null and undefined have some of these bits; pointers to cells have none. */
#define NOT_A_CELL 0xfffe000000000002ULL

static bool is_cell(vg_val value)
{
    const uint64_t bits = (uint64_t)(uintptr_t)value;
    return bits > 0xffff && !(bits & NOT_A_CELL);
}

static unsigned char byte_at(const void *cell, size_t at)
{
    return ((const unsigned char *)cell)[at];
}

static const void *pointer_at(const void *cell, size_t at)
{
    const void *pointer;
    memcpy(&pointer, (const unsigned char *)cell + at, sizeof pointer);
    return pointer;
}

static uint32_t word_at(const void *cell, size_t at)
{
    uint32_t word;
    memcpy(&word, (const unsigned char *)cell + at, sizeof word);
    return word;
}

/* The text of a string; NULL: it is not put together yet. */
static const void *text_of(vg_val value)
{
    const void *text = pointer_at(value, TEXT_AT);
    return (uintptr_t)text & 1U ? NULL : text;
}

static bool holds(vg_val value, const void *units, size_t length, size_t width)
{
    const void *text = text_of(value);
    return text && word_at(text, LENGTH_AT) == length && memcmp(pointer_at(text, UNITS_AT), units, length * width) == 0;
}

static bool strings_work(vg_engine *engine)
{
    static const uint16_t one[] = {'v', 0x1234, 'x'}, two[] = {0x20ac, 'i', 'g', 'i', 'l'};
    static const unsigned char latin[] = {'v', 0xe9, 'g', 0xff};
    const vg_val narrow = vg_string(engine, "vigil"), other = vg_latin1(engine, latin, sizeof latin);
    const vg_val wide = vg_utf16(engine, one, 3), more = vg_utf16(engine, two, 5);
    uint32_t flag, narrow_flags, wide_flags;
    if (!narrow || !other || !wide || !more || !holds(narrow, "vigil", 5, 1) || !holds(other, latin, sizeof latin, 1) ||
        !holds(wide, one, 3, sizeof *one) || !holds(more, two, 5, sizeof *two))
        return false;
    narrow_flags = word_at(text_of(narrow), FLAGS_AT) & word_at(text_of(other), FLAGS_AT);
    wide_flags = word_at(text_of(wide), FLAGS_AT) | word_at(text_of(more), FLAGS_AT);
    flag = narrow_flags & ~wide_flags & 0xffU;
    if (flag == 0 || (flag & (flag - 1)))
        return false;
    engine->narrow_flag = flag;
    engine->string_type = byte_at(narrow, TYPE_BYTE);
    return engine->string_type == byte_at(wide, TYPE_BYTE) &&
           engine->string_type != byte_at(vg_object(engine), TYPE_BYTE) &&
           engine->string_type != byte_at(JSContextGetGlobalObject(engine->context), TYPE_BYTE);
}

static bool mode_is_known(const vg_engine *engine, vg_val view)
{
    const unsigned char mode = byte_at(view, MODE_AT);
    return engine->view_modes[mode / 64] >> mode % 64 & 1U;
}

/* Arrays of the kinds there are, each with the bytes 1, 2, 3 ...; then what may not be taken for one. */
static bool views_work(vg_engine *engine)
{
    static const char text[] =
        "(() => { const one = new Uint8Array(5), two = new Uint8Array(9000), three = new Uint8Array(new "
        "ArrayBuffer(64), 8, 24),"
        "four = two.subarray(100, 160), five = new Uint8Array(7), six = new Uint8Array(8000); five.buffer;"
        "const list = [one, two, three, four, five, six]; for (const item of list) for (let i = 0; i < item.length; "
        "i++) item[i] = i + 1;"
        "for (let i = 0; i < 100; i++) two[i] = i + 1;"
        "return [...list, new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 })), new Int8Array(4), new "
        "DataView(new ArrayBuffer(4)),"
        "new ArrayBuffer(4), {}]; })()";
    static const size_t lengths[] = {5, 9000, 24, 60, 7, 8000};
    enum {
        GOOD = sizeof lengths / sizeof *lengths,
        ALL = GOOD + 5
    };
    vg_val thrown = NULL, item[ALL];
    const vg_val list = vg_eval(engine, text, sizeof text - 1, "vigil:layout", 1, &thrown);
    for (unsigned i = 0; i < ALL; i++)
        if (!list || !(item[i] = vg_get_index(engine, list, i, &thrown)) || !is_cell(item[i]))
            return false;
    engine->view_type = byte_at(item[0], TYPE_BYTE);
    for (unsigned i = 0; i < GOOD; i++) {
        const unsigned char *bytes = pointer_at(item[i], BYTES_AT);
        if (byte_at(item[i], TYPE_BYTE) != engine->view_type || (size_t)pointer_at(item[i], COUNT_AT) != lengths[i])
            return false;
        for (unsigned k = 0; k < 5; k++)
            if (bytes[k] != k + 1)
                return false;
        engine->view_modes[byte_at(item[i], MODE_AT) / 64] |= 1ULL << byte_at(item[i], MODE_AT) % 64;
    }
    for (unsigned i = GOOD; i < ALL; i++)
        if (byte_at(item[i], TYPE_BYTE) == engine->view_type && (i > GOOD || mode_is_known(engine, item[i])))
            return false;
    return true;
}

static bool known(vg_engine *engine)
{
    if (engine->layout == 0)
        engine->layout = sizeof(void *) == 8 && strings_work(engine) && views_work(engine) ? 1 : -1;
    return engine->layout > 0;
}

bool vg_chars_open(vg_engine *engine, vg_val value, vg_chars *chars)
{
    JSStringRef string;
    *chars = (vg_chars){.length = 0};
    if (known(engine) && is_cell(value)) {
        const void *text;
        if (byte_at(value, TYPE_BYTE) != engine->string_type)
            return false;
        if (!(text = text_of(value)) && (string = JSValueToStringCopy(engine->context, jsc(value), NULL))) {
            JSStringRelease(string); /* now it is put together */
            text = text_of(value);
        }
        if (text) {
            chars->length = word_at(text, LENGTH_AT);
            if (word_at(text, FLAGS_AT) & engine->narrow_flag)
                chars->narrow = pointer_at(text, UNITS_AT);
            else
                chars->wide = pointer_at(text, UNITS_AT);
            return true;
        }
    }
    if (!JSValueIsString(engine->context, jsc(value)) ||
        !(string = JSValueToStringCopy(engine->context, jsc(value), NULL)))
        return false;
    chars->length = JSStringGetLength(string);
    chars->wide = JSStringGetCharactersPtr(string);
    chars->string = string;
    if (chars->wide || chars->length == 0)
        return true;
    JSStringRelease(string);
    return false;
}

void vg_chars_close(vg_chars *chars)
{
    if (chars->string)
        JSStringRelease(chars->string);
}

bool vg_bytes_look(vg_engine *engine, vg_val value, unsigned char **data, size_t *length)
{
    if (known(engine) && is_cell(value) && byte_at(value, TYPE_BYTE) == engine->view_type &&
        mode_is_known(engine, value)) {
        memcpy(data, (const unsigned char *)(const void *)value + BYTES_AT, sizeof *data);
        *length = (size_t)pointer_at(value, COUNT_AT);
        return true;
    }
    return vg_to_bytes(engine, value, data, length);
}
