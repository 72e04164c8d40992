/* SPDX-License-Identifier: MIT */
/*
 * Promises on one thread (promise_calls.c, promise_settle.c): what the scenarios have in common. There is one execution of each, so each is
 * explored to its end; it is here because what only one thread does is under check too: a value that is destroyed twice or never, memory that is
 * used after it was freed.
 */
#ifndef PROMISE_ALONE_H
#define PROMISE_ALONE_H

#include "loop_common.h"

#include <vigil/promise.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")
#define MADE(call)            vgc_assert((call) == 0, "the call is accepted")

/* What has happened, in its order: one letter each. */
static char told[64];

static inline void tell(char what)
{
    const size_t length = strlen(told);
    vgc_assert(length + 1 < sizeof told, "no more is told than the scenario makes");
    told[length] = what;
}

static int destroyed;

static inline void destroy_text(void *text)
{
    destroyed++;
    free(text);
}

static inline vigil_value new_text(void)
{
    char *text = malloc(8);
    vgc_assert(text != NULL, "there is memory");
    memcpy(text, "a text", 7);
    return vigil_value_pointer(text, destroy_text);
}

static inline vigil_promise *root(void)
{
    vigil_promise *made = NULL;
    MADE(vigil_promise_create(&made, loop));
    return made;
}

static inline void is_fulfilled(vigil_promise *promise, int64_t number)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(promise, &value) == VIGIL_FULFILLED && value.integer == number,
               "it is fulfilled with its number");
}

static inline void is_rejected(vigil_promise *promise, int status)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(promise, &value) == VIGIL_REJECTED && value.status == status,
               "it is rejected with its reason");
}

/* ---- everything is done by a callback of the loop, and looked at by a second ---- */

static void (*first_part)(void);
static void (*second_part)(void);

static inline void do_first(void *arg)
{
    (void)arg;
    first_part();
}

static inline void do_second(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    second_part();
}

static inline void in_the_loop(void (*first)(void), void (*second)(void))
{
    vigil_timer timer;
    first_part = first;
    second_part = second;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    MADE(vigil_loop_call(loop, do_first, NULL, NULL));
    MADE(vigil_timer_start(loop, 1000, do_second, NULL, &timer));
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    MADE(vigil_promise_stats_get(loop, &stats));
    vgc_assert(stats.alive == 0 && stats.in_flight == 0 && stats.created > 0, "no promise is left behind");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- promises, handlers and thenables of several scenarios ---- */

static vigil_promise *source, *later;

static inline vigil_value add_one(vigil_value *value, void *arg)
{
    tell(*(const char *)arg);
    return vigil_value_int(value->kind == VIGIL_INT ? value->integer + 1 : -value->status);
}

static inline void settle_at_once(vigil_thenable *self, vigil_promise *of)
{
    (void)self;
    (void)vigil_promise_resolve(of, vigil_value_int(77));
    vigil_promise_unref(of);
}
static vigil_thenable at_once = {.then = settle_at_once};

#define ALONE(id, function, property_text) \
    VGC_REGISTER(id, "promise_alone_" #id, function, property_text, .bound = "1 thread", .opt.max_steps = 30000)

#endif
