/* SPDX-License-Identifier: MIT */
/*
 * A Vigil loop inside GLib's main loop, as in a GTK program: GLib owns the thread and decides when to run ours. The loop
 * is one GSource, which is ready when the loop has something to do, posts from other threads and timers included.
 *
 * Here a GLib timer and a Vigil timer tick side by side while the pool sends results back to the GLib thread.
 */
#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>

#include <vigil/adapters/glib.h>
#include <vigil/loop.h>
#include <vigil/pool.h>

struct app {
    GMainLoop *main;
    GThread *thread;
    vigil_loop *loop;
    vigil_pool *pool;
    vigil_timer timer;
    int glib_ticks, vigil_ticks, results;
    GSource *source;
};

#define RESULTS 100
#define TICKS   5

static void quit_when_done(struct app *app)
{
    if (app->glib_ticks >= TICKS && app->vigil_ticks >= TICKS && app->results >= RESULTS)
        g_main_loop_quit(app->main);
}

static gboolean glib_tick(gpointer arg)
{
    struct app *app = arg;
    app->glib_ticks++;
    quit_when_done(app);
    return app->glib_ticks < TICKS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void vigil_tick(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct app *app = arg;
    if (++app->vigil_ticks == TICKS)
        (void)vigil_timer_cancel(loop, timer);
    quit_when_done(app);
}

/* Back on the GLib thread: widgets could be touched here. */
static void result_comes(void *arg)
{
    struct app *app = arg;
    g_assert(g_thread_self() == app->thread);
    app->results++;
    quit_when_done(app);
}

static int work(void *arg)
{
    struct app *app = arg;
    return vigil_loop_call(app->loop, result_comes, NULL, app);
}

int main(void)
{
    struct app app = {.main = g_main_loop_new(NULL, FALSE), .thread = g_thread_self()};
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.interval_ns = 2000000;
    vigil_loop_options stay = VIGIL_LOOP_OPTIONS_INIT;
    stay.stay = true;
    int rc = vigil_loop_create(&app.loop, &stay);
    if (rc == 0)
        rc = vigil_pool_create(&app.pool, NULL);
    if (rc == 0)
        rc = vigil_timer_start_with(app.loop, &options, vigil_tick, &app, &app.timer);
    if (rc == 0)
        rc = vigil_glib_source_create(&app.source, app.loop);
    if (rc < 0) {
        fprintf(stderr, "glib: %s\n", vigil_strerror(rc));
        return 1;
    }
    g_source_attach(app.source, NULL);
    g_timeout_add(2, glib_tick, &app);
    for (int i = 0; i < RESULTS; i++)
        (void)vigil_pool_call(app.pool, work, NULL, &app, i % 2 == 0 ? VIGIL_HIGH : VIGIL_LOW);

    g_main_loop_run(app.main);

    g_source_destroy(app.source);
    g_source_unref(app.source);
    (void)vigil_pool_shutdown(app.pool, VIGIL_FOREVER);
    (void)vigil_pool_destroy(app.pool);
    (void)vigil_loop_shutdown(app.loop, VIGIL_FOREVER);
    (void)vigil_loop_destroy(app.loop);
    g_main_loop_unref(app.main);
    printf("GLib ticked %d times, Vigil %d times, %d results came\n", app.glib_ticks, app.vigil_ticks, app.results);
    return app.results == RESULTS ? 0 : 1;
}
