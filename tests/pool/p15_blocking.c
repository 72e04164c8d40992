/* SPDX-License-Identifier: MIT */
/* P15: a task that is about to block says so, and a spare worker takes its place; bounded, and only if there is work. */
#include "support.h"

static vigil_pool *pool_with_spares(unsigned workers, unsigned max_spares)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.max_spares = max_spares;
    return pool_with(&options);
}

static int block_at_gate(void *arg)
{
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(arg);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static int open_gate(void *arg)
{
    gate_open(arg);
    return 0;
}

static void p15_outside_a_task_it_is_refused(void **state)
{
    (void)state;
    must_equal(vigil_blocking_begin(), -EPERM);
    must_equal(vigil_blocking_end(), -EPERM);
}

static int end_without_begin(void *arg)
{
    *(int *)arg = vigil_blocking_end();
    return 0;
}

static void p15_an_end_without_a_begin_is_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    int answer = 0;
    must_equal(vigil_pool_call(pool, end_without_begin, NULL, &answer, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must(answer < 0);
    pool_close(pool);
}

static void p15_a_spare_runs_what_the_blocked_worker_waits_for(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 8};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_with_spares(workers[w], 0);
        for (uint64_t round = scaled(500, 20); round > 0; round--) {
            struct gate gate = {0};
            for (unsigned i = 0; i < workers[w]; i++)
                must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
            /* Behind all of them; nobody but a spare can get to it. */
            must_equal(vigil_pool_call(pool, open_gate, NULL, &gate, VIGIL_NORMAL), 0);
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        }
        must(pool_stats(pool).spares_started > 0);
        must_equal(vigil_pool_workers(pool), workers[w]);
        pool_close(pool);
    }
}

static void p15_a_spare_comes_also_for_work_that_arrives_later(void **state)
{
    (void)state;
    vigil_pool *pool = pool_with_spares(1, 1);
    for (uint64_t round = scaled(500, 20); round > 0; round--) {
        struct gate gate = {0};
        must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
        gate_wait_entered(&gate, 1); /* blocked, with nothing queued */
        must_equal(vigil_pool_call(pool, open_gate, NULL, &gate, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    pool_close(pool);
}

static void p15_no_spare_comes_when_there_is_nothing_to_do(void **state)
{
    (void)state;
    vigil_pool *pool = pool_with_spares(2, 2);
    struct gate gate = {0};
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 2);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.blocked, 2);
    must_equal(stats.spares_started, 0);
    must_equal(stats.threads, 2);
    gate_open(&gate);
    pool_close(pool);
}

static void p15_spares_are_bounded_and_the_rest_waits(void **state)
{
    (void)state;
    enum {
        SPARES = 2,
        TASKS = 10
    };
    vigil_pool *pool = pool_with_spares(1, SPARES);
    struct gate gate = {0};
    for (int i = 0; i < TASKS; i++)
        must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 1 + SPARES);
    /* The bound is reached and said to be: a third was wanted and refused. */
    while (pool_stats(pool).spares_refused == 0)
        yield();
    for (int look = 0; look < 1000; look++) {
        vigil_pool_stats stats = pool_stats(pool);
        must_equal(tally_get(&gate.entered), 1 + SPARES);
        must_be_between(stats.threads, 1, 1 + SPARES);
        must_be_between(stats.spares, 0, SPARES);
        must_equal(stats.total.queued, TASKS - 1 - SPARES);
        yield();
    }
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&gate.entered), TASKS);
    pool_close(pool);
}

/* Whether `order` was 1 when the blocking task had come back. */
struct order {
    struct gate gate;
    _Atomic bool ran;
    bool ran_while_blocked;
};

static int block_and_look(void *arg)
{
    struct order *order = arg;
    gate_pass(&order->gate); /* the other task is queued now */
    must_equal(vigil_blocking_begin(), 0);
    for (int i = 0; i < 1000; i++)
        yield();
    must_equal(vigil_blocking_end(), 0);
    order->ran_while_blocked = atomic_load_explicit(&order->ran, memory_order_acquire);
    return 0;
}

static int note_run(void *arg)
{
    struct order *order = arg;
    atomic_store_explicit(&order->ran, true, memory_order_release);
    return 0;
}

static void p15_without_spares_nobody_takes_the_place(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct order order = {0};
    must_equal(vigil_pool_call(pool, block_and_look, NULL, &order, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, note_run, NULL, &order, VIGIL_NORMAL), 0);
    gate_open(&order.gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must(!order.ran_while_blocked);
    must(order.ran);
    must_equal(pool_stats(pool).spares_started, 0);
    pool_close(pool);
}

struct nested {
    struct gate gate;
    struct gate between;
};

static int block_nested(void *arg)
{
    struct nested *nested = arg;
    must_equal(vigil_blocking_begin(), 0);
    must_equal(vigil_blocking_begin(), 0);
    must_equal(vigil_blocking_end(), 0);
    gate_pass(&nested->gate); /* still blocked: only the outermost counts */
    must_equal(vigil_blocking_end(), 0);
    gate_pass(&nested->between); /* and now not */
    return 0;
}

static int open_nested(void *arg)
{
    struct nested *nested = arg;
    gate_open(&nested->gate);
    return 0;
}

static void p15_sections_nest_and_only_the_outermost_counts(void **state)
{
    (void)state;
    vigil_pool *pool = pool_with_spares(1, 1);
    struct nested nested = {0};
    must_equal(vigil_pool_call(pool, block_nested, NULL, &nested, VIGIL_NORMAL), 0);
    gate_wait_entered(&nested.gate, 1);
    must_equal(pool_stats(pool).blocked, 1);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_BLOCKED);
    must_equal(vigil_pool_call(pool, open_nested, NULL, &nested, VIGIL_NORMAL), 0); /* the spare's work */
    gate_wait_entered(&nested.between, 1);
    must_equal(pool_stats(pool).blocked, 0);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_RUNNING);
    gate_open(&nested.between);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).spares_started, 1);
    pool_close(pool);
}

static void p15_when_the_blocked_come_back_the_spares_step_down(void **state)
{
    (void)state;
    enum {
        WORKERS = 4
    };
    vigil_pool *pool = pool_with_spares(WORKERS, WORKERS);
    struct gate gate = {0};
    struct gate inner = {0};
    for (int i = 0; i < WORKERS; i++)
        must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
    for (int i = 0; i < WORKERS; i++)
        must_equal(vigil_pool_call(pool, block_at_gate, NULL, &inner, VIGIL_NORMAL), 0);
    gate_wait_entered(&inner, WORKERS); /* all on spares */
    must_equal(pool_stats(pool).spares, WORKERS);
    gate_open(&inner);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    while (pool_stats(pool).spares != 0)
        yield();
    /* Without blocked workers no more than WORKERS tasks run at a time. */
    struct gate plain = {0};
    struct hold hold = {0};
    hold_workers(&hold, pool, WORKERS);
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &plain, VIGIL_CRITICAL), 0);
    for (int look = 0; look < 1000; look++) {
        must_equal(tally_get(&plain.entered), 0);
        yield();
    }
    gate_open(&plain);
    hold_release(&hold);
    pool_close(pool);
}

/* A task of one pool that waits for another pool blocks its worker without having said so. */
struct across {
    vigil_pool *here, *there;
    struct event back;
    int way;
};

static int set_back(void *arg)
{
    event_set(&((struct across *)arg)->back);
    return 0;
}

static int over_there(void *arg)
{
    struct across *across = arg;
    /* Needs a worker of the first pool, whose only one waits for this. */
    must_equal(vigil_pool_call(across->here, set_back, NULL, across, VIGIL_NORMAL), 0);
    event_wait(&across->back);
    return 0;
}

static int wait_across(void *arg)
{
    struct across *across = arg;
    if (across->way == 0) {
        vigil_job job;
        must_equal(vigil_job_call(across->there, over_there, across, NULL, &job), 0);
        must_equal(vigil_job_wait(across->there, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(across->there, job), 0);
    } else {
        must_equal(vigil_pool_call(across->there, over_there, NULL, across, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(across->there, VIGIL_FOREVER), 0);
    }
    return 0;
}

static void p15_a_wait_for_another_pool_counts_as_blocked_in_the_own(void **state)
{
    (void)state;
    vigil_pool *here = pool_with_spares(1, 1);
    vigil_pool *there = pool_with_spares(1, 1);
    for (uint64_t round = scaled(500, 20); round > 0; round--) {
        struct across across = {.here = here, .there = there, .way = (int)(round % 2)};
        must_equal(vigil_pool_call(here, wait_across, NULL, &across, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(here, VIGIL_FOREVER), 0);
    }
    must(pool_stats(here).spares_started > 0);
    pool_close(here);
    pool_close(there);
}

/* Many tasks block and come back at random while others run: nothing is lost, and the bound holds throughout. */
struct mix {
    vigil_pool *pool;
    _Atomic uint64_t runs;
};

static int mix_run(void *arg)
{
    struct mix *mix = arg;
    uint64_t number = atomic_fetch_add_explicit(&mix->runs, 1, memory_order_relaxed);
    if (number % 3 == 0) {
        must_equal(vigil_blocking_begin(), 0);
        for (uint64_t i = number % 7; i > 0; i--)
            yield();
        must_equal(vigil_blocking_end(), 0);
    }
    return number % 5 == 0 ? -EIO : 0;
}

static void p15_a_storm_of_blocking_tasks_loses_nothing_and_keeps_the_bound(void **state)
{
    (void)state;
    vigil_pool *pool = pool_with_spares(3, 2);
    struct mix mix = {.pool = pool};
    const uint64_t count = scaled(200000, 3000);
    for (uint64_t i = 0; i < count; i++) {
        must_equal(vigil_pool_call(pool, mix_run, NULL, &mix, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
        if (i % 64 == 0)
            must_be_between(pool_stats(pool).threads, 1, 5);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(mix.runs, count);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p15_outside_a_task_it_is_refused),
        test(p15_an_end_without_a_begin_is_refused),
        test(p15_a_spare_runs_what_the_blocked_worker_waits_for),
        test(p15_a_spare_comes_also_for_work_that_arrives_later),
        test(p15_no_spare_comes_when_there_is_nothing_to_do),
        test(p15_spares_are_bounded_and_the_rest_waits),
        test(p15_without_spares_nobody_takes_the_place),
        test(p15_sections_nest_and_only_the_outermost_counts),
        test(p15_when_the_blocked_come_back_the_spares_step_down),
        test(p15_a_wait_for_another_pool_counts_as_blocked_in_the_own),
        test(p15_a_storm_of_blocking_tasks_loses_nothing_and_keeps_the_bound),
    };
    return run_all(tests);
}
