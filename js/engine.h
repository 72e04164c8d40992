/* SPDX-License-Identifier: MIT */
/*
 * The seam between the host and a JavaScript engine. The host, its bindings and the embedding API speak to the engine through
 * this header alone; engine_jsc.c is JavaScriptCore behind it. A second engine is a second file.
 *
 * What the host needs from an engine, beyond values and calls:
 *   - microtasks run when the host says so (vg_engine_drain), and at no other time while the engine is entered
 *   - a rejected promise that nobody handles is reported to a function of the host after a drain
 *   - a time limit that ends running JavaScript from outside of it
 *
 * Threads: an engine belongs to one thread at a time; between vg_engine_enter and vg_engine_leave that is the caller's.
 * Values live while they are on the C stack or held (vg_hold). A value is never NULL; functions that can fail return NULL and
 * put what was thrown into *thrown.
 */
#ifndef VG_JS_ENGINE_H
#define VG_JS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vg_engine vg_engine;
typedef const struct vigil_js_cell *vg_val; /* vigil_js_value of the public header */

/* One call of a C function by JavaScript. */
typedef struct vg_call {
    vg_engine *engine;
    void *host; /* what vg_engine_new was given */
    void *data; /* what vg_function was given */
    vg_val self;
    size_t count;
    const vg_val *args;
    vg_val thrown; /* set it and return NULL to throw */
} vg_call;
typedef vg_val (*vg_native)(vg_call *call);

/* ---- life */
/* NULL: the engine could not be made; *why says so. The thread that calls is the engine's thread. */
vg_engine *vg_engine_new(void *host, const char **why);
void vg_engine_free(vg_engine *engine);
void vg_engine_enter(vg_engine *engine);
void vg_engine_leave(vg_engine *engine);
const char *vg_engine_name(void);

/* ---- running */
vg_val vg_eval(vg_engine *engine, const char *source, size_t length, const char *url, int line, vg_val *thrown);
/* `self` is what `this` is in it; NULL: the global object. */
vg_val vg_eval_as(vg_engine *engine, vg_val self, const char *source, const char *url, vg_val *thrown);
vg_val vg_eval_value(vg_engine *engine, vg_val source, vg_val url, int line, vg_val *thrown);
/* Another global object of this engine, with builtins of its own, whose names are those of `sandbox`. The realm, and what it says about
   `sandbox`, is good while the caller keeps *global and `sandbox` alive. NULL: no memory. */
typedef struct vg_realm vg_realm;
vg_realm *vg_realm_new(vg_engine *engine, vg_val sandbox, vg_val *global);
/* NULL: the engine's first realm. */
vg_val vg_realm_eval(vg_engine *engine, vg_realm *realm, vg_val source, vg_val url, int line, vg_val *thrown);
/* No code of texts in it any more: eval and Function throw an EvalError. False: the engine cannot. */
bool vg_realm_no_eval(vg_engine *engine, vg_realm *realm);
/* Whether a text is a script; if not, *thrown is the SyntaxError. */
bool vg_syntax(vg_engine *engine, vg_val source, vg_val url, int line, vg_val *thrown);
vg_val vg_apply(vg_engine *engine, vg_val function, vg_val self, size_t count, const vg_val *args, vg_val *thrown);
vg_val vg_construct(vg_engine *engine, vg_val function, size_t count, const vg_val *args, vg_val *thrown);
/* Run microtasks until there are none. Only between enter and leave. */
void vg_engine_drain(vg_engine *engine);
/* Whether vg_engine_drain works. If not, microtasks run when the engine is left. */
bool vg_engine_can_drain(const vg_engine *engine);

/* ---- values */
vg_val vg_undefined(vg_engine *engine);
vg_val vg_null(vg_engine *engine);
vg_val vg_bool(vg_engine *engine, bool value);
vg_val vg_number(vg_engine *engine, double value);
/* Text is UTF-8; bytes that are not become U+FFFD. */
vg_val vg_text(vg_engine *engine, const char *text, size_t length);
vg_val vg_string(vg_engine *engine, const char *text);
vg_val vg_latin1(vg_engine *engine, const unsigned char *bytes, size_t length);
vg_val vg_utf16(vg_engine *engine, const uint16_t *units, size_t length);
vg_val vg_object(vg_engine *engine);
vg_val vg_array(vg_engine *engine, size_t count, const vg_val *items);
vg_val vg_error(vg_engine *engine, const char *message);
/* A Uint8Array over memory of the caller, without a copy; freed(data, arg) is called when JavaScript no longer needs it, on
   any thread. NULL: no memory; then freed has been called. */
vg_val vg_bytes(vg_engine *engine, void *data, size_t length, void (*freed)(void *data, void *arg), void *arg);
/* A Float64Array over memory that outlives the engine. */
vg_val vg_doubles(vg_engine *engine, double *data, size_t count);
/* freed(data), if not NULL, runs when the function is collected, on any thread, and must not call back. */
vg_val vg_function(vg_engine *engine, const char *name, vg_native native, void *data, void (*freed)(void *data));
/* A class whose instances carry a pointer; finalize(pointer) runs when an instance is collected, and must not call back. */
typedef struct vg_class vg_class;
vg_class *vg_class_new(vg_engine *engine, const char *name, void (*finalize)(void *pointer));
void vg_class_free(vg_class *class);
vg_val vg_instance(vg_engine *engine, vg_class *class, vg_val prototype, void *pointer);
void *vg_instance_pointer(vg_engine *engine, vg_class *class, vg_val value);
/* A function for a binding: without data, called as cheaply as the engine can, with the engine entered and `self` as the caller has
   written it. */
vg_val vg_bound(vg_engine *engine, const char *name, vg_native native);
/* A function without arguments that gives what fn(host) gives. It is called more cheaply than others, and with the engine entered;
   there may be three per engine. NULL: too many, or no memory. */
vg_val vg_leaf(vg_engine *engine, const char *name, double (*fn)(void *host));
/* A promise and the two functions that settle it. */
vg_val vg_promise(vg_engine *engine, vg_val *resolve, vg_val *reject);

typedef enum vg_type {
    VG_UNDEFINED,
    VG_NULL,
    VG_BOOL,
    VG_NUMBER,
    VG_STRING,
    VG_SYMBOL,
    VG_BIGINT,
    VG_OBJECT
} vg_type;
vg_type vg_type_of(vg_engine *engine, vg_val value);
bool vg_is_function(vg_engine *engine, vg_val value);
bool vg_is_array(vg_engine *engine, vg_val value);
bool vg_to_bool(vg_engine *engine, vg_val value);
double vg_to_number(vg_engine *engine, vg_val value); /* NaN when it cannot be one */
/* UTF-8 with a zero behind it, to be freed; NULL: no memory, or the value has no text. */
char *vg_to_text(vg_engine *engine, vg_val value, size_t *length);
/* The same into memory of the caller's, without a zero behind it. SIZE_MAX: it does not surely fit, or has no text. */
size_t vg_to_text_into(vg_engine *engine, vg_val value, char *text, size_t room);
/* The UTF-16 units of a string, in the engine's memory until vg_units_close. False: it is no string, or no memory. */
typedef struct vg_units {
    const uint16_t *units;
    size_t length;
    void *string;
} vg_units;
bool vg_units_open(vg_engine *engine, vg_val value, vg_units *units);
void vg_units_close(vg_units *units);
/* The bytes of a typed array, DataView-free, or of an ArrayBuffer; they may not move while the value is alive. */
bool vg_to_bytes(vg_engine *engine, vg_val value, unsigned char **data, size_t *length);

vg_val vg_global(vg_engine *engine);
vg_val vg_get(vg_engine *engine, vg_val object, const char *name, vg_val *thrown);
vg_val vg_get_index(vg_engine *engine, vg_val object, unsigned index, vg_val *thrown);
bool vg_set(vg_engine *engine, vg_val object, const char *name, vg_val value, vg_val *thrown);
bool vg_set_prototype(vg_engine *engine, vg_val object, vg_val prototype);

/* Whether the object or one of its prototypes has the property. */
bool vg_has(vg_engine *engine, vg_val object, const char *name);
/* False: it cannot be deleted; then *thrown is set if something was thrown. */
bool vg_delete(vg_engine *engine, vg_val object, const char *name, vg_val *thrown);
bool vg_set_index(vg_engine *engine, vg_val object, unsigned index, vg_val value, vg_val *thrown);
/* An array of the names that for...in has. */
vg_val vg_keys(vg_engine *engine, vg_val object);
bool vg_is_instance(vg_engine *engine, vg_val value, vg_val constructor, vg_val *thrown);
/* NULL: it is no JSON. */
vg_val vg_json_parse(vg_engine *engine, const char *text, size_t length);
/* To be freed. NULL: it has no JSON, no memory, or *thrown. */
char *vg_json_text(vg_engine *engine, vg_val value, size_t *length, vg_val *thrown);

/* NULL: no memory. */
vg_val vg_bigint(vg_engine *engine, int64_t value);
/* False: it is none, or does not fit. */
bool vg_to_bigint(vg_engine *engine, vg_val value, int64_t *number);
/* NULL: no memory. */
vg_val vg_date(vg_engine *engine, double milliseconds);
bool vg_is_date(vg_engine *engine, vg_val value);

/* Keep a value alive until the matching release. */
void vg_hold(vg_engine *engine, vg_val value);
void vg_release(vg_engine *engine, vg_val value);

/* ---- what engines have and their headers do not */
typedef enum vg_promise_state {
    VG_PENDING,
    VG_FULFILLED,
    VG_REJECTED,
    VG_PROMISE_UNKNOWN
} vg_promise_state;
/* The state of a promise, and its value or reason; VG_PROMISE_UNKNOWN if it is none or the engine does not tell. */
vg_promise_state vg_promise_look(vg_engine *engine, vg_val value, vg_val *result, bool *handled);
/* Whether two objects have the same own properties apart from elements, as far as the engine tells: false says nothing. */
bool vg_same_shape(vg_engine *engine, vg_val a, vg_val b);
/* What stands behind a Proxy, without its traps; null if it was revoked, NULL if the value is none or the engine does not tell. */
vg_val vg_proxy_target(vg_engine *engine, vg_val value);
/* Call function(promise, reason) after a drain for each rejected promise that has no handler. */
bool vg_engine_on_rejection(vg_engine *engine, vg_val function);
/* After `seconds` of running JavaScript call fn(arg) on the engine's thread; true ends what runs, uncatchably. The limit must
   be set again after each call of fn. Negative seconds: no limit. False: the engine cannot. */
bool vg_engine_limit(vg_engine *engine, double seconds, bool (*fn)(void *arg), void *arg);
/* Where a function was written: which source, how far into it, on which line. False: it is none, or the engine does not tell.
   The source's address is only good for comparing; another source may get it when this one is gone. */
typedef struct vg_place {
    const void *source;
    int offset, line;
} vg_place;
bool vg_function_place(vg_engine *engine, vg_val function, vg_place *place);
/* Where JavaScript is, innermost frame first, one "function@file:line:column" per line; to be freed; NULL if not known. */
char *vg_engine_where(vg_engine *engine);
void vg_engine_collect(vg_engine *engine);
typedef struct vg_engine_memory {
    size_t heap_size, heap_capacity, extra, objects;
} vg_engine_memory;
bool vg_engine_memory_get(vg_engine *engine, vg_engine_memory *memory);

/* Do the work that the engine has put off (finalizers, compiled WebAssembly), if there is any: true. Never blocks; may run
   JavaScript, and leaves microtasks. */
bool vg_engine_work(vg_engine *engine);

#endif
