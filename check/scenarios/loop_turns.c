/* SPDX-License-Identifier: MIT */
/*
 * What a loop does in its turns: timers of every kind, ticks, microtasks, immediates, hooks, watches, calls at its end; and a thread that
 * watches a descriptor, or takes the watch back, while the loop is blocked in its poll.
 *
 * Properties: each callback runs as often as it must; what was taken back does not run; nothing is left behind.
 */
#include "loop_common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    TIMERS = 40
};

static int fired, order_kept, ticks, last_number;
static vigil_timer timers[TIMERS];
static uint64_t due[TIMERS];

static void on_timer(vigil_loop *on, vigil_timer timer, void *arg)
{
    const int number = (int)(intptr_t)arg;
    (void)timer;
    fired++;
    vgc_assert(due[number] <= vigil_loop_now_update(on), "a timer is not early");
    order_kept += fired == 1 || due[last_number] <= due[number];
    last_number = number;
}

static void start(int number, int64_t delay, int64_t interval, unsigned flags)
{
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = delay;
    options.interval_ns = interval;
    options.flags = flags;
    vgc_assert(vigil_timer_start_with(loop, &options, on_timer, (void *)(intptr_t)number, &timers[number]) == 0,
               "a timer starts");
    vgc_assert(vigil_timer_deadline(loop, timers[number], &due[number]) == 0, "and says when");
}

/* Up and down, equal ones too; some are taken back, some are moved. */
static void timers_in_order(void)
{
    vigil_timer some[4];
    uint64_t when = 0;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    for (int i = 0; i < TIMERS; i++)
        start(i, 1000 + 1000 * ((i * 7) % 13), 0, i % 2 ? VIGIL_TIMER_FROM_TICK : 0);
    for (int i = 0; i < 4; i++)
        some[i] = timers[3 * i];
    vgc_assert(vigil_timer_cancel_many(loop, some, 4) == 4 || vigil_timer_cancel(loop, some[0]) == -ESTALE,
               "four are taken back");
    vgc_assert(vigil_timer_cancel(loop, timers[1]) == 0 && vigil_timer_cancel(loop, timers[1]) == -ESTALE, "once");
    vgc_assert(vigil_timer_again(loop, timers[2], 50000) == 0 && vigil_timer_deadline(loop, timers[2], &due[2]) == 0,
               "one is moved");
    vgc_assert(vigil_timer_again_at(loop, timers[4], due[2] + 1) == 0 &&
                   vigil_timer_deadline(loop, timers[4], &due[4]) == 0,
               "one behind it");
    vgc_assert(vigil_timer_unref(loop, timers[4]) == 0 && vigil_timer_ref(loop, timers[4]) == 0, "counted, or not");
    vgc_assert(vigil_timer_deadline(loop, timers[1], &when) == -ESTALE, "a stale one says so");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs until nothing is left");
    vgc_assert(fired == TIMERS - 5 && order_kept == fired, "each that stayed has fired, in order");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

static void on_interval(vigil_loop *on, vigil_timer timer, void *arg)
{
    (void)arg;
    if (++fired == 3)
        vgc_assert(vigil_timer_cancel(on, timer) == 0, "it ends itself");
    vgc_clock_advance(fired == 1 ? 5500 : 0); /* late by several intervals */
}

static void timers_again(void)
{
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    vigil_timer timer;
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    options.deadline_ns = vigil_loop_now(loop) + 1000;
    options.interval_ns = 1000;
    options.slack_ns = 300;
    vgc_assert(vigil_timer_start_with(loop, &options, on_interval, NULL, &timer) == 0, "a timer starts");
    options.flags = VIGIL_TIMER_UNREF;
    options.deadline_ns += 1000000;
    vgc_assert(vigil_timer_start_with(loop, &options, on_timer, NULL, NULL) == 0, "one that keeps nothing alive");
    vgc_assert(vigil_timer_start(loop, -5, on_timer, NULL, NULL) != 0 || fired == 0, "no time before now");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs until nothing keeps it");
    vgc_assert(fired >= 3, "again and again");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

/* ---- the order within a turn ---- */

static char said[64];

static void say(void *arg)
{
    strncat(said, arg, sizeof said - strlen(said) - 1);
}

static void say_and_queue(void *arg)
{
    say(arg);
    vgc_assert(vigil_loop_microtask_call(loop, say, NULL, "m") == 0, "a microtask");
    vgc_assert(vigil_loop_tick_call(loop, say, NULL, "t") == 0, "a tick");
}

static void count_post(vigil_post *post)
{
    (void)post;
    fired++;
}

static int64_t prepare(vigil_loop *on, void *arg)
{
    (void)on;
    ticks += arg != NULL;
    return 0;
}

static bool recheck(vigil_loop *on, void *arg)
{
    (void)on;
    (void)arg;
    return false;
}

static void check(vigil_loop *on, void *arg)
{
    (void)on;
    (void)arg;
    ticks++;
}

static void at_end(vigil_at_end *it)
{
    (void)it;
    strcat(said, "E");
}

static void turns_in_order(void)
{
    static vigil_post stay[3], removed;
    static vigil_at_end stays = {.run = at_end}, goes = {.run = at_end};
    vigil_hook_calls calls = VIGIL_HOOK_CALLS_INIT;
    vigil_hook hook;
    vigil_keeper keepers[8];
    char text[256];
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    calls.prepare = prepare;
    calls.recheck = recheck;
    calls.check = check;
    vgc_assert(vigil_hook_add(loop, &calls, &ticks, &hook) == 0, "hooks");
    vgc_assert(vigil_loop_at_end_add(loop, &stays) == 0 && vigil_loop_at_end_add(loop, &goes) == 0 &&
                   vigil_loop_at_end_remove(loop, &goes) == 0,
               "calls for the end");
    vgc_assert(vigil_loop_call(loop, say_and_queue, NULL, "p") == 0, "a post");
    vgc_assert(vigil_loop_immediate_call(loop, say_and_queue, NULL, "i") == 0, "an immediate");
    vgc_assert(vigil_loop_microtask_call(loop, say, NULL, "M") == 0, "a microtask");
    vgc_assert(vigil_loop_tick_call(loop, say, NULL, "T") == 0, "a tick");
    vgc_assert(vigil_loop_defer_call(loop, say, NULL, "d") == 0, "something for later");
    for (int i = 0; i < 3; i++)
        vigil_post_init(&stay[i], count_post, NULL);
    vigil_post_init(&removed, count_post, count_post);
    vgc_assert(vigil_loop_tick(loop, &stay[0]) == 0 && vigil_loop_microtask(loop, &stay[1]) == 0 &&
                   vigil_loop_immediate(loop, &stay[2]) == 0 && vigil_loop_immediate(loop, &removed) == 0,
               "the same in memory of one's own");
    vgc_assert(vigil_loop_post_remove(loop, &removed) == 0, "and taken back");
    vgc_assert(vigil_loop_ref(loop) == 0, "kept");
    vgc_assert(vigil_loop_keepers(loop, keepers, 8) >= 4, "each keeper is named");
    vgc_assert(vigil_loop_explain(loop, text, sizeof text) > 0, "in words too");
    vgc_assert(vigil_loop_unref(loop) == 0, "let go");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs until nothing is left");
    vgc_assert(strchr(said, 'p') && strchr(said, 'i') && strchr(said, 'd'), "each has run");
    vgc_assert(strstr(said, "ptm") && strstr(said, "itm"), "ticks, then microtasks, right behind the callback");
    vgc_assert(fired == 3, "three posts have run, and the one that was taken back has not");
    vgc_assert(ticks > 0, "the hooks have run");
    vgc_assert(vigil_hook_remove(loop, hook) == 0 || strlen(said) > 0, "the hooks go");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(strchr(said, 'E') != NULL && strchr(said, 'E') == strrchr(said, 'E'),
               "the one call that stayed comes at the end");
}

/* ---- watches ---- */

static int fd, seen;
static _Atomic int closed_calls;
static vigil_watch watch;

static void on_ready(vigil_loop *on, vigil_watch which, int which_fd, unsigned events, void *arg)
{
    eventfd_t value;
    (void)on;
    (void)which;
    (void)arg;
    vgc_assert(events & VIGIL_FD_READ, "what was asked for");
    if (eventfd_read(which_fd, &value) == 0)
        seen += (int)value;
}

static void on_closed(void *arg)
{
    (void)arg;
    vgc_assert(atomic_fetch_add_explicit(&closed_calls, 1, memory_order_relaxed) == 0, "a watch is over once");
}

static void *write_twice(void *arg)
{
    (void)arg;
    vgc_assert(eventfd_write(fd, 1) == 0 && eventfd_write(fd, 1) == 0, "it is written");
    return NULL;
}

static void *unwatch(void *arg)
{
    (void)arg;
    vgc_assert(vigil_watch_modify(loop, watch, VIGIL_FD_READ | VIGIL_FD_PRI) == 0, "other events");
    vgc_assert(vigil_watch_remove(loop, watch) == 0, "the watch is taken back");
    return NULL;
}

static void *watch_it(void *arg)
{
    (void)arg;
    vgc_assert(vigil_watch_add(loop, fd, VIGIL_FD_READ, 0, on_ready, on_closed, NULL, &watch) == 0, "a watch");
    return NULL;
}

static void watch_at_rest(void)
{
    fd = eventfd(0, EFD_NONBLOCK);
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(watch_it, NULL),
                            vgc_thread_start(write_twice, NULL)};
    vgc_quiesce();
    vgc_assert(seen == 2, "the loop has seen all that was written");
    vgc_thread_join(threads[1]);
    vgc_thread_join(threads[2]);
    unwatch(NULL);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&closed_calls, memory_order_relaxed) == 1, "the watch is over");
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_thread_join(threads[0]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    close(fd);
}

static void unwatch_against_end(void)
{
    fd = eventfd(0, EFD_NONBLOCK);
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    watch_it(NULL);
    pthread_t threads[2] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(write_twice, NULL)};
    vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_thread_join(threads[0]);
    vgc_thread_join(threads[1]);
    vgc_assert(atomic_load_explicit(&closed_calls, memory_order_relaxed) == 1 && seen <= 2, "the watch is over, once");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    close(fd);
}

#define TURNS(id, function, property_text, size, ...) \
    VGC_REGISTER(id, "turns_" #id, function, property_text, .bound = size, .opt.max_steps = 30000, ##__VA_ARGS__)
#define BY_CHANCE .opt.mode = VGC_PCT, .opt.runs = 300
TURNS(timers, timers_in_order, "each timer fires once, in order; one that was taken back does not",
      "40 timers, 1 thread");
TURNS(again, timers_again, "a timer with an interval fires again", "2 timers, 1 thread");
TURNS(order, turns_in_order, "ticks and microtasks run right behind the callback that queued them", "1 thread");
TURNS(watch, watch_at_rest,
      "what is written to a watched descriptor is seen; a watch that was taken back is over, once",
      "1 thread watches, 1 writes twice; at rest", BY_CHANCE);
TURNS(unwatch_end, unwatch_against_end,
      "what is written to a watched descriptor is seen; a watch that was taken back is over, once",
      "1 thread writes twice; against close", BY_CHANCE);
