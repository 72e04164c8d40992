/* SPDX-License-Identifier: MIT */
/* L15: VIGIL_RUN_ONCE makes progress, an embedded loop with nothing to do is quiet, and a reference is no post. */
#include "loop_test.h"

#include <poll.h>

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
    start_timer(loop, 20000000);
    const uint64_t before = now_ns();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(fired, 2); /* and it does not wait for the other one */
    must(now_ns() - before < 20000000 || TEST_SANITIZED);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void run_once_with_nothing_to_wait_for_returns(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(run_once_waits_for_a_timer_and_runs_it),
        test(run_once_with_nothing_to_wait_for_returns),
        test(an_embedded_loop_that_does_not_stay_is_quiet),
        test(a_reference_outside_run_leaves_no_post),
    };
    return run_all(tests);
}
