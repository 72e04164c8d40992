/* SPDX-License-Identifier: MIT */
/* L1: the states, who may run, and that the end is final. */
#include "loop_test.h"

static void note_state(void *arg)
{
    vigil_loop **loop = arg;
    must_equal(vigil_loop_state_get(*loop), VIGIL_LOOP_RUNNING);
    must(vigil_loop_is_owner(*loop));
}

static void a_loop_is_awake_then_running_then_terminated(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_AWAKE);
    must(!vigil_loop_is_owner(loop));
    must_equal(vigil_loop_call(loop, note_state, NULL, &loop), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), -ESHUTDOWN);
    must_equal(vigil_loop_call(loop, note_state, NULL, &loop), -ESHUTDOWN);
    must(vigil_why()[0] != '\0');
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_wait(loop, 0), 0);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void do_what_is_wrong_inside(void *arg)
{
    vigil_loop *loop = arg;
    must_equal(vigil_loop_run(loop, VIGIL_RUN), -EDEADLK);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), -EDEADLK);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_loop_destroy(loop), -EDEADLK);
    must_equal(vigil_loop_wait(loop, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_RUNNING);
}

static void a_callback_cannot_run_close_or_destroy_its_loop(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_call(loop, do_what_is_wrong_inside, NULL, loop), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void two_threads_cannot_run_one_loop(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    pthread_t thread = start_thread(loop_runner, loop);
    loop_wait_sleeping(loop);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), -EBUSY);
    must_equal(vigil_loop_destroy(loop), -EBUSY);
    must_equal(vigil_loop_immediate_call(loop, note_state, NULL, &loop), -EPERM);
    must_equal(vigil_timer_start(loop, 0, NULL, NULL, NULL), -EPERM);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(thread);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void stop(void *arg)
{
    must_equal(vigil_loop_pause(arg), 0);
}

static void stop_leaves_after_the_callback_and_drops_nothing(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    int ran = 0;
    must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    must_equal(vigil_loop_call(loop, stop, NULL, loop), 0);
    must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    must_equal(ran, 1);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_AWAKE);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(ran, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void stop_before_the_run_is_remembered(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    int ran = 0;
    must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    must_equal(vigil_loop_pause(loop), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    must_equal(ran, 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(ran, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void *run_until_stopped(void *loop)
{
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    return NULL;
}

static void stop_wakes_a_sleeper(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    for (int i = 0; i < 100; i++) {
        pthread_t thread = start_thread(run_until_stopped, loop);
        if (i % 2 == 0)
            loop_wait_sleeping(loop);
        must_equal(vigil_loop_pause(loop), 0);
        join_thread(thread);
    }
    must_equal(vigil_loop_destroy(loop), 0);
}

/* The terminating thread races the poll: whoever comes second must not undo the first. */
static void terminating_is_never_overwritten_by_a_poll(void **state)
{
    (void)state;
    uint64_t rounds = scaled(3000, 50);
    for (uint64_t i = 0; i < rounds; i++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = true;
        options.fast_path = i % 2 == 0 ? VIGIL_FAST_PATH_AUTO : VIGIL_FAST_PATH_DISABLED;
        vigil_loop *loop = loop_with(&options);
        pthread_t thread = start_thread(loop_runner, loop);
        int ran = 0;
        must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
        must_equal(ran, 1);
        join_thread(thread);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    vigil_loop *loop = NULL;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    must_equal(vigil_loop_create(NULL, NULL), -EINVAL);
    options.size = 3;
    must_equal(vigil_loop_create(&loop, &options), -EINVAL);
    options.size = sizeof options;
    options.fast_path = (vigil_fast_path)9;
    must_equal(vigil_loop_create(&loop, &options), -EINVAL);
    must_equal(vigil_loop_call(NULL, count, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_microtask_call(NULL, count, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_run(NULL, VIGIL_RUN), -EINVAL);
    must_equal(vigil_loop_destroy(NULL), 0);
    loop = loop_plain();
    must_equal(vigil_loop_call(loop, NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_run(loop, (vigil_run_mode)7), -EINVAL);
    must_equal(vigil_timer_start(loop, 0, NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_unref(loop), -EINVAL);
    vigil_timer stale = {.id = 12345};
    must_equal(vigil_timer_cancel(loop, stale), -ESTALE);
    vigil_watch watch = {.id = 0};
    must_equal(vigil_watch_remove(loop, watch), -ESTALE);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_loop_is_awake_then_running_then_terminated),
        test(a_callback_cannot_run_close_or_destroy_its_loop),
        test(two_threads_cannot_run_one_loop),
        test(stop_leaves_after_the_callback_and_drops_nothing),
        test(stop_before_the_run_is_remembered),
        test(stop_wakes_a_sleeper),
        test(terminating_is_never_overwritten_by_a_poll),
        test(bad_arguments_are_refused),
    };
    return run_all(tests);
}
