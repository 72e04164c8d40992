/* SPDX-License-Identifier: MIT */
/* JavaScriptCore behind engine.h: life, running, functions, and what the engine can tell. Values are in engine_jsc_values.c. */
#include "engine_jsc.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

/* ---- life ------------------------------------------------------------------------------------------------------- */

static JSValueRef call_native(JSContextRef context, JSObjectRef function, JSObjectRef self, size_t count,
                              const JSValueRef args[], JSValueRef *exception);

typedef struct native_cell {
    vg_engine *engine;
    vg_native native;
    void *data;
    void (*freed)(void *data);
} native_cell;

static void finalize_function(JSObjectRef object)
{
    native_cell *cell = JSObjectGetPrivate(object);
    if (cell && cell->freed)
        cell->freed(cell->data);
    free(cell);
}

static JSClassRef make_class(const char *name, JSObjectCallAsFunctionCallback call, JSObjectFinalizeCallback finalize)
{
    JSClassDefinition definition = kJSClassDefinitionEmpty;
    definition.className = name;
    definition.callAsFunction = call;
    definition.finalize = finalize;
    definition.attributes = kJSClassAttributeNoAutomaticPrototype;
    return JSClassCreate(&definition);
}

/*
 * How the engine learns that a limit has run out. Left to itself it has a thread that stops ours by a signal, a thousand times a second,
 * until some JavaScript has seen it: an idle program would never sleep, and the compiled code of what runs is thrown away each time.
 * With this option its code looks by itself. The engine reads it from the environment, once for the process, when the first
 * virtual machine is made; there is a function for it too, but that crashes where somebody else has made one before.
 */
static const char polling_option[] = "JSC_usePollingTraps";

/* Before the machine is made; true: forget_polling is to follow. */
static bool ask_for_polling(void)
{
    static _Atomic uint32_t asked;
    /* relaxed: only one thread may do this. A thread that makes a second engine now may make the first machine without it, and is
       not worse off than before. */
    return atomic_exchange_explicit(&asked, 1, memory_order_relaxed) == 0 && !getenv(polling_option) &&
           setenv(polling_option, "1", 0) == 0;
}

/* It is not the program's, nor its children's. */
static void forget_polling(void)
{
    (void)unsetenv(polling_option);
}

vg_engine *vg_engine_new(void *host, const char **why)
{
    vg_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        *why = "no memory for the engine";
        return NULL;
    }
    engine->host = host;
    engine->extra = vg_jsc_extra_get();
    /* The collector stops threads with a signal. SIGUSR1, its own choice, belongs to programs; ours is the last
       real-time signal. The call has no effect once any engine has been made in this process. */
    if (engine->extra->configure_gc_signal)
        engine->extra->configure_gc_signal(SIGRTMAX);
    /* What the engine wants to do later goes to the thread's GLib context. One of our own, so that a program that uses
       GLib on this thread keeps its own. */
    engine->later = g_main_context_new();
    g_main_context_push_thread_default(engine->later);
    if (engine->extra->initialize_main_thread)
        engine->extra->initialize_main_thread();
    const bool asked = ask_for_polling();
    engine->group = JSContextGroupCreate();
    if (asked)
        forget_polling();
    engine->context = engine->group ? JSGlobalContextCreateInGroup(engine->group, NULL) : NULL;
    g_main_context_pop_thread_default(engine->later);
    if (!engine->context) {
        *why = "JavaScriptCore could not make a context: no memory";
        if (engine->group)
            JSContextGroupRelease(engine->group);
        g_main_context_unref(engine->later);
        free(engine);
        return NULL;
    }
    engine->function_class = make_class("Function", call_native, finalize_function);
    JSObjectRef global = JSContextGetGlobalObject(engine->context);
    engine->function_prototype = jsc_get(engine, jsc_object(jsc_get(engine, global, "Function")), "prototype");
    engine->promise_constructor = jsc_object(jsc_get(engine, global, "Promise"));
    JSValueProtect(engine->context, engine->function_prototype);
    JSValueProtect(engine->context, engine->promise_constructor);
    jsc_leaves_begin(engine);
    return engine;
}

void vg_engine_free(vg_engine *engine)
{
    vg_engine_limit(engine, -1, NULL, NULL);
    jsc_leaves_end(engine);
    JSValueUnprotect(engine->context, engine->function_prototype);
    JSValueUnprotect(engine->context, engine->promise_constructor);
    JSClassRelease(engine->function_class);
    if (engine->realm_class)
        JSClassRelease(engine->realm_class);
    JSGlobalContextRelease(engine->context);
    JSContextGroupRelease(engine->group);
    g_main_context_unref(engine->later);
    free(engine);
}

const char *vg_engine_name(void)
{
    return "JavaScriptCore";
}

void vg_engine_enter(vg_engine *engine)
{
    if (engine->extra->lock && engine->extra->unlock)
        engine->extra->lock(engine->context);
}

void vg_engine_leave(vg_engine *engine)
{
    if (engine->extra->lock && engine->extra->unlock)
        engine->extra->unlock(engine->context);
}

bool vg_engine_can_drain(const vg_engine *engine)
{
    return engine->extra->drain != NULL;
}

void vg_engine_drain(vg_engine *engine)
{
    if (!vg_engine_can_drain(engine))
        return;
    engine->extra->lock(engine->context);
    engine->extra->drain(engine->group);
    engine->extra->unlock(engine->context);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

vg_val vg_eval_value(vg_engine *engine, vg_val source, vg_val url, int line, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef text = JSValueToStringCopy(engine->context, jsc(source), &exception);
    JSStringRef name = text ? JSValueToStringCopy(engine->context, jsc(url), &exception) : NULL;
    JSValueRef result = NULL;
    if (name)
        result = JSEvaluateScript(engine->context, text, NULL, name, line, &exception);
    if (text)
        JSStringRelease(text);
    if (name)
        JSStringRelease(name);
    return jsc_result(result, exception, thrown);
}

vg_val vg_eval_as(vg_engine *engine, vg_val self, const char *source, const char *url, vg_val *thrown)
{
    JSStringRef text = JSStringCreateWithUTF8CString(source), name = JSStringCreateWithUTF8CString(url);
    JSValueRef exception = NULL;
    JSValueRef result = JSEvaluateScript(engine->context, text, jsc_object(jsc(self)), name, 1, &exception);
    JSStringRelease(text);
    JSStringRelease(name);
    return jsc_result(result, exception, thrown);
}

vg_val vg_eval(vg_engine *engine, const char *source, size_t length, const char *url, int line, vg_val *thrown)
{
    vg_val text = vg_text(engine, source, length);
    if (!text) {
        *thrown = vg_error(engine, "no memory for the source");
        return NULL;
    }
    return vg_eval_value(engine, text, vg_string(engine, url), line, thrown);
}

vg_val vg_apply(vg_engine *engine, vg_val function, vg_val self, size_t count, const vg_val *args, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSObjectRef this_object = self && JSValueIsObject(engine->context, jsc(self)) ? jsc_object(jsc(self)) : NULL;
    JSValueRef result = JSObjectCallAsFunction(engine->context, jsc_object(jsc(function)), this_object, count,
                                               (const JSValueRef *)args, &exception);
    return jsc_result(result, exception, thrown);
}

vg_val vg_construct(vg_engine *engine, vg_val function, size_t count, const vg_val *args, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSValueRef result = JSObjectCallAsConstructor(engine->context, jsc_object(jsc(function)), count,
                                                  (const JSValueRef *)args, &exception);
    return jsc_result(result, exception, thrown);
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static JSValueRef call_native(JSContextRef context, JSObjectRef function, JSObjectRef self, size_t count,
                              const JSValueRef args[], JSValueRef *exception)
{
    native_cell *cell = JSObjectGetPrivate(function);
    vg_call call = {.engine = cell->engine,
                    .host = cell->engine->host,
                    .data = cell->data,
                    .self = ours(self),
                    .count = count,
                    .args = (const vg_val *)args};
    vg_val result = cell->native(&call);
    if (call.thrown) {
        *exception = jsc(call.thrown);
        return NULL;
    }
    return result ? jsc(result) : JSValueMakeUndefined(context);
}

vg_val vg_function(vg_engine *engine, const char *name, vg_native native, void *data, void (*freed)(void *data))
{
    native_cell *cell = malloc(sizeof *cell);
    JSObjectRef object;
    if (!cell)
        return NULL;
    *cell = (native_cell){engine, native, data, freed};
    object = JSObjectMake(engine->context, engine->function_class, cell);
    /* The name first: with the prototype's own, which is read-only, it could not be set any more. */
    if (name)
        jsc_set(engine, object, "name", jsc(vg_string(engine, name)),
                kJSPropertyAttributeDontEnum | kJSPropertyAttributeReadOnly);
    JSObjectSetPrototype(engine->context, object, engine->function_prototype);
    return ours(object);
}

struct vg_class {
    JSClassRef class;
    void (*finalize)(void *pointer);
};
typedef struct instance_cell {
    void *pointer;
    void (*finalize)(void *pointer);
} instance_cell;

static void finalize_instance(JSObjectRef object)
{
    instance_cell *cell = JSObjectGetPrivate(object);
    if (!cell)
        return;
    if (cell->finalize)
        cell->finalize(cell->pointer);
    free(cell);
}

vg_class *vg_class_new(vg_engine *engine, const char *name, void (*finalize)(void *pointer))
{
    vg_class *class = malloc(sizeof *class);
    (void)engine;
    if (!class)
        return NULL;
    class->class = make_class(name, NULL, finalize_instance);
    class->finalize = finalize;
    return class;
}

void vg_class_free(vg_class *class)
{
    if (!class)
        return;
    JSClassRelease(class->class);
    free(class);
}

vg_val vg_instance(vg_engine *engine, vg_class *class, vg_val prototype, void *pointer)
{
    instance_cell *cell = malloc(sizeof *cell);
    JSObjectRef object;
    if (!cell)
        return NULL;
    *cell = (instance_cell){pointer, class->finalize};
    object = JSObjectMake(engine->context, class->class, cell);
    if (prototype)
        JSObjectSetPrototype(engine->context, object, jsc(prototype));
    return ours(object);
}

void *vg_instance_pointer(vg_engine *engine, vg_class *class, vg_val value)
{
    instance_cell *cell;
    if (!JSValueIsObjectOfClass(engine->context, jsc(value), class->class))
        return NULL;
    cell = JSObjectGetPrivate(jsc_object(jsc(value)));
    return cell ? cell->pointer : NULL;
}

/* ---- what the engine can tell ----------------------------------------------------------------------------------- */

vg_val vg_promise(vg_engine *engine, vg_val *resolve, vg_val *reject)
{
    JSObjectRef on_resolve = NULL, on_reject = NULL;
    JSObjectRef promise = JSObjectMakeDeferredPromise(engine->context, &on_resolve, &on_reject, NULL);
    *resolve = ours(on_resolve);
    *reject = ours(on_reject);
    return ours(promise);
}

vg_promise_state vg_promise_look(vg_engine *engine, vg_val value, vg_val *result, bool *handled)
{
    static const vg_promise_state states[] = {VG_PENDING, VG_FULFILLED, VG_REJECTED};
    const void *promise = vg_jsc_promise(engine->context, jsc(value), engine->promise_constructor);
    uint32_t state;
    if (!promise)
        return VG_PROMISE_UNKNOWN;
    engine->extra->lock(engine->context);
    state = engine->extra->promise_status(promise, engine->group);
    *handled = engine->extra->promise_handled(promise, engine->group);
    *result = state == 1 || state == 2 ? ours(engine->extra->promise_result(promise, engine->group)) : NULL;
    engine->extra->unlock(engine->context);
    return state < 3 ? states[state] : VG_PROMISE_UNKNOWN;
}

vg_val vg_proxy_target(vg_engine *engine, vg_val value)
{
    JSObjectRef target;
    if (!engine->extra->proxy_target || !JSValueIsObject(engine->context, jsc(value)) ||
        JSValueIsStrictEqual(engine->context, jsc(value), JSContextGetGlobalObject(engine->context)))
        return NULL;
    target = engine->extra->proxy_target(jsc_object(jsc(value)));
    return ours(target);
}

bool vg_engine_on_rejection(vg_engine *engine, vg_val function)
{
    if (!engine->extra->set_rejection_callback)
        return false;
    engine->on_rejected = jsc_object(jsc(function));
    engine->extra->set_rejection_callback(engine->context, engine->on_rejected, NULL);
    return true;
}

static bool time_is_up(JSContextRef context, void *arg)
{
    vg_engine *engine = arg;
    (void)context;
    return engine->on_limit ? engine->on_limit(engine->on_limit_arg) : false;
}

bool vg_engine_limit(vg_engine *engine, double seconds, bool (*fn)(void *arg), void *arg)
{
    if (!engine->extra->set_time_limit)
        return false;
    engine->on_limit = fn;
    engine->on_limit_arg = arg;
    if (seconds < 0)
        engine->extra->clear_time_limit(engine->group);
    else
        engine->extra->set_time_limit(engine->group, seconds, time_is_up, engine);
    return true;
}

char *vg_engine_where(vg_engine *engine)
{
    JSStringRef trace = engine->extra->backtrace ? engine->extra->backtrace(engine->context, 16) : NULL;
    char *text = trace ? jsc_utf8(trace, NULL) : NULL;
    if (trace)
        JSStringRelease(trace);
    return text;
}

void vg_engine_collect(vg_engine *engine)
{
    JSGarbageCollect(engine->context);
}

bool vg_engine_memory_get(vg_engine *engine, vg_engine_memory *memory)
{
    JSObjectRef usage = engine->extra->memory ? engine->extra->memory(engine->context) : NULL;
    vg_val none;
    if (!usage)
        return false;
    memory->heap_size = (size_t)vg_to_number(engine, vg_get(engine, ours(usage), "heapSize", &none));
    memory->heap_capacity = (size_t)vg_to_number(engine, vg_get(engine, ours(usage), "heapCapacity", &none));
    memory->extra = (size_t)vg_to_number(engine, vg_get(engine, ours(usage), "extraMemorySize", &none));
    memory->objects = (size_t)vg_to_number(engine, vg_get(engine, ours(usage), "objectCount", &none));
    return true;
}

/* ---- what the engine wants to do later -------------------------------------------------------------------------- */

bool vg_engine_work(vg_engine *engine)
{
    bool some = false;
    while (g_main_context_iteration(engine->later, FALSE))
        some = true;
    return some;
}
