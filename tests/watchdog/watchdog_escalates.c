/* SPDX-License-Identifier: MIT */
/* A hang becomes more severe with time, as soon as anybody waits for it, and when a stop waits for it. */
#include "watchdog_test.h"

#include <pthread.h>

struct levels {
    struct event reached[VIGIL_SEVERITY_CRITICAL + 1];
    char reason[VIGIL_SEVERITY_CRITICAL + 1][320];
    char advice[VIGIL_SEVERITY_CRITICAL + 1][384];
};

static void note_level(void *user, const vigil_verdict *verdict)
{
    struct levels *all = user;
    if (getenv("VIGIL_TEST_VERBOSE") != NULL)
        heard_print(verdict);
    if (verdict->stall != VIGIL_STALL_HOG || verdict->state == VIGIL_VERDICT_CLEARED ||
        event_is_set(&all->reached[verdict->severity]))
        return;
    memcpy(all->reason[verdict->severity], verdict->reason, sizeof verdict->reason);
    memcpy(all->advice[verdict->severity], verdict->advice, sizeof verdict->advice);
    event_set(&all->reached[verdict->severity]);
}

static vigil_pool *watched_pool(struct levels *all, unsigned hog_ms)
{
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = note_level;
    options.user = all;
    options.interval_ms = 20;
    options.hog_ms = hog_ms;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_watchdog_start(&options), 0);
    return pool;
}

static int sleeps(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void a_task_that_sleeps_for_ever_becomes_an_error(void **state)
{
    (void)state;
    struct levels all = {0};
    struct gate gate = {0};
    vigil_pool *pool = watched_pool(&all, 60);
    must_equal(vigil_pool_call(pool, sleeps, NULL, &gate, VIGIL_NORMAL), 0);
    event_wait(&all.reached[VIGIL_SEVERITY_INFO]);
    must_say(all.reason[VIGIL_SEVERITY_INFO], "nothing waits for it");
    must(!event_is_set(&all.reached[VIGIL_SEVERITY_ERROR]));
    event_wait(&all.reached[VIGIL_SEVERITY_WARNING]);
    event_wait(&all.reached[VIGIL_SEVERITY_ERROR]);
    gate_open(&gate);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

struct waiting {
    vigil_pool *pool;
    vigil_job job;
};

static void *waits_for_idle(void *arg)
{
    struct waiting *it = arg;
    must_equal(vigil_pool_wait_idle(it->pool, VIGIL_FOREVER), 0);
    return NULL;
}

static void somebody_who_waits_makes_it_a_warning(void **state)
{
    (void)state;
    struct levels all = {0};
    struct gate gate = {0};
    struct waiting it = {.pool = watched_pool(&all, 400)};
    must_equal(vigil_pool_call(it.pool, sleeps, NULL, &gate, VIGIL_NORMAL), 0);
    const uint64_t begin = now_ns();
    pthread_t thread = start_thread(waits_for_idle, &it);
    event_wait(&all.reached[VIGIL_SEVERITY_WARNING]);
    if (!machine_is_full())
        must(now_ns() - begin < UINT64_C(3500000000)); /* time alone would take ten times hog_ms */
    must_say(all.reason[VIGIL_SEVERITY_WARNING], "a thread waits for the pool to become idle");
    must_say(all.advice[VIGIL_SEVERITY_WARNING], "does not end a deadlock");
    gate_open(&gate);
    join_thread(thread);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(it.pool);
}

static void *stops(void *arg)
{
    struct waiting *it = arg;
    must_equal(vigil_pool_shutdown(it->pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_destroy(it->pool), 0);
    return NULL;
}

static void a_stop_that_waits_makes_it_an_error(void **state)
{
    (void)state;
    struct levels all = {0};
    struct gate gate = {0};
    struct waiting it = {.pool = watched_pool(&all, 300)};
    must_equal(vigil_pool_call(it.pool, sleeps, NULL, &gate, VIGIL_NORMAL), 0);
    const uint64_t begin = now_ns();
    pthread_t thread = start_thread(stops, &it);
    event_wait(&all.reached[VIGIL_SEVERITY_ERROR]);
    if (!machine_is_full())
        must(now_ns() - begin < UINT64_C(2500000000));         /* time alone would take sixty times hog_ms */
    must(!event_is_set(&all.reached[VIGIL_SEVERITY_WARNING])); /* at once, and not with time */
    must_say(all.reason[VIGIL_SEVERITY_ERROR], "stop waits for it");
    gate_open(&gate);
    join_thread(thread);
    must_equal(vigil_watchdog_stop(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_task_that_sleeps_for_ever_becomes_an_error),
        test(somebody_who_waits_makes_it_a_warning),
        test(a_stop_that_waits_makes_it_an_error),
    };
    return run_all(tests);
}
