/* SPDX-License-Identifier: MIT */
/* ev_async_send with a list under a mutex, ev_timer, ev_io, ev_feed_event. */
#define EV_COMPAT3 0
#include "harness.h"

/* The header was not written for these warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#pragma GCC diagnostic ignored "-Wconversion"
#include <ev.h>

#include <unistd.h>

static struct ev_loop *loop;
static ev_async async;
static ev_io silent;

static void on_async(struct ev_loop *of, ev_async *watcher, int events)
{
    (void)of;
    (void)watcher;
    (void)events;
    loop_queue_run();
}

static void ignore(struct ev_loop *of, ev_io *watcher, int events)
{
    (void)of;
    (void)watcher;
    (void)events;
}

static void open_loop(bool with_fd)
{
    loop = ev_loop_new(EVBACKEND_EPOLL);
    bench_must(loop != NULL, "the loop");
    ev_async_init(&async, on_async);
    ev_async_start(loop, &async);
    int pipes[2];
    if (with_fd) {
        bench_must(pipe(pipes) == 0, "a pipe");
        ev_io_init(&silent, ignore, pipes[0], EV_READ);
        ev_io_start(loop, &silent);
    }
}

static void run(void)
{
    ev_run(loop, 0);
}

static void stop(void)
{
    ev_break(loop, EVBREAK_ALL);
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    if (loop_queue_push(message, fn, arg))
        ev_async_send(loop, &async);
}

static ev_timer *timer;
static loop_fn timer_fn;

static void fired(struct ev_loop *of, ev_timer *watcher, int events)
{
    (void)of;
    (void)watcher;
    (void)events;
    timer_fn(NULL);
}

static void timers(size_t n, loop_fn fn)
{
    timer = bench_alloc(n, sizeof *timer);
    timer_fn = fn;
    for (size_t i = 0; i < n; i++)
        ev_init(&timer[i], fired);
}

static void timer_add(size_t i, unsigned delay_ms)
{
    ev_timer_set(&timer[i], delay_ms / 1000., 0.);
    ev_timer_start(loop, &timer[i]);
}

static void timer_again(size_t i, unsigned delay_ms)
{
    timer[i].repeat = delay_ms / 1000.; /* the manual's fast way: no stop and start */
    ev_timer_again(loop, &timer[i]);
}

static void timer_cancel(size_t i)
{
    ev_timer_stop(loop, &timer[i]);
}

static ev_io io[65536];

static void readable(struct ev_loop *of, ev_io *watcher, int events)
{
    (void)of;
    (void)events;
    loop_readable(watcher->fd);
}

static void watch_fd(int fd)
{
    ev_io_init(&io[fd], readable, fd, EV_READ);
    ev_io_start(loop, &io[fd]);
}

static ev_prepare chain;
static loop_fn chain_fn;

static void on_chain(struct ev_loop *of, ev_prepare *watcher, int events)
{
    (void)of;
    (void)watcher;
    (void)events;
    chain_fn(NULL);
}

static void soon(loop_fn fn, void *arg)
{
    (void)arg;
    chain_fn = fn;
    ev_set_cb(&chain, on_chain);
    ev_feed_event(loop, &chain, EV_CUSTOM);
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
#pragma GCC diagnostic pop
