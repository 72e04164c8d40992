/* SPDX-License-Identifier: MIT */
/* GThreadPool, exclusive: its threads are its own, and all are started at once. */
#include "harness.h"

#include <glib.h>

static GThreadPool *pool;

static void run(gpointer data, gpointer unused)
{
    (void)unused;
    union {
        gpointer data;
        pool_fn fn;
    } task = {.data = data};
    task.fn();
}

static void start(unsigned workers, size_t tasks)
{
    (void)tasks;
    pool = g_thread_pool_new(run, NULL, (int)workers, TRUE, NULL);
    bench_must(pool != NULL, "g_thread_pool_new");
}

static void produce(size_t first, size_t count, pool_fn fn)
{
    union {
        pool_fn fn;
        gpointer data;
    } task = {.fn = fn};
    (void)first;
    for (size_t i = 0; i < count; i++)
        g_thread_pool_push(pool, task.data, NULL);
}

static void stop(void)
{
    g_thread_pool_free(pool, FALSE, TRUE);
}

const struct pool_peer pool_peer = {.start = start, .produce = produce, .stop = stop};
