/* SPDX-License-Identifier: MIT */
/* P18: a group can be cancelled as a whole, by a call or by the first failure. */
#include "child.h"

enum {
    MEMBERS = 4
};

struct member {
    vigil_task task;
    struct cancelled *of;
    int status;
};

struct cancelled {
    vigil_group group;
    struct member member[MEMBERS];
    _Atomic unsigned runs, cancels;
};

static int member_run(vigil_task *task)
{
    struct member *member = container_of(task, struct member, task);
    (void)atomic_fetch_add_explicit(&member->of->runs, 1, memory_order_relaxed);
    return member->status;
}

static void member_cancel(vigil_task *task)
{
    struct member *member = container_of(task, struct member, task);
    (void)atomic_fetch_add_explicit(&member->of->cancels, 1, memory_order_relaxed);
}

static void members_init(struct cancelled *it)
{
    for (int i = 0; i < MEMBERS; i++) {
        it->member[i].of = it;
        vigil_task_init(&it->member[i].task, member_run, member_cancel);
    }
}

static void must_have(struct cancelled *it, unsigned runs, unsigned cancels)
{
    must_equal(atomic_load_explicit(&it->runs, memory_order_relaxed), runs);
    must_equal(atomic_load_explicit(&it->cancels, memory_order_relaxed), cancels);
}

static void p18_what_a_cancelled_group_has_queued_does_not_run(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct cancelled it = {0};
    struct hold hold = {0};
    members_init(&it);
    hold_workers(&hold, pool, 1);
    must_equal(vigil_group_init(&it.group, pool, 0), 0);
    for (int i = 0; i < MEMBERS; i++)
        must_equal(vigil_group_submit(&it.group, &it.member[i].task, VIGIL_NORMAL), 0);
    must_equal(vigil_group_cancelled(&it.group), 0);
    must_equal(vigil_group_cancel(&it.group), 0);
    must_equal(vigil_group_cancelled(&it.group), 1);
    hold_release(&hold);
    must_equal(vigil_group_wait(&it.group), -ECANCELED);
    must_have(&it, 0, MEMBERS);
    /* as new */
    must_equal(vigil_group_cancelled(&it.group), 0);
    must_equal(vigil_group_submit(&it.group, &it.member[0].task, VIGIL_NORMAL), 0);
    must_equal(vigil_group_wait(&it.group), 0);
    must_have(&it, 1, MEMBERS);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    vigil_pool_stats stats = pool_stats(pool);
    must_add_up(&stats);
    must_equal(stats.total.cancelled, MEMBERS);
    pool_close(pool);
}

/* Children are popped newest first, so the last one fails first on one worker. */
static void spawn_with_a_failure(vigil_pool *pool, void *arg)
{
    struct cancelled *it = arg;
    must_equal(vigil_group_init(&it->group, pool, VIGIL_GROUP_CANCEL_ON_FAILURE), 0);
    it->member[MEMBERS - 1].status = -ENOSPC;
    for (int i = 0; i < MEMBERS; i++)
        must_equal(vigil_group_spawn(&it->group, &it->member[i].task), 0);
    must_equal(vigil_group_wait(&it->group), -ENOSPC);
    must_have(it, 1, MEMBERS - 1);
}

static void submit_with_a_failure(vigil_pool *pool, void *arg)
{
    struct cancelled *it = arg;
    must_equal(vigil_group_init(&it->group, pool, VIGIL_GROUP_CANCEL_ON_FAILURE), 0);
    it->member[0].status = -ENOSPC;
    for (int i = 0; i < MEMBERS; i++)
        must_equal(vigil_group_submit(&it->group, &it->member[i].task, VIGIL_LOW), 0);
    must_equal(vigil_group_wait(&it->group), -ENOSPC);
    must_have(it, 1, MEMBERS - 1);
}

static void ignore_failure(void *user, const vigil_failure *failure)
{
    (void)user;
    (void)failure;
}

static void one_failure_inside(void (*body)(vigil_pool *pool, void *arg))
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = ignore_failure;
    vigil_pool *pool = pool_with(&options);
    struct cancelled it = {0};
    members_init(&it);
    run_inside(pool, body, &it);
    vigil_pool_stats stats = pool_stats(pool);
    must_add_up(&stats);
    must_equal(stats.total.failed, 1);
    must_equal(stats.total.cancelled, MEMBERS - 1);
    pool_close(pool);
}

static void p18_the_first_failure_cancels_the_spawned_rest_on_request(void **state)
{
    (void)state;
    one_failure_inside(spawn_with_a_failure);
}

static void p18_the_first_failure_cancels_the_submitted_rest_on_request(void **state)
{
    (void)state;
    one_failure_inside(submit_with_a_failure);
}

static void fail_without_request(vigil_pool *pool, void *arg)
{
    struct cancelled *it = arg;
    must_equal(vigil_group_init(&it->group, pool, 0), 0);
    it->member[MEMBERS - 1].status = -ENOSPC;
    for (int i = 0; i < MEMBERS; i++)
        must_equal(vigil_group_spawn(&it->group, &it->member[i].task), 0);
    must_equal(vigil_group_wait(&it->group), -ENOSPC);
    must_have(it, MEMBERS, 0);
}

static void p18_a_failure_cancels_nothing_unless_asked(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.on_failure = ignore_failure;
    vigil_pool *pool = pool_with(&options);
    struct cancelled it = {0};
    members_init(&it);
    run_inside(pool, fail_without_request, &it);
    pool_close(pool);
}

/* ---- running tasks ---- */

struct long_task {
    vigil_task task;
    struct gate begun;
    struct cancelled inner;
};

static int run_until_cancelled(vigil_task *task)
{
    struct long_task *it = container_of(task, struct long_task, task);
    must_equal(vigil_task_cancelled(), 0);
    gate_pass(&it->begun);
    must_equal(vigil_task_cancelled(), 1);
    /* a group that is made from now on begins cancelled */
    must_equal(vigil_group_init(&it->inner.group, vigil_pool_current(), 0), 0);
    must_equal(vigil_group_cancelled(&it->inner.group), 1);
    must_equal(vigil_group_spawn(&it->inner.group, &it->inner.member[0].task), 0);
    must_equal(vigil_group_wait(&it->inner.group), -ECANCELED);
    must_have(&it->inner, 0, 1);
    return 0;
}

static void p18_a_running_task_sees_that_it_is_cancelled(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct long_task it = {0};
    vigil_group group;
    members_init(&it.inner);
    vigil_task_init(&it.task, run_until_cancelled, NULL);
    must_equal(vigil_task_cancelled(), -EPERM);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_submit(&group, &it.task, VIGIL_NORMAL), 0);
    gate_wait_entered(&it.begun, 1);
    must_equal(vigil_group_cancel(&group), 0);
    gate_open(&it.begun);
    must_equal(vigil_group_wait(&group), -ECANCELED);
    pool_close(pool);
}

static void p18_what_is_no_group_is_refused(void **state)
{
    (void)state;
    vigil_group none = {0};
    must_equal(vigil_group_cancel(NULL), -EINVAL);
    must_equal(vigil_group_cancel(&none), -EINVAL);
    must_equal(vigil_group_cancelled(&none), -EINVAL);
}

/* ---- many: each member runs or is cancelled, once ---- */

struct storm {
    vigil_pool *pool;
    struct cancelled it;
};

static void *cancel_from_outside(void *arg)
{
    struct storm *storm = arg;
    must_equal(vigil_group_cancel(&storm->it.group), 0);
    return NULL;
}

static void p18_a_cancel_races_the_members(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t i = 0; i < scaled(2000, 50); i++) {
        struct storm storm = {.pool = pool};
        members_init(&storm.it);
        must_equal(vigil_group_init(&storm.it.group, pool, 0), 0);
        for (int j = 0; j < MEMBERS; j++)
            must_equal(vigil_group_submit(&storm.it.group, &storm.it.member[j].task, VIGIL_NORMAL), 0);
        if (i % 2 == 0) {
            (void)cancel_from_outside(&storm);
        } else {
            pthread_t other = start_thread(cancel_from_outside, &storm);
            join_thread(other);
        }
        const int status = vigil_group_wait(&storm.it.group);
        must(status == -ECANCELED);
        const unsigned runs = atomic_load_explicit(&storm.it.runs, memory_order_relaxed);
        must_have(&storm.it, runs, MEMBERS - runs);
    }
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p18_what_a_cancelled_group_has_queued_does_not_run),
        test(p18_the_first_failure_cancels_the_spawned_rest_on_request),
        test(p18_the_first_failure_cancels_the_submitted_rest_on_request),
        test(p18_a_failure_cancels_nothing_unless_asked),
        test(p18_a_running_task_sees_that_it_is_cancelled),
        test(p18_what_is_no_group_is_refused),
        test(p18_a_cancel_races_the_members),
    };
    return run_all(tests);
}
