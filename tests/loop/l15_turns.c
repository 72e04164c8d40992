/* SPDX-License-Identifier: MIT */
/* L15: VIGIL_RUN_ONCE makes progress, an embedded loop with nothing to do is quiet, and a reference is no post. */
#include "loop_test.h"

#include <vigil/promise.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

static uint32_t fired;

static void fire(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
    fired++;
}

static void start_timer(vigil_loop *loop, int64_t delay_ns)
{
    vigil_timer_options options = {.size = sizeof options, .delay_ns = delay_ns};
    must_equal(vigil_timer_start_with(loop, &options, fire, NULL, NULL), 0);
}

static void run_once_waits_for_a_timer_and_runs_it(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    fired = 0;
    start_timer(loop, 5000000);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0); /* 0: nothing keeps it alive any more */
    must_equal(fired, 1);
    start_timer(loop, 1000000);
    start_timer(loop, INT64_C(3600000000000));
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(fired, 2); /* and it does not wait for the other one */
    must_equal(vigil_loop_destroy(loop), 0);
}

static void run_once_with_nothing_to_wait_for_returns(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- what counts as a callback ----------------------------------------------------------------------------------- */

static void count_call(void *arg)
{
    ++*(uint32_t *)arg;
}

static void count_post(vigil_post *post)
{
    (void)post;
    fired++;
}

static void resolve_it(void *arg)
{
    must_equal(vigil_promise_resolve(arg, vigil_value_none()), 0);
}

static vigil_value count_settled(vigil_value *value, void *arg)
{
    (void)value;
    count_call(arg);
    return vigil_value_none();
}

/* Nothing else would ever end these runs. */
static void run_once_does_not_wait_after_a_callback(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    vigil_post post;
    vigil_post_init(&post, count_post, NULL);
    fired = 0;
    must_equal(vigil_loop_call(loop, count_call, NULL, &fired), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(fired, 1);
    must_equal(vigil_loop_tick_call(loop, count_call, NULL, &fired), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(fired, 2);
    must_equal(vigil_loop_microtask_call(loop, count_call, NULL, &fired), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(fired, 3);
    must_equal(vigil_loop_post_internal(loop, &post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(fired, 4);
    start_timer(loop, 1);
    while (now_ns() <= vigil_loop_now(loop) + 1000000)
        yield();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0); /* due before the first turn */
    must_equal(fired, 5);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void run_once_returns_when_a_tick_has_settled_a_promise(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    vigil_promise *promise;
    uint32_t settled = 0;
    must_equal(vigil_promise_create(&promise, loop), 0);
    must_equal(vigil_promise_then(promise, count_settled, NULL, &settled, NULL), 0);
    must_equal(vigil_loop_tick_call(loop, resolve_it, NULL, promise), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(settled, 1);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void *stir_then_post(void *arg)
{
    vigil_loop *loop = arg;
    for (uint64_t i = 1; i <= 3; i++) {
        while (vigil_loop_state_get(loop) != VIGIL_LOOP_SLEEPING)
            yield();
        must_equal(vigil_loop_ref(loop), 0); /* the loop gets up to see what keeps it alive */
        while (loop_stats(loop).posts_run < i)
            yield();
    }
    must_equal(vigil_loop_call(loop, count_call, NULL, &fired), 0);
    return NULL;
}

static void run_once_goes_on_after_what_the_loop_does_for_itself(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    vigil_post post;
    vigil_post_init(&post, count_post, NULL);
    fired = 0;
    must_equal(vigil_loop_post(loop, &post), 0);
    must_equal(vigil_loop_post_remove(loop, &post), 0); /* what runs in its place is nobody's */
    start_timer(loop, 1000000);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(fired, 1);
    must_equal(vigil_loop_destroy(loop), 0);

    loop = loop_that_stays();
    fired = 0;
    pthread_t other = start_thread(stir_then_post, loop);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(fired, 1);
    join_thread(other);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void an_embedded_loop_that_does_not_stay_is_quiet(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    struct pollfd host = {.fd = vigil_loop_fd(loop), .events = POLLIN};
    must(host.fd >= 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    uint32_t turns = 0;
    for (const uint64_t end = now_ns() + 100000000; now_ns() < end; turns++) {
        if (poll(&host, 1, 20) > 0)
            must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    }
    must(turns < 20);
    fired = 0;
    start_timer(loop, 2000000);
    while (fired == 0) { /* and it wakes its host when there is something */
        must_equal(poll(&host, 1, 10000), 1);
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    }
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_reference_outside_run_leaves_no_post(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(loop_stats(loop).posts_queued, 0);
    must_equal(vigil_loop_keepers(loop, NULL, 0), 1);
    must_equal(vigil_loop_unref(loop), 0);
    must_equal(vigil_loop_keepers(loop, NULL, 0), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_ref(loop), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void ignore_fd(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void ignore_signal(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)info;
    *(uint32_t *)arg += 1;
    must_equal(vigil_loop_pause(loop), 0);
}

static void ignore_child(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)loop;
    (void)child;
    (void)pid;
    (void)code;
    (void)status;
    *(uint32_t *)arg += 1;
}

static void watches_children_and_signals_keep_the_loop_alive_or_not(void **state)
{
    (void)state;
    vigil_watch watch;
    vigil_signal signal;
    vigil_child child;
    uint32_t seen = 0;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    vigil_loop *loop = loop_plain();
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, ignore_fd, NULL, NULL, &watch), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(vigil_watch_unref(loop, watch), 0);
    must_equal(vigil_watch_unref(loop, watch), 0); /* not counted */
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_watch_ref(loop, watch), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(vigil_watch_remove(loop, watch), 0);
    must_equal(vigil_watch_ref(loop, watch), -ESTALE);

    must_equal(vigil_signal_add(loop, SIGUSR1, ignore_signal, &seen, &signal), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_signal_ref(loop, signal), 0);
    must_equal(vigil_loop_keepers(loop, NULL, 0), 1);
    must_equal(raise(SIGUSR1), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1); /* kept alive, until the callback pauses it */
    must_equal(seen, 1);
    must_equal(vigil_signal_unref(loop, signal), 0);
    must_equal(vigil_loop_keepers(loop, NULL, 0), 0);
    must_equal(vigil_signal_ref(loop, signal), 0);
    must_equal(vigil_signal_remove(loop, signal), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_signal_unref(loop, signal), -ESTALE);

    const pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    must_equal(vigil_child_add(loop, pid, ignore_child, &seen, &child), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(vigil_child_unref(loop, child), 0);
    must_equal(vigil_loop_keepers(loop, NULL, 0), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_child_ref(loop, child), 0);
    must_equal(kill(pid, SIGKILL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(seen, 2);
    must_equal(vigil_child_ref(loop, child), -ESTALE);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(run_once_waits_for_a_timer_and_runs_it),
        test(run_once_with_nothing_to_wait_for_returns),
        test(run_once_does_not_wait_after_a_callback),
        test(run_once_returns_when_a_tick_has_settled_a_promise),
        test(run_once_goes_on_after_what_the_loop_does_for_itself),
        test(an_embedded_loop_that_does_not_stay_is_quiet),
        test(a_reference_outside_run_leaves_no_post),
        test(watches_children_and_signals_keep_the_loop_alive_or_not),
    };
    return run_all(tests);
}
