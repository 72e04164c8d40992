/* SPDX-License-Identifier: MIT */
/* Every allocation in the life of promises, tokens, calls and awaitables fails once, in turn: each call that fails says so and
   changes nothing, each that succeeds is kept, and nothing leaks (the address sanitizer looks). */
#include "faults.h"
#include "promise/promise_test.h"

#include <unistd.h>

static struct {
    vigil_pool *pool;
    int pipes[2];
    int failures;     /* calls that answered -ENOMEM */
    int promised;     /* handlers that were added */
    int handled;      /* and have run */
    _Atomic int done; /* on the worker too */
    int want_done;
} life;

static bool went_well(int rc)
{
    must(rc == 0 || rc == -ENOMEM);
    life.failures += rc != 0;
    return rc == 0;
}

static vigil_value count_it(vigil_value *value, void *arg)
{
    (void)arg;
    life.handled++;
    return *value;
}

/* Adds a handler if that can be had, and gives the promise back. */
static void handle(vigil_promise *p)
{
    if (went_well(vigil_promise_then(p, count_it, count_it, NULL, NULL)))
        life.promised++;
    else
        (void)vigil_promise_mark_handled(p);
    drop(p);
}

static void count_done(void *arg)
{
    (void)arg;
    atomic_fetch_add(&life.done, 1);
}

static vigil_value finally_nothing(void *arg)
{
    (void)arg;
    return vigil_value_none();
}

static vigil_value work(void *arg)
{
    (void)arg;
    support_quiet++; /* the value is the test's own */
    vigil_value value = counted(1);
    support_quiet--;
    return value;
}

static void never_then(vigil_thenable *self, vigil_promise *promise)
{
    (void)self;
    (void)vigil_promise_resolve(promise, vigil_value_int(1));
    drop(promise);
}

static vigil_thenable thenable = {.then = never_then};

static vigil_value quiet_value(void)
{
    return work(NULL);
}

static void roots(void)
{
    vigil_promise *p = NULL;
    if (!went_well(vigil_promise_create(&p, loop)))
        return;
    vigil_promise *q = NULL;
    if (went_well(vigil_promise_finally(p, finally_nothing, NULL, &q)))
        handle(q);
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    handlers.done = count_done;
    handlers.rejected = count_it;
    if (went_well(vigil_promise_then_with(p, &handlers, NULL)))
        life.want_done++;
    vigil_promise *both[] = {p, p};
    if (went_well(vigil_promise_all(loop, both, 2, &q)))
        handle(q);
    if (went_well(vigil_promise_any(loop, both, 2, &q)))
        handle(q);
    if (went_well(vigil_promise_guard(p, NULL, 1000000000, &q)))
        handle(q);
    resolve(p, quiet_value());
    handle(p);
    if (went_well(vigil_promise_create(&p, loop))) {
        resolve(p, vigil_value_thenable(&thenable, NULL)); /* memory may be missing later: then it is rejected */
        handle(p);
    }
    if (went_well(vigil_promise_try(loop, work, NULL, &p)))
        handle(p);
}

static void cancellation(void)
{
    vigil_cancel_source *a = NULL;
    if (!went_well(vigil_cancel_create(&a)))
        return;
    vigil_cancel_token *token = vigil_cancel_token_of(a);
    vigil_cancel_source *b = NULL;
    if (went_well(vigil_cancel_create_any(&b, &token, 1)))
        vigil_cancel_destroy(b);
    if (went_well(vigil_cancel_create_timeout(&b, loop, 3600000000000)))
        vigil_cancel_destroy(b);
    vigil_promise *p = NULL;
    if (went_well(vigil_promise_sleep(loop, 3600000000000, token, &p)))
        handle(p);
    if (went_well(vigil_promise_fd(loop, life.pipes[0], VIGIL_FD_READ, token, &p)))
        handle(p);
    must_equal(vigil_cancel_abort(a, -EINTR, NULL), 0);
    vigil_cancel_destroy(a);
}

static void calls(void)
{
    vigil_limit *limit = NULL;
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.done = count_done;
    if (went_well(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE)))
        options.limit = limit;
    for (int i = 0; i < 20; i++) {
        vigil_promise *p = NULL;
        options.timeout_ns = i % 2 == 0 ? VIGIL_FOREVER : 1000000000000;
        if (!went_well(vigil_async(loop, life.pool, work, NULL, &options, &p)))
            continue;
        life.want_done++;
        handle(p);
    }
    vigil_limit_destroy(limit);
    vigil_promise *p = NULL;
    if (went_well(vigil_promise_sleep(loop, 1000, NULL, &p)))
        handle(p);
}

static void live_body(void *arg)
{
    (void)arg;
    vigil_promise_hooks hooks = {.size = sizeof hooks};
    (void)went_well(vigil_promise_hooks_set(loop, &hooks));
    for (int i = 0; i < 150; i++) /* several chunks of every slab */
        roots();
    cancellation();
    calls();
}

static uint64_t live(uint64_t k)
{
    life.failures = life.promised = life.handled = life.want_done = 0;
    atomic_store(&life.done, 0);
    support_quiet++;
    must_equal(vigil_loop_create(&loop, NULL), 0); /* that its own may fail is another test's */
    must_equal(vigil_loop_call(loop, live_body, NULL, NULL), 0);
    support_quiet--;
    faults_reset();
    if (k != 0)
        faults_fail_at(FAULT_ALLOC, k);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    uint64_t failed = faults_failed(FAULT_ALLOC);
    faults_reset();
    must_equal(life.handled, life.promised);
    must_equal(atomic_load(&life.done), life.want_done);
    must_equal(promise_stats().alive, 0);
    must_equal(promise_stats().in_flight, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    return failed;
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    life.pool = pool_of(1);
    must_equal(pipe(life.pipes), 0);
    must_equal(live(0), 0);
    must_equal(life.failures, 0);
    uint64_t k = 0;
    while (live(++k) != 0)
        must_be_between(life.failures, 0, 1); /* 0: the thenable's, which is a rejection */
    must(k > 20);
    close(life.pipes[0]);
    close(life.pipes[1]);
    pool_close(life.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(each_allocation_fails_once),
    };
    return run_all(tests);
}
