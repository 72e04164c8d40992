/* SPDX-License-Identifier: MIT */
/* L14: a callback that raises is over, is reported, and harms nobody: the next one runs. In every phase. */
#include "loop_test.h"

#include <signal.h>
#include <unistd.h>

static struct journal journal;
static vigil_loop *loop;
static int statuses[64];
static vigil_loop_phase phases[64];
static bool microtask[64];
static int uncaught;

static void on_uncaught(void *user, const vigil_uncaught *it)
{
    (void)user;
    must_equal(it->size, sizeof *it);
    statuses[uncaught] = it->status;
    phases[uncaught] = it->phase;
    microtask[uncaught] = it->microtask;
    uncaught++;
    journal_add(&journal, '!');
}

static void say(void *arg)
{
    journal_add(&journal, *(char *)arg);
}

static char letters[] = "abcdefghijklmnop";

static __attribute__((noinline)) void raise_deeper(int status)
{
    if (status < 0)
        vigil_raise(status);
}

static __attribute__((noinline)) void raise_deep(int status)
{
    raise_deeper(status);
    journal_add(&journal, '?'); /* nobody comes here */
}

static void raiser(void *arg)
{
    journal_add(&journal, 'R');
    must_equal(vigil_loop_microtask_call(loop, say, NULL, arg), 0);
    raise_deep(-EIO);
}

static void raise_post(vigil_post *post)
{
    (void)post;
    raiser(&letters[0]);
}

static void raise_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    raiser(arg);
}

static void raise_watch(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    must_equal(vigil_watch_remove(of, watch), 0);
    raiser(arg);
}

static int64_t raise_prepare(vigil_loop *of, void *arg)
{
    (void)of;
    raiser(arg);
    return -1;
}

static void raise_check(vigil_loop *of, void *arg)
{
    (void)of;
    raiser(arg);
}

static vigil_loop *loop_that_catches(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = on_uncaught;
    memset(&journal, 0, sizeof journal);
    uncaught = 0;
    return loop_with(&options);
}

static void a_raise_in_each_phase_ends_that_callback_alone(void **state)
{
    (void)state;
    loop = loop_that_catches();
    int pipes[2];
    must_equal(pipe(pipes), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    vigil_post internal;
    vigil_post_init(&internal, raise_post, NULL);
    vigil_hook hook;
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = raise_prepare, .check = raise_check};
    must_equal(vigil_loop_post_internal(loop, &internal), 0);
    must_equal(vigil_loop_call(loop, raiser, NULL, &letters[1]), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[2]), 0);
    must_equal(vigil_timer_start(loop, 0, raise_timer, &letters[3], NULL), 0);
    must_equal(vigil_timer_start(loop, 0, raise_timer, &letters[4], NULL), 0);
    must_equal(vigil_hook_add(loop, &calls, &letters[5], &hook), 0);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, raise_watch, raiser, &letters[6], NULL), 0);
    must_equal(vigil_loop_immediate_call(loop, raiser, NULL, &letters[7]), 0);
    must_equal(vigil_loop_immediate_call(loop, say, NULL, &letters[8]), 0);
    must_equal(vigil_loop_defer_call(loop, raiser, NULL, &letters[9]), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    /* R: raises, !: reported, then the microtask of the callback that raised: its checkpoint is kept */
    must_read(&journal, "R!aR!bcR!dR!eR!fR!gR!fR!hiR!gR!j");
    vigil_loop_phase expected[] = {VIGIL_PHASE_INTERNAL, VIGIL_PHASE_POSTS, VIGIL_PHASE_TIMERS, VIGIL_PHASE_TIMERS,
                                   VIGIL_PHASE_PREPARE,  VIGIL_PHASE_IO,    VIGIL_PHASE_CHECK,  VIGIL_PHASE_IMMEDIATES,
                                   VIGIL_PHASE_CLOSE,    VIGIL_PHASE_CLOSE};
    must_equal(uncaught, count_of(expected));
    for (int i = 0; i < uncaught; i++) {
        must_equal(statuses[i], -EIO);
        must_equal(phases[i], expected[i]);
        must(!microtask[i]);
    }
    must_equal(loop_stats(loop).uncaught, uncaught);
    must_equal(vigil_hook_remove(loop, hook), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void raise_plain(void *arg)
{
    (void)arg;
    vigil_raise(-ENOENT);
}

static void queue_micro(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_tick_call(loop, raise_plain, NULL, NULL), 0);
    must_equal(vigil_loop_tick_call(loop, say, NULL, &letters[0]), 0);
    must_equal(vigil_loop_microtask_call(loop, raise_plain, NULL, NULL), 0);
    must_equal(vigil_loop_microtask_call(loop, say, NULL, &letters[1]), 0);
}

static void a_microtask_that_raises_leaves_the_others_their_place(void **state)
{
    (void)state;
    loop = loop_that_catches();
    must_equal(vigil_loop_call(loop, queue_micro, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[2]), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "!a!bc");
    must(microtask[0] && microtask[1]);
    must_equal(phases[0], VIGIL_PHASE_POSTS);
    must_equal(statuses[0], -ENOENT);
    must_equal(loop_stats(loop).ticks_run, 2);
    must_equal(loop_stats(loop).microtasks_run, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void raise_in_handler(void *user, const vigil_uncaught *it)
{
    (void)user;
    (void)it;
    uncaught++;
    vigil_raise(-EFAULT);
}

static void a_handler_that_raises_is_only_counted(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = raise_in_handler;
    memset(&journal, 0, sizeof journal);
    uncaught = 0;
    loop = loop_with(&options);
    must_equal(vigil_loop_call(loop, raise_plain, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[0]), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(uncaught, 1);
    must_equal(loop_stats(loop).uncaught, 2);
    must_read(&journal, "a");
    must_equal(vigil_loop_destroy(loop), 0);
}

static bool raise_recheck(vigil_loop *of, void *arg)
{
    (void)of;
    (void)arg;
    must_equal(vigil_loop_pause(loop), 0);
    vigil_raise(-EAGAIN);
}

static void a_raise_in_the_last_look_leaves_the_loop_awake(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    loop = loop_with(&options);
    vigil_hook hook;
    vigil_hook_calls calls = {.size = sizeof calls, .recheck = raise_recheck};
    must_equal(vigil_hook_add(loop, &calls, NULL, &hook), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_AWAKE);
    must_equal(loop_stats(loop).uncaught, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* While it ends, too: cancel callbacks and closed callbacks. */
static void raises_do_not_stop_the_end(void **state)
{
    (void)state;
    loop = loop_that_catches();
    for (int i = 0; i < 3; i++)
        must_equal(vigil_loop_call(loop, say, raise_plain, NULL), 0);
    must_equal(vigil_loop_immediate_call(loop, say, raise_plain, NULL), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(uncaught, 4);
    must_equal(vigil_loop_destroy(loop), 0);

    loop = loop_that_catches();
    for (int i = 0; i < 3; i++)
        must_equal(vigil_loop_call(loop, raise_plain, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[0]), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_read(&journal, "!!!a");
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_raise_in_each_phase_ends_that_callback_alone),
        test(a_microtask_that_raises_leaves_the_others_their_place),
        test(a_handler_that_raises_is_only_counted),
        test(a_raise_in_the_last_look_leaves_the_loop_awake),
        test(raises_do_not_stop_the_end),
    };
    return run_all(tests);
}
