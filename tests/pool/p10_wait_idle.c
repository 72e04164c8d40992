/* SPDX-License-Identifier: MIT */
/* P10: wait_idle is woken by the event and true only if there was an instant at which everything accepted had finished. */
#include "support.h"

static int count_run(void *arg)
{
    (void)atomic_fetch_add_explicit((_Atomic uint64_t *)arg, 1, memory_order_relaxed);
    return 0;
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void p10_a_pool_that_was_given_nothing_is_idle(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_pool_wait_idle(pool, 0), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

static void p10_it_runs_out_of_time_while_a_task_runs_or_waits(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    uint64_t before = now_ns();
    must_equal(vigil_pool_wait_idle(pool, 2000000), -ETIMEDOUT);
    must(now_ns() - before >= 2000000);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

struct inside {
    vigil_pool *pool;
    int answer;
};

static int wait_inside(void *arg)
{
    struct inside *inside = arg;
    inside->answer = vigil_pool_wait_idle(inside->pool, VIGIL_FOREVER);
    return 0;
}

static void p10_inside_a_task_it_says_that_it_would_wait_for_its_caller(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct inside inside = {.pool = pool};
    must_equal(vigil_pool_call(pool, wait_inside, NULL, &inside, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(inside.answer, -EDEADLK);
    /* A worker of another pool is any thread here. */
    vigil_pool *other = pool_of(1);
    struct inside across = {.pool = other, .answer = 1};
    must_equal(vigil_pool_call(pool, wait_inside, NULL, &across, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(across.answer, 0);
    pool_close(other);
    pool_close(pool);
}

/* A tree of tasks that submit tasks: at no instant before the last leaf is the pool idle. */
struct tree {
    vigil_pool *pool;
    _Atomic uint64_t leaves;
};

struct node {
    vigil_task task;
    struct tree *tree;
    unsigned depth;
};

static void plant(struct tree *tree, unsigned depth);

static int node_run(vigil_task *task)
{
    struct node *node = container_of(task, struct node, task);
    struct tree *tree = node->tree;
    unsigned depth = node->depth;
    free(node);
    if (depth == 0) {
        (void)atomic_fetch_add_explicit(&tree->leaves, 1, memory_order_relaxed);
        return 0;
    }
    plant(tree, depth - 1);
    plant(tree, depth - 1);
    return 0;
}

static void plant(struct tree *tree, unsigned depth)
{
    struct node *node = malloc(sizeof *node);
    must(node != NULL);
    vigil_task_init(&node->task, node_run, NULL);
    node->tree = tree;
    node->depth = depth;
    must_equal(vigil_pool_submit(tree->pool, &node->task, (vigil_priority)(depth % VIGIL_PRIORITIES)), 0);
}

static void p10_it_waits_for_what_running_tasks_submit(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 9};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        for (uint64_t round = scaled(200, 10); round > 0; round--) {
            struct tree tree = {.pool = pool};
            unsigned depth = (unsigned)(round % 9);
            plant(&tree, depth);
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(tree.leaves, 1U << depth);
        }
        pool_close(pool);
    }
}

/* Several threads submit and wait at the same time: whatever the others do, one's own tasks are finished afterwards. */
struct storm {
    vigil_pool *pool;
    struct meeting *start;
    uint64_t rounds;
};

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    _Atomic uint64_t runs = 0;
    uint64_t submitted = 0;
    (void)meeting_join(storm->start);
    for (uint64_t round = 0; round < storm->rounds; round++) {
        for (uint64_t i = 0; i < round % 20; i++, submitted++)
            must_equal(vigil_pool_call(storm->pool, count_run, NULL, (void *)&runs, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(storm->pool, VIGIL_FOREVER), 0);
        must_equal(atomic_load_explicit(&runs, memory_order_relaxed), submitted);
    }
    return NULL;
}

static void p10_amid_a_submit_storm_it_never_returns_before_the_callers_own_tasks_are_done(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 33};
    enum {
        THREADS = 6
    };
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        struct meeting start = {.size = THREADS};
        struct storm storm = {.pool = pool, .start = &start, .rounds = scaled(1000, 30)};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            threads[i] = start_thread(storm_body, &storm);
        for (int i = 0; i < THREADS; i++)
            join_thread(threads[i]);
        pool_close(pool);
    }
}

static void *wait_body(void *arg)
{
    must_equal(vigil_pool_wait_idle(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void p10_all_waiters_are_let_go_at_once(void **state)
{
    (void)state;
    enum {
        THREADS = 16
    };
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        struct gate gate = {0};
        pthread_t threads[THREADS];
        must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_NORMAL), 0);
        for (int i = 0; i < THREADS; i++)
            threads[i] = start_thread(wait_body, pool);
        gate_wait_entered(&gate, 1);
        gate_open(&gate);
        for (int i = 0; i < THREADS; i++)
            join_thread(threads[i]);
    }
    pool_close(pool);
}

static void p10_a_delayed_task_counts_from_the_moment_it_is_accepted(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct node *node = malloc(sizeof *node);
    must(node != NULL);
    struct tree tree = {.pool = pool};
    vigil_task_init(&node->task, node_run, NULL);
    node->tree = &tree;
    node->depth = 0;
    must_equal(vigil_pool_submit_after(pool, &node->task, VIGIL_NORMAL, 20000000), 0);
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tree.leaves, 1);
    pool_close(pool);
}

static void p10_cancelled_and_failed_tasks_count_as_finished(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    vigil_job job;
    _Atomic uint64_t runs = 0;
    hold_workers(&hold, pool, 1);
    must_equal(vigil_job_call(pool, count_run, (void *)&runs, NULL, &job), 0);
    must_equal(vigil_job_cancel(pool, job), 0);
    must_equal(vigil_pool_wait_idle(pool, 0), -ETIMEDOUT);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, 0);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p10_a_pool_that_was_given_nothing_is_idle),
        test(p10_it_runs_out_of_time_while_a_task_runs_or_waits),
        test(p10_inside_a_task_it_says_that_it_would_wait_for_its_caller),
        test(p10_it_waits_for_what_running_tasks_submit),
        test(p10_amid_a_submit_storm_it_never_returns_before_the_callers_own_tasks_are_done),
        test(p10_all_waiters_are_let_go_at_once),
        test(p10_a_delayed_task_counts_from_the_moment_it_is_accepted),
        test(p10_cancelled_and_failed_tasks_count_as_finished),
    };
    return run_all(tests);
}
