/* SPDX-License-Identifier: MIT */
/* fib with vigil_join, which does for two functions what a group does for any number of tasks. */
#include "harness.h"

#include <stdlib.h>
#include <vigil/pool.h>

static vigil_pool *pool;

struct fib {
    unsigned n;
    uint64_t value;
};

static int join_fib(void *argument);

static uint64_t fib_of(unsigned n)
{
    if (n < 2)
        return n;
    struct fib left, right;
    left.n = n - 1;
    right.n = n - 2;
    if (vigil_join(pool, join_fib, &left, join_fib, &right) != 0)
        bench_trouble("vigil_join");
    return left.value + right.value;
}

static int join_fib(void *argument)
{
    struct fib *fib = argument;
    fib->value = fib_of(fib->n);
    return 0;
}

static void start(unsigned workers, size_t tasks)
{
    (void)tasks;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.require_all_threads = true;
    bench_must(vigil_pool_create(&pool, &options) == 0, "vigil_pool_create");
}

static void stop(void)
{
    bench_must(vigil_pool_destroy(pool) == 0, "vigil_pool_destroy");
}

static uint64_t fib(unsigned workers, unsigned n)
{
    (void)workers;
    struct fib root = {.n = n};
    vigil_job job;
    int status = -1;
    bench_must(vigil_job_call(pool, join_fib, &root, NULL, &job) == 0, "vigil_job_call");
    bench_must(vigil_job_wait(pool, job, VIGIL_FOREVER, &status) == 0 && status == 0, "vigil_job_wait");
    bench_must(vigil_job_unref(pool, job) == 0, "vigil_job_unref");
    return root.value;
}

const struct pool_peer pool_peer = {.start = start, .stop = stop, .fib = fib};
