/* SPDX-License-Identifier: MIT */
/*
 * Promises against threads: settle against settle, settle against a thread that waits, and a call on the pool against the end of
 * its loop.
 *
 * Properties: of all that settle one promise exactly one wins, and its value is what handlers and waiters see, with what was
 * written before it; a handler runs once; a waiter is never left asleep; and whatever ends first, loop or call, nothing is touched
 * after it was freed and nothing is left behind.
 */
#include "loop_common.h"

#include "loop/watched.h"
#include "record/facts.h"

#include <vigil/pool.h>
#include <vigil/promise.h>

typedef enum ending {
    AT_REST,
    SHUTDOWN,
    CLOSE
} ending;

typedef struct setup {
    ending end;
    bool watched; /* with the recorder on */
} setup;

static ending the_end(void)
{
    return ((const setup *)vgc_arg())->end;
}

static void watch_if_asked(void)
{
    vg_checked_level = ((const setup *)vgc_arg())->watched ? VIGIL_RECORD_EVENTS : VIGIL_RECORD_OFF;
}

static vigil_promise *promise;
static int payload[2];  /* plainly written by each before it settles */
static _Atomic int won; /* how many were told that they settled it */
static int handled;     /* on the loop only */
static int64_t seen_value;

static vigil_value on_settled(vigil_value *value, void *arg)
{
    (void)arg;
    handled++;
    seen_value = value->kind == VIGIL_INT ? value->integer : value->status;
    if (value->kind == VIGIL_INT)
        vgc_assert(payload[value->integer] == 1, "what was written before the value comes with it");
    return vigil_value_none();
}

static void *settle(void *arg)
{
    const int which = (int)(intptr_t)arg;
    payload[which] = 1;
    int rc = vigil_promise_resolve(promise, vigil_value_int(which));
    vgc_assert(rc == 0 || rc == -EALREADY || rc == -ESHUTDOWN, "it is settled, was before, or the loop has ended");
    (void)atomic_fetch_add_explicit(&won, rc == 0, memory_order_relaxed);
    vigil_promise_unref(promise);
    return NULL;
}

static void make(void)
{
    watch_if_asked();
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_promise_create(&promise, loop) == 0, "a promise is made");
    vgc_assert(vigil_promise_then(promise, on_settled, on_settled, NULL, NULL) == 0, "a handler is added");
}

static void finish(const pthread_t *threads, int count)
{
    if (the_end() == AT_REST) {
        vgc_quiesce();
        vgc_assert(asleep(), "the loop sleeps when nothing is to be done");
    } else {
        vgc_assert((the_end() == CLOSE ? vigil_loop_close(loop, VIGIL_FOREVER)
                                       : vigil_loop_shutdown(loop, VIGIL_FOREVER)) == 0,
                   "the loop ends");
    }
    for (int i = the_end() == AT_REST ? 1 : 0; i < count; i++)
        vgc_thread_join(threads[i]);
}

static void settle_twice(void)
{
    make();
    (void)vigil_promise_ref(promise);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(settle, (void *)0),
                            vgc_thread_start(settle, (void *)1)};
    finish(threads, 3);
    const int winners = atomic_load_explicit(&won, memory_order_relaxed);
    if (the_end() == AT_REST) {
        vgc_assert(winners == 1 && handled == 1 && seen_value >= 0,
                   "one wins, and the handler runs once with its value");
        return;
    }
    vgc_assert(winners <= 1 && handled <= 1, "one wins, at most, and the handler runs once, at most");
    if (the_end() == SHUTDOWN)
        vgc_assert(handled == 1 && (winners == 0 || seen_value >= 0), "the end rejects what nobody has settled");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* A thread that is not the loop's waits for it. */
static void *wait_for_it(void *arg)
{
    vigil_value value;
    (void)arg;
    int rc = vigil_promise_wait(promise, VIGIL_FOREVER, &value);
    vgc_assert(rc == VIGIL_FULFILLED || rc == VIGIL_REJECTED, "it was settled");
    if (rc == VIGIL_FULFILLED)
        vgc_assert(value.integer == 0 && payload[0] == 1, "with its value, and what was written before it");
    else
        vgc_assert(the_end() != AT_REST, "only the end rejects it");
    vigil_promise_unref(promise);
    return NULL;
}

static void settle_and_wait(void)
{
    make();
    (void)vigil_promise_ref(promise);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(wait_for_it, NULL),
                            vgc_thread_start(settle, (void *)0)};
    finish(threads, 3);
    if (the_end() != AT_REST)
        vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- a call on the pool ---- */

static _Atomic int called;

static vigil_value call_on_worker(void *arg)
{
    (void)arg;
    payload[1] = 1;
    vgc_assert(atomic_fetch_add_explicit(&called, 1, memory_order_relaxed) == 0, "it is called once");
    return vigil_value_int(1);
}

static void call_against_end(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_pool *workers = NULL;
    watch_if_asked();
    options.workers = 1;
    options.idle = VIGIL_IDLE_PARK;
    options.fences = VIGIL_FENCE_SYMMETRIC;
    vgc_assert(vigil_pool_create(&workers, &options) == 0, "a pool is made");
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_async(loop, workers, call_on_worker, NULL, NULL, &promise) == 0, "the call is accepted");
    vgc_assert(vigil_promise_then(promise, on_settled, on_settled, NULL, NULL) == 0, "a handler is added");
    vigil_promise_unref(promise);
    pthread_t runner = vgc_thread_start(run_the_loop, NULL);
    finish(&runner, 1);
    if (the_end() == AT_REST) {
        vgc_assert(handled == 1 && seen_value == 1, "its result has come");
        return;
    }
    vgc_assert(handled <= 1 && (the_end() == CLOSE || handled == 1), "it is settled once");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes while the call may be in flight");
    vgc_assert(vigil_pool_shutdown(workers, VIGIL_FOREVER) == 0 && vigil_pool_destroy(workers) == 0,
               "and the pool after it");
}

/* The first promise of the loop is made by another thread while the loop falls asleep and the watchdog looks at it. */
static void *make_and_settle(void *arg)
{
    (void)arg;
    const int rc = vigil_promise_create(&promise, loop);
    vgc_assert(rc == 0 || rc == -ESHUTDOWN, "a promise is made unless the loop has ended");
    if (rc != 0)
        return NULL;
    (void)vigil_promise_resolve(promise, vigil_value_int(0));
    vigil_promise_unref(promise);
    return NULL;
}

static void *look_as_the_watchdog(void *arg)
{
    vg_loop_facts facts = {0};
    (void)arg;
    vg_loop_subject_calls.loop_facts(loop, &facts);
    return NULL;
}

static void first_from_outside(void)
{
    watch_if_asked();
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(make_and_settle, NULL),
                            vgc_thread_start(look_as_the_watchdog, NULL)};
    vgc_thread_join(threads[2]); /* the loop outlives the look */
    finish(threads, 2);
    if (the_end() != AT_REST)
        vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

#define PROMISE(id, function, property_text, size, end_, runs_) \
    PROMISE_AT(id, false, function, property_text, size, end_, runs_)
/* The same body with everything written down. */
#define WATCHED(id, function, property_text, size, end_, runs_) \
    PROMISE_AT(id##_watched, true, function, property_text, size "; recorder on", end_, runs_)
#define PROMISE_AT(id, watched_, function, property_text, size, end_, runs_)                     \
    static const setup setup_##id = {.end = (end_), .watched = (watched_)};                      \
    VGC_REGISTER(id, "promise_" #id, function, property_text, .arg = &setup_##id, .bound = size, \
                 .opt.max_steps = 30000, .opt.allow_sleepers = (end_) == AT_REST,                \
                 .opt.allow_leaks = (end_) == AT_REST, .opt.mode = VGC_PCT, .opt.runs = (runs_))

#define ONE_WINS "one of those that settle a promise wins, and its handler runs once"
#define HEARD    "who waits for a promise hears of it, and sees its value"
#define FIRST    "what is above the loop is whole for whoever finds it"
#define CALL     "a call's promise is settled once, whatever ends first"

PROMISE(two, settle_twice, ONE_WINS, "2 threads settle; at rest", AT_REST, 3000);
PROMISE(two_end, settle_twice, ONE_WINS, "2 threads settle; against shutdown", SHUTDOWN, 2000);
PROMISE(two_close, settle_twice, ONE_WINS, "2 threads settle; against close", CLOSE, 2000);
PROMISE(wait, settle_and_wait, HEARD, "1 thread waits, 1 settles; at rest", AT_REST, 3000);
PROMISE(looked_at, first_from_outside, FIRST, "a loop, 1 thread that makes its first promise, 1 look; at rest", AT_REST,
        2000);
PROMISE(looked_at_end, first_from_outside, FIRST,
        "a loop, 1 thread that makes its first promise, 1 look; against an end", SHUTDOWN, 2000);
VGC_REGISTER(wait_full, "promise_wait_full", settle_and_wait, HEARD, .arg = &setup_wait,
             .bound = "1 thread waits, 1 settles; at rest; no membarrier", .opt.max_steps = 30000,
             .opt.allow_sleepers = true, .opt.allow_leaks = true, .opt.no_membarrier = true, .opt.mode = VGC_PCT,
             .opt.runs = 3000);
PROMISE(wait_end, settle_and_wait, HEARD, "1 thread waits, 1 settles; against shutdown", SHUTDOWN, 2000);
PROMISE(wait_close, settle_and_wait, HEARD, "1 thread waits, 1 settles; against close", CLOSE, 2000);
PROMISE(call, call_against_end, CALL, "1 worker, 1 call; at rest", AT_REST, 2000);
PROMISE(call_end, call_against_end, CALL, "1 worker, 1 call; against shutdown", SHUTDOWN, 1000);
PROMISE(call_close, call_against_end, CALL, "1 worker, 1 call; against close", CLOSE, 1000);
WATCHED(wait_end, settle_and_wait, HEARD, "1 thread waits, 1 settles; against shutdown", SHUTDOWN, 1000);
WATCHED(call, call_against_end, CALL, "1 worker, 1 call; at rest", AT_REST, 1000);
WATCHED(call_close, call_against_end, CALL, "1 worker, 1 call; against close", CLOSE, 1000);
