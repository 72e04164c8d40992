/* SPDX-License-Identifier: MIT */
/*
 * Text out of the engine, as UTF-8.
 *
 * Not by the engine's own conversion: that one calls a function for each character, wants room for the worst case, and ends without
 * a word at half of a surrogate pair, which JavaScript's strings may have. Here such a half becomes U+FFFD, as every other host
 * writes it.
 */
#include "engine_jsc.h"

#include <stdlib.h>
#include <string.h>

#include "narrow.h"

enum {
    WORST = 3 /* bytes that a unit may need; those of a pair need two each */
};

/* The units at the beginning that are ASCII, or nearly so many: how many were written. */
static size_t put_ascii(char *to, const JSChar *units, size_t count)
{
    size_t done = 0;
    for (; done + VG_NARROW <= count; done += VG_NARROW) {
        if (!vg_narrow_ascii(units + done))
            return done;
        vg_narrow((unsigned char *)to + done, units + done);
    }
    while (done < count && units[done] < 0x80) {
        to[done] = (char)units[done];
        done++;
    }
    return done;
}

static size_t put(char *to, uint32_t code)
{
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(heads[length] | code);
    return length;
}

static size_t put_any(char *to, const JSChar *units, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t code = units[i];
        if (code >= 0xd800 && code < 0xdc00 && i + 1 < count && units[i + 1] >= 0xdc00 && units[i + 1] < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (units[++i] - 0xdc00U);
        else if (code >= 0xd800 && code < 0xe000)
            code = 0xfffd;
        used += put(to + used, code);
    }
    return used;
}

char *jsc_utf8(JSStringRef string, size_t *length)
{
    const JSChar *units = JSStringGetCharactersPtr(string);
    size_t count = JSStringGetLength(string), used;
    char *text = units || count == 0 ? malloc(count + 1) : NULL, *fitted;
    if (!text)
        return NULL;
    used = put_ascii(text, units, count);
    if (used < count) {
        size_t done = used, room = done + (count - done) * WORST + 1;
        if (!(fitted = realloc(text, room))) {
            free(text);
            return NULL;
        }
        text = fitted;
        used += put_any(text + done, units + done, count - done);
        if (used < room / 2 && room > 256 && (fitted = realloc(text, used + 1)))
            text = fitted;
    }
    text[used] = 0;
    if (length)
        *length = used;
    return text;
}

char *vg_to_text(vg_engine *engine, vg_val value, size_t *length)
{
    JSValueRef exception = NULL;
    JSStringRef string = JSValueToStringCopy(engine->context, jsc(value), &exception);
    char *text;
    if (!string)
        return NULL;
    text = jsc_utf8(string, length);
    JSStringRelease(string);
    return text;
}

size_t vg_to_text_into(vg_engine *engine, vg_val value, char *text, size_t room)
{
    JSValueRef exception = NULL;
    JSStringRef string = JSValueToStringCopy(engine->context, jsc(value), &exception);
    size_t used = SIZE_MAX, count;
    if (!string)
        return SIZE_MAX;
    count = JSStringGetLength(string);
    if (count <= room / WORST) {
        const JSChar *units = JSStringGetCharactersPtr(string);
        used = put_ascii(text, units, count);
        used += put_any(text + used, units + used, count - used);
    }
    JSStringRelease(string);
    return used;
}

bool vg_units_open(vg_engine *engine, vg_val value, vg_units *units)
{
    JSStringRef string =
        JSValueIsString(engine->context, jsc(value)) ? JSValueToStringCopy(engine->context, jsc(value), NULL) : NULL;
    if (!string)
        return false;
    units->string = string;
    units->length = JSStringGetLength(string);
    units->units = JSStringGetCharactersPtr(string);
    if (units->units || units->length == 0)
        return true;
    JSStringRelease(string);
    return false;
}

void vg_units_close(vg_units *units)
{
    JSStringRelease(units->string);
}
