/* SPDX-License-Identifier: MIT */
/* L7: timers one by one: never early, in order, exact cancels, schedules that do not drift. */
#include "loop_test.h"

#define MS 1000000U

static struct journal journal;
static vigil_loop *loop;

struct shot {
    uint64_t deadline;
    uint64_t fired_at;
    int count;
};

static void fire(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    struct shot *shot = arg;
    shot->fired_at = now_ns();
    shot->count++;
    must(vigil_loop_now(of) >= shot->deadline);
}

static void a_timer_is_never_early_also_after_a_long_callback(void **state)
{
    (void)state;
    for (int poller = 0; poller < 2; poller++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.fast_path = poller != 0 ? VIGIL_FAST_PATH_DISABLED : VIGIL_FAST_PATH_AUTO;
        loop = loop_with(&options);
        struct shot shots[20];
        for (int i = 0; i < 20; i++) {
            uint64_t delay = (uint64_t)(20 - i) * 137001U;
            shots[i] = (struct shot){.deadline = now_ns() + delay};
            must_equal(vigil_timer_start(loop, (int64_t)delay, fire, &shots[i], NULL), 0);
        }
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        for (int i = 0; i < 20; i++) {
            must_equal(shots[i].count, 1);
            must(shots[i].fired_at >= shots[i].deadline);
        }
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static struct shot late_shot;

static void work_then_start(void *arg)
{
    (void)arg;
    uint64_t until = now_ns() + 5 * MS; /* the loop's time stands still meanwhile */
    while (now_ns() < until) {
    }
    late_shot = (struct shot){.deadline = now_ns() + 2 * MS};
    must_equal(vigil_timer_start(loop, 2 * MS, fire, &late_shot, NULL), 0);
}

static void a_delay_counts_from_the_call_not_from_the_turn(void **state)
{
    (void)state;
    loop = loop_plain();
    must_equal(vigil_loop_call(loop, work_then_start, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must(late_shot.fired_at >= late_shot.deadline);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void say(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    journal_add(&journal, *(char *)arg);
}

static vigil_timer at(uint64_t deadline, vigil_timer_fn fn, void *arg)
{
    vigil_timer timer;
    vigil_timer_options options = {.size = sizeof options, .deadline_ns = deadline};
    must_equal(vigil_timer_start_with(loop, &options, fn, arg, &timer), 0);
    return timer;
}

static char letters[] = "abcdefgh";

static void equal_deadlines_fire_in_the_order_of_arming(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    uint64_t when = now_ns() + MS;
    vigil_timer first = at(when, say, &letters[3]);
    at(when, say, &letters[0]);
    at(when, say, &letters[1]);
    vigil_timer early = at(when - 1000, say, &letters[4]);
    at(when, say, &letters[2]);
    must_equal(vigil_timer_again_at(loop, first, when), 0); /* armed again: goes behind */
    must_equal(vigil_timer_again_at(loop, early, when), 0); /* postponed: goes behind too */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "abcde");
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- cancel ------------------------------------------------------------------------------------------------------ */

static vigil_timer peers[3];
static int cancel_answer[3];

static void cancel_peers(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)arg;
    journal_add(&journal, 'x');
    cancel_answer[0] = vigil_timer_cancel(of, peers[1]); /* due in the same batch: 0, and it does not fire */
    cancel_answer[1] = vigil_timer_cancel(of, timer);    /* itself: it is firing */
    cancel_answer[2] = vigil_timer_cancel(of, peers[2]); /* fired before */
}

static void cancel_gives_an_exact_answer(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    uint64_t when = now_ns();
    peers[2] = at(when, say, &letters[0]);
    peers[0] = at(when + 1, cancel_peers, NULL);
    peers[1] = at(when + 2, say, &letters[1]);
    vigil_timer waiting = at(when + 3600000 * (uint64_t)MS, say, &letters[2]);
    must_equal(vigil_timer_cancel(loop, waiting), 0);
    must_equal(vigil_timer_cancel(loop, waiting), -ESTALE);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "ax");
    must_equal(cancel_answer[0], 0);
    must_equal(cancel_answer[1], -EBUSY);
    must_equal(cancel_answer[2], -ESTALE);
    must_equal(vigil_timer_cancel(loop, peers[0]), -ESTALE);
    vigil_loop_stats stats = loop_stats(loop);
    must_equal(stats.timers_started, 4);
    must_equal(stats.timers_fired, 2);
    must_equal(stats.timers_cancelled, 2);
    must_equal(stats.timers_active, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void many_are_cancelled_at_once(void **state)
{
    (void)state;
    loop = loop_plain();
    static vigil_timer timers[1000];
    for (int i = 0; i < 1000; i++)
        timers[i] = at(now_ns() + 3600000 * (uint64_t)MS, say, &letters[0]);
    must_equal(vigil_timer_cancel(loop, timers[7]), 0);
    must_equal(vigil_timer_cancel_many(loop, timers, 1000), 999);
    must_equal(vigil_timer_cancel_many(loop, timers, 1000), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- repeating --------------------------------------------------------------------------------------------------- */

struct series {
    uint64_t base, interval;
    uint64_t points[16];
    int count, stop_after;
    uint64_t hold;
    int cancel_answer;
};

static void tick(vigil_loop *of, vigil_timer timer, void *arg)
{
    struct series *series = arg;
    uint64_t deadline;
    must_equal(vigil_timer_deadline(of, timer, &deadline), 0); /* of the next one: the schedule is anchored */
    must_equal((deadline - series->base) % series->interval, 0);
    must(deadline > vigil_loop_now(of));
    series->points[series->count++] = vigil_loop_now(of);
    if (series->hold != 0 && series->count == 2) {
        uint64_t until = now_ns() + series->hold;
        while (now_ns() < until) {
        }
    }
    if (series->count == series->stop_after)
        series->cancel_answer = vigil_timer_cancel(of, timer);
}

static void a_repeating_timer_keeps_its_schedule_and_skips_what_it_missed(void **state)
{
    (void)state;
    loop = loop_plain();
    struct series series = {.base = now_ns() + MS, .interval = 2 * MS, .stop_after = 6, .hold = 9 * MS};
    vigil_timer_options options = {
        .size = sizeof options, .deadline_ns = series.base, .interval_ns = (int64_t)series.interval};
    must_equal(vigil_timer_start_with(loop, &options, tick, &series, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(series.count, 6);
    must_equal(series.cancel_answer, 0); /* inside its own callback: it will not run again */
    for (int i = 0; i < 6; i++)
        must(series.points[i] >= series.base + (uint64_t)i * series.interval);
    must(series.points[2] - series.points[1] >= 9 * MS); /* not a burst of those that were missed */
    must_equal(vigil_loop_destroy(loop), 0);
}

static void rearm(vigil_loop *of, vigil_timer timer, void *arg)
{
    int *left = arg;
    if (--*left > 0)
        must_equal(vigil_timer_again(of, timer, 1000), 0);
}

static void a_timer_can_be_armed_again_in_its_own_callback(void **state)
{
    (void)state;
    loop = loop_plain();
    int left = 5;
    vigil_timer timer;
    must_equal(vigil_timer_start(loop, 0, rearm, &left, &timer), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(left, 0);
    must_equal(vigil_timer_again(loop, timer, 0), -ESTALE);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void unref_lets_the_loop_end_and_ref_keeps_it(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    vigil_timer_options options = {
        .size = sizeof options, .delay_ns = 3600000 * (uint64_t)MS, .flags = VIGIL_TIMER_UNREF};
    must_equal(vigil_timer_start_with(loop, &options, say, &letters[0], NULL), 0);
    vigil_timer timer;
    must_equal(vigil_timer_start(loop, 3600000 * (int64_t)MS, say, &letters[1], &timer), 0);
    must_equal(vigil_timer_unref(loop, timer), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(vigil_timer_again(loop, timer, MS), 0);
    must_equal(vigil_timer_ref(loop, timer), 0);
    must_equal(vigil_timer_ref(loop, timer), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "b");
    must_equal(vigil_loop_destroy(loop), 0);
}

static void slack_lets_timers_share_a_wake_up_and_is_never_early(void **state)
{
    (void)state;
    loop = loop_plain();
    struct shot shots[50];
    uint64_t base = now_ns() + 10 * MS;
    for (int i = 0; i < 50; i++) {
        shots[i] = (struct shot){.deadline = base + (uint64_t)i * 100000U};
        vigil_timer_options options = {.size = sizeof options, .deadline_ns = shots[i].deadline, .slack_ns = 50 * MS};
        must_equal(vigil_timer_start_with(loop, &options, fire, &shots[i], NULL), 0);
    }
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    for (int i = 0; i < 50; i++) {
        must_equal(shots[i].count, 1);
        must(shots[i].fired_at >= shots[i].deadline);
    }
    must(loop_stats(loop).sleeps <= 5);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* Many due at once take another way through the heap than few. */
static uint64_t last_deadline;
static uint64_t burst_count;

static void in_order(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    uint64_t deadline = (uint64_t)(uintptr_t)arg;
    must(deadline >= last_deadline);
    last_deadline = deadline;
    burst_count++;
}

static void a_burst_fires_in_order(void **state)
{
    (void)state;
    loop = loop_plain();
    uint64_t total = scaled(200000, 5000);
    uint64_t base = now_ns();
    uint64_t random = 1234567;
    static vigil_timer some[64];
    for (uint64_t i = 0; i < total; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        uint64_t deadline = base + (random >> 33) % 50000000U;
        vigil_timer timer = at(deadline, in_order, (void *)(uintptr_t)deadline);
        if (i < 64)
            some[i] = timer;
    }
    must_equal(vigil_timer_cancel_many(loop, some, 64), 64);
    last_deadline = 0;
    burst_count = 0;
    while (now_ns() < base + 50 * MS)
        yield();
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(burst_count, total - 64);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_timer_is_never_early_also_after_a_long_callback),
        test(a_delay_counts_from_the_call_not_from_the_turn),
        test(equal_deadlines_fire_in_the_order_of_arming),
        test(cancel_gives_an_exact_answer),
        test(many_are_cancelled_at_once),
        test(a_repeating_timer_keeps_its_schedule_and_skips_what_it_missed),
        test(a_timer_can_be_armed_again_in_its_own_callback),
        test(unref_lets_the_loop_end_and_ref_keeps_it),
        test(slack_lets_timers_share_a_wake_up_and_is_never_early),
        test(a_burst_fires_in_order),
    };
    return run_all(tests);
}
