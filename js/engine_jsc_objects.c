/* SPDX-License-Identifier: MIT */
/* Objects, JSON, BigInts and Dates: what embedders ask for and the host itself does not. */
#include <stdlib.h>

#include "engine_jsc.h"

bool vg_has(vg_engine *engine, vg_val object, const char *name)
{
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    bool has = JSObjectHasProperty(engine->context, jsc_object(jsc(object)), key);
    JSStringRelease(key);
    return has;
}

bool vg_delete(vg_engine *engine, vg_val object, const char *name, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    bool gone = JSObjectDeleteProperty(engine->context, jsc_object(jsc(object)), key, &exception);
    JSStringRelease(key);
    *thrown = ours(exception);
    return gone && !exception;
}

bool vg_set_index(vg_engine *engine, vg_val object, unsigned index, vg_val value, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSObjectSetPropertyAtIndex(engine->context, jsc_object(jsc(object)), index, jsc(value), &exception);
    *thrown = ours(exception);
    return !exception;
}

vg_val vg_keys(vg_engine *engine, vg_val object)
{
    JSPropertyNameArrayRef names = JSObjectCopyPropertyNames(engine->context, jsc_object(jsc(object)));
    JSObjectRef list = JSObjectMakeArray(engine->context, 0, NULL, NULL);
    size_t count = JSPropertyNameArrayGetCount(names);
    for (size_t i = 0; list && i < count; i++) {
        JSValueRef name = JSValueMakeString(engine->context, JSPropertyNameArrayGetNameAtIndex(names, i));
        JSObjectSetPropertyAtIndex(engine->context, list, (unsigned)i, name, NULL);
    }
    JSPropertyNameArrayRelease(names);
    return ours(list);
}

bool vg_is_instance(vg_engine *engine, vg_val value, vg_val constructor, vg_val *thrown)
{
    JSValueRef exception = NULL;
    bool is = JSValueIsInstanceOfConstructor(engine->context, jsc(value), jsc_object(jsc(constructor)), &exception);
    *thrown = ours(exception);
    return is && !exception;
}

vg_val vg_json_parse(vg_engine *engine, const char *text, size_t length)
{
    JSValueRef value = NULL;
    vg_val string = vg_text(engine, text, length);
    JSStringRef source = string ? JSValueToStringCopy(engine->context, jsc(string), NULL) : NULL;
    if (source) {
        value = JSValueMakeFromJSONString(engine->context, source);
        JSStringRelease(source);
    }
    return ours(value);
}

char *vg_json_text(vg_engine *engine, vg_val value, size_t *length, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef made = JSValueCreateJSONString(engine->context, jsc(value), 0, &exception);
    char *text = NULL;
    *thrown = ours(exception);
    if (made) {
        text = jsc_utf8(made, length);
        JSStringRelease(made);
    }
    return text;
}

vg_val vg_bigint(vg_engine *engine, int64_t value)
{
    return ours(JSBigIntCreateWithInt64(engine->context, value, NULL));
}

bool vg_to_bigint(vg_engine *engine, vg_val value, int64_t *number)
{
    JSValueRef exception = NULL, same;
    int64_t low;
    if (!JSValueIsBigInt(engine->context, jsc(value)))
        return false;
    low = JSValueToInt64(engine->context, jsc(value), &exception);
    /* The engine gives the lowest bits of what does not fit. */
    same = exception ? NULL : JSBigIntCreateWithInt64(engine->context, low, NULL);
    if (!same || !JSValueIsStrictEqual(engine->context, jsc(value), same))
        return false;
    *number = low;
    return true;
}

vg_val vg_date(vg_engine *engine, double milliseconds)
{
    JSValueRef time = JSValueMakeNumber(engine->context, milliseconds);
    return ours(JSObjectMakeDate(engine->context, 1, &time, NULL));
}

bool vg_is_date(vg_engine *engine, vg_val value)
{
    return JSValueIsDate(engine->context, jsc(value));
}
