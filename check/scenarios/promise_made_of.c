/* SPDX-License-Identifier: MIT */
/*
 * Promises that are made of others: combinations, promises that follow another one, guards with a token, limits. Their parts are settled,
 * or their token is aborted, by threads that are not the loop's.
 *
 * Properties: the whole is settled once, with the value that its parts say, whatever the order in which they are settled; nothing is
 * touched after it was freed, and nothing is left behind, also when the loop ends first.
 */
#include "loop_common.h"

#include <vigil/cancel.h>
#include <vigil/pool.h>
#include <vigil/promise.h>

#include <stdlib.h>

typedef struct setup {
    int kind;
    bool ends; /* the loop is shut down beside it */
} setup;

enum {
    ALL,
    ALL_SETTLED,
    RACE,
    ANY,
    FOLLOWS, /* resolved with a promise that is pending */
    GUARDED
};

static const setup *the(void)
{
    return vgc_arg();
}

static vigil_promise *part[2], *whole;
static int handled;
static vigil_promise_state how;
static int64_t sum;

static vigil_value on_fulfilled(vigil_value *value, void *arg)
{
    (void)arg;
    handled++;
    how = VIGIL_FULFILLED;
    if (value->kind == VIGIL_LIST) {
        for (size_t i = 0; i < value->list->count; i++)
            sum += value->list->items[i].kind == VIGIL_INT ? value->list->items[i].integer : 0;
    } else {
        sum = value->integer;
    }
    return vigil_value_none();
}

static vigil_value on_rejected(vigil_value *value, void *arg)
{
    (void)arg;
    handled++;
    how = VIGIL_REJECTED;
    sum = value->kind == VIGIL_ERROR ? value->status : 0;
    return vigil_value_none();
}

/* The first is settled with 1, the second with 2. */
static void *settle_part(void *arg)
{
    const int which = (int)(intptr_t)arg;
    const int rc = vigil_promise_resolve(part[which], vigil_value_int(1 + which));
    vgc_assert(rc == 0 || (the()->ends && rc == -ESHUTDOWN) || rc == -EALREADY, "the part is settled");
    vigil_promise_unref(part[which]);
    return NULL;
}

static void combine(int kind)
{
    int rc = 0;
    if (kind == ALL)
        rc = vigil_promise_all(loop, part, 2, &whole);
    else if (kind == ALL_SETTLED)
        rc = vigil_promise_all_settled(loop, part, 2, &whole);
    else if (kind == RACE)
        rc = vigil_promise_race(loop, part, 2, &whole);
    else
        rc = vigil_promise_any(loop, part, 2, &whole);
    vgc_assert(rc == 0, "they are combined");
}

static void end_of(const pthread_t *threads, int count)
{
    if (the()->ends) {
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
        vgc_assert(handled <= 1, "the whole is settled once, at most");
    } else {
        vgc_quiesce();
        vgc_assert(handled == 1, "the whole is settled once, and its handler has run");
        vgc_assert(asleep(), "the loop sleeps when nothing is to be done");
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    }
    for (int i = 0; i < count; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

static void parts_are_settled(void)
{
    const int kind = the()->kind;
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    for (int i = 0; i < 2; i++)
        vgc_assert(vigil_promise_create(&part[i], loop) == 0, "a part is made");
    if (kind == FOLLOWS) {
        vgc_assert(vigil_promise_create(&whole, loop) == 0, "a promise is made");
        vgc_assert(vigil_promise_resolve(whole, vigil_value_promise(vigil_promise_ref(part[0]))) == 0,
                   "it follows another");
        vgc_assert(vigil_promise_then(part[1], NULL, NULL, NULL, NULL) == 0, "the other stands alone");
    } else {
        combine(kind);
    }
    vgc_assert(vigil_promise_then(whole, on_fulfilled, on_rejected, NULL, NULL) == 0, "a handler is added");
    vigil_promise_unref(whole);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(settle_part, (void *)0),
                            vgc_thread_start(settle_part, (void *)1)};
    end_of(threads, 3);
    if (the()->ends)
        return;
    vgc_assert(how == VIGIL_FULFILLED, "all parts were fulfilled");
    if (kind == ALL)
        vgc_assert(sum == 3, "with both values");
    else if (kind == FOLLOWS)
        vgc_assert(sum == 1, "with the value of the one that it follows");
    else if (kind != ALL_SETTLED)
        vgc_assert(sum == 1 || sum == 2, "with the value of one of them");
}

/* ---- a guard, and a token that another thread aborts ---- */

static vigil_cancel_source *source;

static void *abort_it(void *arg)
{
    (void)arg;
    vgc_assert(vigil_cancel_abort(source, -EINTR, "enough") >= 0, "the token is aborted");
    return NULL;
}

static void guard_against_abort(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_cancel_create(&source) == 0, "a source is made");
    vgc_assert(vigil_promise_create(&part[0], loop) == 0, "a promise is made");
    vgc_assert(vigil_promise_guard(part[0], vigil_cancel_token_of(source), VIGIL_FOREVER, &whole) == 0,
               "it is guarded");
    vgc_assert(vigil_promise_then(whole, on_fulfilled, on_rejected, NULL, NULL) == 0, "a handler is added");
    vigil_promise_unref(whole);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(settle_part, (void *)0),
                            vgc_thread_start(abort_it, NULL)};
    end_of(threads, 3);
    vigil_cancel_destroy(source);
    if (!the()->ends)
        vgc_assert(how == VIGIL_FULFILLED ? sum == 1 : sum == -EINTR, "by the promise, or by the token");
}

static void sleep_against_abort(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_cancel_create(&source) == 0, "a source is made");
    vgc_assert(vigil_promise_sleep(loop, 1000000, vigil_cancel_token_of(source), &whole) == 0, "it sleeps");
    vgc_assert(vigil_promise_then(whole, on_fulfilled, on_rejected, NULL, NULL) == 0, "a handler is added");
    vigil_promise_unref(whole);
    pthread_t threads[2] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(abort_it, NULL)};
    end_of(threads, 2);
    vigil_cancel_destroy(source);
    if (!the()->ends)
        vgc_assert(how == VIGIL_REJECTED && sum == -EINTR, "the token comes long before the time");
}

/* ---- calls on the pool behind a limit, and a token that takes back what waits there ---- */

static _Atomic int called;

static vigil_value call_on_worker(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add_explicit(&called, 1, memory_order_relaxed);
    return vigil_value_int(5);
}

static int answers;

static vigil_value count_answer(vigil_value *value, void *arg)
{
    (void)arg;
    answers++;
    if (value->kind == VIGIL_INT)
        vgc_assert(value->integer == 5, "the result of a call");
    return vigil_value_none();
}

static void calls_behind_a_limit(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_async_options how_to = VIGIL_ASYNC_OPTIONS_INIT;
    vigil_pool *workers = NULL;
    vigil_limit *limit = NULL;
    options.workers = 1;
    options.idle = VIGIL_IDLE_PARK;
    options.fences = VIGIL_FENCE_SYMMETRIC;
    vgc_assert(vigil_pool_create(&workers, &options) == 0, "a pool is made");
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vgc_assert(vigil_cancel_create(&source) == 0, "a source is made");
    vgc_assert(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE) == 0, "a limit is made");
    how_to.limit = limit;
    how_to.token = vigil_cancel_token_of(source);
    for (int i = 0; i < 2; i++) {
        vigil_promise *answer = NULL;
        vgc_assert(vigil_async(loop, workers, call_on_worker, NULL, &how_to, &answer) == 0, "a call is accepted");
        vgc_assert(vigil_promise_then(answer, count_answer, count_answer, NULL, NULL) == 0, "a handler is added");
        vigil_promise_unref(answer);
    }
    vigil_limit_destroy(limit);
    pthread_t threads[2] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(abort_it, NULL)};
    if (!the()->ends) {
        vgc_quiesce();
        vgc_assert(answers == 2, "each call is answered, by its result or by the token");
    }
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_thread_join(threads[0]);
    vgc_thread_join(threads[1]);
    vgc_assert(answers == 2, "each call is answered once");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(vigil_pool_shutdown(workers, VIGIL_FOREVER) == 0 && vigil_pool_destroy(workers) == 0, "and the pool");
    vigil_cancel_destroy(source);
}

/* ---- handlers of every kind, on one thread: nothing is leaked or touched too late ---- */

static int steps;

static vigil_value step(vigil_value *value, void *arg)
{
    (void)arg;
    steps++;
    return value->kind == VIGIL_INT ? vigil_value_int(value->integer + 1) : vigil_value_none();
}

static vigil_value fail_step(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    steps++;
    return vigil_value_error(-ERANGE);
}

static vigil_value raise_step(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    steps++;
    vigil_raise(-EDOM);
}

static vigil_value mend(vigil_value *reason, void *arg)
{
    (void)arg;
    steps++;
    vgc_assert(reason->status == -ERANGE || reason->status == -EDOM || reason->status == -EIO ||
                   reason->status == -EPIPE || reason->status == -ETIMEDOUT,
               "an error that was made here");
    return vigil_value_int(0);
}

static vigil_value at_last(void *arg)
{
    (void)arg;
    steps++;
    return vigil_value_none();
}

static vigil_value tried(void *arg)
{
    return vigil_value_pointer(arg, free);
}

static void answer(vigil_thenable *self, vigil_promise *promise)
{
    (void)self;
    vgc_assert(vigil_promise_resolve(promise, vigil_value_int(42)) == 0, "a thenable answers");
    vigil_promise_unref(promise);
}
static vigil_thenable question = {.then = answer};

static vigil_value follow(vigil_value *value, void *arg)
{
    vigil_promise *other = NULL;
    (void)value;
    steps++;
    if (arg == NULL)
        return vigil_value_thenable(&question, NULL);
    vgc_assert(vigil_promise_sleep(loop, 1000, NULL, &other) == 0, "it sleeps");
    return vigil_value_promise(other);
}

static void react(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    (void)reaction;
    (void)state;
    (void)value;
    steps++;
}

static void handlers_of_every_kind(void)
{
    static vigil_reaction stays, goes;
    vigil_promise *p = NULL, *q = NULL;
    vigil_resolver *resolver = NULL;
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    loop_make(VIGIL_FAST_PATH_AUTO, false);

    vgc_assert(vigil_promise_resolved(loop, vigil_value_int(7), &p) == 0, "settled already");
    p = vigil_promise_chain(p, step, NULL, NULL);
    p = vigil_promise_chain(p, fail_step, NULL, NULL);
    p = vigil_promise_chain(p, step, NULL, NULL); /* passed over */
    p = vigil_promise_chain(p, NULL, mend, NULL);
    p = vigil_promise_chain(p, raise_step, NULL, NULL);
    p = vigil_promise_chain(p, NULL, mend, NULL);
    p = vigil_promise_chain(p, follow, NULL, NULL);
    p = vigil_promise_chain(p, follow, NULL, &question);
    vgc_assert(vigil_promise_finally(p, at_last, NULL, NULL) == 0, "either way");
    vigil_promise_unref(p);

    vgc_assert(vigil_promise_try(loop, tried, malloc(8), &p) == 0, "tried");
    handlers.fulfilled = step;
    handlers.arg = malloc(8);
    handlers.done = free;
    vgc_assert(vigil_promise_then_with(p, &handlers, NULL) == 0, "a handler with an end");
    stays.run = goes.run = react;
    vgc_assert(vigil_promise_reaction_add(p, &stays) >= 0 && vigil_promise_reaction_add(p, &goes) >= 0, "reactions");
    (void)vigil_promise_reaction_remove(p, &goes);
    vigil_promise_unref(p);

    vgc_assert(vigil_resolver_create(&resolver, &p, loop) == 0, "a resolver");
    vgc_assert(vigil_promise_catch(p, mend, NULL, NULL) == 0, "errors");
    vigil_promise_unref(p);
    if (vgc_choose(2) == 0)
        vgc_assert(vigil_resolver_reject(resolver, vigil_value_error_with(-EIO, malloc(8), free)) == 0, "rejected");
    vigil_resolver_destroy(resolver);

    vgc_assert(vigil_promise_create(&p, loop) == 0, "pending");
    vgc_assert(vigil_promise_guard(p, NULL, 5000, &q) == 0, "with a time limit");
    vgc_assert(vigil_promise_catch(q, mend, NULL, NULL) == 0, "errors");
    vigil_promise_unref(q);
    vgc_assert(vigil_promise_race(loop, NULL, 0, &q) == 0, "nothing to race");
    vigil_promise_unref(q);
    vgc_assert(vigil_promise_all(loop, NULL, 0, &q) == 0 && vigil_promise_state_get(q) == VIGIL_FULFILLED,
               "nothing to wait for");
    vigil_promise_unref(q);
    vgc_assert(vigil_promise_any(loop, NULL, 0, &q) == 0, "nothing can succeed");
    vgc_assert(vigil_promise_mark_handled(q) == 0, "and that is known");
    vigil_promise_unref(q);
    vgc_assert(vigil_promise_reject(part[0] = vigil_promise_ref(p), vigil_value_error(-EIO)) == 0 ||
                   vigil_promise_state_get(p) != VIGIL_PENDING,
               "settled at last");
    vigil_promise_unref(part[0]);
    vigil_promise_unref(p);

    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs until nothing is left");
    vgc_assert(steps > 8, "the handlers have run");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

#define MADE(id, function, kind_, ends_, property_text, size)                                                         \
    static const setup setup_##id = {.kind = (kind_), .ends = (ends_)};                                               \
    VGC_REGISTER(id, "made_" #id, function, property_text, .arg = &setup_##id, .bound = size, .opt.max_steps = 30000, \
                 .opt.mode = VGC_PCT, .opt.runs = 300)
#define BOTH(id, function, kind_, property_text, size)                 \
    MADE(id, function, kind_, false, property_text, size "; at rest"); \
    MADE(id##_end, function, kind_, true, property_text, size "; against shutdown")

#define WHOLE "a promise made of others is settled once, as its parts say"
#define TAKEN "a token that is aborted settles what listens to it, once"
BOTH(all, parts_are_settled, ALL, WHOLE, "all of 2, settled by 2 threads");
BOTH(all_settled, parts_are_settled, ALL_SETTLED, WHOLE, "2, settled by 2 threads");
BOTH(race, parts_are_settled, RACE, WHOLE, "the first of 2, settled by 2 threads");
BOTH(any, parts_are_settled, ANY, WHOLE, "any of 2, settled by 2 threads");
BOTH(follows, parts_are_settled, FOLLOWS, WHOLE, "1 that follows 1 of 2, settled by 2 threads");
BOTH(guard, guard_against_abort, GUARDED, TAKEN, "1 thread settles, 1 aborts");
BOTH(sleep, sleep_against_abort, GUARDED, TAKEN, "1 sleep, 1 thread aborts");
BOTH(limit, calls_behind_a_limit, GUARDED, TAKEN, "1 worker, 2 calls behind a limit of 1, 1 thread aborts");
VGC_REGISTER(handlers, "made_handlers", handlers_of_every_kind,
             "handlers of every kind run once, and leave nothing behind", .bound = "1 thread", .opt.max_steps = 30000);
