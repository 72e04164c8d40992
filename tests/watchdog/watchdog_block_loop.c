/* SPDX-License-Identifier: MIT */
/* W6: A callback keeps its loop; a post to a sleeping loop does not wake it. */
#include "watchdog_test.h"

static void *run_loop(void *arg)
{
    must_equal(vigil_loop_run(arg, VIGIL_RUN), 0);
    return NULL;
}

static _Atomic bool enough;

static void spin_in_callback(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
    }
}

static void sleep_in_callback(void *arg)
{
    gate_pass(arg);
    atomic_store_explicit(&enough, true, memory_order_relaxed); /* no jump into gate_pass: it stays on the stack */
}

static void note(void *arg)
{
    event_set(arg);
}

struct loop_run {
    vigil_loop *loop;
    pthread_t thread;
};

static struct loop_run begin_loop(void)
{
    struct loop_run it;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.name = "main loop";
    options.stay = true;
    must_equal(vigil_loop_create(&it.loop, &options), 0);
    it.thread = start_thread(run_loop, it.loop);
    struct event ran = {0};
    must_equal(vigil_loop_call(it.loop, note, NULL, &ran), 0);
    event_wait(&ran);
    return it;
}

static void end_loop(struct loop_run it)
{
    must_equal(vigil_loop_shutdown(it.loop, VIGIL_FOREVER), 0);
    join_thread(it.thread);
    must_equal(vigil_loop_destroy(it.loop), 0);
}

static void block(struct timing *timing, bool asleep)
{
    struct heard heard;
    struct gate gate = {0};
    struct loop_run it = begin_loop();
    atomic_store_explicit(&enough, false, memory_order_relaxed);
    watch_with(&heard, VIGIL_STALL_LOOP_BLOCKED, 0);
    watch_settle();
    fault_now(timing);
    must_equal(vigil_loop_call(it.loop, asleep ? sleep_in_callback : spin_in_callback, NULL, &gate), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    if (verdict->at_ns - verdict->since_ns <
        UINT64_C(5000000000)) /* else the machine has let the watchdog look too late */
        must_equal(verdict->severity, VIGIL_SEVERITY_WARNING);
    must(verdict->subject == it.loop);
    must(verdict->thread > 0);
    must_say(verdict->reason, "Loop \"main loop\" is blocked by one callback");
    must_say(verdict->reason, asleep ? "sleep_in_callback" : "spin_in_callback");
    must_say(verdict->reason, "(posts)");
    must(verdict->function == (void *)(uintptr_t)(asleep ? sleep_in_callback : spin_in_callback));
#if !TEST_TSAN
    must_say(verdict->stacks, asleep ? "sleep_in_callback" : "spin_in_callback");
#endif
    atomic_store_explicit(&enough, true, memory_order_relaxed);
    gate_open(&gate);
    event_wait(&heard.cleared[VIGIL_STALL_LOOP_BLOCKED]);
    must_equal(vigil_watchdog_stop(), 0);
    end_loop(it);
}

static void a_callback_that_keeps_its_loop_is_named(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        block(&timing, i % 2 == 0);
    must_be_in_time(&timing);
}

static void drop(struct timing *timing, uint32_t recover)
{
    struct heard heard;
    struct event ran = {0};
    struct loop_run it = begin_loop();
    watch_with(&heard, VIGIL_STALL_LOST_WAKEUP, recover);
    watch_settle();
    while (vigil_loop_state_get(it.loop) != VIGIL_LOOP_SLEEPING)
        yield();
    vg_fault_inject(VG_FAULT_DROP_POST, 1, 0);
    fault_now(timing);
    must_equal(vigil_loop_call(it.loop, note, NULL, &ran), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_CRITICAL);
    must_say(verdict->reason, "A wake-up was lost in loop \"main loop\"");
    must_say(verdict->evidence, "1 waiting");
    if (recover != 0)
        must_say(verdict->action, "Woke the loop again");
    else
        must_equal(event_is_set(&ran), false);
    must_equal(vigil_watchdog_stop(), 0);
    if (recover == 0) {
        watch_with(&heard, VIGIL_STALL_LOST_WAKEUP, VIGIL_RECOVER_REWAKE); /* to get out of it */
        event_wait(&ran);
        must_equal(vigil_watchdog_stop(), 0);
    }
    event_wait(&ran);
    end_loop(it);
}

static void a_loop_that_sleeps_on_with_posts_waiting_is_a_lost_wakeup(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        drop(&timing, i % 4 == 0 ? 0 : VIGIL_RECOVER_REWAKE);
    must_be_in_time(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_callback_that_keeps_its_loop_is_named),
        test(a_loop_that_sleeps_on_with_posts_waiting_is_a_lost_wakeup),
    };
    return run_all(tests);
}
