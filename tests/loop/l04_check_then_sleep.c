/* SPDX-License-Identifier: MIT */
/* L4: no wake-up is lost, with no timeout anywhere; a wake is one system call; silence is silence. SLEEP.md is the argument.
   VIGIL_TEST_SCALE=100000 makes the soak 10^8 rounds. */
#include "loop_test.h"

struct ping {
    vigil_loop *loop;
    struct tally answers;
    vigil_post post;
};

static void answer(void *arg)
{
    struct ping *ping = arg;
    tally_add(&ping->answers, 1);
}

static void answer_post(vigil_post *post)
{
    answer(container_of(post, struct ping, post));
}

/* Each round posts to a loop that is on its way to sleep or asleep. A lost wake-up hangs here, and the watchdog tells. */
static void soak(vigil_fast_path path, bool internal)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.fast_path = path;
    struct ping ping = {.loop = loop_with(&options)};
    vigil_post_init(&ping.post, answer_post, NULL);
    pthread_t owner = start_thread(loop_runner, ping.loop);
    uint32_t rounds = (uint32_t)scaled(100000, 1000);
    for (uint32_t i = 0; i < rounds; i++) {
        if (internal)
            must_equal(vigil_loop_post_internal(ping.loop, &ping.post), 0);
        else
            must_equal(vigil_loop_call(ping.loop, answer, NULL, &ping), 0);
        tally_wait(&ping.answers, i + 1);
    }
    vigil_loop_stats stats = loop_stats(ping.loop);
    must(stats.wakes_sent <= rounds);                                  /* at most one system call for each */
    must(stats.wakes_sent <= stats.sleeps + stats.sleeps_avoided + 1); /* and none while it is awake */
    must_equal(vigil_loop_shutdown(ping.loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(ping.loop), 0);
}

static void rounds_on_the_futex(void **state)
{
    (void)state;
    soak(VIGIL_FAST_PATH_AUTO, false);
}

static void rounds_in_the_poller(void **state)
{
    (void)state;
    soak(VIGIL_FAST_PATH_DISABLED, false);
}

static void rounds_of_the_internal_lane(void **state)
{
    (void)state;
    soak(VIGIL_FAST_PATH_AUTO, true);
}

enum {
    RACERS = 8
};

static struct meeting race = {.size = RACERS + 1};
static uint64_t race_rounds;

static void *post_in_races(void *arg)
{
    struct ping *ping = arg;
    for (uint64_t i = 0; i < race_rounds; i++) {
        meeting_join(&race);
        must_equal(vigil_loop_call(ping->loop, answer, NULL, ping), 0);
    }
    return NULL;
}

static void many_racing_posts_to_a_sleeper_cost_one_system_call(void **state)
{
    (void)state;
    struct ping ping = {.loop = loop_that_stays()};
    pthread_t owner = start_thread(loop_runner, ping.loop);
    pthread_t threads[RACERS];
    race_rounds = scaled(2000, 20);
    for (int i = 0; i < RACERS; i++)
        threads[i] = start_thread(post_in_races, &ping);
    for (uint64_t i = 0; i < race_rounds; i++) {
        loop_wait_sleeping(ping.loop);
        meeting_join(&race);
        tally_wait(&ping.answers, (uint32_t)((i + 1) * RACERS));
    }
    for (int i = 0; i < RACERS; i++)
        join_thread(threads[i]);
    vigil_loop_stats stats = loop_stats(ping.loop);
    must_equal(stats.posts_accepted, race_rounds * RACERS);
    must(stats.wakes_sent <= stats.sleeps + stats.sleeps_avoided + 1);
    must_equal(vigil_loop_shutdown(ping.loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(ping.loop), 0);
}

static void post_from_callback(void *arg)
{
    struct ping *ping = arg;
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_loop_call(ping->loop, answer, NULL, ping), 0);
    must_equal(loop_stats(ping->loop).wakes_sent, 0); /* it is awake: no system call for a thousand posts */
}

static void posts_to_a_loop_that_is_awake_wake_nobody(void **state)
{
    (void)state;
    struct ping ping = {.loop = loop_plain()};
    must_equal(vigil_loop_call(ping.loop, post_from_callback, NULL, &ping), 0);
    must_equal(vigil_loop_run(ping.loop, VIGIL_RUN), 0);
    must_equal(tally_get(&ping.answers), 1000);
    must_equal(loop_stats(ping.loop).wakes_sent, 0);
    must_equal(vigil_loop_destroy(ping.loop), 0);
}

static void late(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
}

static void an_idle_loop_makes_no_wake_ups(void **state)
{
    (void)state;
    for (int poller = 0; poller < 2; poller++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = true;
        options.fast_path = poller != 0 ? VIGIL_FAST_PATH_DISABLED : VIGIL_FAST_PATH_AUTO;
        vigil_loop *loop = loop_with(&options);
        vigil_timer timer;
        vigil_timer cancelled;
        must_equal(vigil_timer_start(loop, 3600000000000U, late, NULL, &timer), 0);
        must_equal(vigil_timer_start(loop, 1000000U, late, NULL, &cancelled), 0);
        must_equal(vigil_timer_cancel(loop, cancelled), 0); /* a dead timer wakes nobody */
        pthread_t owner = start_thread(loop_runner, loop);
        loop_wait_sleeping(loop);
        vigil_loop_stats before = loop_stats(loop);
        observe_for_ms(200);
        vigil_loop_stats after = loop_stats(loop);
        must_equal(after.turns, before.turns);
        must_equal(after.sleeps, before.sleeps);
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        join_thread(owner);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(rounds_on_the_futex),
        test(rounds_in_the_poller),
        test(rounds_of_the_internal_lane),
        test(many_racing_posts_to_a_sleeper_cost_one_system_call),
        test(posts_to_a_loop_that_is_awake_wake_nobody),
        test(an_idle_loop_makes_no_wake_ups),
    };
    return run_all(tests);
}
