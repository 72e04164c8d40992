/* SPDX-License-Identifier: MIT */
/* W6, W7: A wake-up is dropped: work is queued, a worker is parked, and the watchdog says which one and why. */
#include "watchdog_test.h"

#include "pool/watched.h"

static int note(void *arg)
{
    event_set(arg);
    return 0;
}

static void one_round(vg_fault_kind fault, uint32_t recover, struct timing *timing, const char *words)
{
    struct heard heard;
    struct event ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.name = "wake";
    vigil_pool *pool = pool_with(&options);
    watch_with(&heard, VIGIL_STALL_LOST_WAKEUP, recover);
    watch_settle();
    pool_wait_all_parked(pool);
    vg_fault_inject(fault, 1, 0);
    fault_now(timing);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_HIGH), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_CRITICAL);
    must(verdict->subject == pool);
    must(verdict->worker >= 0 && verdict->worker < 3 && verdict->thread > 0);
    must_say(verdict->reason, "A wake-up was lost in pool \"wake\"");
    must_say(verdict->evidence, "1 HIGH");
    must_say(verdict->evidence, words);
    if (recover != 0) {
        must_say(verdict->action, "Woke worker");
        event_wait(&ran);
        event_wait(&heard.cleared[VIGIL_STALL_LOST_WAKEUP]);
    } else {
        must(verdict->action[0] == 0);
        must(!event_is_set(&ran));
        must_equal(vg_pool_subject_calls.rewake(pool, (unsigned)verdict->worker), 0);
        event_wait(&ran);
    }
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void a_publisher_that_forgets_to_wake_is_called_a_lost_wakeup(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        one_round(VG_FAULT_DROP_WAKE, 0, &timing, "nobody has tried to wake it");
    must_be_in_time(&timing);
}

static void a_worker_that_was_chosen_and_never_called_is_a_lost_wakeup(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        one_round(VG_FAULT_DROP_CALL, 0, &timing, "was chosen to be woken and never called");
    must_be_in_time(&timing);
}

static void recovery_wakes_it_again(void **state)
{
    (void)state;
    struct timing timing = {0};
    one_round(VG_FAULT_DROP_WAKE, VIGIL_RECOVER_REWAKE, &timing, "nobody has tried to wake it");
    one_round(VG_FAULT_DROP_CALL, VIGIL_RECOVER_REWAKE, &timing, "was chosen to be woken and never called");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_publisher_that_forgets_to_wake_is_called_a_lost_wakeup),
        test(a_worker_that_was_chosen_and_never_called_is_a_lost_wakeup),
        test(recovery_wakes_it_again),
    };
    return run_all(tests);
}
