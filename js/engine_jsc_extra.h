/* SPDX-License-Identifier: MIT */
/* What JavaScriptCore exports and does not declare. Each is looked up by name when the first engine is made; NULL: not there. */
#ifndef VG_JS_ENGINE_JSC_EXTRA_H
#define VG_JS_ENGINE_JSC_EXTRA_H

#include <stdbool.h>
#include <stdint.h>
#include <JavaScriptCore/JavaScript.h>

typedef bool (*vg_jsc_should_terminate)(JSContextRef context, void *arg);

/* A function as the engine makes its own: global object and call frame in, the bits of a value out. */
typedef int64_t (*vg_jsc_native)(void *global, void *frame);

/* A C++ object that is returned in memory of the caller's; the rest makes C do that too. */
typedef struct vg_jsc_ref {
    void *pointer, *rest[3];
} vg_jsc_ref;
typedef struct vg_jsc_span {
    unsigned char *data;
    size_t length;
} vg_jsc_span;

typedef struct vg_jsc_extra {
    void (*lock)(JSContextRef context);
    void (*unlock)(JSContextRef context);
    void (*drain)(const struct OpaqueJSContextGroup *vm);
    void (*set_rejection_callback)(JSGlobalContextRef context, JSObjectRef function, JSValueRef *exception);
    void (*set_time_limit)(JSContextGroupRef group, double seconds, vg_jsc_should_terminate fn, void *arg);
    void (*clear_time_limit)(JSContextGroupRef group);
    JSStringRef (*backtrace)(JSContextRef context, unsigned frames);
    bool (*configure_gc_signal)(int signo);
    void (*initialize_main_thread)(void);
    JSObjectRef (*memory)(JSContextRef context);
    void (*set_eval_enabled)(JSGlobalContextRef context, bool enabled, JSStringRef message);
    /* Members of JSC::JSPromise: this, VM&. */
    uint32_t (*promise_status)(const void *promise, const void *vm);
    JSValueRef (*promise_result)(const void *promise, const void *vm);
    bool (*promise_handled)(const void *promise, const void *vm);
    /* JSC::JSFunction::sourceCode: see engine_jsc_place.c. */
    const void *(*source_code)(const void *function);
    /* JSC::JSFunction::create: VM&, global object, length, WTF::String const& (a null one is a null pointer), function, visibility,
       intrinsic, what `new` calls, signature. */
    void *(*make_function)(const void *vm, const void *global, unsigned length, void *const *name,
                           vg_jsc_native function, uint8_t visibility, uint8_t intrinsic, vg_jsc_native construct,
                           const void *signature);
    /* WTF::StringImpl::createUninitialized(length, where its bytes are): a string of bytes, one per character. */
    vg_jsc_ref (*string_of_bytes)(size_t length, vg_jsc_span *bytes);
    /* OpaqueJSString::tryCreate(WTF::String &&), which takes the string. */
    vg_jsc_ref (*string_ref)(void **string);
    vg_jsc_native not_a_constructor;
    /* JSC::VM::throwException: this, global object, value. The function that called it returns. */
    void *(*throw_value)(const void *vm, const void *global, JSValueRef value);
    JSObjectRef (*proxy_target)(JSObjectRef object);
} vg_jsc_extra;

/* Any thread. */
const vg_jsc_extra *vg_jsc_extra_get(void);
/* The promise itself, if the value is one of the engine's own promises. */
const void *vg_jsc_promise(JSContextRef context, JSValueRef value, JSObjectRef promise_constructor);

#endif
