/* SPDX-License-Identifier: MIT */
/*
 * Every allocation that the pool makes fails once, wherever it is: the call says so, nothing is lost or half done, and the
 * pool works on. That nothing leaks is what the same program under the address sanitizer says.
 */
#include "faults.h"
#include "support.h"

static int count_run(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int task_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

/* The pool still takes and runs tasks of every kind. */
static void must_work(vigil_pool *pool)
{
    struct tally ran = {0};
    vigil_job job;
    for (int i = 0; i < 10; i++)
        must_equal(vigil_pool_call(pool, count_run, NULL, &ran, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
    must_equal(vigil_job_call(pool, count_run, &ran, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&ran), 11);
}

/*
 * Do `attempt` again and again, with the first, the second, ... allocation failing, until it gets through without meeting
 * the one that should have failed. Returns how many allocations there were to fail.
 */
static uint64_t fail_each(int (*attempt)(void *arg), void *arg)
{
    for (uint64_t k = 1;; k++) {
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = attempt(arg);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        if (failed == 0) {
            must_equal(rc, 0);
            return k - 1;
        }
        must(rc == 0 || rc == -ENOMEM); /* 0: it could do without */
    }
}

static int create_and_destroy(void *arg)
{
    vigil_pool *pool = NULL;
    int rc = vigil_pool_create(&pool, arg);
    faults_fail_after(FAULT_ALLOC, UINT32_MAX); /* what follows shall work */
    if (rc != 0) {
        must(pool == NULL);
        return rc;
    }
    must_work(pool);
    must_equal(vigil_pool_destroy(pool), 0);
    return 0;
}

static void creating_a_pool_fails_cleanly_at_every_allocation(void **state)
{
    (void)state;
    static const int cpus[] = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.cpus = cpus;
    options.cpu_count = 1;
    options.name = "faulty";
    options.require_all_threads = true;
    must(fail_each(create_and_destroy, &options) >= 4);
    options.require_all_threads = false;
    must(fail_each(create_and_destroy, &options) >= 4);
}

static int create_only(void *arg)
{
    vigil_pool *pool = NULL;
    int rc = vigil_pool_create(&pool, NULL);
    if (rc == 0)
        must_equal(vigil_pool_destroy(pool), 0);
    (void)arg;
    return rc;
}

static void when_there_is_no_memory_at_all_creating_fails_and_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t good = 0;; good++) {
        faults_reset();
        faults_fail_after(FAULT_ALLOC, good);
        int rc = create_only(NULL);
        bool met = faults_failed(FAULT_ALLOC) != 0;
        faults_reset();
        must(rc == 0 || rc == -ENOMEM);
        if (!met)
            break;
    }
}

/* ---- submitting ------------------------------------------------------------------------------------------------- */

struct subject {
    vigil_pool *pool;
    struct tally ran;
    uint32_t accepted;
};

enum {
    MANY = 3000 /* enough to use up what slabs and tables begin with */
};

static int call_many(void *arg)
{
    struct subject *subject = arg;
    struct hold hold = {0};
    support_quiet++; /* holding is not what is tested */
    hold_workers(&hold, subject->pool, 2);
    support_quiet--;
    int rc = 0;
    for (int i = 0; i < MANY; i++) {
        int one = vigil_pool_call(subject->pool, count_run, NULL, &subject->ran, VIGIL_NORMAL);
        subject->accepted += one == 0;
        if (one != 0)
            rc = one;
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(subject->pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&subject->ran), subject->accepted); /* refused means refused, accepted means run */
    return rc;
}

static void a_call_that_finds_no_memory_says_so_and_is_not_run(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct subject subject = {.pool = pool_of(2)}; /* a new one each time, with empty slabs */
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = call_many(&subject);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must_equal(rc, failed != 0 ? -ENOMEM : 0);
        must_work(subject.pool);
        pool_close(subject.pool);
        if (failed == 0) {
            must(k > 1);
            break;
        }
    }
}

static int jobs_many(struct subject *subject)
{
    vigil_job *jobs = NULL;
    struct hold hold = {0};
    support_quiet++;
    jobs = calloc(MANY, sizeof *jobs);
    hold_workers(&hold, subject->pool, 2);
    support_quiet--;
    must(jobs != NULL);
    int rc = 0;
    uint32_t accepted = 0;
    for (int i = 0; i < MANY; i++) {
        int one = vigil_job_call(subject->pool, count_run, &subject->ran, NULL, &jobs[accepted]);
        accepted += one == 0;
        if (one != 0)
            rc = one;
    }
    hold_release(&hold);
    for (uint32_t i = 0; i < accepted; i++) {
        must_equal(vigil_job_wait(subject->pool, jobs[i], VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(subject->pool, jobs[i]), 0);
    }
    must_equal(vigil_pool_wait_idle(subject->pool, VIGIL_FOREVER), 0); /* the held ones use our stack */
    must_equal(tally_get(&subject->ran), accepted);
    free(jobs);
    return rc;
}

static void a_job_that_finds_no_memory_says_so_and_is_not_run(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct subject subject = {.pool = pool_of(2)};
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = jobs_many(&subject);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must_equal(rc, failed != 0 ? -ENOMEM : 0);
        must_work(subject.pool);
        pool_close(subject.pool);
        if (failed == 0) {
            must(k > 1);
            break;
        }
    }
}

/* ---- spawning: the deque has to grow, and a spawn has no -ENOMEM to give ----------------------------------------- */

struct leaf {
    vigil_task task;
    struct tally *ran;
};

static int leaf_run(vigil_task *task)
{
    tally_add(container_of(task, struct leaf, task)->ran, 1);
    return 0;
}

static int spawn_many(void *arg)
{
    struct subject *subject = arg;
    support_quiet++;
    struct leaf *leaves = calloc(MANY, sizeof *leaves);
    support_quiet--;
    must(leaves != NULL);
    vigil_group group;
    must_equal(vigil_group_init(&group, subject->pool, 0), 0);
    for (int i = 0; i < MANY; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        leaves[i].ran = &subject->ran;
        must_equal(vigil_group_spawn(&group, &leaves[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    must_equal(tally_get(&subject->ran), MANY);
    free(leaves);
    return 0;
}

static void a_spawn_runs_also_when_the_deque_cannot_grow(void **state)
{
    (void)state;
    for (int always = 0; always < 2; always++) {
        for (uint64_t k = 1;; k++) {
            struct subject subject = {.pool = pool_of(2)};
            struct hold hold = {0};
            hold_workers(&hold, subject.pool, 1);
            must_equal(vigil_pool_call(subject.pool, spawn_many, NULL, &subject, VIGIL_NORMAL), 0);
            faults_reset();
            if (always != 0)
                faults_fail_after(FAULT_ALLOC, k - 1);
            else
                faults_fail_at(FAULT_ALLOC, k);
            tally_wait(&subject.ran, MANY);
            uint64_t failed = faults_failed(FAULT_ALLOC);
            faults_reset();
            hold_release(&hold);
            must_equal(vigil_pool_wait_idle(subject.pool, VIGIL_FOREVER), 0);
            must_work(subject.pool);
            pool_close(subject.pool);
            if (failed == 0)
                break;
        }
    }
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

enum {
    LATE = 200
};

static void a_delayed_submit_that_finds_no_memory_says_so_and_is_not_run(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        vigil_pool *pool = pool_of(1);
        static struct leaf leaves[LATE];
        struct tally ran = {0};
        uint32_t accepted = 0;
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = 0;
        for (int i = 0; i < LATE; i++) {
            vigil_task_init(&leaves[i].task, leaf_run, NULL);
            leaves[i].ran = &ran;
            int one = vigil_pool_submit_after(pool, &leaves[i].task, VIGIL_NORMAL, 2000000);
            accepted += one == 0;
            if (one != 0)
                rc = one;
        }
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must_equal(rc, failed != 0 ? -ENOMEM : 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(tally_get(&ran), accepted);
        /* Those that were refused are free. */
        for (int i = 0; i < LATE; i++)
            must_equal(vigil_pool_submit(pool, &leaves[i].task, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(tally_get(&ran), accepted + LATE);
        must_work(pool);
        pool_close(pool);
        if (failed == 0) {
            must(k > 1);
            break;
        }
    }
}

static int join_meeting(void *arg)
{
    (void)meeting_join(arg);
    return 0;
}

static void growing_that_finds_no_memory_says_so_and_the_pool_stays_whole(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        vigil_pool *pool = pool_of(2);
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = vigil_pool_resize(pool, 6);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must_equal(rc, failed != 0 ? -ENOMEM : 0);
        unsigned workers = vigil_pool_workers(pool);
        must_be_between(workers, 2, 6);
        /* As many as it says are really there. */
        struct meeting meeting = {.size = workers};
        for (unsigned i = 0; i < workers; i++)
            must_equal(vigil_pool_call(pool, join_meeting, NULL, &meeting, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(vigil_pool_resize(pool, 6), 0);
        must_equal(vigil_pool_workers(pool), 6);
        must_work(pool);
        pool_close(pool);
        if (failed == 0) {
            must(k > 1);
            break;
        }
    }
}

static int block_until_open(void *arg)
{
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(arg);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void a_spare_that_finds_no_memory_is_counted_as_refused_and_harms_nobody(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0); /* warm the slab */
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_call(pool, block_until_open, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 1);
    faults_reset();
    faults_fail_after(FAULT_ALLOC, 0);
    vigil_task task;
    vigil_task_init(&task, task_nothing, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0); /* wants a spare, which cannot be made */
    while (pool_stats(pool).spares_refused == 0)
        yield();
    must(faults_failed(FAULT_ALLOC) > 0);
    faults_reset();
    gate_open(&gate); /* the blocked worker comes back, and does it itself */
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_work(pool);
    pool_close(pool);
}

static void stopping_and_destroying_need_no_memory(void **state)
{
    (void)state;
    for (int mode = END_GRACEFUL; mode <= END_AT_ONCE; mode++) {
        vigil_pool *pool = pool_of(3);
        static struct leaf leaves[100];
        struct tally ran = {0};
        for (int i = 0; i < 100; i++) {
            vigil_task_init(&leaves[i].task, leaf_run, NULL);
            leaves[i].ran = &ran;
            must_equal(vigil_pool_submit(pool, &leaves[i].task, VIGIL_NORMAL), 0);
        }
        vigil_task late;
        vigil_task_init(&late, task_nothing, NULL);
        must_equal(vigil_pool_submit_after(pool, &late, VIGIL_LOW, 1000000), 0);
        faults_reset();
        faults_fail_after(FAULT_ALLOC, 0);
        must_equal(end_pool(pool, (enum end_mode)mode, VIGIL_FOREVER), 0);
        vigil_pool_stats stats = pool_stats(pool);
        must_equal(stats.total.completed + stats.total.cancelled, 101);
        pool_unwatch(pool);
        must_equal(vigil_pool_destroy(pool), 0);
        must_equal(faults_calls(FAULT_ALLOC), 0);
        faults_reset();
    }
}

int main(void)
{
    /* The recorder does without what it cannot get, and says nothing about it; tests/faults/watch.c is about that. */
    (void)setenv("VIGIL_RECORD", "off", 1);
    const struct CMUnitTest tests[] = {
        test(creating_a_pool_fails_cleanly_at_every_allocation),
        test(when_there_is_no_memory_at_all_creating_fails_and_leaves_nothing),
        test(a_call_that_finds_no_memory_says_so_and_is_not_run),
        test(a_job_that_finds_no_memory_says_so_and_is_not_run),
        test(a_spawn_runs_also_when_the_deque_cannot_grow),
        test(a_delayed_submit_that_finds_no_memory_says_so_and_is_not_run),
        test(growing_that_finds_no_memory_says_so_and_the_pool_stays_whole),
        test(a_spare_that_finds_no_memory_is_counted_as_refused_and_harms_nobody),
        test(stopping_and_destroying_need_no_memory),
    };
    return run_all(tests);
}
