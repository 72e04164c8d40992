/* SPDX-License-Identifier: MIT */
/* P4: a batch is one decision about waking, and all or nothing. */
#include "support.h"

#include "base/futex.h"

/* Every futex wake of the library goes through here (the name makes the linker do it). */
int __real_vg_futex_wake(_Atomic uint32_t *word, int count);
int __wrap_vg_futex_wake(_Atomic uint32_t *word, int count);

static _Thread_local unsigned wakes_by_me;

int __wrap_vg_futex_wake(_Atomic uint32_t *word, int count)
{
    wakes_by_me++;
    return __real_vg_futex_wake(word, count);
}

struct item {
    vigil_task task;
    unsigned number;
    struct order *order;
};

struct order {
    _Atomic unsigned started;
    unsigned numbers[1024];
};

static int item_run(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    unsigned line = atomic_fetch_add_explicit(&item->order->started, 1, memory_order_relaxed);
    item->order->numbers[line] = item->number;
    return 0;
}

enum {
    BATCH = 256
};

struct batch {
    struct order order;
    struct item items[BATCH];
    vigil_task *tasks[BATCH];
};

static struct batch *batch_new(void)
{
    struct batch *batch = calloc(1, sizeof *batch);
    must(batch != NULL);
    for (unsigned i = 0; i < BATCH; i++) {
        vigil_task_init(&batch->items[i].task, item_run, NULL);
        batch->items[i].number = i;
        batch->items[i].order = &batch->order;
        batch->tasks[i] = &batch->items[i].task;
    }
    return batch;
}

static void p04_a_batch_to_a_parked_pool_costs_the_submitter_at_most_one_wake(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 4, 33};
    for (size_t s = 0; s < count_of(sizes); s++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = sizes[s];
        options.idle = VIGIL_IDLE_PARK;
        vigil_pool *pool = pool_with(&options);
        for (int round = 0; round < 20; round++) {
            struct batch *batch = batch_new();
            pool_wait_all_parked(pool);
            wakes_by_me = 0;
            must_equal(vigil_pool_submit_batch(pool, batch->tasks, BATCH, VIGIL_NORMAL), 0);
            must_be_between(wakes_by_me, 0, 1); /* 0: the worker was just about to sleep and saw the task itself */
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(batch->order.started, BATCH);
            free(batch);
        }
        pool_close(pool);
    }
}

static void p04_a_batch_to_a_busy_pool_wakes_nobody(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct batch *batch = batch_new();
    struct hold hold = {0};
    hold_workers(&hold, pool, 2);
    wakes_by_me = 0;
    must_equal(vigil_pool_submit_batch(pool, batch->tasks, BATCH, VIGIL_NORMAL), 0);
    must_equal(wakes_by_me, 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(batch->order.started, BATCH);
    pool_close(pool);
    free(batch);
}

/* One wake by the submitter does not mean one worker: those woken wake the next while there is work. */
struct crowd {
    vigil_task task;
    struct meeting *meeting;
};

static int crowd_run(vigil_task *task)
{
    (void)meeting_join(container_of(task, struct crowd, task)->meeting);
    return 0;
}

static void p04_a_batch_of_N_tasks_that_wait_for_each_other_gets_all_N_workers(void **state)
{
    (void)state;
    enum {
        WORKERS = 16
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = WORKERS;
    options.idle = VIGIL_IDLE_PARK;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(500, 10); round > 0; round--) {
        struct meeting meeting = {.size = WORKERS};
        struct crowd crowd[WORKERS];
        vigil_task *tasks[WORKERS];
        for (unsigned i = 0; i < WORKERS; i++) {
            vigil_task_init(&crowd[i].task, crowd_run, NULL);
            crowd[i].meeting = &meeting;
            tasks[i] = &crowd[i].task;
        }
        must_equal(vigil_pool_submit_batch(pool, tasks, WORKERS, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    pool_close(pool);
}

static void p04_a_batch_starts_in_its_own_order_behind_what_was_there(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct batch *batch = batch_new();
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(vigil_pool_submit(pool, batch->tasks[0], VIGIL_NORMAL), 0);
    must_equal(vigil_pool_submit_batch(pool, batch->tasks + 1, BATCH - 2, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_submit(pool, batch->tasks[BATCH - 1], VIGIL_NORMAL), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (unsigned i = 0; i < BATCH; i++)
        must_equal(batch->order.numbers[i], i);
    pool_close(pool);
    free(batch);
}

static void p04_an_empty_batch_is_accepted_and_a_bad_one_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct batch *batch = batch_new();
    pool_wait_all_parked(pool);
    wakes_by_me = 0;
    must_equal(vigil_pool_submit_batch(pool, batch->tasks, 0, VIGIL_NORMAL), 0);
    must_equal(wakes_by_me, 0);
    must_equal(vigil_pool_submit_batch(pool, NULL, 3, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_submit_batch(NULL, batch->tasks, 3, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_pool_submit_batch(pool, batch->tasks, 3, (vigil_priority)VIGIL_PRIORITIES), -EINVAL);
    vigil_task *hole[3] = {batch->tasks[0], NULL, batch->tasks[1]};
    must_equal(vigil_pool_submit_batch(pool, hole, 3, VIGIL_NORMAL), -EINVAL);
    vigil_task *twice[2] = {batch->tasks[0], batch->tasks[0]};
    must_equal(vigil_pool_submit_batch(pool, twice, 2, VIGIL_NORMAL), -EBUSY);
    must_equal(pool_stats(pool).total.submitted, 0);
    /* None of the refusals has left a mark on a task. */
    must_equal(vigil_pool_submit_batch(pool, batch->tasks, BATCH, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(batch->order.started, BATCH);
    pool_close(pool);
    free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p04_a_batch_to_a_parked_pool_costs_the_submitter_at_most_one_wake),
        test(p04_a_batch_to_a_busy_pool_wakes_nobody),
        test(p04_a_batch_of_N_tasks_that_wait_for_each_other_gets_all_N_workers),
        test(p04_a_batch_starts_in_its_own_order_behind_what_was_there),
        test(p04_an_empty_batch_is_accepted_and_a_bad_one_refused),
    };
    return run_all(tests);
}
