/* SPDX-License-Identifier: MIT */
/* vigil_join: two functions side by side. Both have ended when it returns, whatever became of them. */
#include "support.h"

#include <stdlib.h>
#include <vigil/flow.h>
#include <vigil/sync.h>

/* Run fn(arg) inside a task of the pool and give back its status. */
static int status_inside(vigil_pool *pool, int (*fn)(void *), void *arg)
{
    vigil_job job;
    int status = 0;
    must_equal(vigil_job_call(pool, fn, arg, NULL, &job), 0);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    return status;
}

struct fib {
    vigil_pool *pool;
    unsigned n;
    uint64_t value;
};

static int fib_run(void *arg)
{
    struct fib *fib = arg;
    if (fib->n < 2) {
        fib->value = fib->n;
        return 0;
    }
    struct fib left = {.pool = fib->pool, .n = fib->n - 1};
    struct fib right = {.pool = fib->pool, .n = fib->n - 2};
    must_equal(vigil_join(fib->pool, fib_run, &left, fib_run, &right), 0);
    fib->value = left.value + right.value;
    return 0;
}

static void fib_by_join_is_right_on_any_number_of_workers(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 3, 8, 33};
    for (size_t w = 0; w < count_of(workers); w++) {
        for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = workers[w];
            options.fences = (vigil_fence_mode)fences;
            vigil_pool *pool = pool_with(&options);
            struct fib fib = {.pool = pool, .n = TEST_SANITIZED ? 15 : 25};
            must_equal(status_inside(pool, fib_run, &fib), 0);
            must_equal(fib.value, TEST_SANITIZED ? 610 : 75025);
            pool_close(pool);
        }
    }
}

/* ---- what it returns -------------------------------------------------------------------------------------------- */

struct side {
    int status;
    bool raises;
    _Atomic unsigned runs;
    struct event *wait_for;
    struct event *then_set;
};

static int side_run(void *arg)
{
    struct side *side = arg;
    if (side->wait_for != NULL)
        event_wait(side->wait_for);
    (void)atomic_fetch_add_explicit(&side->runs, 1, memory_order_relaxed);
    if (side->then_set != NULL)
        event_set(side->then_set);
    if (side->raises)
        vigil_raise(side->status);
    return side->status;
}

struct pair {
    vigil_pool *pool;
    struct side a, b;
    bool came_back;
};

static int join_pair(void *arg)
{
    struct pair *pair = arg;
    int status = vigil_join(pair->pool, side_run, &pair->a, side_run, &pair->b);
    pair->came_back = true;
    return status;
}

static void it_returns_the_failure_of_a_or_else_of_b(void **state)
{
    (void)state;
    static const struct {
        int a, b, joined;
    } cases[] = {{0, 0, 0}, {5, 7, 0}, {-ENOENT, 0, -ENOENT}, {0, -EPIPE, -EPIPE}, {-ENOENT, -EPIPE, -ENOENT}};
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t round = scaled(200, 10); round > 0; round--) {
            for (size_t i = 0; i < count_of(cases); i++) {
                for (int outside = 0; outside < 2; outside++) {
                    struct pair pair = {.pool = pool, .a.status = cases[i].a, .b.status = cases[i].b};
                    must_equal(outside != 0 ? join_pair(&pair) : status_inside(pool, join_pair, &pair),
                               cases[i].joined);
                    must_equal(pair.a.runs, 1);
                    must_equal(pair.b.runs, 1);
                }
            }
        }
        pool_close(pool);
    }
}

static void a_raise_in_b_leaves_the_calling_task(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t round = scaled(200, 10); round > 0; round--) {
            struct pair pair = {.pool = pool, .b = {.status = -EXDEV, .raises = true}};
            must_equal(status_inside(pool, join_pair, &pair), -EXDEV);
            must(!pair.came_back);
            must_equal(pair.a.runs, 1);
        }
        pool_close(pool);
    }
}

/* a waits for b, so that another worker has b: the join raises what b raised. */
static void a_raise_in_a_stolen_b_leaves_the_calling_task(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = scaled(200, 10); round > 0; round--) {
        struct event from_b = {0};
        struct pair pair = {
            .pool = pool, .a.wait_for = &from_b, .b = {.status = -EXDEV, .raises = true, .then_set = &from_b}};
        must_equal(status_inside(pool, join_pair, &pair), -EXDEV);
        must(!pair.came_back);
        must_equal(pair.a.runs, 1);
    }
    pool_close(pool);
}

/* What was taken back is counted together; the books agree at the end of the task, and the audit while it runs. */
struct counted_joins {
    vigil_pool *pool;
    unsigned depth;
    int audited;
};

static int joins_all_the_way(void *arg)
{
    struct counted_joins *it = arg;
    if (it->depth == 0) {
        vigil_audit audit = VIGIL_AUDIT_INIT;
        it->audited = vigil_pool_audit(it->pool, &audit);
        must_equal(audit.found, 0);
        return 0;
    }
    struct counted_joins left = {.pool = it->pool, .depth = it->depth - 1};
    struct side right = {0};
    must_equal(vigil_join(it->pool, joins_all_the_way, &left, side_run, &right), 0);
    must_equal(right.runs, 1);
    it->audited = left.audited;
    return 0;
}

static void joins_are_counted_and_the_audit_knows_them(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    const uint64_t before = pool_stats(pool).total.completed;
    for (unsigned depth = 1; depth < 600; depth += 199) {
        struct counted_joins it = {.pool = pool, .depth = depth};
        must_equal(status_inside(pool, joins_all_the_way, &it), 0);
        must_equal(it.audited, 0); /* 0 entries are queued tasks while `depth` joins are under way */
    }
    const vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.completed - before, 4 + 1 + 200 + 399 + 598);
    must_equal(stats.spawned, 1 + 200 + 399 + 598);
    pool_close(pool);
}

static void a_raise_in_a_leaves_the_calling_task_after_b_has_ended(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t round = scaled(200, 10); round > 0; round--) {
            struct pair pair = {.pool = pool, .a = {.status = -EDOM, .raises = true}};
            must_equal(status_inside(pool, join_pair, &pair), -EDOM);
            must(!pair.came_back);
            must_equal(pair.b.runs, 1); /* it works on the frame that is left: it must have ended */
        }
        pool_close(pool);
    }
}

/* ---- a raise that passes several joins --------------------------------------------------------------------------- */

struct nested_joins {
    vigil_pool *pool;
    unsigned depth;
    struct side *b; /* one for each join */
    bool isolated;  /* a frame of another kind between any two joins */
    bool came_back;
};

static int raise_below(void *arg);

static int join_below(void *arg)
{
    struct nested_joins *it = arg;
    struct nested_joins left = {.pool = it->pool, .depth = it->depth - 1, .b = it->b, .isolated = it->isolated};
    const int status = vigil_join(it->pool, raise_below, &left, side_run, &it->b[it->depth]);
    it->came_back = true;
    return status;
}

static int raise_below(void *arg)
{
    struct nested_joins *it = arg;
    if (it->depth == 0)
        vigil_raise(-EDOM);
    return it->isolated ? vigil_isolate(join_below, it) : join_below(it);
}

static void a_raise_through_many_joins_waits_for_each_b(void **state)
{
    (void)state;
    enum {
        DEPTH = 700 /* more than the first array of a deque has slots */
    };
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers);
        for (int isolated = 0; isolated < 2; isolated++) {
            struct side *b = calloc(DEPTH + 1, sizeof *b);
            must(b != NULL);
            struct nested_joins it = {.pool = pool, .depth = DEPTH, .b = b, .isolated = isolated != 0};
            must_equal(status_inside(pool, raise_below, &it), -EDOM);
            must(!it.came_back);
            for (unsigned i = 1; i <= DEPTH; i++)
                must_equal(b[i].runs, 1);
            free(b);
        }
        pool_close(pool);
    }
}

/* A place to land between two joins: the inner join is left, the outer one is not. */
struct landing {
    vigil_pool *pool;
    struct pair inner;
    int landed;
};

static int land_below(void *arg)
{
    struct landing *it = arg;
    vigil_once once = VIGIL_ONCE_INIT;
    it->landed = vigil_once_run(&once, join_pair, &it->inner, VIGIL_FOREVER, NULL);
    return 0;
}

static int join_around(void *arg)
{
    struct landing *it = arg;
    struct side b = {0};
    const int status = vigil_join(it->pool, land_below, it, side_run, &b);
    must_equal(b.runs, 1);
    return status;
}

static void a_raise_leaves_the_joins_around_its_landing_place_alone(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t round = scaled(200, 10); round > 0; round--) {
            struct landing it = {.pool = pool, .inner = {.pool = pool, .a = {.status = -EDOM, .raises = true}}};
            must_equal(status_inside(pool, join_around, &it), 0);
            must_equal(it.landed, -EDOM);
            must(!it.inner.came_back);
            must_equal(it.inner.b.runs, 1);
        }
        pool_close(pool);
    }
}

/* ---- a pool that closes ------------------------------------------------------------------------------------------ */

struct until_closed {
    vigil_pool *pool;
    struct event started;
};

static int join_until_cancelled(void *arg)
{
    struct until_closed *it = arg;
    event_set(&it->started);
    int status = 0;
    while (status == 0) {
        struct side a = {0};
        struct side b = {0};
        status = vigil_join(it->pool, side_run, &a, side_run, &b);
        must_equal(a.runs, 1);
        must_equal(b.runs, status == 0 ? 1 : 0);
    }
    return status;
}

static void a_close_cancels_the_second_halves_of_later_joins(void **state)
{
    (void)state;
    for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++) {
        for (unsigned workers = 1; workers <= 3; workers += 2) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = workers;
            options.fences = (vigil_fence_mode)fences;
            vigil_pool *pool = pool_with(&options);
            struct until_closed it = {.pool = pool};
            vigil_job job;
            int status = 0;
            must_equal(vigil_job_call(pool, join_until_cancelled, &it, NULL, &job), 0);
            event_wait(&it.started);
            must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0); /* waits for the task */
            must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
            must_equal(status, -ECANCELED);
            must_equal(vigil_job_unref(pool, job), 0);
            pool_unwatch(pool);
            must_equal(vigil_pool_destroy(pool), 0);
        }
    }
}

/* ---- a that helps: b is run by the same worker before the join comes to it --------------------------------------------- */

struct helper {
    vigil_pool *pool;
    bool leaves_one;          /* a task in the worker's deque, where b was */
    unsigned b_runs;          /* one worker: no atomics */
    unsigned b_runs_before_a; /* of these: when a had ended */
    vigil_group detached;
    vigil_task left;
    _Atomic unsigned left_runs;
    vigil_task wanted;
};

static int do_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static int run_left(vigil_task *task)
{
    struct helper *helper = (struct helper *)(void *)((char *)task - offsetof(struct helper, left));
    (void)atomic_fetch_add_explicit(&helper->left_runs, 1, memory_order_relaxed);
    return 0;
}

struct from_outside {
    vigil_group *group;
    vigil_task *task;
};

static void *submit_from_outside(void *arg)
{
    struct from_outside *both = arg;
    must_equal(vigil_group_submit(both->group, both->task, VIGIL_LOW), 0);
    return NULL;
}

static int help_with_anything(void *arg)
{
    struct helper *helper = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, helper->pool, VIGIL_GROUP_HELP_ANY), 0);
    vigil_task_init(&helper->wanted, do_nothing, NULL);
    struct from_outside both = {.group = &group, .task = &helper->wanted};
    join_thread(start_thread(submit_from_outside, &both)); /* the wait cannot run it itself, and helps */
    must_equal(vigil_group_wait(&group), 0);               /* b is in a higher class */
    helper->b_runs_before_a = helper->b_runs;
    if (helper->leaves_one) {
        vigil_task_init(&helper->left, run_left, NULL);
        must_equal(vigil_group_spawn(&helper->detached, &helper->left), 0);
    }
    return 0;
}

static int count_b(void *arg)
{
    ((struct helper *)arg)->b_runs++;
    return 0;
}

static int join_with_a_helper(void *arg)
{
    struct helper *helper = arg;
    return vigil_join(helper->pool, help_with_anything, helper, count_b, helper);
}

static void b_may_run_inside_a_that_helps(void **state)
{
    (void)state;
    for (int leaves_one = 0; leaves_one < 2; leaves_one++) {
        vigil_pool *pool = pool_of(1);
        struct helper helper = {.pool = pool, .leaves_one = leaves_one != 0};
        must_equal(vigil_group_init(&helper.detached, pool, VIGIL_GROUP_DETACHED), 0);
        must_equal(status_inside(pool, join_with_a_helper, &helper), 0);
        must_equal(vigil_group_wait(&helper.detached), 0);
        must_equal(helper.b_runs_before_a, 1);
        must_equal(helper.b_runs, 1);
        must_equal(helper.left_runs, leaves_one);
        pool_close(pool);
    }
}

static void the_two_can_run_at_the_same_time(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(2000, 50); round > 0; round--) {
        struct event from_b = {0};
        struct pair pair = {.pool = pool, .a.wait_for = &from_b, .b.then_set = &from_b};
        must_equal(status_inside(pool, join_pair, &pair), 0); /* a cannot end before another worker has taken b */
    }
    must(pool_stats(pool).steals_won > 0);
    pool_close(pool);
}

static void bad_arguments_are_refused_and_neither_runs(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct side side = {0};
    must_equal(vigil_join(NULL, side_run, &side, side_run, &side), -EINVAL);
    must_equal(vigil_join(pool, NULL, &side, side_run, &side), -EINVAL);
    must_equal(vigil_join(pool, side_run, &side, NULL, &side), -EINVAL);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_join(pool, side_run, &side, side_run, &side), -ESHUTDOWN);
    must_equal(side.runs, 0);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(fib_by_join_is_right_on_any_number_of_workers),
        test(it_returns_the_failure_of_a_or_else_of_b),
        test(a_raise_in_b_leaves_the_calling_task),
        test(a_raise_in_a_stolen_b_leaves_the_calling_task),
        test(joins_are_counted_and_the_audit_knows_them),
        test(a_raise_in_a_leaves_the_calling_task_after_b_has_ended),
        test(a_raise_through_many_joins_waits_for_each_b),
        test(a_raise_leaves_the_joins_around_its_landing_place_alone),
        test(a_close_cancels_the_second_halves_of_later_joins),
        test(b_may_run_inside_a_that_helps),
        test(the_two_can_run_at_the_same_time),
        test(bad_arguments_are_refused_and_neither_runs),
    };
    return run_all(tests);
}
