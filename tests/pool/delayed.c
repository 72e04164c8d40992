/* SPDX-License-Identifier: MIT */
/* Delayed submit: never early, in the order of their times, cancelled through a job or by a stop, and always counted. */
#include "support.h"

#define MS 1000000

struct late {
    vigil_task task;
    uint64_t due, ran_at;
    uint64_t due_at_most; /* its time is between these two: the submitter may be put aside anywhere in between */
    unsigned place;
    struct tally *done;
    _Atomic bool cancelled;
};

static int late_run(vigil_task *task)
{
    struct late *late = container_of(task, struct late, task);
    late->ran_at = now_ns();
    late->place = tally_get(late->done);
    tally_add(late->done, 1);
    return 0;
}

static void late_cancel(vigil_task *task)
{
    struct late *late = container_of(task, struct late, task);
    atomic_store_explicit(&late->cancelled, true, memory_order_release);
}

static void submit_after(vigil_pool *pool, struct late *late, struct tally *done, int64_t delay)
{
    *late = (struct late){.done = done};
    vigil_task_init(&late->task, late_run, late_cancel);
    late->due = now_ns() + (uint64_t)delay;
    must_equal(vigil_pool_submit_after(pool, &late->task, VIGIL_NORMAL, delay), 0);
    late->due_at_most = now_ns() + (uint64_t)delay;
}

static void delayed_tasks_never_run_early(void **state)
{
    (void)state;
    enum {
        COUNT = 2000
    };
    vigil_pool *pool = pool_of(2);
    struct tally done = {0};
    struct late *all = calloc(COUNT, sizeof *all);
    must(all != NULL);
    uint32_t random = 99;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1664525U + 1013904223U;
        submit_after(pool, &all[i], &done, random % (50 * MS));
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&done), COUNT);
    for (int i = 0; i < COUNT; i++)
        must(all[i].ran_at >= all[i].due);
    free(all);
    pool_close(pool);
}

static void delayed_tasks_start_in_the_order_of_their_times(void **state)
{
    (void)state;
    enum {
        COUNT = 100
    };
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late *all = calloc(COUNT, sizeof *all);
    must(all != NULL);
    /* The last submitted is the first due. */
    for (int i = 0; i < COUNT; i++)
        submit_after(pool, &all[i], &done, (int64_t)(COUNT - i) * MS + 100 * MS);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++)
            must(all[i].due_at_most >= all[j].due || all[i].place < all[j].place);
    free(all);
    pool_close(pool);
}

static void a_later_but_sooner_due_task_does_not_wait_for_an_earlier_submitted_one(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late slow;
    struct late quick;
    submit_after(pool, &slow, &done, INT64_MAX); /* saturates: in 292 years, or so */
    submit_after(pool, &quick, &done, MS);
    tally_wait(&done, 1);
    must(quick.ran_at >= quick.due);
    must_equal(pool_stats(pool).delayed, 1);
    must_equal(pool_stats(pool).total.queued, 1);
    pool_audit_clean(pool);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    must(slow.cancelled);
    must_equal(tally_get(&done), 1);
    must_equal(pool_stats(pool).delayed, 0);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void a_delay_of_nothing_runs_at_once(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late late;
    submit_after(pool, &late, &done, 0);
    tally_wait(&done, 1);
    pool_close(pool);
}

static void a_delayed_task_is_queued_and_busy_until_it_runs(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late late;
    struct hold hold = {0};
    hold_workers(&hold, pool, 1); /* it stays queued however late we are */
    submit_after(pool, &late, &done, 30 * MS);
    must_equal(vigil_pool_submit(pool, &late.task, VIGIL_NORMAL), -EBUSY);
    must_equal(vigil_pool_submit_after(pool, &late.task, VIGIL_NORMAL, 0), -EBUSY);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.queued, 1);
    must_equal(tally_get(&done), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&done), 1);
    /* Free again. */
    must_equal(vigil_pool_submit(pool, &late.task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&done), 2);
    pool_close(pool);
}

static void a_graceful_stop_waits_for_delayed_tasks(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late late;
    submit_after(pool, &late, &done, 20 * MS);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&done), 1);
    must(late.ran_at >= late.due);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void an_immediate_stop_cancels_delayed_tasks_without_waiting_for_their_time(void **state)
{
    (void)state;
    enum {
        COUNT = 100
    };
    vigil_pool *pool = pool_of(2);
    struct tally done = {0};
    static struct late all[COUNT];
    for (int i = 0; i < COUNT; i++)
        submit_after(pool, &all[i], &done, (int64_t)3600 * 1000 * MS);
    must_equal(pool_stats(pool).delayed, COUNT);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < COUNT; i++)
        must(all[i].cancelled);
    must_equal(pool_stats(pool).total.cancelled, COUNT);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void a_graceful_stop_that_waits_for_a_delayed_task_can_be_made_immediate(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally done = {0};
    struct late late;
    submit_after(pool, &late, &done, (int64_t)3600 * 1000 * MS);
    must_equal(vigil_pool_shutdown(pool, MS), -ETIMEDOUT);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    must(late.cancelled);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

static int job_run(void *arg)
{
    tally_add(arg, 1);
    return 4;
}

static void job_cancel(void *arg)
{
    tally_add(arg, 100);
}

static void a_delayed_job_can_be_cancelled_before_its_time(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally tally = {0};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.delay_ns = (int64_t)3600 * 1000 * MS;
    options.cancel = job_cancel;
    vigil_job job;
    int status = 0;
    must_equal(vigil_job_call(pool, job_run, &tally, &options, &job), 0);
    must_equal(vigil_job_poll(pool, job, NULL), VIGIL_JOB_QUEUED);
    must_equal(vigil_job_wait(pool, job, MS, &status), -ETIMEDOUT);
    must_equal(vigil_job_cancel(pool, job), 0);
    must_equal(tally_get(&tally), 100);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(status, -ECANCELED);
    must_equal(vigil_job_unref(pool, job), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0); /* a cancelled one is waited for no longer */
    pool_close(pool);
}

static void a_delayed_job_gives_its_status_when_its_time_has_come(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct tally tally = {0};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.delay_ns = 10 * MS;
    vigil_job job;
    int status = 0;
    uint64_t before = now_ns();
    must_equal(vigil_job_call(pool, job_run, &tally, &options, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must(now_ns() - before >= 10 * MS);
    must_equal(status, 4);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

/* A task waits for a job that is not due: helping must not run it early, and must not spin or block for good. */
struct inside {
    vigil_pool *pool;
    vigil_job job;
    uint64_t due;
};

static int wait_inside(void *arg)
{
    struct inside *inside = arg;
    must_equal(vigil_job_wait(inside->pool, inside->job, VIGIL_FOREVER, NULL), 0);
    must(now_ns() >= inside->due);
    return 0;
}

static void a_wait_inside_a_task_does_not_run_a_delayed_job_early(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct tally tally = {0};
    vigil_job_options delayed = VIGIL_JOB_OPTIONS_INIT;
    delayed.delay_ns = 20 * MS;
    struct inside inside = {.pool = pool, .due = now_ns() + 20 * MS};
    must_equal(vigil_job_call(pool, job_run, &tally, &delayed, &inside.job), 0);
    must_equal(vigil_pool_call(pool, wait_inside, NULL, &inside, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&tally), 1);
    must_equal(vigil_job_unref(pool, inside.job), 0);
    pool_close(pool);
}

/* ---- storm ------------------------------------------------------------------------------------------------------ */

struct storm {
    vigil_pool *pool;
    struct tally *done;
    struct late *mine;
    unsigned count;
};

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    for (unsigned i = 0; i < storm->count; i++)
        submit_after(storm->pool, &storm->mine[i], storm->done, (int64_t)(i * 7919 % 5000) * 1000);
    return NULL;
}

static void delayed_submits_from_many_threads_all_run_and_none_early(void **state)
{
    (void)state;
    enum {
        THREADS = 6
    };
    vigil_pool *pool = pool_of(3);
    struct tally done = {0};
    struct storm storms[THREADS];
    pthread_t threads[THREADS];
    unsigned count = (unsigned)scaled(10000, 300);
    for (int i = 0; i < THREADS; i++) {
        storms[i] = (struct storm){.pool = pool, .done = &done, .count = count};
        storms[i].mine = calloc(count, sizeof *storms[i].mine);
        must(storms[i].mine != NULL);
        threads[i] = start_thread(storm_body, &storms[i]);
    }
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&done), THREADS * count);
    for (int i = 0; i < THREADS; i++) {
        for (unsigned j = 0; j < count; j++)
            must(storms[i].mine[j].ran_at >= storms[i].mine[j].due);
        free(storms[i].mine);
    }
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(delayed_tasks_never_run_early),
        test(delayed_tasks_start_in_the_order_of_their_times),
        test(a_later_but_sooner_due_task_does_not_wait_for_an_earlier_submitted_one),
        test(a_delay_of_nothing_runs_at_once),
        test(a_delayed_task_is_queued_and_busy_until_it_runs),
        test(a_graceful_stop_waits_for_delayed_tasks),
        test(an_immediate_stop_cancels_delayed_tasks_without_waiting_for_their_time),
        test(a_graceful_stop_that_waits_for_a_delayed_task_can_be_made_immediate),
        test(a_delayed_job_can_be_cancelled_before_its_time),
        test(a_delayed_job_gives_its_status_when_its_time_has_come),
        test(a_wait_inside_a_task_does_not_run_a_delayed_job_early),
        test(delayed_submits_from_many_threads_all_run_and_none_early),
    };
    return run_all(tests);
}
