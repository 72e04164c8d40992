/* SPDX-License-Identifier: MIT */
/* P17: a wait inside a task runs what it waits for, never a stranger that was not asked for, and never of a lower class. */
#include "child.h"

enum {
    SMALL_STACK = 256 * 1024
};

/* ---- a backlog of tasks that each wait for a submitted child ---- */

struct parent {
    vigil_task task;
    vigil_task child;
    vigil_pool *pool;
    unsigned child_runs;
};

static int backlog_child(vigil_task *task)
{
    container_of(task, struct parent, child)->child_runs++;
    return 0;
}

static int backlog_parent(vigil_task *task)
{
    struct parent *parent = container_of(task, struct parent, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, parent->pool, 0), 0);
    vigil_task_init(&parent->child, backlog_child, NULL);
    must_equal(vigil_group_submit(&group, &parent->child, VIGIL_NORMAL), 0);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(parent->child_runs, 1);
    return 0;
}

static void backlog_on(unsigned workers)
{
    const uint64_t count = scaled(1000000, 20000);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.stack_size = SMALL_STACK;
    vigil_pool *pool = pool_with(&options);
    struct parent *parents = calloc(count, sizeof *parents);
    must(parents != NULL);
    struct hold hold = {0};
    hold_workers(&hold, pool, workers);
    for (uint64_t i = 0; i < count; i++) {
        parents[i].pool = pool;
        vigil_task_init(&parents[i].task, backlog_parent, NULL);
        must_equal(vigil_pool_submit(pool, &parents[i].task, VIGIL_NORMAL), 0);
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (uint64_t i = 0; i < count; i++)
        must_equal(parents[i].child_runs, 1);
    pool_close(pool);
    free(parents);
}

static void p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_1_worker(void **state)
{
    (void)state;
    backlog_on(1);
}

static void p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_2_workers(void **state)
{
    (void)state;
    backlog_on(2);
}

static void p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_33_workers(void **state)
{
    (void)state;
    backlog_on(33);
}

/* ---- a task that holds a mutex and waits ---- */

struct locked {
    vigil_pool *pool;
    pthread_mutex_t mutex;
    struct tally done;
};

static int want_mutex(void *arg)
{
    struct locked *locked = arg;
    must_equal(pthread_mutex_lock(&locked->mutex), 0);
    must_equal(pthread_mutex_unlock(&locked->mutex), 0);
    tally_add(&locked->done, 1);
    return 0;
}

static void hold_mutex_and_wait(vigil_pool *pool, void *arg)
{
    struct locked *locked = arg;
    struct child child;
    child_init(&child);
    vigil_group group;
    must_equal(pthread_mutex_lock(&locked->mutex), 0); /* of the thread: a stranger on this stack would lock it again */
    must_equal(vigil_pool_call(pool, want_mutex, NULL, locked, VIGIL_CRITICAL), 0);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_submit(&group, &child.task, VIGIL_LOW), 0);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(child.runs, 1);
    must_equal(pthread_mutex_unlock(&locked->mutex), 0);
}

static void p17_a_wait_with_a_mutex_held_picks_up_nobody_who_wants_it(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 2; workers++) {
        vigil_pool *pool = pool_of(workers);
        struct locked locked = {.pool = pool};
        must_equal(pthread_mutex_init(&locked.mutex, NULL), 0);
        run_inside(pool, hold_mutex_and_wait, &locked);
        tally_wait(&locked.done, 1);
        pool_close(pool);
        must_equal(pthread_mutex_destroy(&locked.mutex), 0);
    }
}

/* ---- classes ---- */

struct inverted {
    vigil_pool *pool;
    struct gate job_gate; /* the awaited job, on another worker */
    struct gate low_gate; /* a LOW task that takes for ever */
    struct child low;
    vigil_job job;
    int waiter;
    struct event returned;
};

static int pass_job_gate(void *arg)
{
    gate_pass(&((struct inverted *)arg)->job_gate);
    return 3;
}

static int critical_wait(void *arg)
{
    struct inverted *it = arg;
    it->waiter = vigil_pool_current_worker();
    int status = 0;
    must_equal(vigil_job_wait(it->pool, it->job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 3);
    event_set(&it->returned);
    return 0;
}

/* The LOW task runs (on a spare) until the wait has returned: a waiter that picked it up would never return. */
static void p17_a_critical_wait_is_not_held_up_by_a_low_task(void **state)
{
    (void)state;
    for (uint64_t round = scaled(200, 10); round > 0; round--) {
        vigil_pool *pool = pool_of(2);
        struct inverted it = {.pool = pool};
        child_init(&it.low);
        it.low.gate = &it.low_gate;
        must_equal(vigil_job_call(pool, pass_job_gate, &it, NULL, &it.job), 0);
        gate_wait_entered(&it.job_gate, 1);
        must_equal(vigil_pool_call(pool, critical_wait, NULL, &it, VIGIL_CRITICAL), 0);
        must_equal(vigil_pool_submit(pool, &it.low.task, VIGIL_LOW), 0);
        gate_wait_entered(&it.low_gate, 1); /* a spare has it, or the waiter */
        gate_open(&it.job_gate);
        event_wait(&it.returned);
        gate_open(&it.low_gate);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must(it.low.ran_on != it.waiter);
        must_equal(vigil_job_unref(pool, it.job), 0);
        pool_close(pool);
    }
}

struct helping {
    struct child stolen;
    struct gate gate;
    struct child high, low;
    int waiter;
};

static void help_above(vigil_pool *pool, void *arg)
{
    struct helping *it = arg;
    vigil_group group;
    it->waiter = vigil_pool_current_worker();
    must_equal(vigil_group_init(&group, pool, VIGIL_GROUP_HELP_ANY), 0);
    must_equal(vigil_group_spawn(&group, &it->stolen.task), 0);
    gate_wait_entered(&it->gate, 1);
    must_equal(vigil_pool_submit(pool, &it->low.task, VIGIL_LOW), 0);
    must_equal(vigil_pool_submit(pool, &it->high.task, VIGIL_HIGH), 0);
    must_equal(vigil_group_wait(&group), 0);
}

static void p17_help_on_request_takes_no_lower_class(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = scaled(500, 10); round > 0; round--) {
        struct helping it = {0};
        struct event low_ran = {0};
        child_init(&it.stolen);
        child_init(&it.high);
        child_init(&it.low);
        it.stolen.gate = &it.gate;
        it.stolen.require = &low_ran; /* the wait lasts until the LOW task has run, so a spare runs that */
        it.low.finish = &low_ran;
        gate_open(&it.gate);
        run_inside(pool, help_above, &it);
        must_equal(it.high.runs, 1);
        must_equal(it.low.runs, 1);
        must(it.low.ran_on != it.waiter);
    }
    pool_close(pool);
}

/* Each task waits, with help on request, for one of the lowest class. So it helps the next task that does the same, until the bound
   of depth is reached; then a spare goes on. */
enum {
    DEEP_TASKS = 3 * VIGIL_HELP_DEPTH,
    DEEP_SPARES = 8
};

struct deep_pool {
    vigil_pool *pool;
    int depth[1 + DEEP_SPARES]; /* of each thread, written by it alone */
    int most[1 + DEEP_SPARES];
};

struct deep {
    vigil_task task;
    struct deep_pool *in;
    vigil_group group;
    struct child awaited;
};

static int deep_run(vigil_task *task)
{
    struct deep *deep = container_of(task, struct deep, task);
    struct deep_pool *in = deep->in;
    const int worker = vigil_pool_current_worker();
    const int me = worker < VIGIL_MAX_WORKERS ? 0 : 1 + worker - VIGIL_MAX_WORKERS;
    if (++in->depth[me] > in->most[me])
        in->most[me] = in->depth[me];
    must_equal(vigil_group_wait(&deep->group), 0);
    must_equal(deep->awaited.runs, 1);
    in->depth[me]--;
    return 0;
}

static void p17_help_on_request_goes_to_the_stated_depth_and_no_further(void **state)
{
    (void)state;
    static struct deep deep[DEEP_TASKS];
    struct deep_pool in = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.max_spares = DEEP_SPARES;
    vigil_pool *pool = pool_with(&options);
    in.pool = pool;
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (int i = 0; i < DEEP_TASKS; i++) {
        deep[i].in = &in;
        child_init(&deep[i].awaited);
        vigil_task_init(&deep[i].task, deep_run, NULL);
        must_equal(vigil_group_init(&deep[i].group, pool, VIGIL_GROUP_HELP_ANY | VIGIL_GROUP_DETACHED), 0);
        must_equal(vigil_group_submit(&deep[i].group, &deep[i].awaited.task, VIGIL_IDLE), 0);
        must_equal(vigil_pool_submit(pool, &deep[i].task, VIGIL_NORMAL), 0);
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    int most = 0;
    for (size_t i = 0; i < count_of(in.most); i++)
        most = in.most[i] > most ? in.most[i] : most;
    must_be_between(most, 2, VIGIL_HELP_DEPTH + 1);
    pool_close(pool);
}

/* ---- what is waited for inherits the class of its waiter ---- */

struct inherits {
    vigil_pool *pool;
    struct child low; /* a LOW task before the job in the queue */
    struct child spawned;
    vigil_job job;
    bool low_first;
};

static int low_job(void *arg)
{
    struct inherits *it = arg;
    vigil_group group;
    it->low_first = it->low.runs != 0;
    child_init(&it->spawned);
    must_equal(vigil_group_init(&group, it->pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &it->spawned.task), 0);
    return vigil_group_wait(&group);
}

static void wait_for_low_job(vigil_pool *pool, void *arg)
{
    struct inherits *it = arg;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = VIGIL_LOW;
    must_equal(vigil_pool_submit(pool, &it->low.task, VIGIL_LOW), 0);
    must_equal(vigil_job_call(pool, low_job, it, &options, &it->job), 0);
    int status = -1;
    must_equal(vigil_job_wait(pool, it->job, VIGIL_FOREVER, &status), 0);
    must_equal(status, 0);
    must_equal(vigil_job_unref(pool, it->job), 0);
}

static void p17_what_is_waited_for_runs_before_its_class_and_spawns_in_the_waiters(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct inherits it = {.pool = pool};
    child_init(&it.low);
    run_inside(pool, wait_for_low_job, &it);
    must(!it.low_first);
    must_equal(it.spawned.runs, 1);
    const vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.by_class[VIGIL_LOW].completed, 2);    /* the task and the job, in the class of their submit */
    must_equal(stats.by_class[VIGIL_NORMAL].completed, 2); /* the waiting task, and what the job spawned */
    pool_close(pool);
}

/* A job becomes due while a task waits for it, behind LOW tasks that take all workers there are: the waiter runs it. */
struct delayed {
    struct gate gate;
    struct child low[2];
    int waiter;
    int ran_on;
};

static int delayed_job(void *arg)
{
    ((struct delayed *)arg)->ran_on = vigil_pool_current_worker();
    return 0;
}

static void wait_for_delayed_job(vigil_pool *pool, void *arg)
{
    struct delayed *it = arg;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = VIGIL_IDLE;
    options.delay_ns = 20 * 1000000;
    vigil_job job;
    it->waiter = vigil_pool_current_worker();
    must_equal(vigil_job_call(pool, delayed_job, it, &options, &job), 0);
    for (size_t i = 0; i < count_of(it->low); i++)
        must_equal(vigil_pool_submit(pool, &it->low[i].task, VIGIL_LOW), 0); /* one for the spare, one stays queued */
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    gate_open(&it->gate);
}

static void p17_a_job_that_becomes_due_is_run_by_the_task_that_waits_for_it(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.max_spares = 1;
    vigil_pool *pool = pool_with(&options);
    struct delayed it = {.ran_on = -1};
    for (size_t i = 0; i < count_of(it.low); i++) {
        child_init(&it.low[i]);
        it.low[i].gate = &it.gate;
    }
    run_inside(pool, wait_for_delayed_job, &it);
    must_equal(it.ran_on, it.waiter);
    pool_close(pool);
}

/* A task waits for a group of another pool, whose LOW member is queued behind another LOW task. */
struct across {
    vigil_pool *other;
    struct hold hold; /* the only worker of the other pool is busy until the wait has begun */
    struct child low;
    vigil_task member;
    bool low_first;
};

static int across_member(vigil_task *task)
{
    struct across *it = (struct across *)(void *)((char *)task - offsetof(struct across, member));
    it->low_first = it->low.runs != 0;
    return 0;
}

static void wait_across(vigil_pool *pool, void *arg)
{
    (void)pool;
    struct across *it = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, it->other, 0), 0);
    must_equal(vigil_group_submit(&group, &it->member, VIGIL_LOW), 0);
    must_equal(vigil_group_wait(&group), 0);
}

static void *release_when_inherited(void *arg)
{
    struct across *it = arg;
    vigil_audit audit = VIGIL_AUDIT_INIT;
    /* In the queues, not only counted: the LOW task, the member, and the waiter's call. */
    while (vigil_pool_audit(it->other, &audit) != 0 || audit.found < 3)
        yield();
    hold_release(&it->hold);
    return NULL;
}

static void p17_a_group_of_another_pool_inherits_the_class_of_its_waiter(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.strict_classes = true;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        vigil_pool *pool = pool_of(1);
        struct across it = {.other = pool_with(&options)};
        hold_workers(&it.hold, it.other, 1);
        child_init(&it.low);
        vigil_task_init(&it.member, across_member, NULL);
        must_equal(vigil_pool_submit(it.other, &it.low.task, VIGIL_LOW), 0);
        const pthread_t releaser = start_thread(release_when_inherited, &it);
        run_inside(pool, wait_across, &it);
        join_thread(releaser);
        must(!it.low_first);
        pool_close(it.other);
        must_equal(it.low.runs, 1);
        pool_close(pool);
    }
}

/* The member is HIGH, the waiter NORMAL. The other pool has a NORMAL task that ends only after the wait: it must not
   matter. */
struct across_high {
    struct across across;
    struct gate after; /* what the NORMAL task waits for */
};

static int pass_gate(void *gate)
{
    gate_pass(gate);
    return 0;
}

static void wait_across_high(vigil_pool *pool, void *arg)
{
    (void)pool;
    struct across_high *it = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, it->across.other, 0), 0);
    must_equal(vigil_group_submit(&group, &it->across.member, VIGIL_HIGH), 0);
    hold_release(&it->across.hold);
    must_equal(vigil_group_wait(&group), 0);
    gate_open(&it->after);
}

static void p17_a_wait_across_pools_waits_for_nothing_but_its_group(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.strict_classes = true;
    vigil_pool *pool = pool_of(1);
    struct across_high it = {.across.other = pool_with(&options)};
    hold_workers(&it.across.hold, it.across.other, 1);
    vigil_task_init(&it.across.member, across_member, NULL);
    must_equal(vigil_pool_call(it.across.other, pass_gate, NULL, &it.after, VIGIL_NORMAL), 0);
    run_inside(pool, wait_across_high, &it);
    pool_close(it.across.other);
    pool_close(pool);
}

/* Tasks of two pools wait for each other: a task for a job of the other pool, which waits for a job or a group of the
   first. Many more of them than there are workers and spares. */
struct round_trip {
    vigil_pool *pool[2];
    bool by_group;
    struct tally leaves;
};

struct leaf {
    vigil_task task;
    struct round_trip *it;
};

static int leaf_job(void *arg)
{
    tally_add(&((struct round_trip *)arg)->leaves, 1);
    return 0;
}

static int leaf_task(vigil_task *task)
{
    return leaf_job(((struct leaf *)(void *)task)->it);
}

static void wait_for_job(vigil_pool *pool, int (*fn)(void *arg), struct round_trip *it)
{
    vigil_job job;
    must_equal(vigil_job_call(pool, fn, it, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
}

static int there_and_back(void *arg)
{
    struct round_trip *it = arg;
    if (!it->by_group) {
        wait_for_job(it->pool[0], leaf_job, it);
        return 0;
    }
    struct leaf leaf = {.it = it};
    vigil_group group;
    vigil_task_init(&leaf.task, leaf_task, NULL);
    must_equal(vigil_group_init(&group, it->pool[0], 0), 0);
    must_equal(vigil_group_submit(&group, &leaf.task, VIGIL_NORMAL), 0);
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static int round_trip_begin(void *arg)
{
    struct round_trip *it = arg;
    wait_for_job(it->pool[1], there_and_back, it);
    return 0;
}

static void p17_tasks_of_two_pools_may_wait_for_each_other(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    for (unsigned variant = 0; variant < 6; variant++) {
        options.workers = 1 + variant % 3;
        options.no_spares = variant == 0 || variant == 4;
        const uint32_t trips = (uint32_t)scaled(500, 20);
        struct round_trip it = {.pool = {pool_with(&options), pool_with(&options)}, .by_group = variant >= 3};
        for (uint32_t i = 0; i < trips; i++)
            must_equal(vigil_pool_call(it.pool[0], round_trip_begin, NULL, &it, VIGIL_NORMAL), 0);
        tally_wait(&it.leaves, trips);
        pool_close(it.pool[0]);
        pool_close(it.pool[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_1_worker),
        test(p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_2_workers),
        test(p17_a_wait_does_not_nest_as_deep_as_the_backlog_on_33_workers),
        test(p17_a_wait_with_a_mutex_held_picks_up_nobody_who_wants_it),
        test(p17_a_critical_wait_is_not_held_up_by_a_low_task),
        test(p17_help_on_request_takes_no_lower_class),
        test(p17_help_on_request_goes_to_the_stated_depth_and_no_further),
        test(p17_what_is_waited_for_runs_before_its_class_and_spawns_in_the_waiters),
        test(p17_a_job_that_becomes_due_is_run_by_the_task_that_waits_for_it),
        test(p17_a_group_of_another_pool_inherits_the_class_of_its_waiter),
        test(p17_a_wait_across_pools_waits_for_nothing_but_its_group),
        test(p17_tasks_of_two_pools_may_wait_for_each_other),
    };
    return run_all(tests);
}
