/* SPDX-License-Identifier: MIT */
/* The end of JavaScript that does not end by itself: process.exit, stalls, the memory limit. See docs/js.md. */
#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "names.h"

/* How often a call that takes long is looked at, and a checkpoint that does not end serves timers and finished work. */
#define SERVICE_NS (VG_LIMIT_SERVICE_MS * UINT64_C(1000000))

static void arm(vigil_js *js, uint64_t after_ns);

static bool should_end(vigil_js *js, const vigil_js_stall *stall)
{
    char line[512];
    int length;
    if (js->options.on_stall)
        return js->options.on_stall(js->options.user, stall);
    if (js->stalls == 1 || js->options.end_stalls) {
        length = snprintf(line, sizeof line, "(vigil) %s: %.1f s without a turn of the loop%s%s%s\n",
                          stall->kind == VIGIL_JS_STALL_MICROTASKS ? "promises or ticks that never end"
                                                                   : "a callback that does not return",
                          (double)stall->running_ns / 1e9, *stall->where ? ", in " : "", stall->where,
                          js->options.end_stalls ? "; ended" : "");
        if (length > 0)
            (void)!write(2, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    }
    return js->options.end_stalls;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* The innermost frame of the program's own, in `frames` ("#0 name() at file:line"); NULL if there is none. */
static char *own_frame(const char *frames)
{
    for (const char *line = frames; line && *line;) {
        size_t length = strcspn(line, "\n");
        const char *place = memmem(line, length, " at ", 4);
        if (place && strncmp(place, " at vigil:", 10) != 0 && strncmp(place, " at :", 5) != 0 &&
            strncmp(place, " at [native", 11) != 0) {
            const char *name = memchr(line, ' ', length);
            return strndup(name + 1, length - (size_t)(name + 1 - line));
        }
        line += length;
        line += *line == '\n';
    }
    return NULL;
}

static bool in_storm(vigil_js *js)
{
    /* relaxed: written by this thread. */
    return atomic_load_explicit(&js->draining, memory_order_relaxed) || js->state[VG_STATE_TICKING] != 0;
}

/* On the engine's thread, in the midst of JavaScript. */
static bool time_is_up(void *arg)
{
    vigil_js *js = arg;
    vigil_js_stall stall = {.size = sizeof stall};
    char *stack, *where;
    uint64_t running;
    bool end;
    if (js->ended)
        return true;
    /* The engine counts the time of all calls together; what matters is how long this one has been running. */
    running = now_ns() - js->entered_ns;
    if (js->depth == 0 || running < SERVICE_NS) {
        arm(js, SERVICE_NS);
        return false;
    }
    if (js->records && !js->frame_shown) {
        js->frame_shown = true; /* where it was found first; a call that goes on for long is mostly about one thing */
        stack = vg_engine_where(js->engine);
        where = own_frame(stack);
        if (where)
            vg_js_shows_frame(js, where);
        free(where);
        free(stack);
    }
    /* A checkpoint that does not end: its microtasks give way to a small turn, at the next boundary between two of them. */
    if (in_storm(js) && js->storm) {
        vg_val thrown, drain = vg_number(js->engine, js->drains);
        vg_apply(js->engine, js->storm, NULL, 1, &drain, &thrown);
    }
    if (!js->options.stall_ns || running < (uint64_t)js->options.stall_ns * (js->stalls + 1)) {
        arm(js, SERVICE_NS);
        return false;
    }
    stack = vg_engine_where(js->engine);
    where = own_frame(stack);
    /* Between two promise reactions only the engine's own functions are on the stack: look again a little later. */
    if (!where && js->tries++ < 100) {
        free(stack);
        arm(js, 200000U + 50000U * (js->tries % 7));
        return false;
    }
    js->tries = 0;
    js->stalls++;
    stall.kind = in_storm(js) ? VIGIL_JS_STALL_MICROTASKS : VIGIL_JS_STALL_LOOP;
    stall.running_ns = running;
    stall.where = where ? where : "";
    stall.stack = stack ? stack : "";
    end = should_end(js, &stall);
    free(where);
    free(stack);
    if (!end)
        arm(js, SERVICE_NS);
    js->cut = end;
    return end;
}

static void arm(vigil_js *js, uint64_t after_ns)
{
    js->stall_armed = vg_engine_limit(js->engine, (double)after_ns / 1e9, time_is_up, js);
}

void vg_js_limit_begin(vigil_js *js)
{
    if (js->depth != 1)
        return;
    js->stalls = 0;
    js->tries = 0;
    js->frame_shown = js->cut = false;
    /* Close enough: the loop's time is that of this turn. */
    js->entered_ns = vigil_loop_now(js->loop);
    if (!js->stall_armed)
        arm(js, SERVICE_NS);
}

void vg_js_unwind(vigil_js *js)
{
    vg_engine_limit(js->engine, 0.0, time_is_up, js);
}
