/* SPDX-License-Identifier: MIT */
/* P20: a call runs on every worker; a thread from outside works for the pool for the time of a call. */
#include "child.h"

#include <vigil/flow.h>

/* ---- broadcast ---- */

enum {
    WORKERS = 4
};

struct everywhere {
    _Atomic unsigned on[WORKERS];
    _Atomic unsigned others;
    int fail_on; /* worker; -1: none */
    vigil_job job;
};

static int count_worker(void *arg, unsigned worker)
{
    struct everywhere *it = arg;
    must_equal(vigil_pool_current_worker(), worker);
    if (worker < WORKERS)
        (void)atomic_fetch_add_explicit(&it->on[worker], 1, memory_order_relaxed);
    else
        (void)atomic_fetch_add_explicit(&it->others, 1, memory_order_relaxed);
    if ((int)worker == it->fail_on)
        vigil_raise(-ENOLINK);
    return 0;
}

static void p20_a_broadcast_runs_once_on_each_worker(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(WORKERS);
    for (uint64_t round = 1; round <= scaled(500, 20); round++) {
        struct everywhere it = {.fail_on = -1};
        int status = 1;
        must_equal(vigil_pool_broadcast_call(pool, count_worker, &it, VIGIL_HIGH, &it.job), 0);
        must_equal(vigil_job_cancel(pool, it.job), -EBUSY);
        must_equal(vigil_job_wait(pool, it.job, VIGIL_FOREVER, &status), 0);
        must_equal(status, 0);
        for (int i = 0; i < WORKERS; i++)
            must_equal(it.on[i], 1);
        must_equal(it.others, 0);
        must_equal(vigil_job_unref(pool, it.job), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_audit_clean(pool);
    pool_close(pool);
}

static void ignore_failure(void *user, const vigil_failure *failure)
{
    (void)user;
    (void)failure;
}

static int after_everywhere(void *arg)
{
    struct everywhere *it = arg;
    int status = 0;
    must_equal(vigil_job_poll(vigil_pool_current(), it->job, &status), VIGIL_JOB_DONE);
    return status;
}

static void broadcast_inside(vigil_pool *pool, void *arg)
{
    struct everywhere *it = arg;
    size_t at = 0;
    must_equal(vigil_pool_broadcast_call(pool, count_worker, it, VIGIL_NORMAL, &it->job), 0);
    must_equal(vigil_job_wait(pool, it->job, VIGIL_FOREVER, NULL), -EDEADLK);
    vigil_awaited awaited = {.job = it->job};
    must_equal(vigil_wait_any(pool, &awaited, 1, VIGIL_FOREVER, &at), -EDEADLK);
}

static void p20_a_task_may_broadcast_and_let_another_follow(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = WORKERS;
    options.max_queue = 1; /* takes no place of it */
    options.on_failure = ignore_failure;
    vigil_pool *pool = pool_with(&options);
    struct everywhere it = {.fail_on = 2};
    int status = 0;
    vigil_job after;
    run_inside(pool, broadcast_inside, &it);
    must_equal(vigil_job_then_call(pool, it.job, after_everywhere, &it, NULL, &after), 0);
    must_equal(vigil_job_wait(pool, after, VIGIL_FOREVER, &status), 0);
    must_equal(status, -ENOLINK);
    must_equal(vigil_job_unref(pool, after), 0);
    must_equal(vigil_job_unref(pool, it.job), 0);
    pool_close(pool);
}

static void p20_a_pool_that_ends_finishes_or_refuses_a_broadcast(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct everywhere it = {.fail_on = -1};
    struct hold hold = {0};
    int status = 0;
    hold_workers(&hold, pool, 2);
    must_equal(vigil_pool_broadcast_call(pool, count_worker, &it, VIGIL_NORMAL, &it.job), 0);
    must_equal(vigil_pool_close(pool, 0), -ETIMEDOUT);
    must_equal(vigil_job_wait(pool, it.job, VIGIL_FOREVER, &status), 0);
    must_equal(status, -ECANCELED);
    vigil_job refused;
    must_equal(vigil_pool_broadcast_call(pool, count_worker, &it, VIGIL_NORMAL, &refused), -ESHUTDOWN);
    must_equal(vigil_pool_broadcast_call(pool, NULL, &it, VIGIL_NORMAL, &refused), -EINVAL);
    hold_release(&hold);
    must_equal(vigil_pool_destroy(pool), 0);
}

/* ---- callers that work ---- */

struct working {
    vigil_pool *pool;
    pthread_t caller;
    unsigned long sum;
};

struct piece {
    vigil_task task;
    unsigned from, to;
    unsigned long sum;
};

static int add_up(vigil_task *task)
{
    struct piece *it = container_of(task, struct piece, task);
    if (it->to - it->from < 10) {
        for (unsigned i = it->from; i < it->to; i++)
            it->sum += i;
        return 0;
    }
    const unsigned middle = it->from + (it->to - it->from) / 2;
    struct piece halves[2] = {{.from = it->from, .to = middle}, {.from = middle, .to = it->to}};
    vigil_group group;
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    for (int i = 0; i < 2; i++) {
        vigil_task_init(&halves[i].task, add_up, NULL);
        must_equal(vigil_group_spawn(&group, &halves[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    it->sum = halves[0].sum + halves[1].sum;
    return 0;
}

static int work_here(void *arg)
{
    struct working *it = arg;
    must(pthread_equal(pthread_self(), it->caller));
    must(vigil_pool_current() == it->pool);
    must(vigil_pool_current_worker() >= VIGIL_MAX_WORKERS);
    struct piece all = {.from = 0, .to = 1000};
    must_equal(add_up(&all.task), 0);
    it->sum = all.sum;
    return 0;
}

static void work_once(vigil_pool *pool)
{
    struct working it = {.pool = pool, .caller = pthread_self()};
    must_equal(vigil_pool_run(pool, work_here, &it, VIGIL_NORMAL), 0);
    must_equal(it.sum, 499500);
    must(vigil_pool_current() == NULL);
    must_equal(vigil_pool_current_worker(), -1);
}

static void *work_often(void *arg)
{
    for (uint64_t i = 0; i < scaled(1000, 20); i++)
        work_once(arg);
    return NULL;
}

static void p20_a_thread_works_for_the_pool_for_the_time_of_a_call(void **state)
{
    (void)state;
    for (int spares = 0; spares < 2; spares++) {
        vigil_pool *pool = spares ? pool_of(2) : pool_without_spares(2);
        pthread_t threads[3];
        for (size_t i = 0; i < count_of(threads); i++)
            threads[i] = start_thread(work_often, pool);
        for (size_t i = 0; i < count_of(threads); i++)
            join_thread(threads[i]);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_audit_clean(pool);
        vigil_pool_stats stats = pool_stats(pool);
        must_add_up(&stats);
        must_equal(stats.total.completed, stats.total.submitted);
        pool_close(pool);
    }
}

/* All workers are busy: only the caller can run what it has submitted. */
struct helping {
    vigil_group group;
    struct child children[3];
};

static int wait_and_help(void *arg)
{
    struct helping *it = arg;
    return vigil_group_wait(&it->group);
}

static void p20_a_caller_helps_while_it_waits(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    struct helping it;
    hold_workers(&hold, pool, 1);
    must_equal(vigil_group_init(&it.group, pool, VIGIL_GROUP_HELP_ANY), 0);
    for (size_t i = 0; i < count_of(it.children); i++) {
        child_init(&it.children[i]);
        must_equal(vigil_group_submit(&it.group, &it.children[i].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_run(pool, wait_and_help, &it, VIGIL_NORMAL), 0);
    for (size_t i = 0; i < count_of(it.children); i++)
        must(it.children[i].runs == 1 && it.children[i].ran_on >= VIGIL_MAX_WORKERS);
    hold_release(&hold);
    pool_close(pool);
}

static int raise_or_return(void *arg)
{
    if (arg != NULL)
        vigil_raise(-EDOM);
    return -ERANGE;
}

static int at_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void *run_at_gate(void *arg)
{
    void **it = arg;
    must_equal(vigil_pool_run(it[0], at_gate, it[1], VIGIL_LOW), 0);
    return NULL;
}

static int run_elsewhere(void *arg)
{
    struct child *it = arg;
    it->ran_on = vigil_pool_current_worker();
    return 0;
}

static void from_another_pool(vigil_pool *pool, void *arg)
{
    void **it = arg;
    (void)pool;
    must_equal(vigil_pool_run(it[0], run_elsewhere, it[1], VIGIL_NORMAL), 0);
}

static void p20_a_caller_is_a_task_to_the_pool(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = ignore_failure;
    vigil_pool *pool = pool_with(&options);
    struct gate gate = {0};
    void *it[2] = {pool, &gate};
    must_equal(vigil_pool_run(pool, raise_or_return, NULL, VIGIL_NORMAL), -ERANGE);
    must_equal(vigil_pool_run(pool, raise_or_return, pool, VIGIL_NORMAL), -EDOM);
    must_equal(vigil_pool_run(pool, NULL, NULL, VIGIL_NORMAL), -EINVAL);
    /* more callers than seats: the others' calls go to the worker */
    pthread_t threads[9];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(run_at_gate, it);
    gate_wait_entered(&gate, count_of(threads));
    /* the end of the pool waits for them */
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.running, count_of(threads));
    must_equal(stats.total.failed, 2);
    must_equal(vigil_pool_shutdown(pool, 0), -ETIMEDOUT);
    must_equal(vigil_pool_run(pool, raise_or_return, NULL, VIGIL_NORMAL), -ESHUTDOWN);
    gate_open(&gate);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void p20_a_worker_of_another_pool_hands_the_call_over(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_pool *other = pool_of(1);
    struct child child = {.ran_on = -1};
    void *it[2] = {pool, &child};
    run_inside(other, from_another_pool, it);
    must(child.ran_on == 0);
    pool_close(other);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p20_a_broadcast_runs_once_on_each_worker),
        test(p20_a_task_may_broadcast_and_let_another_follow),
        test(p20_a_pool_that_ends_finishes_or_refuses_a_broadcast),
        test(p20_a_thread_works_for_the_pool_for_the_time_of_a_call),
        test(p20_a_caller_helps_while_it_waits),
        test(p20_a_caller_is_a_task_to_the_pool),
        test(p20_a_worker_of_another_pool_hands_the_call_over),
    };
    return run_all(tests);
}
