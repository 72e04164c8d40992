/* SPDX-License-Identifier: MIT */
/* What a burst of promises leaves behind goes back to the system before the loop sleeps, and the statistics show it. */
#include "promise_test.h"

enum {
    BURST = 100000, /* 12 MiB */
    LITTLE = 128    /* chunks: the first 2 MiB, and the newest page */
};

static vigil_promise *burst[BURST];
static uint64_t most;

static void look(vigil_loop *on, vigil_timer timer, void *arg)
{
    (void)on;
    (void)timer;
    *(uint64_t *)arg = promise_stats().chunks;
}

static void burst_body(void *arg)
{
    for (size_t i = 0; i < BURST; i++)
        burst[i] = pending();
    most = promise_stats().chunks;
    for (size_t i = 0; i < BURST; i++) {
        resolve(burst[i], vigil_value_int((int64_t)i));
        drop(burst[i]);
    }
    must_equal(vigil_timer_start(loop, 1000000, look, arg, NULL), 0); /* the loop sleeps until then */
}

static void what_a_burst_leaves_goes_before_the_loop_sleeps(void **state)
{
    (void)state;
    uint64_t left = 0;
    on_loop_with(burst_body, &left);
    must(most > 2 * LITTLE);
    must_be_between(left, 1, LITTLE + 2);
}

static vigil_promise *survivor;

static void survivor_body(void *arg)
{
    burst_body(arg);
    resolve(survivor, vigil_value_int(7));
    drop(survivor);
}

static void first_and_burst(void *arg)
{
    for (size_t i = 0; i < BURST; i++) { /* one in the middle stays */
        vigil_promise *one = pending();
        if (i == BURST / 2)
            survivor = one;
        burst[i] = one;
    }
    for (size_t i = 0; i < BURST; i++) {
        if (burst[i] == survivor)
            continue;
        resolve(burst[i], vigil_value_none());
        drop(burst[i]);
    }
    then(survivor, say_value, NULL, "kept");
    must_equal(vigil_loop_call(loop, survivor_body, NULL, arg), 0);
}

static void a_promise_that_is_pending_survives_bursts(void **state)
{
    (void)state;
    uint64_t left = 0;
    on_loop_with(first_and_burst, &left);
    must_have_said("kept=7");
    must_be_between(left, 1, LITTLE + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_a_burst_leaves_goes_before_the_loop_sleeps),
        test(a_promise_that_is_pending_survives_bursts),
    };
    return run_all(tests);
}
