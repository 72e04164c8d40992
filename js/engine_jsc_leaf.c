/* SPDX-License-Identifier: MIT */
/*
 * Leaves: functions without arguments that give a number. The C API gives the engine's lock up before it calls C and takes it
 * again afterwards, which costs more than most of what is called; the functions that the scheduler needs for each callback are
 * made as the engine makes its own, and keep the lock.
 *
 * Such a function gets the global object and no pointer of ours, so the engine is found by its context: the one that this thread
 * asked for last, or else from a list.
 */
#include "engine_jsc.h"

#include <stdatomic.h>
#include <string.h>

/* Held for a few steps, and only when an engine begins, ends, or is met by a thread for the first time. */
static atomic_flag list_busy = ATOMIC_FLAG_INIT;
static vg_engine *engines;
/* An engine may end on another thread than the one that remembers it: each end makes all that is remembered stale. */
static _Atomic uint32_t ends;
static _Thread_local vg_engine *recent;
static _Thread_local uint32_t recent_ends;

void jsc_list_lock(void)
{
    /* acquire: what the holder before has done to the list; pairs with jsc_list_unlock. */
    while (atomic_flag_test_and_set_explicit(&list_busy, memory_order_acquire))
        ;
}

void jsc_list_unlock(void)
{
    /* release: pairs with jsc_list_lock. */
    atomic_flag_clear_explicit(&list_busy, memory_order_release);
}

void jsc_leaves_begin(vg_engine *engine)
{
    jsc_list_lock();
    engine->next = engines;
    engines = engine;
    jsc_list_unlock();
}

void jsc_leaves_end(vg_engine *engine)
{
    jsc_list_lock();
    for (vg_engine **at = &engines; *at; at = &(*at)->next) {
        if (*at == engine) {
            *at = engine->next;
            break;
        }
    }
    jsc_list_unlock();
    /* relaxed: a thread that uses another engine at its old address has got that engine after this end, by other means. */
    atomic_fetch_add_explicit(&ends, 1U, memory_order_relaxed);
}

vg_engine *jsc_engine_of(const void *global)
{
    /* relaxed: see jsc_leaves_end. */
    const uint32_t now = atomic_load_explicit(&ends, memory_order_relaxed);
    vg_engine *engine = recent;
    if (engine && recent_ends == now && engine->context == global)
        return engine;
    recent_ends = now;
    jsc_list_lock();
    for (engine = engines; engine && engine->context != global; engine = engine->next)
        ;
    jsc_list_unlock();
    return recent = engine;
}

/* How the engine writes a value into 64 bits: a double is its bits plus 2^49. Checked when a leaf is made. */
#define NUMBER_OFFSET (1ULL << 49)

static int64_t number_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int64_t)(bits + NUMBER_OFFSET);
}

#define LEAF(slot)                                              \
    static int64_t leaf_##slot(void *global, void *frame)       \
    {                                                           \
        vg_engine *engine = jsc_engine_of(global);              \
        (void)frame;                                            \
        return number_bits(engine->leaves[slot](engine->host)); \
    }
LEAF(0)
LEAF(1)
LEAF(2)
static const vg_jsc_native natives[VG_JSC_LEAVES] = {leaf_0, leaf_1, leaf_2};

static bool can_make(vg_engine *engine)
{
    const vg_jsc_extra *extra = engine->extra;
    const int64_t half = (int64_t)(intptr_t)JSValueMakeNumber(engine->context, 0.5);
    return sizeof(void *) == sizeof(int64_t) && extra->make_function && extra->not_a_constructor &&
           vg_engine_can_drain(engine) && half == number_bits(0.5);
}

/* Without what it takes: the usual kind. */
static vg_val call_leaf(vg_call *call)
{
    vg_engine *engine = call->engine;
    const size_t slot = (size_t)(uintptr_t)call->data;
    return vg_number(engine, engine->leaves[slot](engine->host));
}

vg_val vg_leaf(vg_engine *engine, const char *name, double (*fn)(void *host))
{
    void *no_name = NULL;
    size_t slot = 0;
    void *function;
    while (slot < VG_JSC_LEAVES && engine->leaves[slot])
        slot++;
    if (slot == VG_JSC_LEAVES)
        return NULL;
    engine->leaves[slot] = fn;
    if (!can_make(engine))
        return vg_function(engine, name, call_leaf, (void *)(uintptr_t)slot, NULL);
    vg_engine_enter(engine);
    function = engine->extra->make_function(engine->group, engine->context, 0, &no_name, natives[slot], 0, 0,
                                            engine->extra->not_a_constructor, NULL);
    vg_engine_leave(engine);
    return ours(function);
}
