/* SPDX-License-Identifier: MIT */
/* What the recorder costs at level BENCH_LEVEL. */
#include "../peer/peer.h"
#include "record/record.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/loop.h>
#include <vigil/pool.h>
#include <vigil/record.h>

enum {
    ROUNDS = 10
};

static uint64_t rounds_of_work;
static _Atomic int held, released;
static uint64_t began, ended;

static int work(vigil_task *task)
{
    (void)task;
    if (rounds_of_work != 0)
        (void)bench_work(rounds_of_work);
    return 0;
}

static int hold(vigil_task *task)
{
    (void)task;
    atomic_store_explicit(&held, 1, memory_order_release);
    while (atomic_load_explicit(&released, memory_order_acquire) == 0)
        (void)sched_yield();
    began = bench_now();
    return 0;
}

static int last(vigil_task *task)
{
    (void)task;
    ended = bench_now();
    return 0;
}

static double best(double so_far, uint64_t ns, long n)
{
    const double each = (double)ns / (double)n;
    return so_far == 0 || each < so_far ? each : so_far;
}

static void measure_tasks(const struct bench_args *args)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    vigil_pool *pool = NULL;
    rounds_of_work = args->param != 0 ? bench_rounds((uint64_t)args->param) : 0;
    /* A round is short enough to come through without being interrupted, now and then. */
    const long n = args->param != 0 && args->n > 1000000 / args->param ? 1000000 / args->param : args->n;
    const int rounds = args->param != 0 ? 20 * ROUNDS : ROUNDS;
    bench_must(vigil_pool_create(&pool, &options) == 0, "vigil_pool_create");
    vigil_task *tasks = bench_alloc((size_t)n, sizeof *tasks);
    vigil_task first;
    vigil_task final;
    vigil_task_init(&first, hold, NULL);
    vigil_task_init(&final, last, NULL);
    for (long i = 0; i < n; i++)
        vigil_task_init(&tasks[i], work, NULL);
    double run = 0;
    double submit = 0;
    for (int round = 0; round < rounds; round++) {
        atomic_store_explicit(&held, 0, memory_order_relaxed);
        atomic_store_explicit(&released, 0, memory_order_relaxed);
        bench_must(vigil_pool_submit(pool, &first, VIGIL_NORMAL) == 0, "vigil_pool_submit");
        while (atomic_load_explicit(&held, memory_order_acquire) == 0)
            (void)sched_yield();
        const uint64_t before = bench_now();
        for (long i = 0; i < n; i++)
            (void)vigil_pool_submit(pool, &tasks[i], VIGIL_NORMAL);
        submit = best(submit, bench_now() - before, n);
        bench_must(vigil_pool_submit(pool, &final, VIGIL_NORMAL) == 0, "vigil_pool_submit");
        atomic_store_explicit(&released, 1, memory_order_release);
        bench_must(vigil_pool_wait_idle(pool, VIGIL_FOREVER) == 0, "vigil_pool_wait_idle");
        run = best(run, ended - began, n);
    }
    bench_must(vigil_pool_destroy(pool) == 0, "vigil_pool_destroy");
    free(tasks);
    bench_print("run_ns", run);
    bench_print("submit_ns", submit);
}

static long calls, calls_wanted;

static void count_call(void *arg)
{
    (void)arg;
    calls++;
}

static void again(void *loop)
{
    if (++calls < calls_wanted)
        (void)vigil_loop_microtask_call(loop, again, NULL, loop);
}

static uint64_t run_calls(vigil_loop *loop, long n)
{
    const uint64_t before = bench_now();
    while (calls < n)
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    return bench_now() - before;
}

static void measure_loop(const struct bench_args *args)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    vigil_loop *loop = NULL;
    bench_must(vigil_loop_create(&loop, &options) == 0, "vigil_loop_create");
    double post = 0;
    double microtask = 0;
    calls_wanted = args->n;
    for (int round = 0; round < ROUNDS; round++) {
        calls = 0;
        for (long i = 0; i < args->n; i++)
            (void)vigil_loop_call(loop, count_call, NULL, NULL);
        post = best(post, run_calls(loop, args->n), args->n);
        calls = 0;
        bench_must(vigil_loop_microtask_call(loop, again, NULL, loop) == 0, "vigil_loop_microtask_call");
        microtask = best(microtask, run_calls(loop, args->n), args->n);
    }
    bench_must(vigil_loop_destroy(loop) == 0, "vigil_loop_destroy");
    bench_print("post_ns", post);
    bench_print("microtask_ns", microtask);
}

/* Events in a row, in short pieces of which the best counts: a piece that was interrupted says nothing. */
static double put_events(long n, int with_clock)
{
    const uint64_t what = vg_event_what(VG_EVENT_MARK, 0, 0);
    const long piece = 1000;
    double each = 0;
    for (long done = 0; done < n; done += piece) {
        const uint64_t before = bench_now();
        for (long i = 0; i < piece; i++)
            vg_event_put(with_clock ? vg_ticks() : (uint64_t)i, what, (uint64_t)i, 0);
        each = best(each, bench_now() - before, piece);
    }
    return each;
}

static void measure_event(const struct bench_args *args)
{
    uint32_t epoch = 0;
    bench_must(vg_record_hold(&epoch) == VIGIL_RECORD_EVENTS, "the recorder is off");
    bench_print("event_ns", put_events(args->n, 1));
    bench_print("known_ns", put_events(args->n, 0));
    bench_must(vg_my_ring.events != NULL, "this thread has no ring");
    vg_record_release(epoch);
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.level = (vigil_record_level)BENCH_LEVEL;
    bench_must(vigil_record_configure(&options) == 0, "vigil_record_configure");
    if (strcmp(args.bench, "watch-task") == 0)
        measure_tasks(&args);
    else if (strcmp(args.bench, "watch-loop") == 0)
        measure_loop(&args);
    else if (strcmp(args.bench, "watch-event") == 0)
        measure_event(&args);
    else
        bench_trouble("there is no bench %s here", args.bench);
    return 0;
}
