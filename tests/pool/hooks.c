/* SPDX-License-Identifier: MIT */
/*
 * The workers' hooks are the user's code on a worker, but no tasks: nobody waits for what they hand over. So while the pool
 * stops they are refused like any other thread, and a graceful stop leaves nothing behind.
 */
#include "ledger.h"

struct hooked {
    struct ledger ledger;
    unsigned whose;   /* this worker's hook does it */
    struct gate gate; /* the hook is held here first */
    struct item item, delayed, member;
    int submit, after, call, job, spawn, wait, resize, join;
    struct tally joined;
    struct event over;
};

static int count_call(void *arg)
{
    struct hooked *it = arg;
    (void)atomic_fetch_add_explicit(&it->ledger.ran, 1, memory_order_relaxed);
    return 0;
}

static int count_join(void *arg)
{
    tally_add(&((struct hooked *)arg)->joined, 1);
    return 0;
}

/* Everything by which work can be handed over. */
static void hand_over(void *user, unsigned worker)
{
    struct hooked *it = user;
    vigil_pool *pool = vigil_pool_current();
    must_equal(vigil_pool_current_worker(), worker);
    if (worker != it->whose)
        return;
    gate_pass(&it->gate);
    item_init(&it->item, &it->ledger);
    item_init(&it->delayed, &it->ledger);
    item_init(&it->member, &it->ledger);
    it->submit = vigil_pool_submit(pool, &it->item.task, VIGIL_NORMAL);
    it->after = vigil_pool_submit_after(pool, &it->delayed.task, VIGIL_NORMAL, 1000);
    it->call = vigil_pool_call(pool, count_call, NULL, it, VIGIL_LOW);
    vigil_job job;
    it->job = vigil_job_call(pool, count_call, it, NULL, &job);
    if (it->job == 0)
        must_equal(vigil_job_unref(pool, job), 0);
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    it->spawn = vigil_group_spawn(&group, &it->member.task);
    it->wait = vigil_group_wait(&group);
    it->join = vigil_join(pool, count_join, it, count_join, it);
    it->resize = vigil_pool_resize(pool, 1);
    event_set(&it->over);
}

/* A join stays on its own thread, so it is never refused; but what a pool that discards finds in a deque it cancels. */
static void all_answered(const struct hooked *it, int answer, enum end_mode mode)
{
    must_equal(it->submit, answer);
    must_equal(it->after, answer);
    must_equal(it->call, answer);
    must_equal(it->job, answer);
    must_equal(it->spawn, answer);
    must_equal(it->wait, 0);
    must_equal(it->join, mode == END_AT_ONCE ? -ECANCELED : 0);
    must_equal(it->joined.count, mode == END_AT_ONCE ? 1 : 2);
    must_equal(it->ledger.ran, answer == 0 ? 5 : 0);
    must_equal(it->ledger.cancelled, 0);
}

static vigil_pool *hooked_pool(struct hooked *it, unsigned workers, bool at_start)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.user = it;
    if (at_start)
        options.on_worker_start = hand_over;
    else
        options.on_worker_stop = hand_over;
    return pool_with(&options);
}

static void what_a_start_hook_hands_over_runs(void **state)
{
    (void)state;
    struct hooked it = {0};
    gate_open(&it.gate);
    vigil_pool *pool = hooked_pool(&it, 1, true);
    event_wait(&it.over);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    all_answered(&it, 0, END_GRACEFUL);
    must_equal(it.resize, 0);
    pool_close(pool);
}

static void a_start_hook_that_comes_after_the_stop_is_refused(void **state)
{
    (void)state;
    for (int mode = END_GRACEFUL; mode <= END_AT_ONCE; mode++) {
        struct hooked it = {0};
        vigil_pool *pool = hooked_pool(&it, 1, true);
        gate_wait_entered(&it.gate, 1);
        must_equal(end_pool(pool, (enum end_mode)mode, 0), -ETIMEDOUT);
        gate_open(&it.gate);
        must_equal(end_pool(pool, (enum end_mode)mode, VIGIL_FOREVER), 0);
        all_answered(&it, -ESHUTDOWN, (enum end_mode)mode);
        must_equal(it.resize, -ESHUTDOWN);
        destroy_stopped(pool);
    }
}

static void a_stop_hook_of_a_pool_that_stops_is_refused(void **state)
{
    (void)state;
    for (int mode = END_GRACEFUL; mode <= END_AT_ONCE; mode++) {
        struct hooked it = {0};
        gate_open(&it.gate);
        vigil_pool *pool = hooked_pool(&it, 1, false);
        must_equal(end_pool(pool, (enum end_mode)mode, VIGIL_FOREVER), 0);
        all_answered(&it, -ESHUTDOWN, (enum end_mode)mode);
        must_equal(it.resize, -EDEADLK);
        destroy_stopped(pool);
    }
}

static void a_stop_hook_of_a_pool_that_shrinks_hands_over_to_those_who_stay(void **state)
{
    (void)state;
    struct hooked it = {.whose = 1};
    gate_open(&it.gate);
    vigil_pool *pool = hooked_pool(&it, 2, false);
    must_equal(vigil_pool_resize(pool, 1), 0);
    event_wait(&it.over);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    all_answered(&it, 0, END_GRACEFUL);
    must_equal(it.resize, -EDEADLK); /* to grow could mean to wait for this very thread */
    /* The seat is taken again; its new thread is in no hook, until its own end. */
    must_equal(vigil_pool_resize(pool, 2), 0);
    must_equal(vigil_pool_workers(pool), 2);
    it.joined.count = 0;
    it.ledger.ran = 0;
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    all_answered(&it, -ESHUTDOWN, END_GRACEFUL);
    destroy_stopped(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_a_start_hook_hands_over_runs),
        test(a_start_hook_that_comes_after_the_stop_is_refused),
        test(a_stop_hook_of_a_pool_that_stops_is_refused),
        test(a_stop_hook_of_a_pool_that_shrinks_hands_over_to_those_who_stay),
    };
    return run_all(tests);
}
