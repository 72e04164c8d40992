/* SPDX-License-Identifier: MIT */
/*
 * The loop on one thread: timers in large numbers and on other clocks, watches, hooks, what it refuses, what keeps it alive, and the child of a fork.
 * There is one execution of each, so each is explored to its end; it is here because what only one thread does is under check too (memory that
 * is used after it was freed, leaks, a sleep that nothing ends).
 */
#include "loop_setup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")

static void nothing(void *arg)
{
    (void)arg;
}

static void no_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
}

static void no_watch(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void run_to_end(void)
{
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    destroy();
}

/* ---- timers ---- */

enum {
    TIMERS = 130 /* more than are sorted one by one */
};

static vigil_timer timers[TIMERS];
static uint64_t due_at[TIMERS]; /* 0: it must not fire */
static int fired[TIMERS];
static uint64_t last_due;

static void fire(vigil_loop *of, vigil_timer timer, void *arg)
{
    const int number = (int)(intptr_t)arg;
    vgc_assert(of == loop && memcmp(&timer, &timers[number], sizeof timer) == 0, "the timer is told as itself");
    vgc_assert(due_at[number] != 0 && fired[number]++ == 0, "only what is due fires, and once");
    vgc_assert(vgc_clock_now() >= due_at[number], "no timer fires early");
    vgc_assert(due_at[number] >= last_due, "timers fire in the order of their deadlines");
    last_due = due_at[number];
}

static int64_t delay_of(int number)
{
    return 1 + (number * 37) % 101 * 1000; /* in no order; some alike */
}

static void start_timers(void)
{
    for (int i = 0; i < TIMERS; i++) {
        vgc_assert(vigil_timer_start(loop, delay_of(i), fire, (void *)(intptr_t)i, &timers[i]) == 0, "it starts");
        vgc_assert(vigil_timer_deadline(loop, timers[i], &due_at[i]) == 0, "it has its deadline");
        vgc_assert(due_at[i] >= (uint64_t)delay_of(i), "which is not before its delay");
    }
}

static void all_fired(void)
{
    for (int i = 0; i < TIMERS; i++)
        vgc_assert(fired[i] == (due_at[i] != 0), "what was due has fired, and nothing else");
}

static void many_timers(void)
{
    make(false);
    start_timers();
    for (int i = 0; i < 30; i++) { /* some later, some earlier */
        vgc_assert(vigil_timer_again(loop, timers[i], 200000 + i) == 0, "it is put off");
        vgc_assert(vigil_timer_deadline(loop, timers[i], &due_at[i]) == 0, "it has its deadline");
    }
    for (int i = 30; i < 40; i++) {
        due_at[i] = 500;
        vgc_assert(vigil_timer_again_at(loop, timers[i], due_at[i]) == 0, "it is put earlier");
    }
    vgc_assert(vigil_timer_cancel_many(loop, &timers[40], 60) == 60, "many are cancelled at once");
    memset(&due_at[40], 0, 60 * sizeof *due_at);
    REFUSED(vigil_timer_cancel(loop, timers[40]), -ESTALE);
    vgc_assert(vigil_timer_cancel(loop, timers[100]) == 0, "one is cancelled");
    due_at[100] = 0;
    vgc_assert(vigil_timer_unref(loop, timers[101]) == 0 && vigil_timer_ref(loop, timers[101]) == 0, "it counts again");
    run_to_end();
    all_fired();
}

/* All are due at once: they are sorted before the first runs, and a callback cancels one that is in that batch. */
static void fire_and_cancel(vigil_loop *of, vigil_timer timer, void *arg)
{
    fire(of, timer, arg);
    const int number = (int)(intptr_t)arg;
    const int other = TIMERS - 1 - number;
    if (number < 3 && fired[other] == 0 && due_at[other] != 0) {
        vgc_assert(vigil_timer_cancel(loop, timers[other]) == 0, "a timer that is due can be cancelled");
        due_at[other] = 0;
    } else if (number == 5 && fired[other] == 0) {
        vgc_assert(vigil_timer_again(loop, timers[other], 1000000) == 0, "and put off");
        vgc_assert(vigil_timer_deadline(loop, timers[other], &due_at[other]) == 0, "to its deadline");
    }
}

static void timers_at_once(void)
{
    make(false);
    for (int i = 0; i < TIMERS; i++) {
        vgc_assert(vigil_timer_start(loop, delay_of(i), fire_and_cancel, (void *)(intptr_t)i, &timers[i]) == 0,
                   "it starts");
        vgc_assert(vigil_timer_deadline(loop, timers[i], &due_at[i]) == 0, "it has its deadline");
    }
    vgc_clock_advance(100000000);
    run_to_end();
    all_fired();
}

/* ---- other clocks, intervals ---- */

static int rounds;

static void fire_thrice(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)arg;
    if (++rounds == 2)
        vgc_clock_advance(10000); /* late: rounds that were missed are left out */
    if (rounds == 3)
        vgc_assert(vigil_timer_cancel(of, timer) == 0, "an interval ends");
}

static void clocks_and_intervals(void)
{
    uint64_t at = 0;
    vigil_timer timer;
    make(false);
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = 100;
    options.interval_ns = 1000;
    options.slack_ns = 50;
    vgc_assert(vigil_timer_start_with(loop, &options, fire_thrice, NULL, &timer) == 0, "it starts");
    options = (vigil_timer_options)VIGIL_TIMER_OPTIONS_INIT;
    options.clock = VIGIL_CLOCK_REALTIME;
    REFUSED(vigil_timer_start_with(loop, &options, fire, NULL, &timer), -EINVAL);
    options.clock = (vigil_clock)9;
    REFUSED(vigil_timer_start_with(loop, &options, fire, NULL, &timer), -EINVAL);
    options.clock = VIGIL_CLOCK_MONOTONIC;
    options.flags = 1U << 20;
    REFUSED(vigil_timer_start_with(loop, &options, fire, NULL, &timer), -EINVAL);
    options.flags = 0;
    options.slack_ns = -1;
    REFUSED(vigil_timer_start_with(loop, &options, fire, NULL, &timer), -EINVAL);
    REFUSED(vigil_timer_start_with(loop, NULL, fire, NULL, &timer), -EINVAL);
    REFUSED(vigil_timer_start_with(loop, &options, NULL, NULL, &timer), -EINVAL);
    REFUSED(vigil_timer_start(loop, 1, NULL, NULL, &timer), -EINVAL);
    REFUSED(vigil_timer_start(loop, -1, no_timer, NULL, &timer), -EINVAL);
    REFUSED(vigil_timer_cancel_many(loop, NULL, 1), -EINVAL);
    for (int i = 0; i < 2; i++) {
        options = (vigil_timer_options)VIGIL_TIMER_OPTIONS_INIT;
        options.clock = i == 0 ? VIGIL_CLOCK_REALTIME : VIGIL_CLOCK_BOOTTIME;
        options.deadline_ns = due_at[i] = 5000 + (uint64_t)i;
        vgc_assert(vigil_timer_start_with(loop, &options, fire, (void *)(intptr_t)i, &timers[i]) == 0, "it starts");
        vgc_assert(vigil_timer_deadline(loop, timers[i], &at) == 0 && at == due_at[i], "on its own clock");
        due_at[i] += 1000;
        vgc_assert(vigil_timer_again_at(loop, timers[i], due_at[i]) == 0, "it is put off");
        vgc_assert(vigil_timer_deadline(loop, timers[i], &at) == 0 && at == due_at[i], "on its own clock");
    }
    REFUSED(vigil_timer_again(loop, timers[0], -1), -EINVAL);
    REFUSED(vigil_timer_deadline(loop, timers[0], NULL), -EINVAL);
    options = (vigil_timer_options)VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = INT64_MAX;
    options.flags = VIGIL_TIMER_UNREF | VIGIL_TIMER_FROM_TICK;
    vgc_assert(vigil_timer_start_with(loop, &options, no_timer, NULL, &timer) == 0,
               "a timer for ever keeps nothing alive");
    vgc_assert(vigil_timer_deadline(loop, timer, &at) == 0 && at >= (uint64_t)INT64_MAX, "and lies beyond all others");
    run_to_end();
    vgc_assert(rounds == 3 && fired[0] == 1 && fired[1] == 1, "each has fired as often as it must");
}

#define ALONE(id, function, property_text, bed_) LOOP(id, function, property_text, "1 thread", bed_, SHUTDOWN, 0)
#define IN_ORDER                                 "timers fire once, in the order of their deadlines, and never early"
ALONE(alone_timers, many_timers, IN_ORDER, FUTEX);
ALONE(alone_timers_epoll, many_timers, IN_ORDER, EPOLL);
ALONE(alone_timers_at_once, timers_at_once, IN_ORDER, FUTEX);
ALONE(alone_clocks, clocks_and_intervals, "timers on other clocks and intervals fire as they must", FUTEX);

/* ---- watches ---- */

static int pair[2];
static unsigned seen;
static int calls;
static vigil_watch of_pair[2];

static void look_and_remove(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    char byte;
    (void)arg;
    seen |= events;
    calls++;
    vgc_assert(fd == pair[0] || fd == pair[1], "the descriptor is told");
    if ((events & VIGIL_FD_WRITE) != 0) {
        vgc_assert(vigil_watch_modify(of, watch, VIGIL_FD_READ) == 0, "from now on it is only read");
        vgc_assert(write(fd, "x", 1) == 1, "the peer gets a byte");
        return;
    }
    vgc_assert(read(fd, &byte, 1) == 1 && byte == 'x', "the byte has come");
    vgc_assert(vigil_watch_remove(of, of_pair[0]) == 0 && vigil_watch_remove(of, of_pair[1]) == 0, "both are removed");
    REFUSED(vigil_watch_modify(of, of_pair[0], VIGIL_FD_READ), -ESTALE);
    REFUSED(vigil_watch_remove(of, of_pair[1]), -ESTALE);
    REFUSED(vigil_watch_ref(of, of_pair[1]), -ESTALE);
}

static void watches(void)
{
    vigil_watch none;
    char text[512];
    make(false);
    vgc_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0, "two ends");
    REFUSED(vigil_watch_add(loop, -1, VIGIL_FD_READ, 0, no_watch, NULL, NULL, &none), -EBADF);
    REFUSED(vigil_watch_add(loop, pair[0], VIGIL_FD_READ, 0, NULL, NULL, NULL, &none), -EINVAL);
    REFUSED(vigil_watch_add(loop, pair[0], 1U << 20, 0, no_watch, NULL, NULL, &none), -EINVAL);
    vgc_assert(vigil_watch_add(loop, pair[0], VIGIL_FD_WRITE, 0, look_and_remove, NULL, NULL, &of_pair[0]) == 0,
               "a watch");
    vgc_assert(vigil_watch_add(loop, pair[1], VIGIL_FD_READ | VIGIL_FD_RDHUP, VIGIL_WATCH_UNREF, look_and_remove, NULL,
                               NULL, &of_pair[1]) == 0,
               "another");
    REFUSED(vigil_watch_modify(loop, of_pair[0], 1U << 20), -EINVAL);
    vgc_assert(vigil_watch_ref(loop, of_pair[1]) == 0 && vigil_watch_ref(loop, of_pair[1]) == 0 &&
                   vigil_watch_unref(loop, of_pair[1]) == 0,
               "it counts, once, and no more");
    REFUSED(vigil_loop_fast_path_set(loop, (vigil_fast_path)9), -EINVAL);
    REFUSED(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_FORCED), -EBUSY);
    vigil_keeper keepers[4];
    vgc_assert(vigil_loop_keepers(loop, keepers, 4) == 1 && keepers[0].kind == VIGIL_KEEPER_WATCH &&
                   keepers[0].number == pair[0],
               "one watch keeps the loop alive");
    vgc_assert(vigil_loop_explain(loop, text, sizeof text) > 0 && strstr(text, "watch on fd") != NULL, "and is told");
    run_to_end();
    vgc_assert(calls == 2 && seen == (VIGIL_FD_READ | VIGIL_FD_WRITE), "one could write, the other read");
    (void)close(pair[0]);
    (void)close(pair[1]);
}
ALONE(alone_watches, watches, "a watch tells what its descriptor can do until it is removed", FUTEX);
ALONE(alone_watches_epoll, watches, "a watch tells what its descriptor can do until it is removed", EPOLL);

/* ---- what keeps a loop alive, and what is told of it ---- */

static int asked, told, raised;

static void before_exit(void *user)
{
    vgc_assert(user == &asked, "the hook gets what it was given");
    if (asked++ == 0)
        vgc_assert(vigil_loop_call(loop, post_ran, post_cancelled, post_make(0, 1)) == 0, "it adds something");
}

static void uncaught(void *user, const vigil_uncaught *it)
{
    (void)user;
    vgc_assert(it->status == -EDOM, "the raise is told");
    raised++;
    vigil_raise(-EIO); /* only counted */
}

static void heard(void *user, const vigil_loop_event *it)
{
    (void)user;
    (void)it;
    told++;
    vigil_raise(-EIO); /* ends the hook alone */
}

static void raise_here(void *arg)
{
    (void)arg;
    vigil_raise(-EDOM);
}

static int left_of_flood;

static void flood(void *arg)
{
    if (--left_of_flood > 0)
        vgc_assert(vigil_loop_microtask_call(loop, flood, NULL, arg) == 0, "one more");
}

static void inside(void *arg)
{
    (void)arg;
    REFUSED(vigil_loop_run(loop, VIGIL_RUN), -EDEADLK);
    REFUSED(vigil_loop_destroy(loop), -EDEADLK);
    vgc_assert(vigil_loop_is_owner(loop) && vigil_loop_now(loop) <= vigil_loop_now_update(loop), "the owner is inside");
    left_of_flood = 8; /* more than the budget */
    vgc_assert(vigil_loop_microtask_call(loop, flood, NULL, NULL) == 0, "a microtask");
    vgc_assert(vigil_loop_tick_call(loop, nothing, NULL, NULL) == 0 &&
                   vigil_loop_immediate_call(loop, nothing, NULL, NULL) == 0 &&
                   vigil_loop_defer_call(loop, nothing, NULL, NULL) == 0,
               "a call of each kind");
    REFUSED(vigil_loop_microtask_call(loop, NULL, NULL, NULL), -EINVAL);
    REFUSED(vigil_loop_tick(loop, NULL), -EINVAL);
    vgc_assert(vigil_loop_shows(loop, (const void *)(uintptr_t)nothing) == 0, "it is shown under another name");
    REFUSED(vigil_loop_shows(loop, NULL), -EINVAL);
}

static int ends;

static void at_the_end(vigil_at_end *it)
{
    (void)it;
    ends++;
}

static void keep_and_tell(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    vigil_at_end first = {.run = at_the_end}, second = {.run = at_the_end}, empty = {0};
    vigil_loop_stats stats = {.size = 1};
    char text[256];
    vg_checked_level = the_setup()->watched ? VIGIL_RECORD_EVENTS : VIGIL_RECORD_OFF;
    options.fast_path = (vigil_fast_path)9;
    REFUSED(vigil_loop_create(&loop, &options), -EINVAL);
    options.fast_path = the_setup()->bed;
    options.microtasks = (vigil_microtask_mode)9;
    REFUSED(vigil_loop_create(&loop, &options), -EINVAL);
    options.microtasks = VIGIL_MICROTASK_BUDGET;
    options.microtask_budget = 4;
    options.on_before_exit = before_exit;
    options.on_uncaught = uncaught;
    options.on_event = heard;
    options.user = &asked;
    REFUSED(vigil_loop_create(NULL, &options), -EINVAL);
    vgc_assert(vigil_loop_create(&loop, &options) == 0, "the loop is made");
    REFUSED(vigil_loop_run(loop, (vigil_run_mode)9), -EINVAL);
    REFUSED(vigil_loop_run(NULL, VIGIL_RUN), -EINVAL);
    REFUSED(vigil_loop_fork(loop), -EINVAL);
    REFUSED(vigil_loop_fork(NULL), -EINVAL);
    REFUSED(vigil_loop_stats_get(loop, NULL), -EINVAL);
    REFUSED(vigil_loop_stats_get(loop, &stats), -EINVAL);
    REFUSED(vigil_loop_at_end_add(loop, &empty), -EINVAL);
    REFUSED(vigil_loop_at_end_remove(loop, NULL), -EINVAL);
    vgc_assert(vigil_loop_at_end_add(loop, &first) == 0 && vigil_loop_at_end_add(loop, &second) == 0,
               "the end is told");
    REFUSED(vigil_loop_at_end_add(loop, &second), -EBUSY);
    vgc_assert(vigil_loop_at_end_remove(loop, &first) == 0, "but not to this one");
    vgc_assert(vigil_loop_explain(loop, text, sizeof text) > 0 && strstr(text, "nothing keeps") != NULL,
               "nothing keeps it");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "one turn does not wait");
    vgc_assert(vigil_loop_call(loop, inside, NULL, NULL) == 0 && vigil_loop_call(loop, raise_here, NULL, NULL) == 0,
               "two posts");
    vgc_assert(vigil_loop_explain(loop, text, sizeof text) > 0, "posts keep it");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "it runs to its end");
    vgc_assert(asked >= 1 && ran(0) == 1, "what was added before the exit has run");
    vgc_assert(raised == 1 && left_of_flood == 0, "the raise was told, and no microtask was lost");
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0 && ends == 1, "one heard of the end");
    REFUSED(vigil_loop_at_end_add(loop, &first), -ESHUTDOWN);
    REFUSED(vigil_loop_microtask_call(loop, nothing, NULL, NULL), -ESHUTDOWN);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}
ALONE(alone_calls, keep_and_tell, "what is refused changes nothing, and what is accepted runs once", FUTEX);
ALONE(alone_calls_epoll, keep_and_tell, "what is refused changes nothing, and what is accepted runs once", EPOLL);
LOOP_AT(alone_calls_watched, true, keep_and_tell, "what is refused changes nothing, and what is accepted runs once",
        "1 thread; recorder on", FUTEX, SHUTDOWN, 0);

/* ---- the child of a fork ---- */

/* The page that the kernel wipes in the child is wiped by hand. */
static void forked(void)
{
    vigil_timer timer;
    make(false);
    vgc_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0, "two ends");
    vgc_assert(vigil_watch_add(loop, pair[0], VIGIL_FD_WRITE, 0, look_and_remove, NULL, NULL, &of_pair[0]) == 0 &&
                   vigil_watch_add(loop, pair[1], VIGIL_FD_READ, 0, look_and_remove, NULL, NULL, &of_pair[1]) == 0,
               "two watches");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0 && calls == 1, "the parent saw that one can be written");
    post_number(0, 1);
    *(uint32_t *)(uintptr_t)loop->guard.page = 0;
    REFUSED(vigil_loop_call(loop, nothing, NULL, NULL), -ECHILD);
    REFUSED(vigil_loop_run(loop, VIGIL_RUN), -ECHILD);
    REFUSED(vigil_timer_start(loop, 1, no_timer, NULL, &timer), -ECHILD);
    REFUSED(vigil_loop_ref(loop), -ECHILD);
    if (the_setup()->end == CLOSE) {
        vgc_assert(vigil_loop_destroy(loop) == 0, "the child gives its copy back");
        (void)close(pair[0]);
        (void)close(pair[1]);
        return;
    }
    vgc_assert(vigil_loop_fork(loop) == 0, "the child makes the loop its own");
    post_number(1, 1);
    vgc_assert(vigil_timer_start(loop, 1, no_timer, NULL, &timer) == 0, "a timer starts");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the child's loop runs to its end");
    vgc_assert(calls == 2 && ran(1) == 1, "its watches and posts are served");
    vgc_assert(ran(0) + cancelled(0) <= 1, "what the parent had is not served twice");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    (void)close(pair[0]);
    (void)close(pair[1]);
}
ALONE(alone_fork, forked, "the child of a fork makes the loop its own", EPOLL);
ALONE(alone_fork_futex, forked, "the child of a fork makes the loop its own", FUTEX);
LOOP(alone_fork_destroy, forked, "the child of a fork gives its copy back", "1 thread", EPOLL, CLOSE, 0,
     .opt.allow_leaks = true);
