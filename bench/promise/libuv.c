/* SPDX-License-Identifier: MIT */
/* uv_queue_work and back: from before the call to the callback on the loop. */
#include "../peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    WARM = 200
};

static uv_loop_t loop;
static uv_timer_t timer;
static uv_work_t request;
static uint64_t *samples, began, gap_ms;
static size_t total, done;

static void start(void);

static void work(uv_work_t *it)
{
    it->data = &request; /* something */
}

static void next(uv_timer_t *it)
{
    (void)it;
    start();
}

static void after(uv_work_t *it, int status)
{
    (void)it;
    bench_must(status == 0, "a call of libuv");
    if (done >= WARM)
        samples[done - WARM] = bench_now() - began;
    if (++done == total)
        return;
    if (gap_ms == 0)
        start();
    else
        uv_timer_start(&timer, next, gap_ms, 0);
}

static void start(void)
{
    began = bench_now();
    bench_must(uv_queue_work(&loop, &request, work, after) == 0, "uv_queue_work");
}

int main(int argc, char **argv)
{
    struct bench_args args = bench_parse(argc, argv);
    if (strcmp(args.bench, "promise-async") != 0)
        bench_trouble("this peer does not know %s", args.bench);
    char text[16];
    snprintf(text, sizeof text, "%u", args.workers);
    setenv("UV_THREADPOOL_SIZE", text, 1);
    gap_ms = (uint64_t)args.param / 1000;
    total = (size_t)args.n + WARM;
    samples = bench_alloc((size_t)args.n, sizeof *samples);
    bench_must(uv_loop_init(&loop) == 0, "uv_loop_init");
    uv_timer_init(&loop, &timer);
    start();
    uv_run(&loop, UV_RUN_DEFAULT);
    bench_print_percentiles(samples, (size_t)args.n);
    return 0;
}
