/* SPDX-License-Identifier: MIT */
/* Vigil with default options: embedded tasks, vigil_pool_submit one at a time; groups for fork and join. */
#include "harness.h"

#include <stdlib.h>
#include <vigil/pool.h>

struct item {
    vigil_task task; /* first: run() gets its address */
    pool_fn fn;
};

static vigil_pool *pool;
static struct item *items;

static int run(vigil_task *task)
{
    ((struct item *)task)->fn();
    return 0;
}

static void start(unsigned workers, size_t tasks)
{
    items = bench_alloc(tasks, sizeof *items);
    for (size_t i = 0; i < tasks; i++)
        vigil_task_init(&items[i].task, run, NULL);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.require_all_threads = true;
    bench_must(vigil_pool_create(&pool, &options) == 0, "vigil_pool_create");
}

static void produce(size_t first, size_t count, pool_fn fn)
{
    for (size_t i = first; i < first + count; i++) {
        items[i].fn = fn;
        bench_must(vigil_pool_submit(pool, &items[i].task, VIGIL_NORMAL) == 0, "vigil_pool_submit");
    }
}

static void stop(void)
{
    bench_must(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "vigil_pool_shutdown");
    vigil_pool_destroy(pool);
    free(items);
}

static void spawn(size_t first, size_t count, pool_fn fn)
{
    vigil_group group;
    vigil_group_init(&group, pool, 0);
    for (size_t i = first; i < first + count; i++) {
        items[i].fn = fn;
        vigil_group_spawn(&group, &items[i].task);
    }
    vigil_group_wait(&group);
}

struct fib_task {
    vigil_task task;
    unsigned n;
    uint64_t value;
};

static uint64_t spawn_fib(unsigned n);

static int fib_run(vigil_task *task)
{
    struct fib_task *fib = (struct fib_task *)task;
    fib->value = spawn_fib(fib->n);
    return 0;
}

static uint64_t spawn_fib(unsigned n)
{
    if (n < 2)
        return n;
    vigil_group group;
    vigil_group_init(&group, pool, 0);
    struct fib_task left;
    vigil_task_init(&left.task, fib_run, NULL);
    left.n = n - 1;
    vigil_group_spawn(&group, &left.task);
    const uint64_t right = spawn_fib(n - 2);
    vigil_group_wait(&group);
    return left.value + right;
}

static uint64_t fib(unsigned workers, unsigned n)
{
    (void)workers;
    struct fib_task root = {.n = n};
    vigil_task_init(&root.task, fib_run, NULL);
    vigil_group group;
    vigil_group_init(&group, pool, 0);
    bench_must(vigil_group_submit(&group, &root.task, VIGIL_NORMAL) == 0, "vigil_group_submit");
    bench_must(vigil_group_wait(&group) == 0, "vigil_group_wait");
    return root.value;
}

const struct pool_peer pool_peer = {.start = start, .produce = produce, .stop = stop, .fib = fib, .spawn = spawn};
