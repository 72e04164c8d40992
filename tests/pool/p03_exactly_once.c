/* SPDX-License-Identifier: MIT */
/* P3: whoever submits, from wherever, in whatever way, with whatever number of workers: each task runs exactly once. */
#include "support.h"

/* One byte per task. A task adds one to its own; in the end each must be 1. */
static _Atomic uint8_t *marks;

static void marks_new(size_t count)
{
    marks = calloc(count, 1);
    must(marks != NULL);
}

static void marks_must_all_be_one(size_t count)
{
    size_t lost = 0;
    size_t repeated = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t mark = atomic_load_explicit(&marks[i], memory_order_relaxed);
        lost += mark == 0;
        repeated += mark > 1;
    }
    if (lost != 0 || repeated != 0)
        (void)fprintf(stderr, "of %zu tasks %zu never ran and %zu ran more than once\n", count, lost, repeated);
    must_equal(lost, 0);
    must_equal(repeated, 0);
    free(marks);
}

struct item {
    vigil_task task;
    uint32_t number;
};

static int item_run(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    (void)atomic_fetch_add_explicit(&marks[item->number], 1, memory_order_relaxed);
    return 0;
}

/* ---- ten million, submitted ------------------------------------------------------------------------------------- */

struct producer {
    vigil_pool *pool;
    struct item *items;
    uint32_t first, end;
    struct meeting *start;
};

static void *produce(void *arg)
{
    struct producer *producer = arg;
    (void)meeting_join(producer->start);
    for (uint32_t i = producer->first; i < producer->end; i++) {
        struct item *item = &producer->items[i];
        vigil_task_init(&item->task, item_run, NULL);
        item->number = i;
        must_equal(vigil_pool_submit(producer->pool, &item->task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
    }
    return NULL;
}

static void storm(vigil_pool *pool, unsigned producers, uint32_t count, struct item *items)
{
    struct producer *all = calloc(producers, sizeof *all);
    pthread_t *threads = calloc(producers, sizeof *threads);
    must(all != NULL && threads != NULL);
    struct meeting start = {.size = producers};
    marks_new(count);
    for (unsigned p = 0; p < producers; p++) {
        all[p] = (struct producer){.pool = pool,
                                   .items = items,
                                   .first = (uint32_t)((uint64_t)count * p / producers),
                                   .end = (uint32_t)((uint64_t)count * (p + 1) / producers),
                                   .start = &start};
        threads[p] = start_thread(produce, &all[p]);
    }
    for (unsigned p = 0; p < producers; p++)
        join_thread(threads[p]);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    marks_must_all_be_one(count);
    free(threads);
    free(all);
}

/* 10^7 tasks for each number of workers, shared between 1, 2, 3, 4, 8 and 16 producers. */
static void ten_million(unsigned workers)
{
    static const unsigned producers[] = {1, 2, 3, 4, 8, 16};
    vigil_pool *pool = pool_of(workers);
    uint32_t count = (uint32_t)scaled(10000000 / count_of(producers) + 1, 10000);
    struct item *items = calloc(count, sizeof *items);
    must(items != NULL);
    for (size_t i = 0; i < count_of(producers); i++)
        storm(pool, producers[i], count, items);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.completed, count_of(producers) * (uint64_t)count);
    must_equal(stats.total.submitted, stats.total.completed);
    pool_close(pool);
    free(items);
}

static void p03_ten_million_tasks_run_exactly_once_on_1_worker(void **state)
{
    (void)state;
    ten_million(1);
}

static void p03_ten_million_tasks_run_exactly_once_on_2_workers(void **state)
{
    (void)state;
    ten_million(2);
}

static void p03_ten_million_tasks_run_exactly_once_on_3_workers(void **state)
{
    (void)state;
    ten_million(3);
}

static void p03_ten_million_tasks_run_exactly_once_on_33_workers(void **state)
{
    (void)state;
    ten_million(33);
}

static void p03_ten_million_tasks_run_exactly_once_on_256_workers(void **state)
{
    (void)state;
    ten_million(256);
}

/* ---- every way at once ------------------------------------------------------------------------------------------ */

enum {
    WAYS = 8,
    FAN = 16 /* children of a task that spawns, tasks in a batch */
};

struct mixed {
    vigil_pool *pool;
    struct item *items;
    uint32_t first, end;
    struct meeting *start;
    unsigned workers;
};

static int call_run(void *arg)
{
    struct item *item = arg;
    return item_run(&item->task);
}

struct spawner {
    vigil_task task;
    vigil_pool *pool;
    struct item *items;
    uint32_t first, count;
    bool submit;
};

static int spawner_run(vigil_task *task)
{
    struct spawner *spawner = container_of(task, struct spawner, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, spawner->pool, 0), 0);
    for (uint32_t i = 0; i < spawner->count; i++) {
        vigil_task *child = &spawner->items[spawner->first + i].task;
        must_equal(spawner->submit ? vigil_group_submit(&group, child, VIGIL_HIGH) : vigil_group_spawn(&group, child),
                   0);
    }
    must_equal(vigil_group_wait(&group), 0);
    free(spawner);
    return 0;
}

static void hand_over(struct mixed *mixed, uint32_t first, uint32_t count, unsigned way)
{
    vigil_pool *pool = mixed->pool;
    vigil_priority priority = (vigil_priority)(first / FAN % VIGIL_PRIORITIES);
    if (way == 0) {
        vigil_task *batch[FAN];
        for (uint32_t i = 0; i < count; i++)
            batch[i] = &mixed->items[first + i].task;
        must_equal(vigil_pool_submit_batch(pool, batch, count, priority), 0);
        return;
    }
    if (way == 1 || way == 2) {
        struct spawner *spawner = malloc(sizeof *spawner);
        must(spawner != NULL);
        *spawner =
            (struct spawner){.pool = pool, .items = mixed->items, .first = first, .count = count, .submit = way == 2};
        vigil_task_init(&spawner->task, spawner_run, NULL);
        must_equal(vigil_pool_submit(pool, &spawner->task, priority), 0);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        struct item *item = &mixed->items[i];
        vigil_job job;
        switch (way) {
        case 3:
            must_equal(vigil_pool_submit(pool, &item->task, priority), 0);
            break;
        case 4:
            must_equal(vigil_pool_call(pool, call_run, NULL, item, priority), 0);
            break;
        case 5:
            must_equal(vigil_job_call(pool, call_run, item, NULL, &job), 0);
            if (i % 4 == 0) {
                int status = -1;
                must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
                must_equal(status, 0);
            }
            must_equal(vigil_job_unref(pool, job), 0);
            break;
        case 6:
            must_equal(vigil_pool_submit_to(pool, i % mixed->workers, &item->task, priority), 0);
            break;
        default:
            must_equal(vigil_pool_submit_after(pool, &item->task, priority, (int64_t)(i % 1000) * 1000), 0);
            break;
        }
    }
}

static void *produce_mixed(void *arg)
{
    struct mixed *mixed = arg;
    (void)meeting_join(mixed->start);
    for (uint32_t i = mixed->first; i < mixed->end; i++) {
        vigil_task_init(&mixed->items[i].task, item_run, NULL);
        mixed->items[i].number = i;
    }
    unsigned way = 0;
    for (uint32_t first = mixed->first; first < mixed->end; first += FAN, way++) {
        uint32_t left = mixed->end - first;
        hand_over(mixed, first, left < FAN ? left : FAN, way % WAYS);
    }
    return NULL;
}

static void every_way(unsigned workers, unsigned producers, uint32_t count, const vigil_pool_options *base)
{
    vigil_pool_options options = *base;
    options.workers = workers;
    vigil_pool *pool = pool_with(&options);
    struct item *items = calloc(count, sizeof *items);
    struct mixed *all = calloc(producers, sizeof *all);
    pthread_t *threads = calloc(producers, sizeof *threads);
    must(items != NULL && all != NULL && threads != NULL);
    struct meeting start = {.size = producers};
    marks_new(count);
    for (unsigned p = 0; p < producers; p++) {
        all[p] = (struct mixed){.pool = pool,
                                .items = items,
                                .first = (uint32_t)((uint64_t)count * p / producers),
                                .end = (uint32_t)((uint64_t)count * (p + 1) / producers),
                                .start = &start,
                                .workers = workers};
        threads[p] = start_thread(produce_mixed, &all[p]);
    }
    for (unsigned p = 0; p < producers; p++)
        join_thread(threads[p]);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    marks_must_all_be_one(count);
    pool_close(pool);
    free(threads);
    free(all);
    free(items);
}

static void p03_every_way_of_handing_over_work_runs_it_exactly_once(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 3, 33};
    static const unsigned producers[] = {1, 4, 16};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    for (size_t w = 0; w < count_of(workers); w++) {
        for (size_t p = 0; p < count_of(producers); p++)
            every_way(workers[w], producers[p], (uint32_t)scaled(120000, 4000), &options);
    }
}

static void p03_every_policy_and_fence_mode_runs_each_task_exactly_once(void **state)
{
    (void)state;
    for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++) {
        for (int idle = VIGIL_IDLE_SPIN_THEN_PARK; idle <= VIGIL_IDLE_KEEP_ONE_AWAKE; idle++) {
            for (int stealing = 0; stealing < 2; stealing++) {
                vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
                options.fences = (vigil_fence_mode)fences;
                options.idle = (vigil_idle_policy)idle;
                options.no_stealing = stealing == 0;
                every_way(3, 3, (uint32_t)scaled(100000, 3000), &options);
            }
        }
    }
}

/* ---- the same memory again and again ---------------------------------------------------------------------------- */

/* "The function may free or submit the task again": a task that hops until it has run so many times. */
struct hopper {
    vigil_task task;
    vigil_pool *pool;
    uint32_t left;
    _Atomic uint64_t *hops;
};

static int hopper_run(vigil_task *task)
{
    struct hopper *hopper = container_of(task, struct hopper, task);
    (void)atomic_fetch_add_explicit(hopper->hops, 1, memory_order_relaxed);
    if (--hopper->left > 0)
        must_equal(vigil_pool_submit(hopper->pool, task, (vigil_priority)(hopper->left % VIGIL_PRIORITIES)), 0);
    else
        free(hopper);
    return 0;
}

static void p03_a_task_may_submit_itself_again_and_free_itself(void **state)
{
    (void)state;
    enum {
        HOPPERS = 100
    };
    vigil_pool *pool = pool_of(4);
    const uint32_t hops_each = (uint32_t)scaled(5000, 200);
    _Atomic uint64_t hops = 0;
    for (int i = 0; i < HOPPERS; i++) {
        struct hopper *hopper = malloc(sizeof *hopper);
        must(hopper != NULL);
        *hopper = (struct hopper){.pool = pool, .left = hops_each, .hops = &hops};
        vigil_task_init(&hopper->task, hopper_run, NULL);
        must_equal(vigil_pool_submit(pool, &hopper->task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(hops, (uint64_t)HOPPERS * hops_each);
    pool_close(pool);
}

static void p03_a_task_that_is_queued_already_is_refused_as_busy(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    marks_new(2);
    struct item items[2] = {0};
    vigil_task *both[2];
    for (uint32_t i = 0; i < 2; i++) {
        vigil_task_init(&items[i].task, item_run, NULL);
        items[i].number = i;
        both[i] = &items[i].task;
    }
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(vigil_pool_submit(pool, &items[0].task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_submit(pool, &items[0].task, VIGIL_NORMAL), -EBUSY);
    must_equal(vigil_pool_submit_to(pool, 0, &items[0].task, VIGIL_NORMAL), -EBUSY);
    must_equal(vigil_pool_submit_after(pool, &items[0].task, VIGIL_NORMAL, 0), -EBUSY);
    /* All or none: the free one of the two is not taken either, and stays usable. */
    must_equal(vigil_pool_submit_batch(pool, both, 2, VIGIL_NORMAL), -EBUSY);
    must_equal(pool_stats(pool).total.queued, 1);
    must_equal(vigil_pool_submit(pool, &items[1].task, VIGIL_NORMAL), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    marks_must_all_be_one(2);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p03_ten_million_tasks_run_exactly_once_on_1_worker),
        test(p03_ten_million_tasks_run_exactly_once_on_2_workers),
        test(p03_ten_million_tasks_run_exactly_once_on_3_workers),
        test(p03_ten_million_tasks_run_exactly_once_on_33_workers),
        test(p03_ten_million_tasks_run_exactly_once_on_256_workers),
        test(p03_every_way_of_handing_over_work_runs_it_exactly_once),
        test(p03_every_policy_and_fence_mode_runs_each_task_exactly_once),
        test(p03_a_task_may_submit_itself_again_and_free_itself),
        test(p03_a_task_that_is_queued_already_is_refused_as_busy),
    };
    return run_all(tests);
}
