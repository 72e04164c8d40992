/* SPDX-License-Identifier: MIT */
/* What docs/costs.md calls O(1): with 10 to 100 000 tasks, and with 1 to 256 workers. */
#include "steps.h"

static vigil_pool *pool;
static struct gate gate;

static int hold_worker(void *arg)
{
    (void)arg;
    gate_pass(&gate);
    return 0;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* A pool whose workers are all inside a task, so that what is submitted stays queued and nobody but the caller takes steps. */
static void begin_held(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.no_spares = true;
    must_equal(vigil_pool_create(&pool, &options), 0);
    gate = (struct gate){0};
    for (unsigned i = 0; i < workers; i++)
        must_equal(vigil_pool_call(pool, hold_worker, NULL, NULL, VIGIL_CRITICAL), 0);
    gate_wait_entered(&gate, workers);
}

static void end_held(void)
{
    gate_open(&gate);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void must_not_grow_with_workers(const char *what, double (*cost)(unsigned workers))
{
    double few = cost(2), many = cost(256);
    if (many > 2 * few + 10) {
        fprintf(stderr, "%s: %.1f steps with 2 workers, %.1f with 256\n", what, few, many);
        support_fail("the cost grows with the number of workers", __FILE__, __LINE__);
    }
}

/* ---- tasks -------------------------------------------------------------------------------------------------------- */

static double cost_of_calls(size_t n)
{
    begin_held(1);
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    unsigned long after = atomic_load(&steps);
    end_held();
    return (double)(after - before) / (double)n;
}

static double cost_of_running(size_t n)
{
    begin_held(1);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    unsigned long before = atomic_load(&steps);
    gate_open(&gate);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    unsigned long after = atomic_load(&steps);
    must_equal(vigil_pool_destroy(pool), 0);
    return (double)(after - before) / (double)n;
}

static void a_task_costs_the_same_at_any_backlog(void **state)
{
    (void)state;
    must_be_constant("vigil_pool_call", cost_of_calls);
    must_be_constant("a call that runs", cost_of_running);
}

/* ---- jobs --------------------------------------------------------------------------------------------------------- */

static struct event waits;

static void *idle_waiter(void *arg)
{
    (void)arg;
    event_set(&waits);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    return NULL;
}

/* Steps of polling and cancelling each of n queued jobs; with a thread in wait_idle, which a cancel may have to wake. */
static double cost_of_cancels(size_t n, unsigned workers, bool waiter)
{
    pthread_t thread = 0;
    begin_held(workers);
    vigil_job *jobs = calloc(n, sizeof *jobs);
    must(jobs != NULL);
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_job_call(pool, nothing, NULL, NULL, &jobs[i]), 0);
    if (waiter) {
        waits = (struct event){0};
        thread = start_thread(idle_waiter, NULL);
        event_wait(&waits);
    }
    unsigned long before = atomic_load(&steps);
    for (size_t i = 0; i < n; i++) {
        int status;
        must_equal(vigil_job_poll(pool, jobs[i], &status), VIGIL_JOB_QUEUED);
        must_equal(vigil_job_cancel(pool, jobs[i]), 0);
        must_equal(vigil_job_unref(pool, jobs[i]), 0);
    }
    unsigned long after = atomic_load(&steps);
    free(jobs);
    gate_open(&gate);
    if (waiter)
        join_thread(thread);
    end_held();
    return (double)(after - before) / (double)n;
}

static double cost_of_lonely_cancels(size_t n)
{
    return cost_of_cancels(n, 1, false);
}

static double cost_of_awaited_cancels(size_t n)
{
    return cost_of_cancels(n, 1, true);
}

static double cost_of_cancels_by_workers(unsigned workers)
{
    return cost_of_cancels(20000, workers, true);
}

static void a_job_is_polled_and_cancelled_in_constant_steps(void **state)
{
    (void)state;
    must_be_constant("poll and cancel", cost_of_lonely_cancels);
    must_be_constant("poll and cancel beside a wait for idleness", cost_of_awaited_cancels);
    must_not_grow_with_workers("poll and cancel beside a wait for idleness", cost_of_cancels_by_workers);
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

static void *closer(void *arg)
{
    (void)arg;
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    return NULL;
}

/* Queued tasks that are not cancelled yet, and the steps when the last was. */
struct cancelling {
    size_t left;
    unsigned long steps;
};

static void cancelled(void *arg)
{
    struct cancelling *it = arg;
    if (--it->left != 0)
        return;
    it->steps = atomic_load(&steps);
    gate_open(&gate); /* every queued task is cancelled: now let the workers go, which search for a while */
}

/* Steps of cancelling each of n queued tasks by a close. */
static double cost_of_close(size_t n, unsigned workers)
{
    begin_held(workers);
    struct cancelling it = {.left = n};
    for (size_t i = 0; i < n; i++)
        must_equal(vigil_pool_call(pool, nothing, cancelled, &it, VIGIL_NORMAL), 0);
    unsigned long before = atomic_load(&steps);
    join_thread(start_thread(closer, NULL));
    must_equal(vigil_pool_destroy(pool), 0);
    return (double)(it.steps - before) / (double)n;
}

static double cost_of_close_by_tasks(size_t n)
{
    return cost_of_close(n, 1);
}

static double cost_of_close_by_workers(unsigned workers)
{
    return cost_of_close(100000, workers);
}

static void a_close_costs_the_same_for_each_task(void **state)
{
    (void)state;
    must_be_constant("a task that a close cancels", cost_of_close_by_tasks);
    must_not_grow_with_workers("a task that a close cancels", cost_of_close_by_workers);
}

/* ---- caps --------------------------------------------------------------------------------------------------------- */

/* Steps of all threads for each task of a class whose cap is one. */
static double cost_of_capped(unsigned workers)
{
    enum {
        TASKS = 20000
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.idle = VIGIL_IDLE_PARK;
    options.class_cap[VIGIL_LOW] = 1;
    must_equal(vigil_pool_create(&pool, &options), 0);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_LOW), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    gate = (struct gate){0};
    must_equal(vigil_pool_call(pool, hold_worker, NULL, NULL, VIGIL_LOW), 0);
    gate_wait_entered(&gate, 1);
    for (int i = 0; i < TASKS; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_LOW), 0);
    unsigned long before = atomic_load(&steps);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    unsigned long after = atomic_load(&steps);
    must_equal(vigil_pool_destroy(pool), 0);
    return (double)(after - before) / TASKS;
}

static void a_cap_costs_the_same_with_any_number_of_workers(void **state)
{
    (void)state;
    must_not_grow_with_workers("a task of a capped class", cost_of_capped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_task_costs_the_same_at_any_backlog),
        test(a_job_is_polled_and_cancelled_in_constant_steps),
        test(a_close_costs_the_same_for_each_task),
        test(a_cap_costs_the_same_with_any_number_of_workers),
    };
    return run_all(tests);
}
