/* SPDX-License-Identifier: MIT */
/*
 * P2: no starvation. "Of every VIGIL_AGEING_PERIOD tasks that a worker takes while lower classes wait, one comes from a
 * lower class, in rotation over the classes that wait, so each waiting class gets at least one start in
 * 4 * VIGIL_AGEING_PERIOD."
 */
#include "support.h"

/* A CRITICAL task that submits itself again as long as anything else is unfinished: the pool is never without one. */
struct flood {
    vigil_task task;
    vigil_pool *pool;
    struct log *log;
};

struct log {
    _Atomic unsigned others_left; /* tasks below CRITICAL that have not run */
    _Atomic unsigned written;
    unsigned room;
    uint8_t *classes; /* of each start, in order; one worker only */
};

static void log_start(struct log *log, vigil_priority priority)
{
    unsigned line = atomic_fetch_add_explicit(&log->written, 1, memory_order_relaxed);
    if (log->classes != NULL) {
        must(line < log->room);
        log->classes[line] = (uint8_t)priority;
    }
}

static int flood_run(vigil_task *task)
{
    struct flood *flood = container_of(task, struct flood, task);
    log_start(flood->log, VIGIL_CRITICAL);
    if (atomic_load_explicit(&flood->log->others_left, memory_order_acquire) > 0)
        must_equal(vigil_pool_submit(flood->pool, task, VIGIL_CRITICAL), 0);
    return 0;
}

struct humble {
    vigil_task task;
    vigil_priority priority;
    struct log *log;
};

static int humble_run(vigil_task *task)
{
    struct humble *humble = container_of(task, struct humble, task);
    log_start(humble->log, humble->priority);
    (void)atomic_fetch_sub_explicit(&humble->log->others_left, 1, memory_order_acq_rel);
    return 0;
}

/* `each` tasks of every class in `classes`, beside a flood that keeps all workers busy. */
static void flood_against(vigil_pool *pool, unsigned workers, unsigned each, unsigned classes, struct log *log)
{
    const unsigned floods = workers * 2;
    struct flood *flood = calloc(floods, sizeof *flood);
    struct humble *humble = calloc((size_t)each * VIGIL_PRIORITIES, sizeof *humble);
    must(flood != NULL && humble != NULL);
    struct hold hold = {0};
    hold_workers(&hold, pool, workers);
    for (unsigned i = 0; i < floods; i++) {
        vigil_task_init(&flood[i].task, flood_run, NULL);
        flood[i].pool = pool;
        flood[i].log = log;
        must_equal(vigil_pool_submit(pool, &flood[i].task, VIGIL_CRITICAL), 0);
    }
    for (unsigned p = VIGIL_HIGH; p < VIGIL_PRIORITIES; p++) {
        if ((classes >> p & 1) == 0)
            continue;
        for (unsigned i = 0; i < each; i++) {
            struct humble *one = &humble[p * each + i];
            vigil_task_init(&one->task, humble_run, NULL);
            one->priority = (vigil_priority)p;
            one->log = log;
            (void)atomic_fetch_add_explicit(&log->others_left, 1, memory_order_relaxed);
            must_equal(vigil_pool_submit(pool, &one->task, one->priority), 0);
        }
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&log->others_left, memory_order_acquire), 0);
    free(flood);
    free(humble);
}

enum {
    BELOW_CRITICAL = 1U << VIGIL_HIGH | 1U << VIGIL_NORMAL | 1U << VIGIL_LOW | 1U << VIGIL_IDLE
};

static void p02_low_and_idle_finish_while_critical_keeps_every_worker_busy(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 7, 33};
    for (size_t i = 0; i < count_of(workers); i++) {
        vigil_pool *pool = pool_of(workers[i]);
        struct log log = {0};
        flood_against(pool, workers[i], (unsigned)scaled(200, 20), 1U << VIGIL_LOW | 1U << VIGIL_IDLE, &log);
        must(pool_stats(pool).ageing_picks > 0);
        pool_close(pool);
    }
}

static struct log *one_worker_log(unsigned each, unsigned classes)
{
    struct log *log = calloc(1, sizeof *log);
    must(log != NULL);
    log->room = (each * 4 + 4) * 4 * VIGIL_AGEING_PERIOD;
    log->classes = malloc(log->room);
    must(log->classes != NULL);
    vigil_pool *pool = pool_of(1);
    flood_against(pool, 1, each, classes, log);
    pool_close(pool);
    return log;
}

static void p02_each_waiting_class_starts_at_least_once_in_four_ageing_periods(void **state)
{
    (void)state;
    enum {
        EACH = 40
    };
    struct log *log = one_worker_log(EACH, BELOW_CRITICAL);
    for (unsigned p = VIGIL_HIGH; p < VIGIL_PRIORITIES; p++) {
        unsigned seen = 0;
        unsigned last = 0;
        for (unsigned line = 0; line < log->written && seen < EACH; line++) {
            if (log->classes[line] == p) {
                must_be_between(line - last, 0, 4 * VIGIL_AGEING_PERIOD);
                last = line;
                seen++;
            }
        }
        must_equal(seen, EACH);
    }
    free(log->classes);
    free(log);
}

static void p02_a_single_waiting_class_starts_once_in_each_ageing_period(void **state)
{
    (void)state;
    enum {
        EACH = 40
    };
    struct log *log = one_worker_log(EACH, 1U << VIGIL_IDLE);
    unsigned last = 0;
    for (unsigned line = 0; line < log->written; line++) {
        if (log->classes[line] == VIGIL_IDLE) {
            must_be_between(line - last, 0, VIGIL_AGEING_PERIOD);
            last = line;
        }
    }
    free(log->classes);
    free(log);
}

static void p02_ageing_takes_no_more_than_its_share(void **state)
{
    (void)state;
    struct log *log = one_worker_log(40, BELOW_CRITICAL);
    /* While CRITICAL waits, any stretch of one period has at most one start below it. */
    unsigned last = 0;
    bool first = true;
    for (unsigned line = 0; line < log->written; line++) {
        if (log->classes[line] == VIGIL_CRITICAL)
            continue;
        if (!first)
            must(line - last >= VIGIL_AGEING_PERIOD);
        last = line;
        first = false;
    }
    free(log->classes);
    free(log);
}

static void p02_without_lower_classes_nothing_is_picked_by_age(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct humble *tasks = calloc(1000, sizeof *tasks);
    must(tasks != NULL);
    struct log log = {.others_left = 1000};
    for (unsigned i = 0; i < 1000; i++) {
        vigil_task_init(&tasks[i].task, humble_run, NULL);
        tasks[i].log = &log;
        tasks[i].priority = VIGIL_NORMAL;
        must_equal(vigil_pool_submit(pool, &tasks[i].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).ageing_picks, 0);
    pool_close(pool);
    free(tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p02_low_and_idle_finish_while_critical_keeps_every_worker_busy),
        test(p02_each_waiting_class_starts_at_least_once_in_four_ageing_periods),
        test(p02_a_single_waiting_class_starts_once_in_each_ageing_period),
        test(p02_ageing_takes_no_more_than_its_share),
        test(p02_without_lower_classes_nothing_is_picked_by_age),
    };
    return run_all(tests);
}
