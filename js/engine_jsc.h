/* SPDX-License-Identifier: MIT */
/* What the files of the JavaScriptCore engine share. */
#ifndef VG_JS_ENGINE_JSC_H
#define VG_JS_ENGINE_JSC_H

#include "engine.h"
#include "engine_jsc_extra.h"

#define VG_JSC_LEAVES 3

struct vg_engine {
    JSContextGroupRef group;
    JSGlobalContextRef context;
    const vg_jsc_extra *extra;
    void *host;
    void *later; /* a GMainContext */
    JSClassRef function_class;
    JSValueRef function_prototype;
    JSObjectRef promise_constructor;
    JSClassRef realm_class;  /* engine_jsc_realm.c; NULL until there is a realm */
    JSObjectRef on_rejected; /* what vg_engine_on_rejection was given; the first realm keeps it */
    bool (*on_limit)(void *arg);
    void *on_limit_arg;
    int places, first_line; /* engine_jsc_place.c: 0 not calibrated yet, 1 it works, -1 it does not */
    unsigned char function_type;
    int shapes;      /* engine_jsc_place.c: as places */
    vg_engine *next; /* of all engines of the process */
    double (*leaves[VG_JSC_LEAVES])(void *host);
    int natives; /* engine_jsc_native.c: as places */
    int layout;  /* engine_jsc_layout.c: as places; with what was found out */
    uint32_t narrow_flag;
    unsigned char string_type, view_type;
    uint64_t view_modes[4];
};

static inline JSValueRef jsc(vg_val value)
{
    return (JSValueRef)(const void *)value;
}
static inline vg_val ours(JSValueRef value)
{
    return (vg_val)(const void *)value;
}
static inline JSObjectRef jsc_object(JSValueRef value)
{
    return (JSObjectRef)(uintptr_t)value;
}
static inline vg_val jsc_result(JSValueRef result, JSValueRef exception, vg_val *thrown)
{
    *thrown = ours(exception);
    return exception ? NULL : ours(result);
}

JSValueRef jsc_get(vg_engine *engine, JSObjectRef object, const char *name);
void jsc_set(vg_engine *engine, JSObjectRef object, const char *name, JSValueRef value,
             JSPropertyAttributes attributes);
/* Of the list of engines, and of what belongs to all of them. */
void jsc_list_lock(void);
void jsc_list_unlock(void);
/* The engine whose global object that is. */
vg_engine *jsc_engine_of(const void *global);
void jsc_leaves_begin(vg_engine *engine);
void jsc_leaves_end(vg_engine *engine);
char *jsc_utf8(JSStringRef string, size_t *length);

#endif
