/* SPDX-License-Identifier: MIT */
/* P14: pthread_exit and cancellation inside a task end the task, not its worker. */
#include "child.h"

#include <unistd.h>

#define TEN_SECONDS INT64_C(10000000000)

struct seen {
    _Atomic unsigned failures;
    _Atomic unsigned ran;
    _Atomic int status;
};

static void on_failure(void *user, const vigil_failure *failure)
{
    struct seen *seen = user;
    atomic_store_explicit(&seen->status, failure->status, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&seen->failures, 1, memory_order_relaxed);
}

static vigil_pool *watched_pool(unsigned workers, struct seen *seen)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.on_failure = on_failure;
    options.user = seen;
    return pool_with(&options);
}

static int leave_thread(void *arg)
{
    (void)arg;
    pthread_exit(NULL);
}

static __attribute__((noinline)) void leave_deep(int depth)
{
    char spoil[256];
    (void)snprintf(spoil, sizeof spoil, "%d", depth);
    if (depth == 0)
        pthread_exit(NULL);
    if (depth > 0)
        leave_deep(depth - 1);
    must(spoil[0] == 0); /* nobody comes back */
}

static int leave_thread_deep(void *arg)
{
    (void)arg;
    leave_deep(100);
    return 0;
}

static int count_run(void *arg)
{
    struct seen *seen = arg;
    (void)atomic_fetch_add_explicit(&seen->ran, 1, memory_order_relaxed);
    return 0;
}

static void p14_pthread_exit_in_a_task_is_a_failure_and_the_worker_goes_on(void **state)
{
    (void)state;
    struct seen seen = {0};
    vigil_pool *pool = watched_pool(2, &seen);
    for (int i = 0; i < 50; i++) {
        must_equal(vigil_pool_call(pool, i % 2 == 0 ? leave_thread : leave_thread_deep, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_call(pool, count_run, NULL, &seen, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, TEN_SECONDS), 0);
    must_equal(seen.ran, 50);
    must_equal(seen.failures, 50);
    must_equal(seen.status, -ECANCELED);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.failed, 50);
    must_equal(stats.total.completed, 50);
    must_equal(stats.threads, 2);
    pool_close(pool);
}

static void p14_a_job_that_ends_its_thread_has_failed(void **state)
{
    (void)state;
    struct seen seen = {0};
    vigil_pool *pool = watched_pool(1, &seen);
    vigil_job job;
    int status = 0;
    must_equal(vigil_job_call(pool, leave_thread_deep, NULL, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, TEN_SECONDS, &status), 0);
    must_equal(status, -ECANCELED);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

static int leave_thread_task(vigil_task *task)
{
    (void)task;
    leave_deep(10);
    return 0;
}

/* One child of four ends its thread while the parent waits on the same stack. */
static void four_children(vigil_pool *pool, void *arg)
{
    struct seen *seen = arg;
    vigil_group group;
    struct child children[4];
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (int i = 0; i < 4; i++) {
        child_init(&children[i]);
        if (i == 2)
            vigil_task_init(&children[i].task, leave_thread_task, NULL);
        must_equal(vigil_group_spawn(&group, &children[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), -ECANCELED);
    for (int i = 0; i < 4; i++)
        must_equal(children[i].runs, i == 2 ? 0 : 1);
    must_equal(vigil_join(pool, leave_thread_deep, NULL, count_run, seen), -ECANCELED);
}

static int join_with_exit(void *arg)
{
    struct seen *seen = arg;
    (void)vigil_join(vigil_pool_current(), count_run, seen, leave_thread_deep, NULL);
    fail_msg("a half of a join leaves the calling task");
    return 0;
}

static void p14_a_waiting_parent_outlives_a_child_that_ends_its_thread(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        struct seen seen = {0};
        vigil_pool *pool = watched_pool(workers, &seen);
        must_equal(vigil_pool_call(pool, join_with_exit, NULL, &seen, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, TEN_SECONDS), 0);
        must_equal(seen.ran, 1);
        must_equal(seen.failures, 1);
        /* As with vigil_raise: `a` of a join leaves the task that called it, and b has ended by then. */
        run_inside(pool, four_children, &seen);
        must_equal(seen.ran, 2);
        must_equal(seen.failures, 3);
        pool_close(pool);
    }
}

/* Not under the thread sanitizer: its own frame around pause() is left as well, and it sees no order after that. */
#if !TEST_TSAN
struct victim {
    struct event started;
    pthread_t thread;
};

static int wait_to_be_cancelled(void *arg)
{
    struct victim *victim = arg;
    victim->thread = pthread_self();
    event_set(&victim->started);
    for (int i = 0; i < 1000; i++)
        (void)pause();
    return 0;
}

static void p14_a_cancelled_task_has_failed_and_the_worker_goes_on(void **state)
{
    (void)state;
    struct seen seen = {0};
    vigil_pool *pool = watched_pool(1, &seen);
    struct victim victim = {0};
    must_equal(vigil_pool_call(pool, wait_to_be_cancelled, NULL, &victim, VIGIL_NORMAL), 0);
    event_wait(&victim.started);
    must_equal(pthread_cancel(victim.thread), 0);
    must_equal(vigil_pool_wait_idle(pool, TEN_SECONDS), 0);
    must_equal(seen.failures, 1);
    must_equal(vigil_pool_call(pool, count_run, NULL, &seen, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, leave_thread, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, TEN_SECONDS), 0);
    must_equal(seen.ran, 1);
    must_equal(seen.failures, 2);
    pool_close(pool);
}
#endif

static void hook_leaves(void *user, unsigned worker)
{
    (void)worker;
    (void)atomic_fetch_add_explicit(&((struct seen *)user)->failures, 1, memory_order_relaxed);
    pthread_exit(NULL);
}

static void p14_a_hook_that_ends_its_thread_ends_itself_alone(void **state)
{
    (void)state;
    struct seen seen = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.on_worker_start = hook_leaves;
    options.on_worker_stop = hook_leaves;
    options.user = &seen;
    vigil_pool *pool = pool_with(&options);
    for (int i = 0; i < 10; i++)
        must_equal(vigil_pool_call(pool, count_run, NULL, &seen, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, TEN_SECONDS), 0);
    must_equal(seen.ran, 10);
    pool_close(pool);
    must_equal(seen.failures, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p14_pthread_exit_in_a_task_is_a_failure_and_the_worker_goes_on),
        test(p14_a_job_that_ends_its_thread_has_failed),
        test(p14_a_waiting_parent_outlives_a_child_that_ends_its_thread),
#if !TEST_TSAN
        test(p14_a_cancelled_task_has_failed_and_the_worker_goes_on),
#endif
        test(p14_a_hook_that_ends_its_thread_ends_itself_alone),
    };
    return run_all(tests);
}
