/* SPDX-License-Identifier: MIT */
/* test: clock - it compares the loop's account of its time with the clock. */
/* L17: the loop's time stands still inside a callback, and never goes back. */
#include "loop_test.h"

static vigil_loop *loop;
static uint64_t last;
static int rounds;

static void look(void *arg)
{
    (void)arg;
    uint64_t now = vigil_loop_now(loop);
    must(now >= last);
    must(now <= now_ns());
    uint64_t until = now_ns() + 100000;
    while (now_ns() < until) {
    }
    must_equal(vigil_loop_now(loop), now); /* cached */
    uint64_t fresh = vigil_loop_now_update(loop);
    must(fresh >= until);
    must_equal(vigil_loop_now(loop), fresh);
    last = fresh;
    if (++rounds < 50)
        must_equal(vigil_loop_call(loop, look, NULL, NULL), 0);
}

static void the_time_is_cached_and_monotonic(void **state)
{
    (void)state;
    loop = loop_plain();
    must_equal(vigil_loop_call(loop, look, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(rounds, 50);
    must(vigil_loop_now(loop) >= last);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* Counters agree with what was done (W1). */
static void spin(void *arg)
{
    (void)arg;
    uint64_t until = now_ns() + 2000000;
    while (now_ns() < until) {
    }
}

static void pause_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
}

static void time_is_counted_where_it_was_spent(void **state)
{
    (void)state;
    loop = loop_plain();
    for (int i = 0; i < 5; i++)
        must_equal(vigil_loop_call(loop, spin, NULL, NULL), 0);
    must_equal(vigil_timer_start(loop, 30000000, pause_timer, NULL, NULL), 0);
    uint64_t before = now_ns();
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    uint64_t wall = now_ns() - before;
    vigil_loop_stats stats = loop_stats(loop);
    must_equal(stats.callbacks[VIGIL_PHASE_POSTS], 5);
    must_equal(stats.callbacks[VIGIL_PHASE_TIMERS], 1);
    must(stats.sleeps <= 1); /* none if the machine took thirty milliseconds from us meanwhile */
    must(stats.phase_ns[VIGIL_PHASE_POSTS] >= 9000000);
    must(stats.phase_ns[VIGIL_PHASE_POSTS] <= wall);
    must(stats.phase_ns[VIGIL_PHASE_TIMERS] <= wall);
    must(stats.work_ns >= 9000000);
    must(stats.work_ns + stats.poll_ns >= 29000000);
    must(stats.work_ns + stats.poll_ns <= wall + 1000000);
    must_equal(stats.wakes_sent, 0);
    must_equal(stats.wakes_spurious, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_time_is_cached_and_monotonic),
        test(time_is_counted_where_it_was_spent),
    };
    return run_all(tests);
}
