/* SPDX-License-Identifier: MIT */
/* Trying again, and deadlines. */
#include "support.h"

#include <vigil/async.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

static vigil_loop *loop;
static vigil_promise *outcome;
static unsigned attempts, failures;
static int refuse_with;
static vigil_retry_options options;

static int attempt(vigil_loop *it, void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)token;
    must(arg == &attempts);
    if (attempts++ >= failures)
        return vigil_promise_resolved(it, vigil_value_int(42), promise);
    if (refuse_with != 0)
        return refuse_with;
    return vigil_promise_resolved(it, vigil_value_error(-EHOSTDOWN), promise);
}

static bool only_hosts(int status, void *arg)
{
    (void)arg;
    return status == -EHOSTDOWN;
}

static void begin_retry(void *arg)
{
    (void)arg;
    must_equal(vigil_promise_retry(loop, attempt, &attempts, &options, &outcome), 0);
    vigil_promise_mark_handled(outcome);
}

static vigil_promise_state retry(unsigned fail, vigil_value *value)
{
    attempts = 0;
    failures = fail;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_loop_call(loop, begin_retry, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    const vigil_promise_state state = vigil_promise_result(outcome, value);
    vigil_promise_unref(outcome);
    vigil_loop_destroy(loop);
    return state;
}

static void fresh(void)
{
    options = (vigil_retry_options)VIGIL_RETRY_OPTIONS_INIT;
    options.delay_ns = 1000;
    refuse_with = 0;
}

static void it_is_tried_until_it_works(void **state)
{
    (void)state;
    vigil_value value;
    fresh();
    for (unsigned fail = 0; fail < 5; fail++) {
        must_equal(retry(fail, &value), VIGIL_FULFILLED);
        must_equal(value.integer, 42);
        must_equal(attempts, fail + 1);
    }
    refuse_with = -ENOMEM; /* the call itself fails */
    must_equal(retry(2, &value), VIGIL_FULFILLED);
    must_equal(attempts, 3);
}

static void the_last_error_is_the_answer(void **state)
{
    (void)state;
    vigil_value value;
    fresh();
    options.attempts = 3;
    must_equal(retry(10, &value), VIGIL_REJECTED);
    must_equal(value.status, -EHOSTDOWN);
    must_equal(attempts, 3);
    options.again = only_hosts;
    refuse_with = -EACCES; /* another try is futile */
    must_equal(retry(10, &value), VIGIL_REJECTED);
    must_equal(value.status, -EACCES);
    must_equal(attempts, 1);
}

static vigil_cancel_source *source;

static void begin_and_abort(void *arg)
{
    begin_retry(arg);
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
}

static void a_token_ends_the_delays(void **state)
{
    (void)state;
    vigil_value value;
    fresh();
    options.delay_ns = options.max_delay_ns = INT64_MAX / 4;
    must_equal(vigil_cancel_create(&source), 0);
    options.token = vigil_cancel_token_of(source);
    attempts = 0;
    failures = 10;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_loop_call(loop, begin_and_abort, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    must_equal(vigil_promise_result(outcome, &value), VIGIL_REJECTED);
    must(attempts <= 1);
    vigil_promise_unref(outcome);
    vigil_cancel_destroy(source);
    vigil_loop_destroy(loop);
}

static vigil_cancel_source *deadline;
static int by_token;

static void make_deadline(void *arg)
{
    (void)arg;
    vigil_promise *never = NULL;
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    must_equal(vigil_cancel_create_deadline(&deadline, loop, by_token ? INT64_MAX / 4 : 1000, token), 0);
    must_equal(vigil_promise_sleep(loop, INT64_MAX / 4, vigil_cancel_token_of(deadline), &never), 0);
    vigil_promise_mark_handled(never);
    vigil_promise_unref(never);
    if (by_token)
        must_equal(vigil_cancel_abort(source, -EPROTO, NULL), 0);
}

static void a_deadline_is_a_timeout_and_a_token(void **state)
{
    (void)state;
    for (by_token = 0; by_token <= 1; by_token++) {
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_loop_create(&loop, NULL), 0);
        must_equal(vigil_loop_call(loop, make_deadline, NULL, NULL), 0);
        must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
        must_equal(vigil_cancel_status(vigil_cancel_token_of(deadline)), by_token ? -EPROTO : -ETIMEDOUT);
        must_equal(vigil_cancel_status(vigil_cancel_token_of(source)), by_token ? -EPROTO : 0);
        vigil_cancel_destroy(deadline);
        vigil_cancel_destroy(source);
        vigil_loop_destroy(loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(it_is_tried_until_it_works),
        test(the_last_error_is_the_answer),
        test(a_token_ends_the_delays),
        test(a_deadline_is_a_timeout_and_a_token),
    };
    return run_all(tests);
}
