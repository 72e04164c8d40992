/* SPDX-License-Identifier: MIT */
/* P14: a task that fails, by status or by vigil_raise from deep inside, is counted, reported, and harms nobody. */
#include "support.h"

struct reports {
    _Atomic unsigned count;
    vigil_failure last;
    bool on_worker;
};

static void on_failure(void *user, const vigil_failure *failure)
{
    struct reports *reports = user;
    reports->last = *failure;
    reports->on_worker = vigil_pool_current_worker() == (int)failure->worker;
    (void)atomic_fetch_add_explicit(&reports->count, 1, memory_order_release);
}

static vigil_pool *reporting_pool(unsigned workers, struct reports *reports)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.on_failure = on_failure;
    options.user = reports;
    return pool_with(&options);
}

static int return_status(void *arg)
{
    return (int)(intptr_t)arg;
}

/* Many frames, each with something on the stack that the jump has to skip. */
static __attribute__((noinline)) int dig(int depth, int status)
{
    char spoil[64];
    (void)snprintf(spoil, sizeof spoil, "%d", depth);
    if (depth < 0)
        return status; /* never; the compiler must not know that nobody comes back */
    if (depth == 0)
        vigil_raise(status);
    int below = dig(depth - 1, status);
    return below + spoil[0];
}

static int raise_deep(void *arg)
{
    return dig(500, (int)(intptr_t)arg);
}

static int ok(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static void p14_only_a_negative_status_is_a_failure(void **state)
{
    (void)state;
    struct reports reports = {0};
    vigil_pool *pool = reporting_pool(1, &reports);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)0, VIGIL_LOW), 0);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)1, VIGIL_LOW), 0);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)INT32_MAX, VIGIL_LOW), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(reports.count, 0);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)-1, VIGIL_LOW), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(reports.count, 1);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.by_class[VIGIL_LOW].completed, 3);
    must_equal(stats.by_class[VIGIL_LOW].failed, 1);
    must_equal(pool_worker(pool, 0).failed, 1);
    pool_close(pool);
}

static int task_fails(vigil_task *task)
{
    (void)task;
    return -ENOLINK;
}

static void p14_a_failure_is_reported_with_what_one_needs_to_know(void **state)
{
    (void)state;
    struct reports reports = {0};
    vigil_pool *pool = reporting_pool(2, &reports);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)-ENOTDIR, VIGIL_IDLE), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), 1);
    must_equal(reports.last.size, sizeof(vigil_failure));
    must_equal(reports.last.status, -ENOTDIR);
    must_equal(reports.last.priority, VIGIL_IDLE);
    must(!reports.last.raised);
    must(reports.last.function == (void *)return_status);
    must(reports.on_worker);

    must_equal(vigil_pool_call(pool, raise_deep, NULL, (void *)(intptr_t)-EMLINK, VIGIL_HIGH), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), 2);
    must_equal(reports.last.status, -EMLINK);
    must_equal(reports.last.priority, VIGIL_HIGH);
    must(reports.last.raised);
    must(reports.last.function == (void *)raise_deep);

    vigil_task task;
    vigil_task_init(&task, task_fails, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), 3);
    must(reports.last.function == (void *)task_fails);

    vigil_job job;
    int status = 0;
    must_equal(vigil_job_call(pool, raise_deep, (void *)(intptr_t)-EROFS, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(status, -EROFS);
    must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), 4);
    must(reports.last.function == (void *)raise_deep);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

static void p14_a_raised_status_that_is_no_error_counts_as_eio(void **state)
{
    (void)state;
    struct reports reports = {0};
    vigil_pool *pool = reporting_pool(1, &reports);
    static const int statuses[] = {0, 1, INT32_MAX};
    for (size_t i = 0; i < count_of(statuses); i++) {
        must_equal(vigil_pool_call(pool, raise_deep, NULL, (void *)(intptr_t)statuses[i], VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), i + 1);
        must_equal(reports.last.status, -EIO);
    }
    pool_close(pool);
}

static void p14_a_worker_goes_on_after_any_number_of_raises(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers); /* without a hook, too */
        struct tally fine = {0};
        const uint64_t rounds = scaled(20000, 500);
        for (uint64_t i = 0; i < rounds; i++) {
            must_equal(vigil_pool_call(pool, raise_deep, NULL, (void *)(intptr_t)-1, VIGIL_NORMAL), 0);
            if (i % 100 == 0)
                must_equal(vigil_pool_call(pool, ok, NULL, &fine, VIGIL_NORMAL), 0);
        }
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(tally_get(&fine), (rounds + 99) / 100);
        must_equal(pool_stats(pool).total.failed, rounds);
        pool_close(pool);
    }
}

/* ---- tasks inside tasks ----------------------------------------------------------------------------------------- */

struct child {
    vigil_task task;
    int status; /* 0: returns it; else raises it */
    bool ran;
};

static int child_run(vigil_task *task)
{
    struct child *child = container_of(task, struct child, task);
    child->ran = true;
    if (child->status != 0)
        (void)dig(50, child->status);
    return 0;
}

struct parent {
    vigil_pool *pool;
    int group_answer;
    bool reached_the_end;
    bool raise_itself;
};

static int parent_run(void *arg)
{
    struct parent *parent = arg;
    struct child children[3] = {{.status = 0}, {.status = -ECHRNG}, {.status = 0}};
    vigil_group group;
    must_equal(vigil_group_init(&group, parent->pool, 0), 0);
    for (int i = 0; i < 3; i++) {
        vigil_task_init(&children[i].task, child_run, NULL);
        must_equal(vigil_group_spawn(&group, &children[i].task), 0);
    }
    parent->group_answer = vigil_group_wait(&group); /* on one worker they run in here, inline */
    for (int i = 0; i < 3; i++)
        must(children[i].ran);
    parent->reached_the_end = true;
    if (parent->raise_itself)
        (void)dig(10, -EL2HLT);
    return 9;
}

static void p14_a_raise_in_a_child_that_runs_inline_leaves_the_child_alone(void **state)
{
    (void)state;
    for (int itself = 0; itself < 2; itself++) {
        struct reports reports = {0};
        vigil_pool *pool = reporting_pool(1, &reports);
        struct parent parent = {.pool = pool, .raise_itself = itself != 0};
        vigil_job job;
        int status = 0;
        must_equal(vigil_job_call(pool, parent_run, &parent, NULL, &job), 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(parent.group_answer, -ECHRNG);
        must(parent.reached_the_end);
        must_equal(status, itself != 0 ? -EL2HLT : 9);
        must_equal(vigil_job_unref(pool, job), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(reports.count, 1U + (unsigned)itself);
        pool_close(pool);
    }
}

/* A raise out of a blocking section and out of the class of a capped task: what was held is given back. */
static int raise_while_blocking(void *arg)
{
    (void)arg;
    must_equal(vigil_blocking_begin(), 0);
    must_equal(vigil_blocking_begin(), 0);
    vigil_raise(-EBUSY);
}

static void p14_a_raise_out_of_a_blocking_section_ends_the_section(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (int i = 0; i < 100; i++)
        must_equal(vigil_pool_call(pool, raise_while_blocking, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.failed, 100);
    must_equal(stats.blocked, 0);
    pool_close(pool);
}

static void p14_a_failing_member_gives_back_its_place_in_a_capped_class(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.class_cap[VIGIL_LOW] = 1;
    vigil_pool *pool = pool_with(&options);
    for (int i = 0; i < 200; i++)
        must_equal(vigil_pool_call(pool, raise_deep, NULL, (void *)(intptr_t)-1, VIGIL_LOW), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).by_class[VIGIL_LOW].failed, 200);
    pool_close(pool);
}

static void raise_in_report(void *user, const vigil_failure *failure)
{
    (void)atomic_fetch_add_explicit(&((struct reports *)user)->count, 1, memory_order_release);
    vigil_raise(failure->status);
}

static int wait_for_a_failing_job(void *arg)
{
    vigil_pool *pool = arg;
    vigil_job job;
    int status = 0;
    must_equal(vigil_job_call(pool, return_status, (void *)(intptr_t)-EXDEV, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0); /* runs it on top of us */
    must_equal(status, -EXDEV);
    must_equal(vigil_job_unref(pool, job), 0);
    return 0;
}

static void p14_a_raise_in_the_report_ends_the_report_alone(void **state)
{
    (void)state;
    struct reports reports = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.user = &reports;
    options.on_failure = raise_in_report;
    vigil_pool *pool = pool_with(&options);
    must_equal(vigil_pool_call(pool, return_status, NULL, (void *)(intptr_t)-EXDEV, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, wait_for_a_failing_job, NULL, pool, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(atomic_load_explicit(&reports.count, memory_order_acquire), 2);
    must_equal(pool_stats(pool).total.failed, 2);
    must_equal(pool_stats(pool).total.completed, 1);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p14_only_a_negative_status_is_a_failure),
        test(p14_a_failure_is_reported_with_what_one_needs_to_know),
        test(p14_a_raise_in_the_report_ends_the_report_alone),
        test(p14_a_raised_status_that_is_no_error_counts_as_eio),
        test(p14_a_worker_goes_on_after_any_number_of_raises),
        test(p14_a_raise_in_a_child_that_runs_inline_leaves_the_child_alone),
        test(p14_a_raise_out_of_a_blocking_section_ends_the_section),
        test(p14_a_failing_member_gives_back_its_place_in_a_capped_class),
    };
    return run_all(tests);
}
