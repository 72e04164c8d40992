/* SPDX-License-Identifier: MIT */
/* One `done` for the argument of a call on the pool: after the last use by the function and by the handlers of its
   promise, whichever of them is last. The argument is freed in done, so that a sanitizer sees who comes later. */
#include "promise_test.h"

#include <vigil/pool.h>

typedef struct request {
    long upto, result;
    struct gate *gate; /* NULL: the work does not wait */
} request;

static vigil_pool *pool;
static struct gate gate;
static _Atomic int requests; /* that have not been freed */

static request *request_new(struct gate *waits_at)
{
    request *it = malloc(sizeof *it);
    must(it != NULL);
    *it = (request){.upto = 1000, .gate = waits_at};
    atomic_fetch_add(&requests, 1);
    return it;
}

static void request_free(void *arg)
{
    memset(arg, 0x5a, sizeof(request)); /* for builds that have no sanitizer */
    free(arg);
    must(atomic_fetch_sub(&requests, 1) > 0);
}

static vigil_value work(void *arg)
{
    request *it = arg;
    if (it->gate != NULL)
        gate_pass(it->gate);
    must_equal(it->upto, 1000); /* a later use than any of the loop's, if it waited at the gate */
    for (long i = 1; i <= it->upto; i++)
        it->result += i;
    return vigil_value_none();
}

static vigil_value after(vigil_value *value, void *arg)
{
    const request *it = arg;
    must_equal(it->upto, 1000);
    if (vigil_value_is_error(value)) {
        say("late");
        if (it->gate != NULL)
            gate_open(it->gate);
    } else {
        must_equal(it->result, 500500);
        say("in-time");
    }
    return vigil_value_none();
}

static void start(struct gate *waits_at, unsigned timeout_ns, vigil_cancel_token *token)
{
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    if (timeout_ns > 0)
        options.timeout_ns = timeout_ns;
    options.token = token;
    options.done = request_free;
    request *it = request_new(waits_at);
    vigil_promise *promise = NULL;
    must_equal(vigil_async(loop, pool, work, it, &options, &promise), 0);
    then(promise, after, after, it);
    then(promise, after, after, it); /* both have a use for it */
    drop(promise);
}

static void begin(unsigned workers)
{
    gate = (struct gate){0};
    pool = pool_of(workers);
    loop_open();
}

static void end(const char *said)
{
    loop_close();
    must_have_said(said);
    pool_close(pool);
    must_equal(atomic_load(&requests), 0);
}

static void the_work_is_first_and_the_handlers_still_have_the_argument(void **state)
{
    (void)state;
    begin(1);
    start(NULL, 0, NULL);
    end("in-time in-time");
}

static void the_time_is_up_first_and_the_work_still_has_the_argument(void **state)
{
    (void)state;
    begin(1);
    start(&gate, 2000000, NULL); /* the handlers open the gate: the work goes on after them */
    end("late late");
}

static void an_abort_comes_before_the_work_has_started(void **state)
{
    (void)state;
    begin(1);
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    start(&gate, 0, vigil_cancel_token_of(source)); /* takes the only worker */
    gate_wait_entered(&gate, 1);
    start(NULL, 0, vigil_cancel_token_of(source)); /* stays in the queue */
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    vigil_cancel_destroy(source);
    end("late late late late");
}

static void the_loop_is_closed_while_the_work_runs(void **state)
{
    (void)state;
    begin(1);
    start(&gate, 0, NULL);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    loop = NULL;
    must_equal(atomic_load(&requests), 1);
    gate_open(&gate);
    pool_close(pool);
    must_have_said("");
    must_equal(atomic_load(&requests), 0);
}

static void time_and_work_may_race(void **state)
{
    (void)state;
    const int rounds = (int)scaled(300, 30);
    for (int i = 0; i < rounds; i++) {
        begin(2);
        for (int k = 0; k < 8; k++)
            start(NULL, 1 + (unsigned)(i * 37 + k * 1009) % 60000, NULL);
        loop_close();
        pool_close(pool);
        must_equal(atomic_load(&requests), 0);
    }
}

static _Atomic int unhandled;

static void count_unhandled(void *user, const vigil_rejection *rejection)
{
    (void)user;
    (void)rejection;
    unhandled++;
}

static vigil_value fails(void *arg)
{
    (void)work(arg);
    return vigil_value_error(-EIO);
}

static void done_is_no_handler(void **state)
{
    (void)state;
    begin(1);
    vigil_promise_hooks hooks = {.size = sizeof hooks, .unhandled = count_unhandled};
    must_equal(vigil_promise_hooks_set(loop, &hooks), 0);
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.done = request_free;
    vigil_promise *promise = NULL;
    must_equal(vigil_async(loop, pool, fails, request_new(NULL), &options, &promise), 0);
    drop(promise);
    end("");
    must_equal(unhandled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_work_is_first_and_the_handlers_still_have_the_argument),
        test(the_time_is_up_first_and_the_work_still_has_the_argument),
        test(an_abort_comes_before_the_work_has_started),
        test(the_loop_is_closed_while_the_work_runs),
        test(time_and_work_may_race),
        test(done_is_no_handler),
    };
    return run_all(tests);
}
