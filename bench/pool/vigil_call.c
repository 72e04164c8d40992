/* SPDX-License-Identifier: MIT */
/* Vigil without embedded tasks: vigil_pool_call, or with BENCH_JOBS vigil_job_call and vigil_job_unref. */
#include "harness.h"

#include <stdint.h>
#include <vigil/pool.h>

static vigil_pool *pool;

static int run(void *arg)
{
    ((pool_fn)(uintptr_t)arg)();
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

static void produce(size_t first, size_t count, pool_fn fn)
{
    (void)first;
    for (size_t i = 0; i < count; i++) {
#ifdef BENCH_JOBS
        vigil_job job;
        bench_must(vigil_job_call(pool, run, (void *)(uintptr_t)fn, NULL, &job) == 0, "vigil_job_call");
        bench_must(vigil_job_unref(pool, job) == 0, "vigil_job_unref");
#else
        bench_must(vigil_pool_call(pool, run, NULL, (void *)(uintptr_t)fn, VIGIL_NORMAL) == 0, "vigil_pool_call");
#endif
    }
}

static void stop(void)
{
    bench_must(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "vigil_pool_shutdown");
    vigil_pool_destroy(pool);
}

const struct pool_peer pool_peer = {.start = start, .produce = produce, .stop = stop};
