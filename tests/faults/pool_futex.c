/* SPDX-License-Identifier: MIT */
/*
 * Futex waits that come back for no reason, or with EINTR or EAGAIN: every wait looks again, so nothing changes but the
 * time it takes. And pools on a kernel without membarrier.
 */
#include "faults.h"
#include "support.h"

static int count_run(void *arg)
{
    tally_add(arg, 1);
    return 3;
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 3;
}

struct leaf {
    vigil_task task;
    struct tally *ran;
};

static int leaf_run(vigil_task *task)
{
    tally_add(container_of(task, struct leaf, task)->ran, 1);
    return 0;
}

static int fork_join(void *arg)
{
    struct tally *ran = arg;
    struct leaf leaves[8];
    vigil_group group;
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    for (int i = 0; i < 8; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        leaves[i].ran = ran;
        must_equal(vigil_group_spawn(&group, &leaves[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

/* A bit of everything that waits. */
static void workout(vigil_idle_policy idle, vigil_fence_mode fences)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.idle = idle;
    options.fences = fences;
    options.max_queue = 8;
    options.when_full = VIGIL_FULL_BLOCK;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(200, 5); round > 0; round--) {
        struct tally ran = {0};
        struct gate gate = {0};
        vigil_job job;
        vigil_group group;
        struct leaf member;
        struct leaf late;
        int status = 0;
        must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &job), 0);
        gate_wait_entered(&gate, 1);
        must_equal(vigil_job_wait(pool, job, 200000, &status), -ETIMEDOUT); /* never early, whatever comes back */
        gate_open(&gate);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
        must_equal(status, 3);
        must_equal(vigil_job_unref(pool, job), 0);
        for (int i = 0; i < 50; i++)
            must_equal(vigil_pool_call(pool, count_run, NULL, &ran, VIGIL_NORMAL), 0); /* waits for room */
        for (int i = 0; i < 5; i++)
            must_equal(vigil_pool_call(pool, fork_join, NULL, &ran, VIGIL_NORMAL), 0);
        vigil_task_init(&late.task, leaf_run, NULL);
        late.ran = &ran;
        uint64_t due = now_ns() + 100000;
        must_equal(vigil_pool_submit_after(pool, &late.task, VIGIL_HIGH, 100000), 0);
        must_equal(vigil_group_init(&group, pool, 0), 0);
        vigil_task_init(&member.task, leaf_run, NULL);
        member.ran = &ran;
        must_equal(vigil_group_submit(&group, &member.task, VIGIL_LOW), 0);
        must_equal(vigil_group_wait(&group), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must(now_ns() >= due);
        must_equal(tally_get(&ran), 50 + 40 + 2);
    }
    pool_close(pool);
}

static void waits_that_come_back(fault_futex how)
{
    for (int idle = VIGIL_IDLE_SPIN_THEN_PARK; idle <= VIGIL_IDLE_PARK; idle++) {
        faults_reset();
        faults_futex(how, 4);
        workout((vigil_idle_policy)idle, VIGIL_FENCE_AUTO);
        fault_syscalls calls = faults_syscalls();
        must(calls.faked > 0);
        faults_reset();
    }
}

static void a_futex_wait_interrupted_by_a_signal_changes_nothing(void **state)
{
    (void)state;
    waits_that_come_back(FUTEX_EINTR);
}

static void a_futex_wait_that_says_the_word_differs_changes_nothing(void **state)
{
    (void)state;
    waits_that_come_back(FUTEX_EAGAIN);
}

static void a_futex_wait_that_returns_for_no_reason_changes_nothing(void **state)
{
    (void)state;
    waits_that_come_back(FUTEX_SPURIOUS);
}

static void all_of_these_in_turn_change_nothing(void **state)
{
    (void)state;
    waits_that_come_back(FUTEX_MIXED);
}

static void without_membarrier_the_default_falls_back_to_fences(void **state)
{
    (void)state;
    faults_reset();
    faults_no_membarrier();
    workout(VIGIL_IDLE_SPIN_THEN_PARK, VIGIL_FENCE_AUTO);
    must_equal(faults_syscalls().membarrier, 1); /* it asked once, when the pool was made */
    faults_reset();
}

static void without_membarrier_insisting_on_it_is_refused(void **state)
{
    (void)state;
    faults_reset();
    faults_no_membarrier();
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.fences = VIGIL_FENCE_MEMBARRIER;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &options), -ENOSYS);
    must(pool == NULL);
    faults_reset();
}

static void symmetric_fences_never_ask_for_membarrier(void **state)
{
    (void)state;
    faults_reset();
    workout(VIGIL_IDLE_SPIN_THEN_PARK, VIGIL_FENCE_SYMMETRIC);
    must_equal(faults_syscalls().membarrier, 0);
    faults_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_futex_wait_interrupted_by_a_signal_changes_nothing),
        test(a_futex_wait_that_says_the_word_differs_changes_nothing),
        test(a_futex_wait_that_returns_for_no_reason_changes_nothing),
        test(all_of_these_in_turn_change_nothing),
        test(without_membarrier_the_default_falls_back_to_fences),
        test(without_membarrier_insisting_on_it_is_refused),
        test(symmetric_fences_never_ask_for_membarrier),
    };
    return run_all(tests);
}
