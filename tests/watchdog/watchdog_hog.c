/* SPDX-License-Identifier: MIT */
/* W6: A task keeps its worker: told with its name, and as more than a remark only if somebody waits for it. */
#include "watchdog_test.h"

static _Atomic bool enough;

static int spin_on_purpose(void *arg)
{
    event_set(arg);
    while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
    }
    return 0;
}

static int sleep_undeclared(void *arg)
{
    gate_pass(arg);
    return 0;
}

static int nothing(void *arg)
{
    event_set(arg);
    return 0;
}

static void hog(struct timing *timing, unsigned workers, bool queue, vigil_severity severity, uint32_t recover)
{
    struct heard heard;
    struct event begun = {0};
    struct event ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.name = "hogged";
    vigil_pool *pool = pool_with(&options);
    atomic_store_explicit(&enough, false, memory_order_relaxed);
    watch_with(&heard, VIGIL_STALL_HOG, recover);
    watch_settle();
    fault_now(timing);
    must_equal(vigil_pool_call(pool, spin_on_purpose, NULL, &begun, VIGIL_NORMAL), 0);
    event_wait(&begun);
    if (queue)
        must_equal(vigil_pool_call(pool, nothing, NULL, &ran, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, severity);
    must(verdict->subject == pool);
    must(verdict->worker >= 0);
    must_say(verdict->reason, "One task keeps worker");
    must_say(verdict->reason, "of pool \"hogged\"");
    must_say(verdict->reason, queue ? "1 tasks wait" : "nothing waits for it");
    must_say(verdict->reason, "spin_on_purpose");
    must(verdict->function == (void *)(uintptr_t)spin_on_purpose);
#if !TEST_TSAN
    must_say(verdict->stacks, "spin_on_purpose");
#endif
    if (recover != 0) { /* a spare does what waits, while the hog goes on */
        must_say(verdict->action, "Let a spare worker stand in");
        event_wait(&ran);
    }
    atomic_store_explicit(&enough, true, memory_order_relaxed);
    event_wait(&heard.cleared[VIGIL_STALL_HOG]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void a_task_that_keeps_its_worker_while_others_wait_is_an_error(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        hog(&timing, 1, true, VIGIL_SEVERITY_ERROR, 0);
    must_be_in_time(&timing);
}

static void one_that_nobody_waits_for_is_a_remark(void **state)
{
    (void)state;
    struct timing timing = {0};
    hog(&timing, 2, false, VIGIL_SEVERITY_INFO, 0);
}

static void recovery_lets_a_spare_stand_in(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = scaled(3, 1); i > 0; i--)
        hog(&timing, 1, true, VIGIL_SEVERITY_ERROR, VIGIL_RECOVER_SPARE);
}

static void a_task_that_sleeps_without_saying_so_is_told_to_declare_it(void **state)
{
    (void)state;
    struct heard heard;
    struct gate gate = {0};
    vigil_pool *pool = pool_of(2);
    watch_with(&heard, VIGIL_STALL_HOG, 0);
    must_equal(vigil_pool_call(pool, sleep_undeclared, NULL, &gate, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_equal(verdict->severity, VIGIL_SEVERITY_INFO);
    must_say(verdict->evidence, "asleep");
    must_say(verdict->advice, "vigil_blocking_begin");
    gate_open(&gate);
    event_wait(&heard.cleared[VIGIL_STALL_HOG]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_task_that_keeps_its_worker_while_others_wait_is_an_error),
        test(one_that_nobody_waits_for_is_a_remark),
        test(recovery_lets_a_spare_stand_in),
        test(a_task_that_sleeps_without_saying_so_is_told_to_declare_it),
    };
    return run_all(tests);
}
