/* SPDX-License-Identifier: MIT */
/* P12: any number of workers from 1 to 1024 works, 0 means as many as this process may use, bad options are errors. */
#include "support.h"

#include <sched.h>
#include <unistd.h>

static int join_meeting(void *arg)
{
    (void)meeting_join(arg);
    return 0;
}

/* All workers inside a task at the same time, twice. */
static void all_workers_meet(unsigned workers)
{
    vigil_pool *pool = pool_of(workers);
    must_equal(vigil_pool_workers(pool), workers);
    struct meeting meeting = {.size = workers};
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < workers; i++)
            must_equal(vigil_pool_call(pool, join_meeting, NULL, &meeting, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    must_equal(meeting.held, 2);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.workers, workers);
    must_equal(stats.total.completed, 2 * workers);
    pool_close(pool);
}

static void p12_every_number_of_workers_up_to_66_runs_them_all(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 66; workers += TEST_SANITIZED && workers > 8 ? 7 : 1)
        all_workers_meet(workers);
}

static void p12_hundreds_of_workers_and_the_most_there_may_be_all_run(void **state)
{
    (void)state;
    static const unsigned workers[] = {100, 127, 128, 129, 255, 256, 257, 512, 1000, VIGIL_MAX_WORKERS};
    for (size_t i = 0; i < count_of(workers); i++) {
        if (TEST_TSAN && workers[i] > 257)
            continue; /* minutes, because each thread there weighs as much as a hundred */
        if (TEST_ASAN && workers[i] > 257 && workers[i] != VIGIL_MAX_WORKERS)
            continue;
        all_workers_meet(workers[i]);
    }
}

static int note_worker(void *arg)
{
    _Atomic unsigned *seen = arg;
    int worker = vigil_pool_current_worker();
    must(worker >= 0);
    (void)atomic_fetch_or_explicit(seen, 1U << worker, memory_order_relaxed);
    must(vigil_pool_current() != NULL);
    return 0;
}

static void p12_a_task_knows_its_pool_and_worker_and_others_have_none(void **state)
{
    (void)state;
    must(vigil_pool_current() == NULL);
    must_equal(vigil_pool_current_worker(), -1);
    vigil_pool *pool = pool_of(4);
    _Atomic unsigned seen = 0;
    while (seen != 15)
        must_equal(vigil_pool_call(pool, note_worker, NULL, (void *)&seen, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(seen, 15);
    must(vigil_pool_current() == NULL);
    pool_close(pool);
}

static void p12_zero_workers_means_as_many_as_this_process_may_use(void **state)
{
    (void)state;
    unsigned usable = vigil_cpu_count();
    must_be_between(usable, 1, sysconf(_SC_NPROCESSORS_ONLN));
    vigil_pool *pool = pool_with(NULL);
    must_equal(vigil_pool_workers(pool), usable);
    pool_close(pool);

    cpu_set_t before;
    must_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &before))
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        must_equal(sched_setaffinity(0, sizeof one, &one), 0);
        must_equal(vigil_cpu_count(), 1);
        pool = pool_of(0);
        must_equal(vigil_pool_workers(pool), 1);
        pool_close(pool);
    }
    must_equal(sched_setaffinity(0, sizeof before, &before), 0);
    must_equal(vigil_cpu_count(), usable);
}

/* ---- bad options ------------------------------------------------------------------------------------------------ */

static void refused(const vigil_pool_options *options, int error)
{
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, options), error);
    must(pool == NULL);
}

static void p12_every_option_out_of_range_is_refused(void **state)
{
    (void)state;
    static const int cpus[] = {0};
    static const int negative[] = {-1};
    must_equal(vigil_pool_create(NULL, NULL), -EINVAL);

    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = VIGIL_MAX_WORKERS + 1;
    refused(&options, -EINVAL);
    options.workers = UINT32_MAX;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.idle = (vigil_idle_policy)3;
    refused(&options, -EINVAL);
    options.idle = (vigil_idle_policy)-1;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.fences = (vigil_fence_mode)3;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.when_full = (vigil_full_policy)2;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.stack_size = 1;
    refused(&options, -EINVAL);
    options.stack_size = (size_t)sysconf(_SC_THREAD_STACK_MIN) - 1;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.cpus = cpus; /* without a count */
    refused(&options, -EINVAL);
    options.cpus = NULL;
    options.cpu_count = 1; /* without CPUs */
    refused(&options, -EINVAL);
    options.cpus = negative;
    refused(&options, -EINVAL);

    options = (vigil_pool_options)VIGIL_POOL_OPTIONS_INIT;
    options.size = 0;
    refused(&options, -EINVAL);
}

static void p12_options_of_an_older_and_shorter_shape_are_understood(void **state)
{
    (void)state;
    /* A program compiled when the struct ended after `workers` says so in size; the rest is not read. */
    vigil_pool_options options;
    memset(&options, 0xff, sizeof options);
    options.size = offsetof(vigil_pool_options, max_spares);
    options.name = NULL;
    options.workers = 2;
    vigil_pool *pool = pool_with(&options);
    must_equal(vigil_pool_workers(pool), 2);
    pool_close(pool);
}

static void p12_options_of_a_newer_and_longer_shape_are_taken_if_the_unknown_part_is_zero(void **state)
{
    (void)state;
    struct {
        vigil_pool_options known;
        uint64_t unknown;
    } longer = {.known = {.size = sizeof longer, .workers = 2}};
    vigil_pool *pool = pool_with(&longer.known);
    must_equal(vigil_pool_workers(pool), 2);
    pool_close(pool);
    longer.unknown = 1; /* asks for something that this library cannot do */
    refused(&longer.known, -EINVAL);
}

static void p12_calls_without_a_pool_or_a_function_are_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_task task;
    vigil_task_init(&task, NULL, NULL);
    vigil_pool_stats stats = {.size = sizeof stats};
    vigil_worker_stats worker = {.size = sizeof worker};
    vigil_audit audit = {.size = sizeof audit};
    vigil_worker_change change;
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_call(pool, NULL, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_call(NULL, join_meeting, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_call(pool, join_meeting, NULL, NULL, (vigil_priority)5), -EINVAL);
    must_equal(vigil_pool_close(NULL, 0), -EINVAL);
    must_equal(vigil_pool_wait_idle(NULL, 0), -EINVAL);
    must_equal(vigil_pool_resize(NULL, 1), -EINVAL);
    must_equal(vigil_pool_stats_get(NULL, &stats), -EINVAL);
    must_equal(vigil_pool_stats_get(pool, NULL), -EINVAL);
    must_equal(vigil_pool_worker_stats_get(NULL, 0, &worker), -EINVAL);
    must_equal(vigil_pool_worker_stats_get(pool, 0, NULL), -EINVAL);
    must_equal(vigil_pool_worker_history(NULL, 0, &change, 1), -EINVAL);
    must_equal(vigil_pool_worker_history(pool, 0, NULL, 1), -EINVAL);
    must_equal(vigil_pool_audit(NULL, &audit), -EINVAL);
    must_equal(vigil_pool_audit(pool, NULL), -EINVAL);
    must_equal(pool_stats(pool).total.submitted, 0);
    pool_close(pool);
}

static void p12_pools_come_and_go_without_leaving_anything(void **state)
{
    (void)state;
    for (uint64_t round = scaled(1000, 20); round > 0; round--) {
        vigil_pool *pool = pool_of((unsigned)(1 + round % 5));
        _Atomic unsigned seen = 0;
        if (round % 2 == 0)
            must_equal(vigil_pool_call(pool, note_worker, NULL, (void *)&seen, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_unwatch(pool);
        must_equal(vigil_pool_destroy(pool), 0);
    }
}

static void p12_many_pools_live_beside_each_other(void **state)
{
    (void)state;
    enum {
        POOLS = 20
    };
    vigil_pool *pools[POOLS];
    struct meeting meeting = {.size = POOLS};
    for (int i = 0; i < POOLS; i++)
        pools[i] = pool_of(2);
    for (int i = 0; i < POOLS; i++)
        must_equal(vigil_pool_call(pools[i], join_meeting, NULL, &meeting, VIGIL_NORMAL), 0);
    for (int i = 0; i < POOLS; i++)
        pool_close(pools[i]);
    must_equal(meeting.held, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p12_every_number_of_workers_up_to_66_runs_them_all),
        test(p12_hundreds_of_workers_and_the_most_there_may_be_all_run),
        test(p12_a_task_knows_its_pool_and_worker_and_others_have_none),
        test(p12_zero_workers_means_as_many_as_this_process_may_use),
        test(p12_every_option_out_of_range_is_refused),
        test(p12_options_of_an_older_and_shorter_shape_are_understood),
        test(p12_options_of_a_newer_and_longer_shape_are_taken_if_the_unknown_part_is_zero),
        test(p12_calls_without_a_pool_or_a_function_are_refused),
        test(p12_pools_come_and_go_without_leaving_anything),
        test(p12_many_pools_live_beside_each_other),
    };
    return run_all(tests);
}
