/* SPDX-License-Identifier: MIT */
/* L16: a bound on what waits, with an answer for who comes too much, and word when there is room again. */
#include "loop_test.h"

static int on_count, off_count;

static void on_event(void *user, const vigil_loop_event *event)
{
    (void)user;
    on_count += event->kind == VIGIL_LOOP_PRESSURE_ON;
    off_count += event->kind == VIGIL_LOOP_PRESSURE_OFF;
}

static vigil_loop *bounded(size_t bound)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.max_posts = bound;
    options.stay = true;
    options.on_event = on_event;
    on_count = off_count = 0;
    return loop_with(&options);
}

static void count(void *arg)
{
    tally_add(arg, 1);
}

static void the_bound_is_exact_and_pressure_is_reported(void **state)
{
    (void)state;
    vigil_loop *loop = bounded(100);
    struct tally ran = {0};
    for (int i = 0; i < 100; i++)
        must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    for (int i = 0; i < 5; i++)
        must_equal(vigil_loop_call(loop, count, NULL, &ran), -EAGAIN);
    must(strstr(vigil_why(), "max_posts") != NULL);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(tally_get(&ran), 100);
    must_equal(on_count, 1);
    must_equal(off_count, 1);
    must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_equal(on_count, 1);
    vigil_loop_stats stats = loop_stats(loop);
    must_equal(stats.posts_accepted, 101);
    must_equal(stats.posts_run, 101);
    must_equal(stats.posts_refused, 5);
    must_equal(vigil_loop_destroy(loop), 0);
}

enum {
    PRODUCERS = 8,
    BOUND = 64
};

struct flood {
    vigil_loop *loop;
    struct tally ran;
    _Atomic uint32_t accepted;
    uint32_t each;
    struct tally finished;
};

static void watch_the_bound(void *arg)
{
    struct flood *flood = arg;
    must(loop_stats(flood->loop).posts_queued <= BOUND + 1); /* + 1: this one is counted as run already, or not yet */
    tally_add(&flood->ran, 1);
}

static void *produce(void *arg)
{
    struct flood *flood = arg;
    for (uint32_t i = 0; i < flood->each;) {
        int rc = vigil_loop_call(flood->loop, watch_the_bound, NULL, flood);
        must(rc == 0 || rc == -EAGAIN);
        if (rc == 0) {
            i++;
            atomic_fetch_add_explicit(&flood->accepted, 1, memory_order_relaxed);
        } else {
            yield();
        }
    }
    tally_add(&flood->finished, 1);
    return NULL;
}

static void many_producers_never_get_past_the_bound(void **state)
{
    (void)state;
    struct flood flood = {.loop = bounded(BOUND), .each = (uint32_t)scaled(20000, 200)};
    pthread_t owner = start_thread(loop_runner, flood.loop);
    pthread_t threads[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        threads[i] = start_thread(produce, &flood);
    tally_wait(&flood.finished, PRODUCERS);
    must_equal(vigil_loop_shutdown(flood.loop, VIGIL_FOREVER), 0);
    for (int i = 0; i < PRODUCERS; i++)
        join_thread(threads[i]);
    join_thread(owner);
    must_equal(tally_get(&flood.ran), PRODUCERS * flood.each);
    must(off_count <= on_count);
    must_equal(vigil_loop_destroy(flood.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_bound_is_exact_and_pressure_is_reported),
        test(many_producers_never_get_past_the_bound),
    };
    return run_all(tests);
}
