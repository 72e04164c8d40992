/* SPDX-License-Identifier: MIT */
/*
 * Realms: further global objects in the same engine, for node:vm. Objects of one realm can be used in all of them.
 *
 * The global object of a realm looks every name up in an object of the program first, its sandbox, and writes every name there. The
 * C API offers that by callbacks of the global object's class. They are not asked about symbols, nor about variables that the
 * engine keeps itself: `var` and functions at the top of a script, which lib/vm_script.js rewrites for that reason.
 *
 * Who keeps whom: lib/vm.js keeps global and sandbox together for as long as one of them can be reached. Nothing here protects
 * them, because a global object that was a root of the collector would keep its sandbox, and so itself, for ever.
 */
#include "engine_jsc.h"

#include <stdlib.h>

typedef struct realm_cell {
    JSObjectRef sandbox;
} realm_cell;

static JSObjectRef sandbox_of(JSObjectRef global)
{
    const realm_cell *cell = JSObjectGetPrivate(global);
    return cell ? cell->sandbox : NULL;
}

static JSValueRef get_name(JSContextRef context, JSObjectRef global, JSStringRef name, JSValueRef *exception)
{
    JSObjectRef sandbox = sandbox_of(global);
    if (!sandbox || !JSObjectHasProperty(context, sandbox, name))
        return NULL;
    return JSObjectGetProperty(context, sandbox, name, exception);
}

static bool set_name(JSContextRef context, JSObjectRef global, JSStringRef name, JSValueRef value,
                     JSValueRef *exception)
{
    JSObjectRef sandbox = sandbox_of(global);
    if (!sandbox)
        return false;
    JSObjectSetProperty(context, sandbox, name, value, kJSPropertyAttributeNone, exception);
    return true;
}

static bool delete_name(JSContextRef context, JSObjectRef global, JSStringRef name, JSValueRef *exception)
{
    JSObjectRef sandbox = sandbox_of(global);
    return sandbox && JSObjectHasProperty(context, sandbox, name) &&
           JSObjectDeleteProperty(context, sandbox, name, exception);
}

static void list_names(JSContextRef context, JSObjectRef global, JSPropertyNameAccumulatorRef names)
{
    JSObjectRef sandbox = sandbox_of(global);
    JSPropertyNameArrayRef list = sandbox ? JSObjectCopyPropertyNames(context, sandbox) : NULL;
    for (size_t i = 0; list && i < JSPropertyNameArrayGetCount(list); i++)
        JSPropertyNameAccumulatorAddName(names, JSPropertyNameArrayGetNameAtIndex(list, i));
    if (list)
        JSPropertyNameArrayRelease(list);
}

static void finalize_global(JSObjectRef global)
{
    free(JSObjectGetPrivate(global));
}

vg_realm *vg_realm_new(vg_engine *engine, vg_val sandbox, vg_val *global)
{
    JSClassDefinition definition = kJSClassDefinitionEmpty;
    realm_cell *cell = calloc(1, sizeof *cell);
    JSGlobalContextRef context = NULL;
    JSObjectRef object;
    if (!cell)
        return NULL;
    if (!engine->realm_class) {
        definition.className = "Object";
        definition.getProperty = get_name;
        definition.setProperty = set_name;
        definition.deleteProperty = delete_name;
        definition.getPropertyNames = list_names;
        definition.finalize = finalize_global;
        engine->realm_class = JSClassCreate(&definition);
    }
    context = JSGlobalContextCreateInGroup(engine->group, engine->realm_class);
    if (!context) {
        free(cell);
        return NULL;
    }
    object = JSContextGetGlobalObject(context);
    cell->sandbox = jsc_object(jsc(sandbox));
    JSObjectSetPrivate(object, cell);
    if (engine->extra->set_rejection_callback && engine->on_rejected)
        engine->extra->set_rejection_callback(context, engine->on_rejected, NULL);
    *global = ours(object);
    /* From here on it lives while somebody reaches its global object, which is on the stack. */
    JSGlobalContextRelease(context);
    return (vg_realm *)(void *)context;
}

vg_val vg_realm_eval(vg_engine *engine, vg_realm *realm, vg_val source, vg_val url, int line, vg_val *thrown)
{
    JSValueRef exception = NULL, result = NULL;
    JSContextRef context = realm ? (JSContextRef)(void *)realm : engine->context;
    JSStringRef text = JSValueToStringCopy(engine->context, jsc(source), &exception);
    JSStringRef name = text ? JSValueToStringCopy(engine->context, jsc(url), &exception) : NULL;
    if (name)
        result = JSEvaluateScript(context, text, NULL, name, line, &exception);
    if (text)
        JSStringRelease(text);
    if (name)
        JSStringRelease(name);
    return jsc_result(result, exception, thrown);
}

bool vg_realm_no_eval(vg_engine *engine, vg_realm *realm)
{
    JSStringRef message;
    if (!engine->extra->set_eval_enabled)
        return false;
    message = JSStringCreateWithUTF8CString("Code generation from strings disallowed for this context");
    engine->extra->set_eval_enabled((JSGlobalContextRef)(void *)realm, false, message);
    JSStringRelease(message);
    return true;
}

bool vg_syntax(vg_engine *engine, vg_val source, vg_val url, int line, vg_val *thrown)
{
    JSValueRef exception = NULL;
    JSStringRef text = JSValueToStringCopy(engine->context, jsc(source), &exception);
    JSStringRef name = text ? JSValueToStringCopy(engine->context, jsc(url), &exception) : NULL;
    bool good = name && JSCheckScriptSyntax(engine->context, text, name, line, &exception);
    if (text)
        JSStringRelease(text);
    if (name)
        JSStringRelease(name);
    *thrown = ours(exception);
    return good;
}
