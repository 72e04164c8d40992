/* SPDX-License-Identifier: MIT */
/* P5: a handle that can be waited for, polled, cancelled before the start. Waiting inside tasks is in p05_waits_inside_tasks.c. */
#include "support.h"

static int return_arg(void *arg)
{
    return (int)(intptr_t)arg;
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 7;
}

static void count_cancel(void *arg)
{
    tally_add(arg, 1);
}

static int count_run(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static void p05_a_job_gives_its_status_to_whoever_waits(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    static const int statuses[] = {0, 1, 42, -1, -EIO, -ENOENT};
    for (size_t i = 0; i < count_of(statuses); i++) {
        vigil_job job = {0};
        int status = 12345;
        must_equal(vigil_job_call(pool, return_arg, (void *)(intptr_t)statuses[i], NULL, &job), 0);
        must(job.id != 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(status, statuses[i]);
        /* Waiting again and without asking for the status is fine, until the handle is given back. */
        must_equal(vigil_job_wait(pool, job, 0, NULL), 0);
        must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_DONE);
        must_equal(status, statuses[i]);
        must_equal(vigil_job_unref(pool, job), 0);
    }
    pool_close(pool);
}

static void p05_poll_follows_a_job_from_queued_to_done(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    struct gate gate = {0};
    hold_workers(&hold, pool, 1);
    vigil_job job;
    int status = 12345;
    must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &job), 0);
    must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_QUEUED);
    must_equal(vigil_job_poll(pool, job, NULL), VIGIL_JOB_QUEUED);
    hold_release(&hold);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_RUNNING);
    must_equal(status, 12345);
    gate_open(&gate);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_DONE);
    must_equal(status, 7);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

static void p05_a_wait_that_runs_out_of_time_leaves_the_job_alone(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    vigil_job job;
    int status = 12345;
    must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, 0, &status), -ETIMEDOUT);
    uint64_t before = now_ns();
    must_equal(vigil_job_wait(pool, job, 2000000, &status), -ETIMEDOUT);
    must(now_ns() - before >= 2000000);
    must_equal(status, 12345);
    gate_open(&gate);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 7);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

static void p05_a_job_is_cancelled_before_it_starts_and_never_after(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    struct tally ran = {0};
    struct tally unused = {0};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = count_cancel;
    hold_workers(&hold, pool, 1);
    vigil_job job;
    int status = 12345;
    must_equal(vigil_job_call(pool, return_arg, &unused, &options, &job), 0);
    must_equal(vigil_job_cancel(pool, job), 0);
    must_equal(tally_get(&unused), 1); /* the callback has run when cancel returns, though the worker is held */
    must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_CANCELLED);
    must_equal(status, -ECANCELED);
    must_equal(vigil_job_cancel(pool, job), -EBUSY);
    status = 0;
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(status, -ECANCELED);
    must_equal(vigil_job_unref(pool, job), 0);

    struct gate gate = {0};
    vigil_job running;
    must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &running), 0);
    hold_release(&hold);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_job_cancel(pool, running), -EBUSY);
    gate_open(&gate);
    must_equal(vigil_job_wait(pool, running, VIGIL_FOREVER, &status), 0);
    must_equal(status, 7);
    must_equal(vigil_job_cancel(pool, running), -EBUSY);
    must_equal(vigil_job_unref(pool, running), 0);

    vigil_job plain; /* without a callback */
    struct hold again = {0};
    hold_workers(&again, pool, 1);
    must_equal(vigil_job_call(pool, count_run, &ran, NULL, &plain), 0);
    must_equal(vigil_job_cancel(pool, plain), 0);
    must_equal(vigil_job_unref(pool, plain), 0);
    hold_release(&again);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&ran), 0);
    must_equal(pool_stats(pool).total.cancelled, 2);
    pool_close(pool);
}

static void p05_a_stale_handle_is_an_error_everywhere(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_job job;
    must_equal(vigil_job_call(pool, return_arg, NULL, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    vigil_job next; /* may well live in the same slot, under another generation */
    must_equal(vigil_job_call(pool, return_arg, NULL, NULL, &next), 0);
    must(next.id != job.id);
    const vigil_job stale[] = {job, {0}, {1}, {UINT64_MAX}, {0x123456789abcdef0U}, {next.id ^ (1ULL << 63)}};
    for (size_t i = 0; i < count_of(stale); i++) {
        int status = 0;
        must_equal(vigil_job_wait(pool, stale[i], VIGIL_FOREVER, &status), -ESTALE);
        must_equal(vigil_job_poll(pool, stale[i], &status), -ESTALE);
        must_equal(vigil_job_cancel(pool, stale[i]), -ESTALE);
        must_equal(vigil_job_unref(pool, stale[i]), -ESTALE);
    }
    must_equal(vigil_job_wait(pool, next, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, next), 0);
    pool_close(pool);
}

static void p05_a_handle_may_be_given_back_before_the_job_has_run(void **state)
{
    (void)state;
    enum {
        JOBS = 1000
    };
    vigil_pool *pool = pool_of(2);
    struct hold hold = {0};
    struct tally ran = {0};
    hold_workers(&hold, pool, 2);
    for (int i = 0; i < JOBS; i++) {
        vigil_job job;
        must_equal(vigil_job_call(pool, count_run, &ran, NULL, &job), 0);
        must_equal(vigil_job_unref(pool, job), 0);
        must_equal(vigil_job_poll(pool, job, NULL), -ESTALE);
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&ran), JOBS);
    pool_close(pool);
}

static void p05_a_million_handles_never_name_two_jobs(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    uint64_t last = 0;
    for (uint64_t i = scaled(1000000, 10000); i > 0; i--) {
        vigil_job job;
        must_equal(vigil_job_call(pool, return_arg, NULL, NULL, &job), 0);
        must(job.id != last && job.id != 0);
        last = job.id;
        must_equal(vigil_job_unref(pool, job), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

/* ---- several at once -------------------------------------------------------------------------------------------- */

struct crowd {
    vigil_pool *pool;
    vigil_job job;
    struct tally *seen;
};

static void *crowd_body(void *arg)
{
    struct crowd *crowd = arg;
    int status = 0;
    must_equal(vigil_job_wait(crowd->pool, crowd->job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 7);
    tally_add(crowd->seen, 1);
    return NULL;
}

static void p05_many_threads_may_wait_for_one_job(void **state)
{
    (void)state;
    enum {
        THREADS = 8
    };
    vigil_pool *pool = pool_of(1);
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        struct gate gate = {0};
        struct tally seen = {0};
        struct crowd crowd = {.pool = pool, .seen = &seen};
        pthread_t threads[THREADS];
        must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &crowd.job), 0);
        for (int i = 0; i < THREADS; i++)
            threads[i] = start_thread(crowd_body, &crowd);
        must_equal(tally_get(&seen), 0);
        gate_open(&gate);
        for (int i = 0; i < THREADS; i++)
            join_thread(threads[i]);
        must_equal(tally_get(&seen), THREADS);
        must_equal(vigil_job_unref(pool, crowd.job), 0);
    }
    pool_close(pool);
}

/* A canceller against the workers: whoever comes first decides, and exactly one of run and cancel happens. */
struct duel {
    _Atomic uint32_t ran, cancelled;
};

static int duel_run(void *arg)
{
    struct duel *duel = arg;
    (void)atomic_fetch_add_explicit(&duel->ran, 1, memory_order_relaxed);
    return 3;
}

static void duel_cancel(void *arg)
{
    struct duel *duel = arg;
    (void)atomic_fetch_add_explicit(&duel->cancelled, 1, memory_order_relaxed);
}

static void p05_cancel_against_start_has_exactly_one_winner(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.cancel = duel_cancel;
    uint64_t rounds = scaled(200000, 2000);
    uint64_t cancelled = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        struct duel duel = {0};
        vigil_job job;
        int status = 0;
        must_equal(vigil_job_call(pool, duel_run, &duel, &options, &job), 0);
        for (uint64_t pause = i % 64; pause > 0; pause--)
            atomic_signal_fence(memory_order_seq_cst);
        int rc = vigil_job_cancel(pool, job);
        must(rc == 0 || rc == -EBUSY);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(status, rc == 0 ? -ECANCELED : 3);
        must_equal(duel.cancelled, rc == 0);
        must_equal(duel.ran, rc != 0);
        must_equal(vigil_job_unref(pool, job), 0);
        cancelled += rc == 0;
    }
    must_equal(pool_stats(pool).total.cancelled, cancelled);
    must_equal(pool_stats(pool).total.completed, rounds - cancelled);
    pool_close(pool);
}

static void p05_bad_arguments_are_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_job job;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    must_equal(vigil_job_call(NULL, return_arg, NULL, NULL, &job), -EINVAL);
    must_equal(vigil_job_call(pool, return_arg, NULL, NULL, NULL), -EINVAL);
    must_equal(vigil_job_call(pool, NULL, NULL, NULL, &job), -EINVAL);
    options.priority = (vigil_priority)VIGIL_PRIORITIES;
    must_equal(vigil_job_call(pool, return_arg, NULL, &options, &job), -EINVAL);
    must_equal(pool_stats(pool).total.submitted, 0);
    pool_close(pool);
}

static void p05_a_job_runs_in_the_class_it_asks_for(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (int p = 0; p < VIGIL_PRIORITIES; p++) {
        vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
        options.priority = (vigil_priority)p;
        vigil_job job;
        must_equal(vigil_job_call(pool, return_arg, NULL, &options, &job), 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(pool, job), 0);
        must_equal(pool_stats(pool).by_class[p].submitted, 1);
    }
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p05_a_job_gives_its_status_to_whoever_waits),
        test(p05_poll_follows_a_job_from_queued_to_done),
        test(p05_a_wait_that_runs_out_of_time_leaves_the_job_alone),
        test(p05_a_job_is_cancelled_before_it_starts_and_never_after),
        test(p05_a_stale_handle_is_an_error_everywhere),
        test(p05_a_handle_may_be_given_back_before_the_job_has_run),
        test(p05_a_million_handles_never_name_two_jobs),
        test(p05_many_threads_may_wait_for_one_job),
        test(p05_cancel_against_start_has_exactly_one_winner),
        test(p05_bad_arguments_are_refused),
        test(p05_a_job_runs_in_the_class_it_asks_for),
    };
    return run_all(tests);
}
