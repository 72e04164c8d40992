/* SPDX-License-Identifier: MIT */
/* JavaScriptCore behind engine.h: values. */
#include "engine_jsc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

JSValueRef jsc_get(vg_engine *engine, JSObjectRef object, const char *name)
{
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSValueRef value = JSObjectGetProperty(engine->context, object, key, NULL);
    JSStringRelease(key);
    return value;
}

void jsc_set(vg_engine *engine, JSObjectRef object, const char *name, JSValueRef value, JSPropertyAttributes attributes)
{
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSObjectSetProperty(engine->context, object, key, value, attributes, NULL);
    JSStringRelease(key);
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

vg_val vg_undefined(vg_engine *engine)
{
    return ours(JSValueMakeUndefined(engine->context));
}

vg_val vg_null(vg_engine *engine)
{
    return ours(JSValueMakeNull(engine->context));
}

vg_val vg_bool(vg_engine *engine, bool value)
{
    return ours(JSValueMakeBoolean(engine->context, value));
}

vg_val vg_number(vg_engine *engine, double value)
{
    return ours(JSValueMakeNumber(engine->context, value));
}

static vg_val take_string(vg_engine *engine, JSStringRef string)
{
    JSValueRef value;
    if (!string)
        return NULL;
    value = JSValueMakeString(engine->context, string);
    JSStringRelease(string);
    return ours(value);
}

/* Decodes the next character of text[*at..length); U+FFFD for what is none, with the steps that the Encoding Standard takes. */
static uint32_t next_character(const unsigned char *text, size_t length, size_t *at)
{
    unsigned char first = text[(*at)++];
    unsigned char low = 0x80, high = 0xbf;
    uint32_t value;
    int more;
    if (first < 0x80)
        return first;
    if (first >= 0xc2 && first <= 0xdf) {
        more = 1;
        value = first & 0x1fU;
    } else if (first >= 0xe0 && first <= 0xef) {
        more = 2;
        value = first & 0x0fU;
        low = first == 0xe0 ? 0xa0 : 0x80;
        high = first == 0xed ? 0x9f : 0xbf;
    } else if (first >= 0xf0 && first <= 0xf4) {
        more = 3;
        value = first & 0x07U;
        low = first == 0xf0 ? 0x90 : 0x80;
        high = first == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0xfffd;
    }
    for (; more > 0; more--) {
        if (*at >= length || text[*at] < low || text[*at] > high)
            return 0xfffd;
        value = value << 6 | (text[(*at)++] & 0x3fU);
        low = 0x80;
        high = 0xbf;
    }
    return value;
}

static vg_val decode(vg_engine *engine, const unsigned char *text, size_t length)
{
    uint16_t *units = malloc(length ? length * sizeof *units : 1);
    size_t at = 0, count = 0;
    vg_val value;
    if (!units)
        return NULL;
    while (at < length) {
        uint32_t character;
        if (text[at] < 0x80) {
            units[count++] = text[at++];
            continue;
        }
        character = next_character(text, length, &at);
        if (character >= 0x10000) {
            units[count++] = (uint16_t)(0xd800 + ((character - 0x10000) >> 10));
            units[count++] = (uint16_t)(0xdc00 + ((character - 0x10000) & 0x3ff));
        } else {
            units[count++] = (uint16_t)character;
        }
    }
    value = vg_utf16(engine, units, count);
    free(units);
    return value;
}

/* Memory for the characters of a new string, one byte each; NULL: the engine cannot, or there is no memory. */
static unsigned char *new_bytes(vg_engine *engine, size_t length, JSStringRef *string)
{
    vg_jsc_span bytes = {NULL, 0};
    vg_jsc_ref made;
    if (!engine->extra->string_ref || length == 0 || length >= INT32_MAX)
        return NULL;
    made = engine->extra->string_of_bytes(length, &bytes);
    *string = engine->extra->string_ref(&made.pointer).pointer;
    return *string && bytes.length == length ? bytes.data : NULL;
}

/* ASCII with a zero behind it can be handed over as it is, and the engine keeps one byte per character. */
static bool plain(const char *text, size_t length)
{
    size_t i = 0;
    for (; i + 16 <= length; i += 16) {
        unsigned char bad = 0;
        for (size_t k = 0; k < 16; k++)
            bad |= (unsigned char)(((unsigned char)text[i + k] & 0x80U) | (text[i + k] == 0 ? 1U : 0U));
        if (bad)
            return false;
    }
    for (; i < length; i++)
        if ((signed char)text[i] <= 0)
            return false;
    return true;
}

vg_val vg_text(vg_engine *engine, const char *text, size_t length)
{
    char small[256];
    char *copy = small;
    vg_val value;
    JSStringRef string;
    unsigned char *bytes;
    if (!plain(text, length))
        return decode(engine, (const unsigned char *)text, length);
    if ((bytes = new_bytes(engine, length, &string))) {
        memcpy(bytes, text, length);
        return take_string(engine, string);
    }
    if (length >= sizeof small)
        copy = malloc(length + 1);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, text, length);
    copy[length] = 0;
    value = take_string(engine, JSStringCreateWithUTF8CString(copy));
    if (copy != small)
        free(copy);
    return value;
}

vg_val vg_string(vg_engine *engine, const char *text)
{
    size_t length = strlen(text);
    if (!plain(text, length))
        return decode(engine, (const unsigned char *)text, length);
    return take_string(engine, JSStringCreateWithUTF8CString(text));
}

vg_val vg_latin1(vg_engine *engine, const unsigned char *bytes, size_t length)
{
    uint16_t *units;
    vg_val value;
    JSStringRef string;
    unsigned char *made = new_bytes(engine, length, &string);
    if (made) {
        memcpy(made, bytes, length);
        return take_string(engine, string);
    }
    if (plain((const char *)bytes, length))
        return vg_text(engine, (const char *)bytes, length);
    units = malloc(length ? length * sizeof *units : 1);
    if (!units)
        return NULL;
    for (size_t i = 0; i < length; i++)
        units[i] = bytes[i];
    value = vg_utf16(engine, units, length);
    free(units);
    return value;
}

vg_val vg_utf16(vg_engine *engine, const uint16_t *units, size_t length)
{
    return take_string(engine, JSStringCreateWithCharacters(units, length));
}

vg_val vg_object(vg_engine *engine)
{
    return ours(JSObjectMake(engine->context, NULL, NULL));
}

vg_val vg_array(vg_engine *engine, size_t count, const vg_val *items)
{
    return ours(JSObjectMakeArray(engine->context, count, (const JSValueRef *)items, NULL));
}

vg_val vg_error(vg_engine *engine, const char *message)
{
    JSValueRef text = jsc(vg_string(engine, message));
    return ours(JSObjectMakeError(engine->context, 1, &text, NULL));
}

vg_val vg_bytes(vg_engine *engine, void *data, size_t length, void (*freed)(void *data, void *arg), void *arg)
{
    JSValueRef exception = NULL;
    JSObjectRef array = JSObjectMakeTypedArrayWithBytesNoCopy(engine->context, kJSTypedArrayTypeUint8Array, data,
                                                              length, freed, arg, &exception);
    return exception ? NULL : ours(array);
}

static void keep(void *data, void *arg)
{
    (void)data;
    (void)arg;
}

vg_val vg_doubles(vg_engine *engine, double *data, size_t count)
{
    return ours(JSObjectMakeTypedArrayWithBytesNoCopy(engine->context, kJSTypedArrayTypeFloat64Array, data,
                                                      count * sizeof *data, keep, NULL, NULL));
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

vg_type vg_type_of(vg_engine *engine, vg_val value)
{
    switch (JSValueGetType(engine->context, jsc(value))) {
    case kJSTypeNull:
        return VG_NULL;
    case kJSTypeBoolean:
        return VG_BOOL;
    case kJSTypeNumber:
        return VG_NUMBER;
    case kJSTypeString:
        return VG_STRING;
    case kJSTypeObject:
        return VG_OBJECT;
    case kJSTypeSymbol:
        return VG_SYMBOL;
    case kJSTypeBigInt:
        return VG_BIGINT;
    case kJSTypeUndefined:
        break;
    }
    return VG_UNDEFINED;
}

bool vg_is_function(vg_engine *engine, vg_val value)
{
    return JSValueIsObject(engine->context, jsc(value)) && JSObjectIsFunction(engine->context, jsc_object(jsc(value)));
}

bool vg_is_array(vg_engine *engine, vg_val value)
{
    return JSValueIsArray(engine->context, jsc(value));
}

bool vg_to_bool(vg_engine *engine, vg_val value)
{
    return JSValueToBoolean(engine->context, jsc(value));
}

double vg_to_number(vg_engine *engine, vg_val value)
{
    JSValueRef exception = NULL;
    double number = value ? JSValueToNumber(engine->context, jsc(value), &exception) : (double)NAN;
    return exception ? (double)NAN : number;
}

bool vg_to_bytes(vg_engine *engine, vg_val value, unsigned char **data, size_t *length)
{
    JSTypedArrayType type = JSValueGetTypedArrayType(engine->context, jsc(value), NULL);
    JSObjectRef object = jsc_object(jsc(value));
    unsigned char *base;
    if (type == kJSTypedArrayTypeNone)
        return false;
    if (type == kJSTypedArrayTypeArrayBuffer) {
        *data = JSObjectGetArrayBufferBytesPtr(engine->context, object, NULL);
        *length = JSObjectGetArrayBufferByteLength(engine->context, object, NULL);
        return *data || *length == 0;
    }
    base = JSObjectGetTypedArrayBytesPtr(engine->context, object, NULL);
    *length = JSObjectGetTypedArrayByteLength(engine->context, object, NULL);
    if (!base)
        return *length == 0 && (*data = NULL, true);
    *data = base + JSObjectGetTypedArrayByteOffset(engine->context, object, NULL);
    return true;
}

/* ---- objects ---------------------------------------------------------------------------------------------------- */

vg_val vg_global(vg_engine *engine)
{
    return ours(JSContextGetGlobalObject(engine->context));
}

vg_val vg_get(vg_engine *engine, vg_val object, const char *name, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSValueRef value = JSObjectGetProperty(engine->context, jsc_object(jsc(object)), key, &exception);
    JSStringRelease(key);
    return jsc_result(value, exception, thrown);
}

vg_val vg_get_index(vg_engine *engine, vg_val object, unsigned index, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSValueRef value = JSObjectGetPropertyAtIndex(engine->context, jsc_object(jsc(object)), index, &exception);
    return jsc_result(value, exception, thrown);
}

bool vg_set(vg_engine *engine, vg_val object, const char *name, vg_val value, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSObjectSetProperty(engine->context, jsc_object(jsc(object)), key, jsc(value), kJSPropertyAttributeNone,
                        &exception);
    JSStringRelease(key);
    *thrown = ours(exception);
    return !exception;
}

bool vg_set_prototype(vg_engine *engine, vg_val object, vg_val prototype)
{
    JSObjectSetPrototype(engine->context, jsc_object(jsc(object)), jsc(prototype));
    return true;
}

void vg_hold(vg_engine *engine, vg_val value)
{
    JSValueProtect(engine->context, jsc(value));
}

void vg_release(vg_engine *engine, vg_val value)
{
    JSValueUnprotect(engine->context, jsc(value));
}
