/* SPDX-License-Identifier: MIT */
/* P5: a handle waited for inside a task helps instead of blocking the worker, so one worker is enough for any nesting. */
#include "support.h"

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 7;
}

struct nest {
    vigil_pool *pool;
    int depth;
};

static int nest_run(void *arg)
{
    struct nest *outer = arg;
    if (outer->depth == 0)
        return 1;
    struct nest inner = {.pool = outer->pool, .depth = outer->depth - 1};
    vigil_job job;
    must_equal(vigil_job_call(inner.pool, nest_run, &inner, NULL, &job), 0);
    int status = 0;
    must_equal(vigil_job_wait(inner.pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(vigil_job_unref(inner.pool, job), 0);
    return status + 1;
}

static void p05_nested_waits_end_on_one_worker(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 5};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = workers[w];
        options.no_spares = true; /* helping alone must do */
        vigil_pool *pool = pool_with(&options);
        const int depth = TEST_SANITIZED ? 200 : 1000;
        struct nest nest = {.pool = pool, .depth = depth};
        vigil_job job;
        int status = 0;
        must_equal(vigil_job_call(pool, nest_run, &nest, NULL, &job), 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(status, depth + 1);
        must_equal(vigil_job_unref(pool, job), 0);
        pool_close(pool);
    }
}

/* A tree in which every node waits for all its children by handle. */
static int tree_run(void *arg)
{
    struct nest *node = arg;
    if (node->depth == 0)
        return 1;
    struct nest child = {.pool = node->pool, .depth = node->depth - 1};
    vigil_job jobs[3];
    int sum = 1;
    for (int i = 0; i < 3; i++)
        must_equal(vigil_job_call(node->pool, tree_run, &child, NULL, &jobs[i]), 0);
    for (int i = 0; i < 3; i++) {
        int status = 0;
        must_equal(vigil_job_wait(node->pool, jobs[i], VIGIL_FOREVER, &status), 0);
        must_equal(vigil_job_unref(node->pool, jobs[i]), 0);
        sum += status;
    }
    return sum;
}

static void p05_a_tree_of_waiting_jobs_ends_on_any_number_of_workers(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 3, 16};
    int depth = TEST_SANITIZED ? 5 : 8;
    int nodes = 0;
    for (int level = 0, width = 1; level <= depth; level++, width *= 3)
        nodes += width;
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = workers[w];
        options.no_spares = true;
        vigil_pool *pool = pool_with(&options);
        struct nest root = {.pool = pool, .depth = depth};
        vigil_job job;
        int status = 0;
        must_equal(vigil_job_call(pool, tree_run, &root, NULL, &job), 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(status, nodes);
        must_equal(vigil_job_unref(pool, job), 0);
        pool_close(pool);
    }
}

struct other_work {
    vigil_pool *pool;
    struct gate *gate;
    struct tally *helped;
    vigil_job job;
};

static int wait_for_other(void *arg)
{
    struct other_work *work = arg;
    gate_wait_entered(work->gate, 1); /* the job runs on the other worker, and will not end by itself */
    int status = 0;
    must_equal(vigil_job_wait(work->pool, work->job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 7);
    return 0;
}

static int help_and_open(void *arg)
{
    struct other_work *work = arg;
    tally_add(work->helped, 1);
    gate_open(work->gate);
    return 0;
}

static void p05_a_waiting_task_runs_other_work_while_the_job_runs_elsewhere(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct gate gate = {0};
    struct tally helped = {0};
    struct other_work work = {.pool = pool, .gate = &gate, .helped = &helped};
    must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &work.job), 0);
    gate_wait_entered(&gate, 1);
    vigil_job waiting;
    must_equal(vigil_job_call(pool, wait_for_other, &work, NULL, &waiting), 0);
    /* Both workers are taken: one holds the job, one waits for it. Only the one that waits can run this. */
    must_equal(vigil_pool_call(pool, help_and_open, NULL, &work, VIGIL_NORMAL), 0);
    must_equal(vigil_job_wait(pool, waiting, VIGIL_FOREVER, NULL), 0);
    must_equal(tally_get(&helped), 1);
    must_equal(vigil_job_unref(pool, waiting), 0);
    must_equal(vigil_job_unref(pool, work.job), 0);
    pool_close(pool);
}

struct self_wait {
    vigil_pool *pool;
    vigil_job job;
    struct event known;
    int answer;
};

static int wait_for_self(void *arg)
{
    struct self_wait *self = arg;
    event_wait(&self->known);
    self->answer = vigil_job_wait(self->pool, self->job, VIGIL_FOREVER, NULL);
    return 5;
}

static void p05_a_job_that_waits_for_itself_is_told_so(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct self_wait self = {.pool = pool};
    must_equal(vigil_job_call(pool, wait_for_self, &self, NULL, &self.job), 0);
    event_set(&self.known);
    int status = 0;
    must_equal(vigil_job_wait(pool, self.job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 5);
    must_equal(self.answer, -EDEADLK);
    must_equal(vigil_job_unref(pool, self.job), 0);
    pool_close(pool);
}

/* The inner job runs inside the outer one's wait, on the outer one's stack: it would wait for its own caller too. */
struct around {
    vigil_pool *pool;
    vigil_job outer;
    struct event known;
    int answer;
};

static int around_inner(void *arg)
{
    struct around *around = arg;
    around->answer = vigil_job_wait(around->pool, around->outer, VIGIL_FOREVER, NULL);
    return 0;
}

static int around_outer(void *arg)
{
    struct around *around = arg;
    event_wait(&around->known);
    vigil_job inner;
    must_equal(vigil_job_call(around->pool, around_inner, around, NULL, &inner), 0);
    must_equal(vigil_job_wait(around->pool, inner, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(around->pool, inner), 0);
    return 0;
}

static void p05_waiting_for_a_job_further_up_the_own_stack_is_told_so(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct around around = {.pool = pool};
    must_equal(vigil_job_call(pool, around_outer, &around, NULL, &around.outer), 0);
    event_set(&around.known);
    must_equal(vigil_job_wait(pool, around.outer, VIGIL_FOREVER, NULL), 0);
    must_equal(around.answer, -EDEADLK);
    must_equal(vigil_job_unref(pool, around.outer), 0);
    pool_close(pool);
}

struct timed {
    vigil_pool *pool;
    vigil_job job;
    struct gate *gate;
    int answer;
};

static int wait_a_moment(void *arg)
{
    struct timed *timed = arg;
    gate_wait_entered(timed->gate, 1);
    timed->answer = vigil_job_wait(timed->pool, timed->job, 1000000, NULL);
    gate_open(timed->gate);
    return 0;
}

static void p05_a_wait_inside_a_task_obeys_its_timeout(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct gate gate = {0};
    struct timed timed = {.pool = pool, .gate = &gate};
    must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &timed.job), 0);
    gate_wait_entered(&gate, 1); /* it has started, so the waiting task cannot run it itself */
    vigil_job waiting;
    must_equal(vigil_job_call(pool, wait_a_moment, &timed, NULL, &waiting), 0);
    must_equal(vigil_job_wait(pool, waiting, VIGIL_FOREVER, NULL), 0);
    must_equal(timed.answer, -ETIMEDOUT);
    must_equal(vigil_job_wait(pool, timed.job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, waiting), 0);
    must_equal(vigil_job_unref(pool, timed.job), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p05_nested_waits_end_on_one_worker),
        test(p05_a_tree_of_waiting_jobs_ends_on_any_number_of_workers),
        test(p05_a_waiting_task_runs_other_work_while_the_job_runs_elsewhere),
        test(p05_a_job_that_waits_for_itself_is_told_so),
        test(p05_waiting_for_a_job_further_up_the_own_stack_is_told_so),
        test(p05_a_wait_inside_a_task_obeys_its_timeout),
    };
    return run_all(tests);
}
