/* SPDX-License-Identifier: MIT */
/*
 * uv_queue_work. A loop belongs to one thread, so each producer has a loop of its own; the pool behind them is one for
 * the process. A producer then runs its loop until the loop has seen each task's end, as every user of libuv must.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

static uv_work_t *requests;

static void run(uv_work_t *request)
{
    union {
        void *data;
        pool_fn fn;
    } task = {.data = request->data};
    task.fn();
}

static void after(uv_work_t *request, int status)
{
    (void)request;
    bench_must(status == 0, "a task of libuv");
}

static void start(unsigned workers, size_t tasks)
{
    char text[16];
    snprintf(text, sizeof text, "%u", workers);
    setenv("UV_THREADPOOL_SIZE", text, 1); /* read when the first task is queued */
    requests = bench_alloc(tasks, sizeof *requests);
}

static __thread uv_loop_t *loop;

static void produce(size_t first, size_t count, pool_fn fn)
{
    union {
        pool_fn fn;
        void *data;
    } task = {.fn = fn};
    if (!loop) {
        loop = bench_alloc(1, sizeof *loop); /* lives as long as the process: pool-wake comes here for each wake */
        bench_must(uv_loop_init(loop) == 0, "uv_loop_init");
    }
    for (size_t i = first; i < first + count; i++) {
        requests[i].data = task.data;
        bench_must(uv_queue_work(loop, &requests[i], run, after) == 0, "uv_queue_work");
    }
    uv_run(loop, UV_RUN_DEFAULT);
}

const struct pool_peer pool_peer = {.start = start, .produce = produce};
