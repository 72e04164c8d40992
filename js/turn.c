/* SPDX-License-Identifier: MIT */
/*
 * How JavaScript lives on the loop.
 *
 *   timers      one timer of the loop, at the time of the next JavaScript timer
 *   poll        finished work is collected by a post and delivered in the check hook, before
 *   immediates  which run in the same hook
 *
 * Node's phases are timers, poll, check; the loop's are posts, timers, poll, check. Delivering in the check hook puts the
 * poll's callbacks where Node has them.
 *
 * The engine is entered for as long as vigil_js_run runs: leaving it would run microtasks at a moment of its own. (An engine that
 * cannot drain on demand is left after each call, because that is the only way to make it drain.) Outside of that it is
 * left, so that several hosts can take turns on one thread.
 *
 * After each call into JavaScript vg_js_sync compares what the program wants (js->state) with what the loop
 * knows, and passes on the difference. Nothing in JavaScript crosses into C for that.
 */
#include "turn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <vigil/record.h>

#include "limit.h"
#include "port.h"

double vg_js_now_ms(vigil_js *js)
{
    return floor((double)(vigil_loop_now_update(js->loop) - js->base_ns) / 1e6);
}

int vg_js_dispatch(vigil_js *js, int kind, vg_val a, vg_val b, vg_val c)
{
    vg_engine *engine = js->engine;
    vg_val thrown, result = NULL;
    bool again = false;
    int code = 0;
    if (js->ended && kind != VG_DISPATCH_EXIT)
        return 0;
    js->depth++;
    vg_js_limit_begin(js);
    if (js->records && vigil_loop_now(js->loop) - js->named_ns >= 1000000U) {
        js->named_ns = vigil_loop_now(js->loop);
        js->state[VG_STATE_NAMING] = VG_LIMIT_NAMES_PER_MS;
    }
    do {
        vg_val args[4] = {NULL};
        vg_engine_enter(engine);
        args[0] = vg_number(engine, kind);
        args[1] = a ? a : vg_undefined(engine);
        args[2] = b ? b : vg_undefined(engine);
        args[3] = c ? c : vg_undefined(engine);
        thrown = NULL;
        result = vg_apply(engine, js->dispatch, NULL, 4, args, &thrown);
        code = result ? (int)vg_to_number(engine, result) : 0;
        if (!result)
            js->unwound = true; /* dispatch itself does not throw: it was ended from outside */
        again = result && code == 1 && (kind == VG_DISPATCH_TIMERS || kind == VG_DISPATCH_IMMEDIATES);
        vg_engine_leave(engine);
        /* Without a drain of its own the engine has drained just now; the rest of the checkpoint in steps. */
        while (!vg_engine_can_drain(engine) && !js->ended && kind != VG_DISPATCH_EXIT) {
            vg_engine_enter(engine);
            args[0] = vg_number(engine, VG_DISPATCH_CLOSE);
            result = vg_apply(engine, js->dispatch, NULL, 1, args, &thrown);
            bool more = result && vg_to_number(engine, result) == 1;
            vg_engine_leave(engine);
            if (!more)
                break;
        }
    } while (again && !js->ended);
    js->depth--;
    vg_js_sync(js);
    return code;
}

static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_js *js = arg;
    (void)loop;
    (void)timer;
    js->timer.id = 0;
    js->timer_expiry = (double)INFINITY;
    vg_js_dispatch(js, VG_DISPATCH_TIMERS, NULL, NULL, NULL);
}

static void sync_timer(vigil_js *js)
{
    double wanted = js->ended || js->ending ? (double)INFINITY : js->state[VG_STATE_NEXT_EXPIRY];
    bool ref = js->state[VG_STATE_TIMER_REFS] > 0;
    if (wanted == js->timer_expiry && (ref == js->timer_ref || isinf(wanted)))
        return;
    if (isinf(wanted)) {
        vigil_timer_cancel(js->loop, js->timer);
        js->timer.id = 0;
    } else if (js->timer.id && wanted != js->timer_expiry) {
        vigil_timer_again_at(js->loop, js->timer, js->base_ns + (uint64_t)(wanted * 1e6));
        if (ref != js->timer_ref)
            (ref ? vigil_timer_ref : vigil_timer_unref)(js->loop, js->timer);
    } else if (js->timer.id) {
        (ref ? vigil_timer_ref : vigil_timer_unref)(js->loop, js->timer);
    } else {
        vigil_timer_options options = {.size = sizeof options,
                                       .deadline_ns = js->base_ns + (uint64_t)(wanted * 1e6),
                                       .flags = ref ? 0 : VIGIL_TIMER_UNREF};
        if (vigil_timer_start_with(js->loop, &options, on_timer, js, &js->timer) < 0) {
            js->timer.id = 0;
            wanted = (double)INFINITY;
        }
    }
    js->timer_expiry = wanted;
    js->timer_ref = ref;
}

void vg_js_sync(vigil_js *js)
{
    bool hold = !js->ended && (js->state[VG_STATE_IMMEDIATE_REFS] > 0 || js->in_flight > 0 || js->ready);
    if (js->depth > 0)
        return;
    sync_timer(js);
    if (hold != js->loop_ref) {
        (hold ? vigil_loop_ref : vigil_loop_unref)(js->loop);
        js->loop_ref = hold;
    }
    if (js->ended || js->unwound)
        vigil_loop_pause(js->loop);
}

void vg_js_in_flight(vigil_js *js, int change)
{
    js->in_flight = (unsigned)((int)js->in_flight + change);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

static int64_t prepare(vigil_loop *loop, void *arg)
{
    vigil_js *js = arg;
    (void)loop;
    if (js->ready || js->state[VG_STATE_IMMEDIATE_REFS] > 0)
        return 0;
    /* The engine has no way to wake the loop. */
    return js->engine_pending > 0 ? 1000000 : -1;
}

/* Asking the engine costs microseconds: ten times a second is enough. */
static void check_memory(vigil_js *js)
{
    vg_engine_memory memory;
    uint64_t now = vigil_loop_now(js->loop);
    char line[128];
    int length;
    if (now - js->memory_checked_ns < 100000000U || js->ended)
        return;
    js->memory_checked_ns = now;
    if (!vg_engine_memory_get(js->engine, &memory) || memory.heap_size <= js->options.memory_max)
        return;
    vg_engine_collect(js->engine);
    vg_engine_memory_get(js->engine, &memory);
    if (memory.heap_size <= js->options.memory_max)
        return;
    length = snprintf(line, sizeof line, "(vigil) the JavaScript heap has %zu MB, the limit is %zu MB: ended\n",
                      memory.heap_size >> 20, js->options.memory_max >> 20);
    if (js->options.on_output)
        js->options.on_output(js->options.user, 2, line, (size_t)length);
    else
        (void)!write(2, line, (size_t)length);
    js->ended = true;
    js->exit_code = 134;
    vg_js_sync(js);
}

static void check(vigil_loop *loop, void *arg)
{
    vigil_js *js = arg;
    (void)loop;
    if (js->ready) {
        vg_js_deliver(js);
        vg_js_sync(js);
    }
    if (js->state[VG_STATE_IMMEDIATE_COUNT] > 0 && !js->ended)
        vg_js_dispatch(js, VG_DISPATCH_IMMEDIATES, NULL, NULL, NULL);
    if (js->options.memory_max)
        check_memory(js);
    if ((js->engine_pending > 0 || vigil_loop_now(js->loop) - js->worked_ns > 10000000U) && !js->ended) {
        js->worked_ns = vigil_loop_now(js->loop);
        if (vg_engine_work(js->engine))
            vg_js_dispatch(js, VG_DISPATCH_CHECKPOINT, NULL, NULL, NULL);
    }
}

int vg_js_turn_init(vigil_js *js)
{
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = prepare, .check = check};
    vigil_record_stats recorder = {.size = sizeof recorder};
    vigil_record_stats_get(&recorder);
    js->records = recorder.level != VIGIL_RECORD_OFF;
    VIGIL_RECORD_NAME(on_timer, "JavaScript timers");
    VIGIL_RECORD_NAME(prepare, "JavaScript: is there anything to do");
    VIGIL_RECORD_NAME(check, "JavaScript immediates and I/O");
    js->base_ns = vigil_loop_now_update(js->loop);
    js->timer_expiry = (double)INFINITY;
    js->state[VG_STATE_NEXT_EXPIRY] = (double)INFINITY;
    if (!js->records)
        js->state[VG_STATE_NAMING] = (double)-INFINITY; /* never to be counted down to a name */
    return vigil_hook_add(js->loop, &calls, js, &js->hook);
}

void vg_js_turn_end(vigil_js *js)
{
    vigil_hook_remove(js->loop, js->hook);
    if (js->timer.id)
        vigil_timer_cancel(js->loop, js->timer);
    if (js->loop_ref)
        vigil_loop_unref(js->loop);
    js->loop_ref = false;
}
