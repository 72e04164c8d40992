/* SPDX-License-Identifier: MIT */
/*
 * Where a function was written. The C API does not tell; JSC::JSFunction::sourceCode does: it gives the address of five fields,
 *
 *     the source's provider (a pointer), where the function begins and ends in it, its first line, its first column
 *
 * which no header promises. So they are calibrated when they are first asked for, with two functions whose places are known; a version that
 * has other fields answers no question, and names are all that is shown. Like promises, functions are known by the type byte of their cell.
 */
#include "engine_jsc.h"

#include <string.h>

#define TYPE_BYTE 5

typedef struct source_code {
    const void *provider;
    int begin, end, line, column;
} source_code;

static unsigned char type_byte(JSValueRef cell)
{
    return ((const unsigned char *)(const void *)cell)[TYPE_BYTE];
}

static bool look(vg_engine *engine, JSValueRef function, source_code *into)
{
    const void *found = engine->extra->source_code(function);
    if (!found)
        return false;
    memcpy(into, found, sizeof *into);
    return true;
}

/* Two functions, on the third and the fifth line; and one that is written nowhere. */
static bool calibrate(vg_engine *engine)
{
    static const char text[] = "[\n\nfunction one(a) { return a; },\n\n(b, c) => b, Array.prototype.map, Array, {}]";
    vg_val thrown = NULL, list = vg_eval(engine, text, sizeof text - 1, "vigil:places", 1, &thrown), item[5];
    source_code one, two;
    for (unsigned i = 0; i < 5; i++)
        if (!list || !(item[i] = vg_get_index(engine, list, i, &thrown)))
            return false;
    engine->function_type = type_byte(jsc(item[0]));
    if (type_byte(jsc(item[1])) != engine->function_type || type_byte(jsc(item[3])) == engine->function_type ||
        type_byte(jsc(item[4])) == engine->function_type)
        return false;
    if (!look(engine, jsc(item[0]), &one) || !look(engine, jsc(item[1]), &two) ||
        (type_byte(jsc(item[2])) == engine->function_type && engine->extra->source_code(jsc(item[2]))))
        return false;
    engine->first_line = one.line - 2;
    return one.provider && one.provider == two.provider && one.begin >= 0 && one.begin < one.end &&
           one.end <= two.begin && two.begin < two.end && two.end < (int)sizeof text && two.line - one.line == 2 &&
           (engine->first_line == 0 || engine->first_line == 1);
}

/* The first five bytes of a cell name its structure (names and attributes of its properties) and the kind of its elements. That is
   checked once, against arrays with and without a property of their own. */
static uint64_t shape_of(JSValueRef cell)
{
    uint64_t shape = 0;
    memcpy(&shape, cell, 5);
    return shape;
}

static bool shapes_work(vg_engine *engine)
{
    JSValueRef item = JSValueMakeNumber(engine->context, 1);
    JSObjectRef one, same, other;
    if (engine->shapes)
        return engine->shapes > 0;
    engine->shapes = -1;
    one = JSObjectMakeArray(engine->context, 1, &item, NULL);
    same = JSObjectMakeArray(engine->context, 1, &item, NULL);
    other = JSObjectMakeArray(engine->context, 1, &item, NULL);
    if (!one || !same || !other)
        return false;
    jsc_set(engine, other, "vigil", item, kJSPropertyAttributeNone);
    if (shape_of(one) == shape_of(same) && shape_of(one) != shape_of(other) &&
        shape_of(one) != shape_of(JSObjectMake(engine->context, NULL, NULL)))
        engine->shapes = 1;
    return engine->shapes > 0;
}

bool vg_same_shape(vg_engine *engine, vg_val a, vg_val b)
{
    return shapes_work(engine) && JSValueIsObject(engine->context, jsc(a)) &&
           JSValueIsObject(engine->context, jsc(b)) && shape_of(jsc(a)) == shape_of(jsc(b));
}

bool vg_function_place(vg_engine *engine, vg_val function, vg_place *place)
{
    source_code code;
    if (engine->places == 0)
        engine->places = engine->extra->source_code && calibrate(engine) ? 1 : -1;
    if (engine->places < 0 || JSValueGetType(engine->context, jsc(function)) != kJSTypeObject ||
        type_byte(jsc(function)) != engine->function_type || !look(engine, jsc(function), &code))
        return false;
    *place = (vg_place){.source = code.provider, .offset = code.begin, .line = code.line - engine->first_line + 1};
    return true;
}
