/* SPDX-License-Identifier: MIT */
/*
 * P5, P2: a job that was waited for inside a task, or cancelled, leaves a husk in its queue. However many there are, they take no
 * memory that grows, and no class its turn.
 */
#include "support.h"

/* Job records come from calloc. */
static _Atomic uint64_t bytes_taken;
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    (void)atomic_fetch_add_explicit(&bytes_taken, count * size, memory_order_relaxed);
    return __real_calloc(count, size);
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int count_run(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static void submit_and_wait(vigil_pool *pool)
{
    vigil_job job;
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
}

static void submit_and_cancel(vigil_pool *pool)
{
    vigil_job job;
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), 0);
    must_equal(vigil_job_cancel(pool, job), 0);
    must_equal(vigil_job_unref(pool, job), 0);
}

static void must_stay_flat(vigil_pool *pool, void (*one)(vigil_pool *pool))
{
    const uint64_t jobs = scaled(200000, 20000);
    for (uint64_t i = 0; i < 10000; i++)
        one(pool);
    uint64_t before = atomic_load_explicit(&bytes_taken, memory_order_relaxed);
    for (uint64_t i = 0; i < jobs; i++)
        one(pool);
    must_equal(atomic_load_explicit(&bytes_taken, memory_order_relaxed), before);
}

static int wait_for_many(void *pool)
{
    must_stay_flat(pool, submit_and_wait);
    return 0;
}

static void p05_a_task_that_waits_for_job_after_job_takes_no_memory(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_pool_call(pool, wait_for_many, NULL, pool, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_audit_clean(pool);
    pool_close(pool);
}

static void p05_jobs_that_are_cancelled_take_no_memory(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_stay_flat(pool, submit_and_cancel);
    pool_audit_clean(pool);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

static void p05_what_waits_among_husks_runs_once_and_in_order(void **state)
{
    (void)state;
    enum {
        TASKS = 3000
    };
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    struct tally ran = {0};
    hold_workers(&hold, pool, 1);
    for (int i = 0; i < TASKS; i++) {
        must_equal(vigil_pool_call(pool, count_run, NULL, &ran, VIGIL_NORMAL), 0);
        submit_and_cancel(pool);
        submit_and_cancel(pool);
    }
    pool_audit_clean(pool);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&ran), TASKS);
    pool_close(pool);
}

/* ---- ageing ----------------------------------------------------------------------------------------------------- */

enum {
    STARTS = 8
};

struct world {
    vigil_task flood;
    vigil_task humble;
    vigil_pool *pool;
    unsigned starts; /* one worker: a plain field will do */
};

static int flood_run(vigil_task *task)
{
    struct world *world = container_of(task, struct world, flood);
    if (world->starts < STARTS) {
        submit_and_wait(world->pool); /* NORMAL: a husk in the queue of the humble one */
        must_equal(vigil_pool_submit(world->pool, task, VIGIL_CRITICAL), 0);
    }
    return 0;
}

static int humble_run(vigil_task *task)
{
    struct world *world = container_of(task, struct world, humble);
    if (++world->starts < STARTS)
        must_equal(vigil_pool_submit(world->pool, task, VIGIL_NORMAL), 0);
    return 0;
}

static void p02_husks_do_not_take_the_turns_of_their_class(void **state)
{
    (void)state;
    struct world world = {.pool = pool_of(1)};
    vigil_task_init(&world.flood, flood_run, NULL);
    vigil_task_init(&world.humble, humble_run, NULL);
    struct hold hold = {0};
    hold_workers(&hold, world.pool,
                 1); /* both are there when it begins: only then is the first wait the pool's doing */
    must_equal(vigil_pool_submit(world.pool, &world.flood, VIGIL_CRITICAL), 0);
    must_equal(vigil_pool_submit(world.pool, &world.humble, VIGIL_NORMAL), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(world.pool, VIGIL_FOREVER), 0);
    must_equal(world.starts, STARTS);
    must_be_between(pool_stats(world.pool).ageing_picks, 1, STARTS); /* each pick was the humble one, none a husk */
    pool_close(world.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p05_a_task_that_waits_for_job_after_job_takes_no_memory),
        test(p05_jobs_that_are_cancelled_take_no_memory),
        test(p05_what_waits_among_husks_runs_once_and_in_order),
        test(p02_husks_do_not_take_the_turns_of_their_class),
    };
    return run_all(tests);
}
