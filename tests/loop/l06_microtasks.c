/* SPDX-License-Identifier: MIT */
/* L6: ticks before microtasks, until both are empty; the budget and its breach; exhaustive mode. */
#include "loop_test.h"

#include <unistd.h>

static struct journal journal;
static vigil_loop *loop;

static void say(void *arg)
{
    journal_add(&journal, *(char *)arg);
}

static char letters[] = "abcdefghijkl";

static void tick_in_microtask(void *arg)
{
    say(arg);
    must_equal(vigil_loop_tick_call(loop, say, NULL, &letters[5]), 0); /* f */
    must_equal(vigil_loop_microtask_call(loop, say, NULL, &letters[4]),
               0); /* e: microtasks go on till they are empty */
}

static void queue_some(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_microtask_call(loop, tick_in_microtask, NULL, &letters[2]), 0);
    must_equal(vigil_loop_microtask_call(loop, say, NULL, &letters[3]), 0);
    must_equal(vigil_loop_tick_call(loop, say, NULL, &letters[0]), 0);
    must_equal(vigil_loop_tick_call(loop, say, NULL, &letters[1]), 0);
}

static void ticks_run_before_microtasks_until_both_are_empty(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    must_equal(vigil_loop_call(loop, queue_some, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[6]), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "abcdefg"); /* all before the next callback */
    must_equal(loop_stats(loop).ticks_run, 3);
    must_equal(loop_stats(loop).microtasks_run, 3);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- a microtask that queues itself for ever --------------------------------------------------------------------- */

struct endless {
    vigil_post post;
    uint64_t ran;
    uint64_t breaches;
    uint64_t floods;
    uint64_t stop_at;
    bool timer, fd, posted;
    int pipes[2];
};

static struct endless endless;

static void requeue(vigil_post *post)
{
    struct endless *it = container_of(post, struct endless, post);
    it->ran++;
    if (it->stop_at == 0 || it->ran < it->stop_at)
        must_equal(vigil_loop_microtask(loop, post), 0);
}

static void on_event(void *user, const vigil_loop_event *event)
{
    struct endless *it = user;
    it->breaches += event->kind == VIGIL_LOOP_MICROTASK_BREACH;
    it->floods += event->kind == VIGIL_LOOP_MICROTASK_FLOOD;
}

static void begin(void *arg)
{
    must_equal(vigil_loop_microtask(loop, arg), 0);
}

static void finish_when_all_came(void)
{
    if (endless.timer && endless.fd)
        must_equal(vigil_loop_shutdown(loop, 1000000), 0);
}

static void on_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    endless.timer = true;
    finish_when_all_came();
}

static void on_readable(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)events;
    (void)arg;
    char byte;
    must_equal(read(fd, &byte, 1), 1);
    must_equal(vigil_watch_remove(of, watch), 0);
    endless.fd = true;
    finish_when_all_came();
}

static void an_endless_microtask_starves_neither_timers_nor_descriptors_nor_shutdown(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_event = on_event;
    options.user = &endless;
    memset(&endless, 0, sizeof endless);
    loop = loop_with(&options);
    vigil_post_init(&endless.post, requeue, NULL);
    must_equal(pipe(endless.pipes), 0);
    must_equal(write(endless.pipes[1], "x", 1), 1);
    must_equal(vigil_loop_call(loop, begin, NULL, &endless.post), 0);
    must_equal(vigil_timer_start(loop, 2000000, on_timer, NULL, NULL), 0);
    must_equal(vigil_watch_add(loop, endless.pipes[0], VIGIL_FD_READ, 0, on_readable, NULL, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* ends by the deadline of the shutdown */
    must(endless.timer && endless.fd);
    must(endless.breaches > 0);
    must_equal(loop_stats(loop).microtask_breaches, endless.breaches);
    must(endless.ran <= 1024 * (endless.breaches + 2));
    must_equal(vigil_loop_destroy(loop), 0);
    close(endless.pipes[0]);
    close(endless.pipes[1]);
}

static void a_breach_leaves_the_rest_to_the_next_turn(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_event = on_event;
    options.user = &endless;
    options.microtask_budget = 10;
    memset(&endless, 0, sizeof endless);
    endless.stop_at = 25;
    loop = loop_with(&options);
    vigil_post_init(&endless.post, requeue, NULL);
    must_equal(vigil_loop_call(loop, begin, NULL, &endless.post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1); /* would block, but for what is left over */
    must_equal(endless.ran, 10);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(endless.ran, 20);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(endless.ran, 25);
    must_equal(endless.breaches, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void exhaustive_mode_goes_on_and_says_so(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_event = on_event;
    options.user = &endless;
    options.microtasks = VIGIL_MICROTASK_EXHAUSTIVE;
    memset(&endless, 0, sizeof endless);
    endless.stop_at = 250000;
    loop = loop_with(&options);
    vigil_post_init(&endless.post, requeue, NULL);
    must_equal(vigil_loop_call(loop, begin, NULL, &endless.post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(endless.ran, 250000);
    must_equal(endless.floods, 2);
    must_equal(endless.breaches, 0);
    must_equal(loop_stats(loop).microtasks_run, 250000);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void *close_it(void *arg)
{
    must_equal(vigil_loop_close(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void close_ends_even_an_endless_exhaustive_microtask(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.microtasks = VIGIL_MICROTASK_EXHAUSTIVE;
    memset(&endless, 0, sizeof endless);
    loop = loop_with(&options);
    vigil_post_init(&endless.post, requeue, NULL);
    must_equal(vigil_loop_call(loop, begin, NULL, &endless.post), 0);
    pthread_t owner = start_thread(loop_runner, loop);
    pthread_t closer = start_thread(close_it, loop);
    join_thread(closer);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(ticks_run_before_microtasks_until_both_are_empty),
        test(an_endless_microtask_starves_neither_timers_nor_descriptors_nor_shutdown),
        test(a_breach_leaves_the_rest_to_the_next_turn),
        test(exhaustive_mode_goes_on_and_says_so),
        test(close_ends_even_an_endless_exhaustive_microtask),
    };
    return run_all(tests);
}
