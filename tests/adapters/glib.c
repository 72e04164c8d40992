/* SPDX-License-Identifier: MIT */
/* GLib and a loop on one thread: the loop inside a context, and a context inside the loop. */
#include "../loop/loop_test.h"

#include <vigil/adapters/glib.h>

#include <glib-unix.h>
#include <unistd.h>

/* ---- the loop inside GLib ---------------------------------------------------------------------------------------- */

struct inside {
    GMainContext *context;
    vigil_loop *loop;
    GSource *source;
    unsigned timers, posts, idles, over;
};

static void inside_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct inside *it = arg;
    if (++it->timers == 5)
        must_equal(vigil_timer_cancel(loop, timer), 0);
}

static void inside_post(void *arg)
{
    ((struct inside *)arg)->posts++;
}

static void *post_from_elsewhere(void *arg)
{
    struct inside *it = arg;
    for (int i = 0; i < 100; i++)
        must_equal(vigil_loop_call(it->loop, inside_post, NULL, it), 0);
    return NULL;
}

static gboolean inside_over(gpointer arg)
{
    ((struct inside *)arg)->over++;
    return G_SOURCE_REMOVE;
}

static void inside_open(struct inside *it)
{
    memset(it, 0, sizeof *it);
    it->context = g_main_context_new();
    it->loop = loop_plain();
    must_equal(vigil_glib_source_create(&it->source, it->loop), 0);
    must(g_source_attach(it->source, it->context) != 0);
}

static void inside_end(struct inside *it)
{
    g_source_destroy(it->source);
    g_source_unref(it->source);
    must_equal(vigil_loop_destroy(it->loop), 0);
    g_main_context_unref(it->context);
}

static void a_loop_runs_inside_a_context(void **state)
{
    struct inside it;
    pthread_t thread;
    vigil_timer_options every = VIGIL_TIMER_OPTIONS_INIT;
    (void)state;
    inside_open(&it);
    every.interval_ns = 1000000;
    must_equal(vigil_timer_start_with(it.loop, &every, inside_timer, &it, NULL), 0);
    must_equal(pthread_create(&thread, NULL, post_from_elsewhere, &it), 0);
    while (it.timers < 5 || it.posts < 100)
        (void)g_main_context_iteration(it.context, TRUE); /* sleeps: only our descriptor wakes it */
    must_equal(pthread_join(thread, NULL), 0);
    inside_end(&it);
}

static void the_callback_tells_that_nothing_keeps_the_loop(void **state)
{
    struct inside it;
    (void)state;
    inside_open(&it);
    g_source_set_callback(it.source, inside_over, &it, NULL);
    must_equal(vigil_loop_call(it.loop, inside_post, NULL, &it), 0);
    while (it.over == 0)
        (void)g_main_context_iteration(it.context, TRUE);
    must_equal(it.posts, 1);
    must(g_source_is_destroyed(it.source));
    inside_end(&it);
}

static void a_loop_that_has_ended_leaves_the_context(void **state)
{
    struct inside it;
    (void)state;
    inside_open(&it);
    must_equal(vigil_loop_call(it.loop, inside_post, NULL, &it), 0);
    must_equal(vigil_loop_shutdown(it.loop, VIGIL_FOREVER), 0);
    must_equal(it.posts, 1);
    g_main_context_wakeup(it.context);
    for (int i = 0; i < 3; i++)
        (void)g_main_context_iteration(it.context, FALSE);
    inside_end(&it);
}

/* ---- GLib inside the loop ---------------------------------------------------------------------------------------- */

struct around {
    GMainContext *context;
    vigil_loop *loop;
    vigil_glib *glib;
    unsigned ticks, idles, calls, timers;
    int ends[2];
    size_t bytes;
};

static void around_open(struct around *it)
{
    memset(it, 0, sizeof *it);
    it->context = g_main_context_new();
    it->loop = loop_plain();
    must_equal(vigil_glib_open(&it->glib, it->loop, it->context), 0);
}

static void around_end(struct around *it)
{
    vigil_glib_close(it->glib);
    must_equal(vigil_loop_run(it->loop, VIGIL_RUN), 0); /* nothing is left */
    must_equal(vigil_loop_destroy(it->loop), 0);
    g_main_context_unref(it->context);
}

static void add(struct around *it, GSource *source, GSourceFunc fn)
{
    g_source_set_callback(source, fn, it, NULL);
    must(g_source_attach(source, it->context) != 0);
    g_source_unref(source);
}

static void close_when_all_ran(struct around *it)
{
    if (it->ticks >= 3 && it->idles >= 3 && it->calls >= 100 && it->timers >= 3) {
        vigil_glib_close(it->glib);
        it->glib = NULL;
    }
}

static gboolean tick(gpointer arg)
{
    struct around *it = arg;
    it->ticks++;
    close_when_all_ran(it);
    return it->ticks < 3 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean idle(gpointer arg)
{
    struct around *it = arg;
    it->idles++;
    close_when_all_ran(it);
    return it->idles < 3 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean called(gpointer arg)
{
    struct around *it = arg;
    it->calls++;
    close_when_all_ran(it);
    return G_SOURCE_REMOVE;
}

static void our_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct around *it = arg;
    if (++it->timers == 3)
        must_equal(vigil_timer_cancel(loop, timer), 0);
    close_when_all_ran(it);
}

static void *call_from_elsewhere(void *arg)
{
    struct around *it = arg;
    for (int i = 0; i < 100; i++)
        g_main_context_invoke(it->context, called, it);
    return NULL;
}

static void a_context_runs_inside_a_loop(void **state)
{
    struct around it;
    pthread_t thread;
    vigil_timer_options every = VIGIL_TIMER_OPTIONS_INIT;
    (void)state;
    around_open(&it);
    add(&it, g_timeout_source_new(2), tick);
    add(&it, g_idle_source_new(), idle);
    every.interval_ns = 1000000;
    must_equal(vigil_timer_start_with(it.loop, &every, our_timer, &it, NULL), 0);
    if (TEST_TSAN) /* GLib is not instrumented: its locks are not seen */
        it.calls = 100;
    else
        must_equal(pthread_create(&thread, NULL, call_from_elsewhere, &it), 0);
    must_equal(vigil_loop_run(it.loop, VIGIL_RUN), 0); /* until it is closed, in a callback of either */
    if (!TEST_TSAN)
        must_equal(pthread_join(thread, NULL), 0);
    must(it.glib == NULL);
    around_end(&it);
}

static gboolean readable(gint fd, GIOCondition condition, gpointer arg)
{
    struct around *it = arg;
    char bytes[256];
    must((condition & G_IO_IN) != 0 || (condition & G_IO_HUP) != 0);
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got > 0)
        it->bytes += (size_t)got;
    else
        it->calls++;
    return got > 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void add_fd(struct around *it, int fd, GIOCondition condition, GUnixFDSourceFunc fn)
{
    GSource *source = g_unix_fd_source_new(fd, condition);
    g_source_set_callback(source, G_SOURCE_FUNC(fn), it, NULL);
    must(g_source_attach(source, it->context) != 0);
    g_source_unref(source);
}

static gboolean writable(gint fd, GIOCondition condition, gpointer arg)
{
    struct around *it = arg;
    must((condition & G_IO_OUT) != 0);
    must_equal(write(fd, "hello", 5), 5);
    if (++it->ticks < 10)
        return G_SOURCE_CONTINUE;
    must_equal(close(fd), 0);
    return G_SOURCE_REMOVE;
}

static void descriptors_of_glib_are_watched(void **state)
{
    struct around it;
    (void)state;
    around_open(&it);
    must_equal(pipe(it.ends), 0);
    add_fd(&it, it.ends[0], G_IO_IN, readable);
    add_fd(&it, it.ends[1], G_IO_OUT, writable);
    while (it.calls == 0)
        must(vigil_loop_run(it.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(it.bytes, 50);
    must_equal(close(it.ends[0]), 0);
    around_end(&it);
}

/* The same numbers, other pipes: poll(2) would not notice, so the loop must not either. */
static gboolean replace(gint fd, GIOCondition condition, gpointer arg)
{
    struct around *it = arg;
    char byte;
    (void)condition;
    must_equal(read(fd, &byte, 1), 1);
    must_equal(close(it->ends[1]), 0);
    must_equal(close(it->ends[0]), 0);
    must_equal(pipe(it->ends), 0);
    must_equal(it->ends[0], fd);
    if (++it->ticks < 5) {
        add_fd(it, fd, G_IO_IN, replace);
        must_equal(write(it->ends[1], "x", 1), 1);
    }
    return G_SOURCE_REMOVE;
}

static void a_number_may_be_closed_and_opened_again(void **state)
{
    struct around it;
    (void)state;
    around_open(&it);
    must_equal(pipe(it.ends), 0);
    add_fd(&it, it.ends[0], G_IO_IN, replace);
    must_equal(write(it.ends[1], "x", 1), 1);
    while (it.ticks < 5)
        must(vigil_loop_run(it.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(close(it.ends[0]), 0);
    must_equal(close(it.ends[1]), 0);
    around_end(&it);
}

static void wrong_arguments_are_refused(void **state)
{
    vigil_loop *loop = loop_plain();
    (void)state;
    must_equal(vigil_glib_source_create(NULL, loop), -EINVAL);
    must_equal(vigil_glib_open(NULL, loop, NULL), -EINVAL);
    vigil_glib_close(NULL);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    vigil_glib *glib;
    must_equal(vigil_glib_open(&glib, loop, NULL), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_loop_runs_inside_a_context),
        test(the_callback_tells_that_nothing_keeps_the_loop),
        test(a_loop_that_has_ended_leaves_the_context),
        test(a_context_runs_inside_a_loop),
        test(descriptors_of_glib_are_watched),
        test(a_number_may_be_closed_and_opened_again),
        test(wrong_arguments_are_refused),
    };
    return run_all(tests);
}
