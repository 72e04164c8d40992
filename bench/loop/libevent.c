/* SPDX-License-Identifier: MIT */
/* event_active from any thread with a list under a mutex, evtimer, EV_READ|EV_PERSIST. */
#include "harness.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

#include <unistd.h>

static struct event_base *base;
static struct event *wake;

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    loop_queue_run();
}

static void ignore(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

static void open_loop(bool with_fd)
{
    evthread_use_pthreads();
    base = event_base_new();
    bench_must(base != NULL, "the base");
    wake = event_new(base, -1, EV_PERSIST, on_wake, NULL);
    bench_must(wake != NULL, "an event");
    int pipes[2];
    if (with_fd) {
        bench_must(pipe(pipes) == 0, "a pipe");
        event_add(event_new(base, pipes[0], EV_READ | EV_PERSIST, ignore, NULL), NULL);
    }
}

static void run(void)
{
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void stop(void)
{
    event_base_loopbreak(base);
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    if (loop_queue_push(message, fn, arg))
        event_active(wake, EV_READ, 0);
}

static struct event *timer;
static loop_fn timer_fn;

static void fired(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    timer_fn(NULL);
}

static void timers(size_t n, loop_fn fn)
{
    timer = bench_alloc(n, sizeof *timer);
    timer_fn = fn;
    for (size_t i = 0; i < n; i++)
        event_assign(&timer[i], base, -1, 0, fired, NULL);
}

static void timer_add(size_t i, unsigned delay_ms)
{
    struct timeval delay = {.tv_sec = delay_ms / 1000, .tv_usec = delay_ms % 1000 * 1000};
    event_add(&timer[i], &delay);
}

static void timer_cancel(size_t i)
{
    event_del(&timer[i]);
}

static void readable(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    (void)arg;
    loop_readable(fd);
}

static void watch_fd(int fd)
{
    event_add(event_new(base, fd, EV_READ | EV_PERSIST, readable, NULL), NULL);
}

static struct event *chain;
static loop_fn chain_fn;

static void on_chain(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    chain_fn(NULL);
}

static void soon(loop_fn fn, void *arg)
{
    (void)arg;
    chain_fn = fn;
    if (chain == NULL)
        chain = event_new(base, -1, EV_PERSIST, on_chain, NULL);
    event_active(chain, EV_READ, 0);
}

const struct loop_peer loop_peer = {.open = open_loop,
                                    .run = run,
                                    .stop = stop,
                                    .post = post,
                                    .timers = timers,
                                    .timer_add = timer_add,
                                    .timer_again = timer_add,
                                    .timer_cancel = timer_cancel,
                                    .watch = watch_fd,
                                    .soon = soon};
const long loop_most_timers = 100000000;
