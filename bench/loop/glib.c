/* SPDX-License-Identifier: MIT */
/* An idle source for each post, timeout sources, unix fd sources: GLib's own ways. */
#include "harness.h"

#include <glib-unix.h>
#include <glib.h>

#include <unistd.h>

static GMainContext *context;
static GMainLoop *loop;

static gboolean ignore(gint fd, GIOCondition condition, gpointer arg)
{
    (void)fd;
    (void)condition;
    (void)arg;
    return G_SOURCE_CONTINUE;
}

static void attach_fd(int fd, GUnixFDSourceFunc fn)
{
    GSource *source = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(source, G_SOURCE_FUNC(fn), NULL, NULL);
    g_source_attach(source, context);
}

static void open_loop(bool with_fd)
{
    context = g_main_context_new();
    loop = g_main_loop_new(context, FALSE);
    int pipes[2];
    if (with_fd) {
        bench_must(pipe(pipes) == 0, "a pipe");
        attach_fd(pipes[0], ignore);
    }
}

static void run(void)
{
    g_main_loop_run(loop);
}

static void stop(void)
{
    g_main_loop_quit(loop);
}

static gboolean on_idle(gpointer data)
{
    struct loop_message *message = data;
    message->fn(message->arg);
    return G_SOURCE_REMOVE;
}

static void post(struct loop_message *message, loop_fn fn, void *arg)
{
    message->fn = fn;
    message->arg = arg;
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, on_idle, message, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static GSource **timer;
static loop_fn timer_fn;

static gboolean fired(gpointer data)
{
    (void)data;
    timer_fn(NULL);
    return G_SOURCE_REMOVE;
}

static void timers(size_t n, loop_fn fn)
{
    timer = bench_alloc(n, sizeof(GSource *));
    timer_fn = fn;
}

static void timer_add(size_t i, unsigned delay_ms)
{
    timer[i] = g_timeout_source_new(delay_ms);
    g_source_set_callback(timer[i], fired, NULL, NULL);
    g_source_attach(timer[i], context);
    g_source_unref(timer[i]);
}

static void timer_again(size_t i, unsigned delay_ms)
{
    g_source_set_ready_time(timer[i], g_get_monotonic_time() + (gint64)delay_ms * 1000);
}

static void timer_cancel(size_t i)
{
    g_source_destroy(timer[i]);
}

static gboolean readable(gint fd, GIOCondition condition, gpointer arg)
{
    (void)condition;
    (void)arg;
    loop_readable(fd);
    return G_SOURCE_CONTINUE;
}

static void watch_fd(int fd)
{
    attach_fd(fd, readable);
}

const struct loop_peer loop_peer = {.open = open_loop,
                                    .run = run,
                                    .stop = stop,
                                    .post = post,
                                    .timers = timers,
                                    .timer_add = timer_add,
                                    .timer_again = timer_again,
                                    .timer_cancel = timer_cancel,
                                    .watch = watch_fd};
const long loop_most_timers = 10000; /* each turn looks at every source */
