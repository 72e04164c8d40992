/* SPDX-License-Identifier: MIT */
/* W6: A task vanishes: accepted, never started, in no queue. The audit's numbers are in the verdict. */
#include "watchdog_test.h"

#include "pool/idle.h"

static int nothing(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static int the_one_that_is_lost(void *arg)
{
    tally_add(arg, 1000);
    return 0;
}

static void lose_one(struct timing *timing)
{
    struct heard heard;
    struct tally ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "loses";
    vigil_pool *pool = pool_with(&options);
    watch_with(&heard, VIGIL_STALL_LOST_TASK, VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE | VIGIL_RECOVER_REJECT);
    watch_settle();
    for (int i = 0; i < 100; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, &ran, i % 2 == 0 ? VIGIL_NORMAL : VIGIL_LOW), 0);
    tally_wait(&ran, 100);
    vg_fault_inject(VG_FAULT_LOSE_TASK, 1, 0);
    fault_now(timing);
    must_equal(vigil_pool_call(pool, the_one_that_is_lost, NULL, &ran, VIGIL_LOW), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_CRITICAL);
    must_equal(verdict->priority, VIGIL_LOW);
    must_say(verdict->reason, "1 task was lost in pool \"loses\"");
    must_say(verdict->evidence, "1 accepted and not started, 0 found in the queues");
    must_say(verdict->evidence, "101 accepted, 100 started, 100 ended");
    must_say(verdict->evidence, "the_one_that_is_lost was submitted 1 time(s) more than it ran");
    must(verdict->function == (void *)(uintptr_t)the_one_that_is_lost);
    must(verdict->action[0] == 0); /* nothing can bring it back */
    must_equal(vigil_watchdog_stop(), 0);
    /* But we know where it went; or the pool could never be closed. */
    vigil_task *task = vg_fault_lost();
    must(task != NULL);
    must_equal(vg_injector_push(&pool->injectors[VIGIL_LOW], task, task, true), 0);
    vg_announce(pool, VIGIL_LOW);
    tally_wait(&ran, 1100);
    pool_close(pool);
}

static void a_task_that_vanished_is_found_and_named(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        lose_one(&timing);
    must_be_in_time(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(a_task_that_vanished_is_found_and_named)};
    return run_all(tests);
}
