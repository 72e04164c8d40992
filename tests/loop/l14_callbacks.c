/* SPDX-License-Identifier: MIT */
/* L5, L14: callbacks that do what nobody expects: raise where the loop asks something, add to the list that is being walked, queue
   work in the last look, wait for the end from inside. */
#include "loop_test.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

static vigil_loop *loop;
static struct journal journal;
static int calls;

static void begin(void)
{
    calls = 0;
    memset(&journal, 0, sizeof journal);
}

static void say(void *arg)
{
    journal_add(&journal, *(const char *)arg);
}

static void raise_it(void *arg)
{
    (void)arg;
    vigil_raise(-EIO);
}

static void note_uncaught(void *user, const vigil_uncaught *it)
{
    (void)user;
    journal_add(&journal, it->microtask ? 'm' : 'c');
}

/* ---- the question before the exit -------------------------------------------------------------------------------- */

static void raise_before_exit(void *user)
{
    (void)user;
    calls++;
    must_equal(calls, 1);
    vigil_raise(-EIO);
}

static void before_exit_that_raises_is_not_asked_again(void **state)
{
    (void)state;
    begin();
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_before_exit = raise_before_exit;
    options.on_uncaught = note_uncaught;
    loop = loop_with(&options);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "c");
    must_equal(vigil_loop_destroy(loop), 0);
}

static void post_and_raise_before_exit(void *user)
{
    (void)user;
    if (++calls == 1) {
        must_equal(vigil_loop_call(loop, say, NULL, "p"), 0);
        vigil_raise(-EIO);
    }
    journal_add(&journal, 'x');
}

static void what_before_exit_adds_before_it_raises_runs_and_it_is_asked_again(void **state)
{
    (void)state;
    begin();
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_before_exit = post_and_raise_before_exit;
    options.on_uncaught = note_uncaught;
    loop = loop_with(&options);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "cpx");
    must_equal(vigil_loop_destroy(loop), 0);
}

static void stop_before_exit(void *user)
{
    (void)user;
    if (++calls == 1)
        must_equal(vigil_loop_pause(loop), 0);
}

static void a_stop_before_the_exit_leaves_the_loop_as_it_is(void **state)
{
    (void)state;
    begin();
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_before_exit = stop_before_exit;
    loop = loop_with(&options);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    must_equal(vigil_loop_call(loop, say, NULL, "p"), 0); /* it has not ended */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "p");
    must_equal(calls, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- the last microtask of a checkpoint -------------------------------------------------------------------------- */

static void queue_a_raise(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_microtask_call(loop, raise_it, NULL, NULL), 0);
}

static void queue_both(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_microtask_call(loop, say, NULL, "M"), 0);
    must_equal(vigil_loop_tick_call(loop, say, NULL, "T"), 0);
}

static void a_checkpoint_ends_also_if_its_last_microtask_raises(void **state)
{
    (void)state;
    begin();
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = note_uncaught;
    loop = loop_with(&options);
    must_equal(vigil_loop_call(loop, queue_a_raise, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, queue_both, NULL, NULL), 0); /* ticks come first, as in any other */
    must_equal(vigil_loop_call(loop, raise_it, NULL, NULL), 0);   /* and this is a callback, not a microtask */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "mTMc");
    must_equal(loop_stats(loop).microtasks_run, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- lists that grow while they are walked ----------------------------------------------------------------------- */

static void add_a_hook_like_me(vigil_loop *of, void *arg);
static int64_t prepare_another(vigil_loop *of, void *arg);
static bool recheck_another(vigil_loop *of, void *arg);

static void add_hook(vigil_loop *of)
{
    const vigil_hook_calls like_me = {
        .size = sizeof like_me, .prepare = prepare_another, .recheck = recheck_another, .check = add_a_hook_like_me};
    must(++calls < 1000);
    must_equal(vigil_hook_add(of, &like_me, NULL, NULL), 0);
}

static void add_a_hook_like_me(vigil_loop *of, void *arg)
{
    (void)arg;
    add_hook(of);
}

static int64_t prepare_another(vigil_loop *of, void *arg)
{
    (void)arg;
    add_hook(of);
    return 0;
}

static bool recheck_another(vigil_loop *of, void *arg)
{
    (void)arg;
    add_hook(of);
    return false;
}

static void a_hook_that_adds_hooks_does_not_hold_the_turn(void **state)
{
    (void)state;
    begin();
    loop = loop_that_stays();
    add_hook(loop);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0); /* 1 prepares, 2 check */
    must_equal(calls, 4);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0); /* 4 prepare, 8 check */
    must_equal(calls, 16);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void signal_once(vigil_loop *of, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    must(++calls < 100);
    must_equal(vigil_signal_add(of, info->signo, signal_once, arg, NULL), 0);
    must_equal(vigil_signal_remove(of, signal), 0);
}

static void a_signal_watch_that_is_added_in_a_callback_waits_for_the_next_signal(void **state)
{
    (void)state;
    begin();
    loop = loop_that_stays();
    must_equal(vigil_signal_add(loop, SIGUSR2, signal_once, NULL, NULL), 0);
    for (int i = 1; i <= 3; i++) {
        must_equal(kill(getpid(), SIGUSR2), 0);
        for (int turn = 0; turn < 3; turn++)
            must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
        must_equal(calls, i);
    }
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- the last look ----------------------------------------------------------------------------------------------- */

static void stop_by_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    must_equal(vigil_loop_pause(of), 0);
}

static void stop_by_microtask(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_pause(loop), 0);
}

static bool recheck_starts_a_timer(vigil_loop *of, void *arg)
{
    (void)arg;
    if (++calls == 1)
        must_equal(vigil_timer_start(of, 1000, stop_by_timer, NULL, NULL), 0);
    return false;
}

static bool recheck_queues_a_microtask(vigil_loop *of, void *arg)
{
    (void)arg;
    if (++calls == 1)
        must_equal(vigil_loop_microtask_call(of, stop_by_microtask, NULL, NULL), 0);
    return false;
}

static void what_a_recheck_hook_queues_is_not_slept_through(void **state)
{
    (void)state;
    bool (*const hooks[])(vigil_loop * of, void *arg) = {recheck_starts_a_timer, recheck_queues_a_microtask};
    for (size_t i = 0; i < count_of(hooks); i++) {
        begin();
        loop = loop_that_stays();
        const vigil_hook_calls hook = {.size = sizeof hook, .recheck = hooks[i]};
        must_equal(vigil_hook_add(loop, &hook, NULL, NULL), 0);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 1); /* it would sleep for ever */
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static bool recheck_raises_once(vigil_loop *of, void *arg)
{
    (void)of;
    (void)arg;
    if (++calls == 1)
        vigil_raise(-EIO);
    return false;
}

static bool readable(int fd, int ms)
{
    struct pollfd ask = {.fd = fd, .events = POLLIN};
    return poll(&ask, 1, ms) == 1;
}

static void a_raise_in_the_last_look_of_an_embedded_loop_is_reported_by_the_next_run(void **state)
{
    (void)state;
    begin();
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.on_uncaught = note_uncaught;
    loop = loop_with(&options);
    int fd = vigil_loop_fd(loop);
    const vigil_hook_calls hook = {.size = sizeof hook, .recheck = recheck_raises_once};
    must_equal(vigil_hook_add(loop, &hook, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must(!vigil_loop_is_owner(loop));
    must(readable(fd, 0));
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_read(&journal, "c");
    must(!readable(fd, 0));
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- on_event waits for the end ---------------------------------------------------------------------------------- */

static void on_event_tries_everything(void *user, const vigil_loop_event *event)
{
    (void)user;
    if (event->kind != VIGIL_LOOP_FD_GONE)
        return;
    calls++;
    must_equal(vigil_loop_run(loop, VIGIL_RUN), -EDEADLK);
    must_equal(vigil_loop_wait(loop, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), -EDEADLK);
    must_equal(vigil_loop_destroy(loop), -EDEADLK);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0); /* it does not wait here */
}

static void never(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)arg;
    must_equal(events, VIGIL_FD_GONE);
}

static void on_event_cannot_wait_for_the_call_that_it_is_about(void **state)
{
    (void)state;
    for (int with_owner = 0; with_owner < 2; with_owner++) {
        begin();
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = true;
        options.on_event = on_event_tries_everything;
        loop = loop_with(&options);
        int pipes[2];
        must_equal(pipe(pipes), 0);
        vigil_watch watch;
        must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, never, NULL, NULL, &watch), 0);
        pthread_t owner;
        if (with_owner == 1) {
            owner = start_thread(loop_runner, loop);
            loop_wait_sleeping(loop);
        }
        close(pipes[0]);
        must_equal(vigil_watch_modify(loop, watch, VIGIL_FD_READ | VIGIL_FD_PRI), -EBADF);
        must_equal(calls, 1);
        if (with_owner == 1)
            join_thread(owner);
        must_equal(vigil_loop_destroy(loop), 0);
        close(pipes[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(before_exit_that_raises_is_not_asked_again),
        test(what_before_exit_adds_before_it_raises_runs_and_it_is_asked_again),
        test(a_stop_before_the_exit_leaves_the_loop_as_it_is),
        test(a_checkpoint_ends_also_if_its_last_microtask_raises),
        test(a_hook_that_adds_hooks_does_not_hold_the_turn),
        test(a_signal_watch_that_is_added_in_a_callback_waits_for_the_next_signal),
        test(what_a_recheck_hook_queues_is_not_slept_through),
        test(a_raise_in_the_last_look_of_an_embedded_loop_is_reported_by_the_next_run),
        test(on_event_cannot_wait_for_the_call_that_it_is_about),
    };
    return run_all(tests);
}
