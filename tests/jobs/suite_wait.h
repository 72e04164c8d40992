/* SPDX-License-Identifier: MIT */
/* suite_wait.h - what every engine must do for those who wait for a job's end. After suite.h. */
#ifndef TESTS_JOBS_SUITE_WAIT_H
#define TESTS_JOBS_SUITE_WAIT_H

#include <vigil/async.h>
#include <vigil/promise.h>

static const vigil_jobs_info *info_of(vigil_promise *promise)
{
    vigil_value value;
    must_equal(vigil_promise_result(promise, &value), VIGIL_FULFILLED);
    return value.pointer;
}

static int rejection_of(vigil_promise *promise)
{
    vigil_value value;
    must_equal(vigil_promise_result(promise, &value), VIGIL_REJECTED);
    return value.status;
}

/* The queue of this process only waits; another one runs the jobs. */
static void promises_of_jobs_settle_with_their_ends(void **state)
{
    (void)state;
    const char *where = fresh_queue();
    vigil_jobs *waits = open_queue(where), *runs = open_queue(where);
    struct tally count = {0};
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 1;
    must_equal(vigil_jobs_handle(runs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_handle(runs, "bad", fail_always, &count, &kind), 0);
    uint64_t good = enqueue(waits, "echo", "hello", NULL), bad = enqueue(waits, "bad", "keep me", NULL);
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    vigil_promise *promises[4] = {0};
    must_equal(vigil_promise_jobs(waits, loop, good, NULL, &promises[0]), 0);
    must_equal(vigil_promise_jobs(waits, loop, good, NULL, &promises[1]), 0); /* a second one of the same job */
    must_equal(vigil_promise_jobs(waits, loop, bad, NULL, &promises[2]), 0);
    must_equal(vigil_promise_jobs(waits, loop, 424242, NULL, &promises[3]), 0);
    must_equal(vigil_promise_mark_handled(promises[3]), 0);
    must_equal(vigil_jobs_start(runs), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* returns when all have settled */
    for (int i = 0; i < 2; i++) {
        const vigil_jobs_info *info = info_of(promises[i]);
        must_equal(info->state, VIGIL_JOBS_COMPLETED);
        must_equal(info->id, good);
        must_equal(info->result_size, 5);
        must_equal(memcmp(info->result, "hello", 5), 0);
    }
    must_equal(info_of(promises[2])->state, VIGIL_JOBS_DEAD);
    must_equal(strcmp(info_of(promises[2])->error, "no luck"), 0);
    must_equal(strcmp(info_of(promises[2])->kind, "bad"), 0);
    must_equal(rejection_of(promises[3]), -ENOENT);
    for (int i = 0; i < 4; i++)
        vigil_promise_unref(promises[i]);
    vigil_jobs_close(waits);
    vigil_jobs_close(runs);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_promise_of_a_job_ends_with_its_token_or_its_queue(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    uint64_t id = enqueue(jobs, "nobody", "", NULL);
    vigil_loop *loop = NULL;
    vigil_cancel_source *source = NULL;
    vigil_promise *first = NULL, *second = NULL, *third = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_promise_jobs(jobs, loop, id, vigil_cancel_token_of(source), &first), 0);
    must_equal(vigil_promise_jobs(jobs, loop, id, NULL, &second), 0);
    must_equal(vigil_promise_mark_handled(first), 0);
    must_equal(vigil_promise_mark_handled(second), 0);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_equal(vigil_promise_jobs(jobs, loop, id, vigil_cancel_token_of(source), &third), -EINTR);
    while (vigil_promise_state_get(first) == VIGIL_PENDING)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    must_equal(rejection_of(first), -EINTR);
    must_equal(vigil_promise_state_get(second), VIGIL_PENDING);
    vigil_jobs_close(jobs);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(rejection_of(second), -ESHUTDOWN);
    vigil_promise_unref(first);
    vigil_promise_unref(second);
    vigil_cancel_destroy(source);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* An asynchronous function that enqueues a job and awaits its end. */
struct asks {
    vigil_frame frame;
    vigil_jobs *jobs;
    uint64_t id;
    int *state; /* the frame is gone when the call has ended */
};

static void ask(vigil_frame *frame)
{
    struct asks *asks = container_of(frame, struct asks, frame);
    VIGIL_ASYNC_BEGIN(frame);
    must_work(vigil_jobs_enqueue(asks->jobs, "echo", "x", 1, NULL, &asks->id));
    VIGIL_AWAIT(frame, vigil_promise_jobs(asks->jobs, frame->loop, asks->id, NULL, VIGIL_INTO(frame)));
    *asks->state = (int)((const vigil_jobs_info *)frame->value->pointer)->state;
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static void an_asynchronous_function_awaits_a_job(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    int ended = -1;
    struct asks *asks = vigil_frame_alloc(sizeof *asks, loop, NULL);
    must(asks != NULL);
    asks->jobs = jobs;
    asks->state = &ended;
    must_equal(vigil_frame_start(&asks->frame, ask, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(ended, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* A task on the only worker waits for a job that needs it: a spare one runs the job. */
struct waiting_task {
    vigil_task task;
    vigil_jobs *jobs;
    uint64_t id, nobody;
    int state, late;
    struct event done;
};

static int wait_in_task(vigil_task *task)
{
    struct waiting_task *it = container_of(task, struct waiting_task, task);
    it->late = vigil_jobs_wait(it->jobs, it->nobody, 20000000, NULL, NULL);
    it->state = vigil_jobs_wait(it->jobs, it->id, VIGIL_FOREVER, NULL, NULL);
    event_set(&it->done);
    return 0;
}

static void a_task_waits_for_a_job_without_keeping_a_worker_from_it(void **state)
{
    (void)state;
    vigil_pool_options pool_options = VIGIL_POOL_OPTIONS_INIT;
    pool_options.workers = 1;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &pool_options), 0);
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.pool = pool;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, fresh_queue(), &options));
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    struct waiting_task it = {.jobs = jobs};
    it.nobody = enqueue(jobs, "nobody", "", NULL);
    it.id = enqueue(jobs, "echo", "", NULL);
    vigil_task_init(&it.task, wait_in_task, NULL);
    must_equal(vigil_pool_submit(pool, &it.task, VIGIL_NORMAL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    event_wait(&it.done);
    must_equal(it.late, -ETIMEDOUT);
    must_equal(it.state, VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
    must_equal(vigil_pool_destroy(pool), 0);
}

#define JOBS_SUITE_WAIT                                                                                       \
    test(promises_of_jobs_settle_with_their_ends), test(a_promise_of_a_job_ends_with_its_token_or_its_queue), \
        test(an_asynchronous_function_awaits_a_job), test(a_task_waits_for_a_job_without_keeping_a_worker_from_it)

#endif
