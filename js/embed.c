/* SPDX-License-Identifier: MIT */
/* The embedding API of vigil/js.h: values, calls, C functions and classes. Threads are in embed_threads.c. */
#include "embed.h"

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "limit.h"
#include "turn.h"
#include "why.h"

struct vigil_js_class {
    vigil_js_class *next;
    vg_class *class;
    vg_val prototype;
    void *(*construct)(vigil_js_frame *frame);
};

typedef struct embedded_state {
    char *message, *stack, *file;
    int line, column;
    vg_val value;
    vigil_js_class *classes;
} embedded_state;

/* One C function with its data; goes with its function object. */
typedef struct native {
    vigil_js_fn fn;
    void *data;
} native;

static embedded_state *state_of(vigil_js *js)
{
    if (!js->embed)
        js->embed = calloc(1, sizeof(embedded_state));
    return js->embed;
}

void vg_js_embed_end(vigil_js *js, bool engine_gone)
{
    embedded_state *state = js->embed;
    if (!state)
        return;
    if (!engine_gone) {
        if (state->value)
            vg_release(js->engine, state->value);
        for (vigil_js_class *class = state->classes; class; class = class->next)
            vg_release(js->engine, class->prototype);
        return;
    }
    while (state->classes) {
        vigil_js_class *class = state->classes;
        state->classes = class->next;
        vg_class_free(class->class);
        free(class);
    }
    free(state->message);
    free(state->stack);
    free(state->file);
    free(state);
    js->embed = NULL;
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* "    at name (file:line:column)" or "    at file:line:column", the first of them. */
static void place_of(embedded_state *state)
{
    const char *line = state->stack ? strstr(state->stack, "\n    at ") : NULL;
    const char *end, *start, *colon;
    if (!line)
        return;
    line += 8;
    end = line + strcspn(line, "\n");
    start = memchr(line, '(', (size_t)(end - line));
    start = start ? start + 1 : line;
    colon = memrchr(start, ':', (size_t)(end - start));
    if (!colon)
        return;
    state->column = (int)strtol(colon + 1, NULL, 10);
    end = colon;
    colon = memrchr(start, ':', (size_t)(end - start));
    if (!colon)
        return;
    state->line = (int)strtol(colon + 1, NULL, 10);
    state->file = strndup(start, (size_t)(colon - start));
}

int vg_js_threw(vigil_js *js, vg_val thrown)
{
    embedded_state *state = state_of(js);
    vg_val none = NULL, value;
    if (!state)
        return vg_js_why(-ENOMEM, "there is no memory to keep what was thrown");
    free(state->message);
    free(state->stack);
    free(state->file);
    state->stack = state->file = NULL;
    state->line = state->column = 0;
    if (state->value)
        vg_release(js->engine, state->value);
    state->value = thrown;
    vg_hold(js->engine, thrown);
    state->message = vg_to_text(js->engine, thrown, NULL);
    if (vg_type_of(js->engine, thrown) == VG_OBJECT) {
        vg_val stack_of = vg_get(js->engine, js->binding, "stackOf", &none);
        value = stack_of ? vg_apply(js->engine, stack_of, NULL, 1, &thrown, &none) : NULL;
        if (value && vg_type_of(js->engine, value) == VG_STRING)
            state->stack = vg_to_text(js->engine, value, NULL);
        place_of(state);
    }
    return vg_js_why(-EIO, state->message ? state->message : "JavaScript threw");
}

int vigil_js_error_get(vigil_js *js, vigil_js_error *error)
{
    embedded_state *state = js->embed;
    vigil_js_error full = {.size = sizeof full};
    if (!error || error->size == 0 || error->size > sizeof full)
        return vg_js_why(-EINVAL,
                         "error is NULL, or its size is not that of this version; start from VIGIL_JS_ERROR_INIT");
    if (!state || !state->value)
        return vg_js_why(-ENOENT, "nothing was thrown yet");
    full.size = error->size;
    full.message = state->message ? state->message : "";
    full.stack = state->stack ? state->stack : "";
    full.file = state->file ? state->file : "";
    full.line = state->line;
    full.column = state->column;
    full.value = state->value;
    memcpy(error, &full, error->size);
    return 0;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* closed: the checkpoint was made. The answer is what the code itself did; the checkpoint may end the program. */
static int finish(vigil_js *js, vg_val result, vg_val thrown, bool closed, vigil_js_value *value)
{
    int status = 0;
    /* What the engine throws to end a call is no error of the code. */
    if (thrown && !js->ended && !js->cut)
        status = vg_js_threw(js, thrown);
    else if (!result)
        status = vg_js_why(-ECANCELED, js->ended ? "the program has ended" : "the call was ended before it returned");
    if (value)
        *value = result;
    if (js->depth == 0 && !closed)
        vg_js_dispatch(js, VG_DISPATCH_CHECKPOINT, NULL, NULL, NULL);
    /* A program that has ended itself has no checkpoint, but the loop has to hear of it. */
    if (js->ended || (js->depth == 0 && closed))
        vg_js_sync(js);
    return status;
}

int vigil_js_eval(vigil_js *js, const char *text, size_t length, const char *name, vigil_js_value *value)
{
    vg_val thrown = NULL, result;
    int status = vg_js_why_not_owner(js);
    if (status < 0)
        return status;
    if (!text || !name)
        return vg_js_why(-EINVAL, "text or name is NULL");
    if (js->ended)
        return vg_js_why(-ECANCELED, "the program has ended");
    vg_engine_enter(js->engine);
    js->depth++;
    vg_js_limit_begin(js);
    result = vg_eval(js->engine, text, length, name, 1, &thrown);
    js->depth--;
    status = finish(js, result, thrown, false, value);
    vg_engine_leave(js->engine);
    return status;
}

#define ENTER_ARGS 8

/* The call and its checkpoint in one crossing: that costs more than most functions do. */
static vg_val call_and_close(vigil_js *js, vg_val function, vg_val self, size_t count, const vg_val *args,
                             vg_val *thrown)
{
    vg_val all[2 + ENTER_ARGS];
    all[0] = function;
    all[1] = self && vg_type_of(js->engine, self) == VG_OBJECT ? self : vg_undefined(js->engine);
    for (size_t i = 0; i < count; i++)
        all[2 + i] = args[i];
    return vg_apply(js->engine, js->enter, NULL, 2 + count, all, thrown);
}

/* The result of a function that came to its end before its checkpoint was ended from outside; NULL: it did not. */
static vg_val result_of_ended(vigil_js *js)
{
    vg_val none = NULL, result = NULL;
    vg_val returned = vg_get(js->engine, js->entered, "returned", &none);
    if (returned && vg_to_bool(js->engine, returned)) {
        result = vg_get(js->engine, js->entered, "value", &none);
        vg_set(js->engine, js->entered, "returned", vg_bool(js->engine, false), &none);
        vg_set(js->engine, js->entered, "value", vg_undefined(js->engine), &none);
        js->unwound = true;
    }
    return result;
}

int vigil_js_call(vigil_js *js, vigil_js_value function, vigil_js_value self, size_t count, const vigil_js_value *args,
                  vigil_js_value *value)
{
    vg_val thrown = NULL, result;
    int status = vg_js_why_not_owner(js);
    bool closes;
    if (status < 0)
        return status;
    if (count && !args)
        return vg_js_why(-EINVAL, "count is not 0 and args is NULL");
    if (!function || !vg_is_function(js->engine, function))
        return vg_js_why(-EINVAL, "function cannot be called");
    if (js->ended)
        return vg_js_why(-ECANCELED, "the program has ended");
    vg_engine_enter(js->engine);
    js->depth++;
    vg_js_limit_begin(js);
    closes = js->depth == 1 && count <= ENTER_ARGS && vg_engine_can_drain(js->engine);
    result = closes ? call_and_close(js, function, self, count, args, &thrown)
                    : vg_apply(js->engine, function, self, count, args, &thrown);
    js->depth--;
    if (closes && !result)
        result = result_of_ended(js);
    if (result)
        thrown = NULL;
    status = finish(js, result, thrown, closes && result, value);
    vg_engine_leave(js->engine);
    return status;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

vigil_js_value vigil_js_undefined(vigil_js *js)
{
    return vg_undefined(js->engine);
}
vigil_js_value vigil_js_null(vigil_js *js)
{
    return vg_null(js->engine);
}
vigil_js_value vigil_js_bool(vigil_js *js, bool value)
{
    return vg_bool(js->engine, value);
}
vigil_js_value vigil_js_number(vigil_js *js, double value)
{
    return vg_number(js->engine, value);
}
vigil_js_value vigil_js_text(vigil_js *js, const char *text, size_t length)
{
    return vg_text(js->engine, text, length);
}
vigil_js_value vigil_js_object(vigil_js *js)
{
    return vg_object(js->engine);
}
vigil_js_value vigil_js_array(vigil_js *js, size_t count, const vigil_js_value *items)
{
    return vg_array(js->engine, count, items);
}
vigil_js_value vigil_js_bytes(vigil_js *js, void *data, size_t length, void (*freed)(void *data, void *arg), void *arg)
{
    return vg_bytes(js->engine, data, length, freed, arg);
}
vigil_js_type vigil_js_type_of(vigil_js *js, vigil_js_value value)
{
    static const vigil_js_type types[] = {VIGIL_JS_UNDEFINED, VIGIL_JS_NULL,   VIGIL_JS_BOOL,   VIGIL_JS_NUMBER,
                                          VIGIL_JS_STRING,    VIGIL_JS_SYMBOL, VIGIL_JS_BIGINT, VIGIL_JS_OBJECT};
    return types[vg_type_of(js->engine, value)];
}
bool vigil_js_is_function(vigil_js *js, vigil_js_value value)
{
    return vg_is_function(js->engine, value);
}
bool vigil_js_to_bool(vigil_js *js, vigil_js_value value)
{
    return vg_to_bool(js->engine, value);
}
double vigil_js_to_number(vigil_js *js, vigil_js_value value)
{
    return vg_to_number(js->engine, value);
}
char *vigil_js_to_text(vigil_js *js, vigil_js_value value, size_t *length)
{
    return vg_to_text(js->engine, value, length);
}
bool vigil_js_to_bytes(vigil_js *js, vigil_js_value value, unsigned char **data, size_t *length)
{
    return vg_to_bytes(js->engine, value, data, length);
}
vigil_js_value vigil_js_global(vigil_js *js)
{
    return vg_global(js->engine);
}

vigil_js_value vigil_js_get(vigil_js *js, vigil_js_value object, const char *name)
{
    vg_val thrown = NULL, value;
    if (!object || vg_type_of(js->engine, object) != VG_OBJECT)
        return NULL;
    value = vg_get(js->engine, object, name, &thrown);
    if (thrown)
        vg_js_threw(js, thrown);
    return value;
}

vigil_js_value vigil_js_get_index(vigil_js *js, vigil_js_value object, unsigned index)
{
    vg_val thrown = NULL, value;
    if (!object || vg_type_of(js->engine, object) != VG_OBJECT)
        return NULL;
    value = vg_get_index(js->engine, object, index, &thrown);
    if (thrown)
        vg_js_threw(js, thrown);
    return value;
}

int vigil_js_set(vigil_js *js, vigil_js_value object, const char *name, vigil_js_value value)
{
    vg_val thrown = NULL;
    if (!object || !value || vg_type_of(js->engine, object) != VG_OBJECT)
        return vg_js_why(-EINVAL, "value is NULL, or object is no object");
    return vg_set(js->engine, object, name, value, &thrown) ? 0 : vg_js_threw(js, thrown);
}

void vigil_js_ref(vigil_js *js, vigil_js_value value)
{
    vg_hold(js->engine, value);
}
void vigil_js_unref(vigil_js *js, vigil_js_value value)
{
    vg_release(js->engine, value);
}
vigil_js_value vigil_js_make_error(vigil_js *js, const char *message)
{
    return vg_error(js->engine, message);
}

/* ---- functions and classes -------------------------------------------------------------------------------------- */

static vigil_js_frame frame_of(vg_call *call, void *data)
{
    return (vigil_js_frame){
        .js = call->host, .data = data, .self = call->self, .count = call->count, .args = call->args, .thrown = NULL};
}

static vg_val call_fn(vg_call *call)
{
    native *it = call->data;
    vigil_js_frame frame = frame_of(call, it->data);
    vg_val result = it->fn(&frame);
    call->thrown = frame.thrown;
    return result;
}

vigil_js_value vigil_js_function(vigil_js *js, const char *name, vigil_js_fn fn, void *data)
{
    native *it = fn ? malloc(sizeof *it) : NULL;
    vg_val function;
    if (!it)
        return NULL;
    *it = (native){fn, data};
    function = vg_function(js->engine, name, call_fn, it, free);
    if (!function)
        free(it);
    return function;
}

/* Called by a small class in JavaScript: `new Name(...)` asks here for the instance. */
static vg_val make_instance(vg_call *call)
{
    vigil_js_class *class = call->data;
    vigil_js_frame frame = frame_of(call, NULL);
    void *pointer;
    if (!class->construct)
        return vg_throw(call, "Illegal constructor: instances of this class are made by C code alone");
    pointer = class->construct(&frame);
    call->thrown = frame.thrown;
    if (frame.thrown)
        return NULL;
    return pointer ? vg_instance(call->engine, class->class, class->prototype, pointer) : vg_throw(call, "no memory");
}

int vigil_js_class_create(vigil_js_class **out, vigil_js *js, const char *name, const vigil_js_method *methods,
                          void *(*construct)(vigil_js_frame *frame), void (*finalize)(void *pointer))
{
    /* A constructor that returns an object gives that object to `new`. */
    static const char maker[] =
        "(function (name, make) { const C = { [name]: function (...args) { "
        "if (new.target === undefined) throw new TypeError(`Class constructor ${name} cannot be invoked without "
        "'new'`); "
        "const made = make(...args); if (new.target !== C) "
        "Object.setPrototypeOf(made, new.target.prototype); return made; } }[name]; return C; })";
    embedded_state *state = js && out && name ? state_of(js) : NULL;
    vigil_js_class *class = state ? calloc(1, sizeof *class) : NULL;
    vg_val thrown = NULL, function, args[2];
    if (!js || !out || !name)
        return vg_js_why(-EINVAL, "class, js or name is NULL");
    if (!class)
        return vg_js_why(-ENOMEM, "there is no memory for a class");
    class->construct = construct;
    class->class = vg_class_new(js->engine, name, finalize);
    function = vg_eval(js->engine, maker, sizeof maker - 1, "vigil:class", 1, &thrown);
    args[0] = vg_string(js->engine, name);
    args[1] = vg_function(js->engine, name, make_instance, class, NULL);
    if (class->class && function && args[1])
        function = vg_apply(js->engine, function, NULL, 2, args, &thrown);
    class->prototype = function ? vg_get(js->engine, function, "prototype", &thrown) : NULL;
    if (!class->class || !class->prototype) {
        vg_class_free(class->class);
        free(class);
        return vg_js_why(-ENOMEM, "there is no memory for a class");
    }
    vg_hold(js->engine, class->prototype);
    class->next = state->classes;
    state->classes = class;
    for (; methods && methods->name; methods++) {
        vg_val method = vigil_js_function(js, methods->name, methods->fn, class);
        if (!method || !vg_set(js->engine, class->prototype, methods->name, method, &thrown))
            return vg_js_why(-ENOMEM, "there is no memory for a method");
    }
    vg_set(js->engine, vg_global(js->engine), name, function, &thrown);
    *out = class;
    return 0;
}

vigil_js_value vigil_js_instance(vigil_js *js, vigil_js_class *class, void *pointer)
{
    return vg_instance(js->engine, class->class, class->prototype, pointer);
}

void *vigil_js_instance_data(vigil_js *js, vigil_js_class *class, vigil_js_value value)
{
    return value && vg_type_of(js->engine, value) == VG_OBJECT ? vg_instance_pointer(js->engine, class->class, value)
                                                               : NULL;
}
