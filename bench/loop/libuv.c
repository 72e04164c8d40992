/* SPDX-License-Identifier: MIT */
/* uv_async_send with a list under a mutex, uv_timer, uv_poll. */
#include "harness.h"

#include <uv.h>

#include <unistd.h>

static uv_loop_t loop;
static uv_async_t async;
static uv_poll_t silent;

static void on_async(uv_async_t *handle)
{
    (void)handle;
    loop_queue_run();
}

static void ignore(uv_poll_t *handle, int status, int events)
{
    (void)handle;
    (void)status;
    (void)events;
}

static void open_loop(bool with_fd)
{
    bench_must(uv_loop_init(&loop) == 0 && uv_async_init(&loop, &async, on_async) == 0, "the loop");
    int pipes[2];
    if (with_fd)
        bench_must(pipe(pipes) == 0 && uv_poll_init(&loop, &silent, pipes[0]) == 0 &&
                       uv_poll_start(&silent, UV_READABLE, ignore) == 0,
                   "a watch");
}

static void run(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
}

static void stop(void)
{
    uv_stop(&loop);
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    if (loop_queue_push(message, fn, arg))
        uv_async_send(&async);
}

static uv_timer_t *timer;
static loop_fn timer_fn;

static void timers(size_t n, loop_fn fn)
{
    timer = bench_alloc(n, sizeof *timer);
    timer_fn = fn;
    for (size_t i = 0; i < n; i++)
        uv_timer_init(&loop, &timer[i]);
}

static void fired(uv_timer_t *handle)
{
    (void)handle;
    timer_fn(NULL);
}

static void timer_add(size_t i, unsigned delay_ms)
{
    uv_timer_start(&timer[i], fired, delay_ms, 0);
}

static void timer_cancel(size_t i)
{
    uv_timer_stop(&timer[i]);
}

static uv_poll_t poll_of[65536];

static void readable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    loop_readable((int)(handle - poll_of));
}

static void watch_fd(int fd)
{
    bench_must(uv_poll_init(&loop, &poll_of[fd], fd) == 0 && uv_poll_start(&poll_of[fd], UV_READABLE, readable) == 0,
               "a watch");
}

const struct loop_peer loop_peer = {.open = open_loop,
                                    .run = run,
                                    .stop = stop,
                                    .post = post,
                                    .timers = timers,
                                    .timer_add = timer_add,
                                    .timer_again = timer_add,
                                    .timer_cancel = timer_cancel,
                                    .watch = watch_fd};
const long loop_most_timers = 100000000;
