/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <vigil/loop.h>

#include <unistd.h>

static vigil_loop *loop;

static void ignore(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void open_loop(bool with_fd)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    bench_must(vigil_loop_create(&loop, &options) == 0, "the loop");
    int pipes[2];
    if (with_fd)
        bench_must(pipe(pipes) == 0 && vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, ignore, NULL, NULL, NULL) == 0,
                   "a watch");
}

static void run(void)
{
    bench_must(vigil_loop_run(loop, VIGIL_RUN) == 1, "the run");
}

static void stop(void)
{
    (void)vigil_loop_pause(loop);
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    (void)message;
    bench_must(vigil_loop_call(loop, fn, NULL, arg) == 0, "a post");
}

static vigil_timer *names;
static loop_fn timer_fn;

static void timers(size_t n, loop_fn fn)
{
    names = bench_alloc(n, sizeof *names);
    timer_fn = fn;
}

static void fired(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    timer_fn(arg);
}

/* Counted from the loop's time, as the others do. */
static void timer_add(size_t i, unsigned delay_ms)
{
    vigil_timer_options options = {
        .size = sizeof options, .delay_ns = delay_ms * UINT64_C(1000000), .flags = VIGIL_TIMER_FROM_TICK};
    bench_must(vigil_timer_start_with(loop, &options, fired, NULL, &names[i]) == 0, "a timer");
}

static void timer_again(size_t i, unsigned delay_ms)
{
    (void)vigil_timer_again_at(loop, names[i], vigil_loop_now(loop) + delay_ms * UINT64_C(1000000));
}

static void timer_cancel(size_t i)
{
    (void)vigil_timer_cancel(loop, names[i]);
}

static void readable(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)events;
    (void)arg;
    loop_readable(fd);
}

static void watch_fd(int fd)
{
    bench_must(vigil_watch_add(loop, fd, VIGIL_FD_READ, 0, readable, NULL, NULL, NULL) == 0, "a watch");
}

static void soon(loop_fn fn, void *arg)
{
    (void)vigil_loop_microtask_call(loop, fn, NULL, arg);
}

const struct loop_peer loop_peer = {.open = open_loop,
                                    .run = run,
                                    .stop = stop,
                                    .post = post,
                                    .timers = timers,
                                    .timer_add = timer_add,
                                    .timer_again = timer_again,
                                    .timer_cancel = timer_cancel,
                                    .watch = watch_fd,
                                    .soon = soon};
const long loop_most_timers = 100000000;
