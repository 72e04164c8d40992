/* SPDX-License-Identifier: MIT */
/* W6: Work comes in faster than it is done. */
#include "watchdog_test.h"

static int takes_a_millisecond(void *arg)
{
    (void)arg;
    const uint64_t until = now_ns() + 1000000;
    while (now_ns() < until) {
    }
    return 0;
}

struct flood {
    vigil_pool *pool;
    struct event enough;
};

static void *pour(void *arg)
{
    struct flood *flood = arg;
    uint64_t next = now_ns();
    while (!event_wait_for(&flood->enough, 5000000)) /* every 5 ms, or as much as has been missed */
        for (; next < now_ns(); next += 250000)
            must_equal(vigil_pool_call(flood->pool, takes_a_millisecond, NULL, NULL, VIGIL_NORMAL), 0);
    return NULL;
}

static void a_queue_that_grows_is_told_with_its_rates(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--) {
        struct heard heard;
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 1;
        options.name = "flooded";
        struct flood flood = {.pool = pool_with(&options)};
        watch_with(&heard, VIGIL_STALL_GROWING_QUEUE, 0);
        watch_settle();
        fault_now(&timing);
        pthread_t producer = start_thread(pour, &flood);
        const vigil_verdict *verdict = verdict_of(&heard);
        verdict_came(&timing, verdict);
        event_set(&flood.enough);
        join_thread(producer);
        must_equal(verdict->severity, VIGIL_SEVERITY_WARNING);
        must_say(verdict->reason, "The queue of pool \"flooded\" grows:");
        must_say(verdict->reason, "tasks a second come in");
        must_say(verdict->evidence, "the oldest has waited");
        event_wait(&heard.cleared[VIGIL_STALL_GROWING_QUEUE]);
        must_equal(vigil_watchdog_stop(), 0);
        must_equal(vigil_pool_close(flood.pool, VIGIL_FOREVER), 0);
        pool_close(flood.pool);
    }
    must_be_in_time(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(a_queue_that_grows_is_told_with_its_rates)};
    return run_all(tests);
}
