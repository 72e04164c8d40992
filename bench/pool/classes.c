/* SPDX-License-Identifier: MIT */
/*
 * pool-share: the share of time that a lower class gets beside a flood of a higher one. pool-critical: how late a CRITICAL task comes
 * back from a wait while lower classes flood the pool. Vigil alone.
 */
#include "../peer/peer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/pool.h>

enum {
    MOST_WORKERS = 64,
    EACH = 4 /* tasks of a class per worker: none of the two runs dry */
};

/* ---- pool-share ---- */

struct flood {
    vigil_task task;
    vigil_pool *pool;
    vigil_priority priority;
    uint64_t rounds;
};

/* Time from the start of a task to the start of the next on the same worker belongs to the first, as the pool counts it. */
struct worker_time {
    uint64_t since;
    unsigned class_;
    _Atomic uint64_t spent[2];
    char pad[88];
};

static struct worker_time times[MOST_WORKERS];
static atomic_bool over;

static void charge(unsigned class_)
{
    const int index = vigil_pool_current_worker();
    if (index < 0 || index >= MOST_WORKERS)
        return;
    struct worker_time *mine = &times[index];
    const uint64_t now = bench_now();
    if (mine->since != 0) {
        _Atomic uint64_t *spent = &mine->spent[mine->class_];
        atomic_store_explicit(spent, atomic_load_explicit(spent, memory_order_relaxed) + now - mine->since,
                              memory_order_relaxed);
    }
    mine->since = now;
    mine->class_ = class_;
}

static int flood_run(vigil_task *task)
{
    struct flood *it = (struct flood *)task;
    charge(it->priority == VIGIL_LOW);
    (void)bench_work(it->rounds);
    if (!atomic_load_explicit(&over, memory_order_relaxed))
        bench_must(vigil_pool_submit(it->pool, &it->task, it->priority) == 0, "a submit");
    return 0;
}

static void measure_share(const struct bench_args *args)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_pool *pool;
    options.workers = args->workers;
    bench_must(args->workers <= MOST_WORKERS && vigil_pool_create(&pool, &options) == 0, "a pool");
    const uint64_t rounds[2] = {bench_rounds(args->producers * UINT64_C(1000)),
                                bench_rounds((uint64_t)args->param * 1000)};
    const unsigned count = 2 * EACH * args->workers;
    struct flood *floods = bench_alloc(count, sizeof *floods);
    for (unsigned i = 0; i < count; i++) {
        floods[i].pool = pool;
        floods[i].priority = i % 2 == 0 ? VIGIL_HIGH : VIGIL_LOW;
        floods[i].rounds = rounds[i % 2];
        vigil_task_init(&floods[i].task, flood_run, NULL);
        bench_must(vigil_pool_submit(pool, &floods[i].task, floods[i].priority) == 0, "a submit");
    }
    /* A share of 3 % of tasks of 50 ms needs many of them. */
    const uint64_t longest = args->producers > (unsigned long)args->param ? args->producers : (uint64_t)args->param;
    uint64_t window = (uint64_t)args->n * 1000000;
    if (args->n >= 1000 && window < 400 * longest * 1000)
        window = 400 * longest * 1000;
    bench_sleep(window);
    uint64_t spent[2] = {0, 0};
    for (unsigned i = 0; i < args->workers; i++)
        for (int c = 0; c < 2; c++)
            spent[c] += atomic_load_explicit(&times[i].spent[c], memory_order_relaxed);
    atomic_store_explicit(&over, true, memory_order_relaxed);
    bench_must(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "the end of the pool");
    vigil_pool_destroy(pool);
    const double all = (double)(spent[0] + spent[1]);
    bench_print("share_permille", all > 0 ? 1000 * (double)spent[1] / all : 0);
    bench_print("of_option", all > 0 ? 1000 * (double)spent[1] / all / VIGIL_LOWER_PERMILLE : 0);
    free(floods);
}

/* ---- pool-critical ---- */

enum {
    LOW_NS = 50000000,
    AWAITED_NS = 5000000
};

static vigil_pool *pool;
static _Atomic uint64_t ended;
static uint64_t latest, burn;

static int low_task(void *arg)
{
    if (burn != 0)
        (void)bench_work(burn);
    else
        bench_sleep(LOW_NS);
    if (!atomic_load_explicit(&over, memory_order_relaxed))
        bench_must(vigil_pool_call(pool, low_task, NULL, arg, VIGIL_LOW) == 0, "a call");
    return 0;
}

static int awaited_job(void *arg)
{
    (void)arg;
    bench_sleep(AWAITED_NS);
    atomic_store_explicit(&ended, bench_now(), memory_order_relaxed);
    return 0;
}

static int critical_task(void *arg)
{
    vigil_job *job = arg;
    bench_must(vigil_job_wait(pool, *job, VIGIL_FOREVER, NULL) == 0, "a wait");
    const uint64_t late = bench_now() - atomic_load_explicit(&ended, memory_order_relaxed);
    if (late > latest)
        latest = late;
    return 0;
}

static void measure_critical(const struct bench_args *args)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_job_options as = VIGIL_JOB_OPTIONS_INIT;
    options.workers = args->workers;
    burn = args->param != 0 ? bench_rounds(LOW_NS) : 0;
    bench_must(vigil_pool_create(&pool, &options) == 0, "a pool");
    uint64_t *lates = bench_alloc((size_t)args->n, sizeof *lates);
    for (long i = 0; i < args->n; i++) {
        vigil_job job, waiter;
        as.priority = VIGIL_HIGH; /* it has begun when somebody waits for it */
        latest = 0;
        bench_must(vigil_job_call(pool, awaited_job, NULL, &as, &job) == 0, "a job");
        if (i == 0)
            for (unsigned j = 0; j < 2 * EACH * args->workers; j++)
                bench_must(vigil_pool_call(pool, low_task, NULL, NULL, VIGIL_LOW) == 0, "a call");
        as.priority = VIGIL_CRITICAL;
        bench_must(vigil_job_call(pool, critical_task, &job, &as, &waiter) == 0, "a job");
        bench_must(vigil_job_wait(pool, waiter, VIGIL_FOREVER, NULL) == 0, "a wait");
        lates[i] = latest;
        (void)vigil_job_unref(pool, job);
        (void)vigil_job_unref(pool, waiter);
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    vigil_pool_destroy(pool);
    bench_print_percentiles(lates, (size_t)args->n); /* sorts them */
    bench_print("longest_us", (double)lates[args->n - 1] / 1000);
    free(lates);
}

int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    if (strcmp(args.bench, "pool-share") == 0)
        measure_share(&args);
    else if (strcmp(args.bench, "pool-critical") == 0)
        measure_critical(&args);
    else
        bench_trouble("this peer has no %s", args.bench);
    return 0;
}
