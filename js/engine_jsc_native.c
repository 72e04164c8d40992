/* SPDX-License-Identifier: MIT */
/*
 * The functions of bindings, made as the engine makes its own. A function of the C API costs more than most of what is called: the engine
 * gives its lock up, copies the arguments and takes the lock again. One of these gets the global object and the call frame, keeps the lock,
 * and is called from compiled code like any other.
 *
 * Such a function has no pointer of ours. So each C function gets a slot for the life of the process, and each slot has a function of its own
 * here that knows its number. The call frame is five words that are the engine's own, the object, and the arguments; that is tried out
 * with a call when an engine is made, and an engine that has another frame gets the functions of the C API.
 */
#include "engine_jsc.h"

#include <string.h>

enum {
    SLOTS = 1024,
    COUNT_WORD = 4, /* arguments and the object, in the lower half */
    SELF_WORD = 5,
    FIRST_WORD = 6,
};

/* Written under jsc_list_lock, before a function that uses the slot is made; never changed. */
static vg_native slots[SLOTS];
static size_t slots_used;

static int64_t run(unsigned slot, const void *global, const vg_val *frame)
{
    vg_engine *engine = jsc_engine_of(global);
    uint32_t count;
    vg_val result;
    memcpy(&count, frame + COUNT_WORD, sizeof count);
    vg_call call = {.engine = engine,
                    .host = engine->host,
                    .self = frame[SELF_WORD],
                    .count = count ? count - 1 : 0,
                    .args = frame + FIRST_WORD};
    result = slots[slot](&call);
    if (call.thrown) {
        engine->extra->throw_value(engine->group, global, jsc(call.thrown));
        return 0;
    }
    return (int64_t)(intptr_t)(result ? jsc(result) : JSValueMakeUndefined(engine->context));
}

/* Four octal digits make a slot's number. */
#define ONE(digits)                                           \
    static int64_t native_##digits(void *global, void *frame) \
    {                                                         \
        return run(0##digits, global, frame);                 \
    }
#define EIGHT(to, d) to(d##0) to(d##1) to(d##2) to(d##3) to(d##4) to(d##5) to(d##6) to(d##7)
#define SIXTY(to, d) \
    EIGHT(to, d##0)  \
    EIGHT(to, d##1) EIGHT(to, d##2) EIGHT(to, d##3) EIGHT(to, d##4) EIGHT(to, d##5) EIGHT(to, d##6) EIGHT(to, d##7)
#define ALL(to, d)  \
    SIXTY(to, d##0) \
    SIXTY(to, d##1) SIXTY(to, d##2) SIXTY(to, d##3) SIXTY(to, d##4) SIXTY(to, d##5) SIXTY(to, d##6) SIXTY(to, d##7)
ALL(ONE, 0)
ALL(ONE, 1)

#define NAME(digits) native_##digits,
static const vg_jsc_native natives[SLOTS] = {ALL(NAME, 0) ALL(NAME, 1)};

static size_t slot_of(vg_native native)
{
    size_t slot = 0;
    jsc_list_lock();
    while (slot < slots_used && slots[slot] != native)
        slot++;
    if (slot == slots_used && slot < SLOTS)
        slots[slots_used++] = native;
    jsc_list_unlock();
    return slot;
}

static vg_val make(vg_engine *engine, vg_native native)
{
    const size_t slot = slot_of(native);
    void *no_name = NULL, *function;
    if (slot >= SLOTS)
        return NULL;
    vg_engine_enter(engine);
    function = engine->extra->make_function(engine->group, engine->context, 0, &no_name, natives[slot], 0, 0,
                                            engine->extra->not_a_constructor, NULL);
    vg_engine_leave(engine);
    return ours(function);
}

/* Gives the second of three arguments back if all three are what try_out has given, and throws it otherwise. */
static vg_val echo(vg_call *call)
{
    if (call->count == 3 && JSValueIsBoolean(call->engine->context, jsc(call->args[0])) &&
        JSValueIsNull(call->engine->context, jsc(call->args[2])) &&
        JSValueIsObject(call->engine->context, jsc(call->self)))
        return call->args[1];
    call->thrown = call->count == 1 ? call->args[0] : vg_null(call->engine);
    return NULL;
}

static bool try_out(vg_engine *engine)
{
    vg_val function, thrown = NULL, self = vg_object(engine);
    const vg_val good[] = {vg_bool(engine, true), vg_number(engine, 0.25), vg_null(engine)};
    if (sizeof(void *) != sizeof(int64_t) || !engine->extra->make_function || !engine->extra->not_a_constructor ||
        !engine->extra->throw_value || !engine->extra->lock || !(function = make(engine, echo)))
        return false;
    if (vg_apply(engine, function, self, 3, good, &thrown) != good[1] || thrown)
        return false;
    return !vg_apply(engine, function, self, 1, good + 1, &thrown) && thrown == good[1];
}

vg_val vg_bound(vg_engine *engine, const char *name, vg_native native)
{
    vg_val function = NULL;
    if (engine->natives == 0)
        engine->natives = try_out(engine) ? 1 : -1;
    if (engine->natives > 0)
        function = make(engine, native);
    return function ? function : vg_function(engine, name, native, NULL, NULL);
}
