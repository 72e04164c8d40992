/* SPDX-License-Identifier: MIT */
/* P10: what it costs to discard tasks while somebody waits for an idle pool, counted in sums over all workers, not in time. */
#include "support.h"

#include "pool/books.h"

static _Atomic unsigned sums;

void __real_vg_pool_books(vigil_pool *pool, vg_books *books);
void __wrap_vg_pool_books(vigil_pool *pool, vg_books *books);
void __wrap_vg_pool_books(vigil_pool *pool, vg_books *books)
{
    (void)atomic_fetch_add_explicit(&sums, 1, memory_order_relaxed);
    __real_vg_pool_books(pool, books);
}

enum {
    HOUR_S = 3600
};
#define HOUR_NS (HOUR_S * INT64_C(1000000000))

static int never(void *arg)
{
    (void)arg;
    must(false);
    return 0;
}

static int never_task(vigil_task *task)
{
    (void)task;
    must(false);
    return 0;
}

static void *wait_idle(void *arg)
{
    must_equal(vigil_pool_wait_idle(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static unsigned waiters(vigil_pool *pool)
{
    return atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed);
}

static pthread_t start_waiter(vigil_pool *pool)
{
    pthread_t thread = start_thread(wait_idle, pool);
    while (waiters(pool) == 0)
        yield();
    return thread;
}

/* A few sums by each worker on its way to sleep, and a few by whoever discards: neither grows with the tasks. */
static unsigned most_sums(unsigned workers)
{
    return 16 + 4 * workers;
}

static const unsigned sizes[] = {10, 1000, 100000};
static const unsigned widths[] = {1, 16, 256};

static void p10_a_cancelled_job_costs_no_sum_over_all_workers(void **state)
{
    (void)state;
    for (size_t w = 0; w < count_of(widths); w++)
        for (size_t s = 0; s < count_of(sizes); s++) {
            const unsigned count = sizes[s];
            vigil_pool *pool = pool_of(widths[w]);
            vigil_job *jobs = calloc(count, sizeof *jobs);
            must(jobs != NULL);
            vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
            options.delay_ns = HOUR_NS;
            for (unsigned i = 0; i < count; i++)
                must_equal(vigil_job_call(pool, never, NULL, &options, &jobs[i]), 0);
            pool_wait_parked(pool, widths[w]);
            pthread_t waiter = start_waiter(pool);
            const unsigned before = sums;
            for (unsigned i = 0; i < count; i++)
                must_equal(vigil_job_cancel(pool, jobs[i]), 0);
            join_thread(waiter);
            must_be_between(sums - before, 0, most_sums(widths[w]));
            for (unsigned i = 0; i < count; i++)
                must_equal(vigil_job_unref(pool, jobs[i]), 0);
            free(jobs);
            pool_close(pool);
        }
}

static void p10_an_immediate_end_costs_no_sum_for_each_task(void **state)
{
    (void)state;
    for (size_t w = 0; w < count_of(widths); w++)
        for (size_t s = 0; s < count_of(sizes); s++) {
            const unsigned count = sizes[s];
            vigil_pool *pool = pool_of(widths[w]);
            vigil_task *tasks = calloc(count, sizeof *tasks);
            must(tasks != NULL);
            for (unsigned i = 0; i < count; i++) {
                vigil_task_init(&tasks[i], never_task, NULL);
                must_equal(vigil_pool_submit_after(pool, &tasks[i], VIGIL_NORMAL, HOUR_NS), 0);
            }
            pool_wait_parked(pool, widths[w]);
            pthread_t waiter = start_waiter(pool);
            const unsigned before = sums;
            must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
            join_thread(waiter);
            must_be_between(sums - before, 0, 2 * most_sums(widths[w]));
            must_equal(vigil_pool_destroy(pool), 0);
            free(tasks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p10_a_cancelled_job_costs_no_sum_over_all_workers),
        test(p10_an_immediate_end_costs_no_sum_for_each_task),
    };
    return run_all(tests);
}
