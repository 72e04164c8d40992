/* SPDX-License-Identifier: MIT */
/* P12: threads that cannot be made. The pool runs with fewer or fails cleanly, by option, and nothing leaks. */
#include "faults.h"
#include "support.h"

#include "pool/seats.h"

static int join_meeting(void *arg)
{
    (void)meeting_join(arg);
    return 0;
}

/* As many workers as the pool says it has are really there. */
static void all_meet(vigil_pool *pool)
{
    unsigned workers = vigil_pool_workers(pool);
    struct meeting meeting = {.size = workers};
    for (unsigned i = 0; i < workers; i++)
        must_equal(vigil_pool_call(pool, join_meeting, NULL, &meeting, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

enum {
    WORKERS = 6
};

static void without_require_all_the_pool_runs_with_the_threads_there_are(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= WORKERS; k++) {
        for (int always = 0; always < 2; always++) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = WORKERS;
            vigil_pool *pool = NULL;
            faults_reset();
            if (always != 0)
                faults_fail_after(FAULT_THREAD, k - 1);
            else
                faults_fail_at(FAULT_THREAD, k);
            int rc = vigil_pool_create(&pool, &options);
            must_equal(faults_failed(FAULT_THREAD) >= 1, true);
            faults_reset();
            if (k == 1 && always != 0) {
                must_equal(rc, -EAGAIN); /* not even one */
                must(pool == NULL);
                continue;
            }
            if (rc == -EAGAIN && k == 1) {
                must(pool == NULL);
                continue;
            }
            must_equal(rc, 0);
            pool_watch(pool);
            must_be_between(vigil_pool_workers(pool), 1, WORKERS - 1);
            must_equal(pool_stats(pool).workers, vigil_pool_workers(pool));
            all_meet(pool);
            must_equal(vigil_pool_resize(pool, WORKERS), 0); /* later there may be threads again */
            all_meet(pool);
            pool_close(pool);
        }
    }
}

static void with_require_all_the_creation_fails_whole(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= WORKERS; k++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = WORKERS;
        options.require_all_threads = true;
        vigil_pool *pool = NULL;
        faults_reset();
        faults_fail_at(FAULT_THREAD, k);
        must_equal(vigil_pool_create(&pool, &options), -EAGAIN);
        must(pool == NULL);
        must_equal(faults_failed(FAULT_THREAD), 1);
        faults_reset();
    }
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = WORKERS;
    options.require_all_threads = true;
    vigil_pool *pool = pool_with(&options);
    must_equal(vigil_pool_workers(pool), WORKERS);
    pool_close(pool);
}

static void growing_keeps_the_threads_that_could_be_made(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= 4; k++) {
        vigil_pool *pool = pool_of(2);
        faults_reset();
        faults_fail_after(FAULT_THREAD, k - 1);
        must_equal(vigil_pool_resize(pool, 6), -EAGAIN);
        faults_reset();
        must_equal(vigil_pool_workers(pool), 2 + k - 1);
        all_meet(pool);
        must_equal(vigil_pool_resize(pool, 6), 0);
        must_equal(vigil_pool_workers(pool), 6);
        all_meet(pool);
        pool_close(pool);
    }
}

/* A call that saw the old number of workers may still be on its way to the seat: it must find it closed. */
static void a_seat_that_gets_no_new_thread_takes_no_mail(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    all_meet(pool);
    must_equal(vigil_pool_resize(pool, 1), 0);
    faults_reset();
    faults_fail_after(FAULT_THREAD, 0);
    while (pool_worker(pool, 1).state != VIGIL_WORKER_STOPPED)
        yield(); /* before that it would stay, which needs no thread */
    must_equal(vigil_pool_resize(pool, 2), -EAGAIN);
    must_equal(vg_seat_at(pool, 1)->mailbox, 1);
    faults_reset();
    must_equal(vigil_pool_resize(pool, 2), 0);
    must_equal(vg_seat_at(pool, 1)->mailbox, 0);
    all_meet(pool);
    pool_close(pool);
}

static int task_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static void a_delayed_submit_without_a_timer_thread_is_refused_and_works_later(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_task task;
    vigil_task_init(&task, task_nothing, NULL);
    faults_reset();
    faults_fail_after(FAULT_THREAD, 0);
    must_equal(vigil_pool_submit_after(pool, &task, VIGIL_NORMAL, 1000), -EAGAIN);
    vigil_job job = {0};
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.delay_ns = 1000;
    must_equal(vigil_job_call(pool, join_meeting, NULL, &options, &job), -EAGAIN);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0); /* without a delay it needs no thread */
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    faults_reset();
    must_equal(vigil_pool_submit_after(pool, &task, VIGIL_NORMAL, 1000), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.completed, 2);
    pool_close(pool);
}

static int block_until_open(void *arg)
{
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(arg);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void a_spare_that_cannot_be_made_is_counted_and_harms_nobody(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (int round = 0; round < 20; round++) {
        struct gate gate = {0};
        vigil_task task;
        vigil_task_init(&task, task_nothing, NULL);
        uint64_t refused = pool_stats(pool).spares_refused;
        faults_reset();
        faults_fail_after(FAULT_THREAD, 0);
        must_equal(vigil_pool_call(pool, block_until_open, NULL, &gate, VIGIL_NORMAL), 0);
        gate_wait_entered(&gate, 1);
        must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0);
        while (pool_stats(pool).spares_refused == refused)
            yield();
        gate_open(&gate);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        faults_reset();
    }
    must_equal(pool_stats(pool).spares_started, 0);
    /* And when there are threads again, there are spares again. */
    struct gate gate = {0};
    must_equal(vigil_pool_call(pool, block_until_open, NULL, &gate, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, block_until_open, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 2);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).spares_started, 1);
    pool_close(pool);
}

/* A wait that cannot help and gets no spare must go on helping rather than sleep. */
struct family {
    vigil_pool *pool;
    struct gate stolen;
    struct event foreign_ran;
    vigil_task child, foreign;
    bool in_section; /* the parent is inside a blocking section of its own, whose credit nobody could use */
};

static int family_child(vigil_task *task)
{
    struct family *family = container_of(task, struct family, child);
    gate_pass(&family->stolen);
    event_wait(&family->foreign_ran);
    return 0;
}

static int family_foreign(vigil_task *task)
{
    event_set(&container_of(task, struct family, foreign)->foreign_ran);
    return 0;
}

static int family_parent(void *arg)
{
    struct family *family = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, family->pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &family->child), 0);
    gate_wait_entered(&family->stolen, 1);
    if (family->in_section)
        must_equal(vigil_blocking_begin(), 0);
    must_equal(vigil_pool_submit(family->pool, &family->foreign, VIGIL_NORMAL), 0);
    must_equal(vigil_group_wait(&group), 0);
    if (family->in_section)
        must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void a_wait_whose_spare_cannot_be_made_does_not_hang(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        struct family family = {.pool = pool, .in_section = round % 2 == 0};
        vigil_task_init(&family.child, family_child, NULL);
        vigil_task_init(&family.foreign, family_foreign, NULL);
        gate_open(&family.stolen);
        faults_reset();
        faults_fail_after(FAULT_THREAD, 0);
        must_equal(vigil_pool_call(pool, family_parent, NULL, &family, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        faults_reset();
    }
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_require_all_the_pool_runs_with_the_threads_there_are),
        test(with_require_all_the_creation_fails_whole),
        test(growing_keeps_the_threads_that_could_be_made),
        test(a_seat_that_gets_no_new_thread_takes_no_mail),
        test(a_delayed_submit_without_a_timer_thread_is_refused_and_works_later),
        test(a_spare_that_cannot_be_made_is_counted_and_harms_nobody),
        test(a_wait_whose_spare_cannot_be_made_does_not_hang),
    };
    return run_all(tests);
}
