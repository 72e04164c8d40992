/* SPDX-License-Identifier: MIT */
/* P6: spawn and sync. What comes out is what the serial program gives, whoever ran what. */
#include "child.h"

/* ---- fib -------------------------------------------------------------------------------------------------------- */

struct fib {
    vigil_task task;
    vigil_pool *pool;
    unsigned n;
    uint64_t value;
};

static uint64_t fib_serial(unsigned n)
{
    return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2);
}

static int fib_run(vigil_task *task)
{
    struct fib *fib = container_of(task, struct fib, task);
    if (fib->n < 2) {
        fib->value = fib->n;
        return 0;
    }
    struct fib left = {.pool = fib->pool, .n = fib->n - 1};
    struct fib right = {.pool = fib->pool, .n = fib->n - 2};
    vigil_group group;
    vigil_task_init(&left.task, fib_run, NULL);
    vigil_task_init(&right.task, fib_run, NULL);
    must_equal(vigil_group_init(&group, fib->pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &left.task), 0);
    (void)fib_run(&right.task);
    must_equal(vigil_group_wait(&group), 0);
    fib->value = left.value + right.value;
    return 0;
}

static void p06_fib_is_right_on_any_number_of_workers(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 3, 8, 33};
    unsigned n = TEST_SANITIZED ? 16 : 25;
    for (size_t w = 0; w < count_of(workers); w++) {
        for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = workers[w];
            options.fences = (vigil_fence_mode)fences;
            vigil_pool *pool = pool_with(&options);
            struct fib fib = {.pool = pool, .n = n};
            vigil_task_init(&fib.task, fib_run, NULL);
            run_root(pool, &fib.task);
            must_equal(fib.value, fib_serial(n));
            pool_close(pool);
        }
    }
}

/* ---- quicksort -------------------------------------------------------------------------------------------------- */

struct sort {
    vigil_task task;
    vigil_pool *pool;
    uint32_t *first;
    size_t count;
};

static int sort_run(vigil_task *task)
{
    struct sort *sort = container_of(task, struct sort, task);
    uint32_t *a = sort->first;
    if (sort->count < 2)
        return 0;
    uint32_t pivot = a[(sort->count - 1) / 2]; /* never the last: each half is smaller than the whole */
    size_t low = 0;
    size_t high = sort->count - 1;
    for (;;) {
        while (a[low] < pivot)
            low++;
        while (a[high] > pivot)
            high--;
        if (low >= high)
            break;
        uint32_t swap = a[low];
        a[low++] = a[high];
        a[high--] = swap;
    }
    struct sort halves[2] = {{.pool = sort->pool, .first = a, .count = high + 1},
                             {.pool = sort->pool, .first = a + high + 1, .count = sort->count - high - 1}};
    vigil_group group;
    must_equal(vigil_group_init(&group, sort->pool, 0), 0);
    for (int i = 0; i < 2; i++) {
        vigil_task_init(&halves[i].task, sort_run, NULL);
        must_equal(vigil_group_spawn(&group, &halves[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static void p06_quicksort_sorts(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 7};
    size_t count = scaled(300000, 5000);
    uint32_t *numbers = malloc(count * sizeof *numbers);
    must(numbers != NULL);
    for (size_t w = 0; w < count_of(workers); w++) {
        uint64_t sum = 0;
        uint32_t random = 12345;
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525U + 1013904223U;
            numbers[i] = random >> 8;
            sum += numbers[i];
        }
        vigil_pool *pool = pool_of(workers[w]);
        struct sort sort = {.pool = pool, .first = numbers, .count = count};
        vigil_task_init(&sort.task, sort_run, NULL);
        run_root(pool, &sort.task);
        for (size_t i = 0; i < count; i++) {
            sum -= numbers[i];
            must(i == 0 || numbers[i - 1] <= numbers[i]);
        }
        must_equal(sum, 0);
        pool_close(pool);
    }
    free(numbers);
}

/* ---- failing ---------------------------------------------------------------------------------------------------- */

static void failing_body(vigil_pool *pool, void *arg)
{
    (void)arg;
    struct child children[10];
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (int failing = -1; failing < 10; failing++) {
        for (int i = 0; i < 10; i++) {
            child_init(&children[i]);
            children[i].status = i == failing ? -ENOTTY : i;
            must_equal(vigil_group_spawn(&group, &children[i].task), 0);
        }
        must_equal(vigil_group_wait(&group), failing < 0 ? 0 : -ENOTTY);
        for (int i = 0; i < 10; i++)
            must_equal(children[i].runs, 1); /* a failure stops nobody */
    }
    /* The group is as new: the failures are forgotten. */
    must_equal(vigil_group_wait(&group), 0);
}

static void p06_a_group_reports_a_members_failure_and_runs_the_others(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        vigil_pool *pool = pool_of(workers);
        run_inside(pool, failing_body, NULL);
        must_equal(pool_stats(pool).total.failed, 10);
        pool_close(pool);
    }
}

static void first_failure_body(vigil_pool *pool, void *arg)
{
    (void)arg;
    struct child first;
    struct child second;
    child_init(&first);
    child_init(&second);
    first.status = -ENOSPC;
    second.status = -EPIPE;
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &second.task), 0); /* runs last: newest first, on one worker */
    must_equal(vigil_group_spawn(&group, &first.task), 0);
    must_equal(vigil_group_wait(&group), -ENOSPC);
}

static void p06_the_first_failure_is_the_one_reported(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    run_inside(pool, first_failure_body, NULL);
    pool_close(pool);
}

/* ---- groups from elsewhere -------------------------------------------------------------------------------------- */

static void p06_a_group_works_from_a_thread_that_is_no_worker(void **state)
{
    (void)state;
    enum {
        CHILDREN = 100
    };
    vigil_pool *pool = pool_of(3);
    struct child children[CHILDREN];
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (uint64_t round = scaled(500, 10); round > 0; round--) {
        for (int i = 0; i < CHILDREN; i++) {
            child_init(&children[i]);
            if (i % 2 == 0)
                must_equal(vigil_group_spawn(&group, &children[i].task), 0);
            else
                must_equal(vigil_group_submit(&group, &children[i].task, VIGIL_LOW), 0);
        }
        must_equal(vigil_group_wait(&group), 0);
        for (int i = 0; i < CHILDREN; i++) {
            must_equal(children[i].runs, 1);
            must(children[i].ran_on >= 0);
        }
    }
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.by_class[VIGIL_NORMAL].submitted, stats.by_class[VIGIL_LOW].submitted);
    must_equal(stats.spawned, 0); /* from outside it is a submit */
    pool_close(pool);
}

struct submitted {
    struct child children[50];
    struct child others[50];
};

static void submitted_body(vigil_pool *pool, void *arg)
{
    struct submitted *all = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (int i = 0; i < 50; i++) {
        child_init(&all->others[i]);
        child_init(&all->children[i]);
        must_equal(vigil_pool_submit(pool, &all->others[i].task, VIGIL_NORMAL), 0);
        must_equal(vigil_group_submit(&group, &all->children[i].task, i % 2 == 0 ? VIGIL_NORMAL : VIGIL_LOW), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    for (int i = 0; i < 50; i++)
        must_equal(all->children[i].runs, 1);
}

static void p06_a_group_with_submitted_members_ends_on_one_worker(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(1);
    struct submitted *all = calloc(1, sizeof *all);
    must(all != NULL);
    for (uint64_t round = scaled(200, 5); round > 0; round--) {
        run_inside(pool, submitted_body, all);
        for (int i = 0; i < 50; i++)
            must_equal(all->others[i].runs, 1);
    }
    free(all);
    pool_close(pool);
}

struct detached {
    vigil_group group;
    struct child children[32];
};

static void detached_body(vigil_pool *pool, void *arg)
{
    (void)pool;
    struct detached *detached = arg;
    for (size_t i = 0; i < count_of(detached->children); i++) {
        child_init(&detached->children[i]);
        must_equal(vigil_group_spawn(&detached->group, &detached->children[i].task), 0);
    }
}

struct handed_over {
    vigil_pool *pool;
    struct detached detached;
    struct event spawned;
};

static int detached_root(void *arg)
{
    struct handed_over *over = arg;
    must_equal(vigil_group_init(&over->detached.group, over->pool, VIGIL_GROUP_DETACHED), 0);
    detached_body(over->pool, &over->detached);
    event_set(&over->spawned);
    return 0;
}

static void p06_a_detached_group_made_in_a_task_is_waited_for_elsewhere(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        vigil_pool *pool = pool_of(workers);
        for (uint64_t round = scaled(2000, 20); round > 0; round--) {
            struct handed_over over = {.pool = pool};
            must_equal(vigil_pool_call(pool, detached_root, NULL, &over, VIGIL_HIGH), 0);
            event_wait(&over.spawned);
            must_equal(vigil_group_wait(&over.detached.group), 0);
            for (size_t i = 0; i < count_of(over.detached.children); i++)
                must_equal(over.detached.children[i].runs, 1);
        }
        pool_close(pool);
    }
}

static void p06_a_wait_with_a_limit_leaves_the_group_as_it_is(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    struct child child;
    vigil_group group;
    child_init(&child);
    child.gate = &gate;
    child.status = -EXDEV;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_wait_for(&group, 0), 0); /* empty: there is nothing to wait for */
    must_equal(vigil_group_submit(&group, &child.task, VIGIL_NORMAL), 0);
    must_equal(vigil_group_wait_for(&group, 0), -ETIMEDOUT);
    uint64_t before = now_ns();
    must_equal(vigil_group_wait_for(&group, 2000000), -ETIMEDOUT);
    must(now_ns() - before >= 2000000);
    gate_open(&gate);
    must_equal(vigil_group_wait_for(&group, VIGIL_FOREVER), -EXDEV);
    must_equal(vigil_group_wait_for(&group, 0), 0);
    pool_close(pool);
}

static void busy_body(vigil_pool *pool, void *arg)
{
    (void)arg;
    struct child child;
    vigil_group group;
    vigil_group other;
    child_init(&child);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_init(&other, pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &child.task), 0);
    must_equal(vigil_group_spawn(&group, &child.task), -EBUSY);
    must_equal(vigil_group_spawn(&other, &child.task), -EBUSY);
    must_equal(vigil_group_submit(&other, &child.task, VIGIL_NORMAL), -EBUSY);
    must_equal(vigil_pool_submit(pool, &child.task, VIGIL_NORMAL), -EBUSY);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(vigil_group_wait(&other), 0);
    must_equal(child.runs, 1);
    /* Free again after the wait. */
    must_equal(vigil_group_spawn(&group, &child.task), 0);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(child.runs, 2);
}

static void p06_a_member_belongs_to_one_group_until_the_wait_returns(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    run_inside(pool, busy_body, NULL);
    pool_close(pool);
}

static void p06_bad_arguments_are_refused(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct child child;
    vigil_group group;
    child_init(&child);
    must_equal(vigil_group_init(NULL, pool, 0), -EINVAL);
    must_equal(vigil_group_init(&group, NULL, 0), -EINVAL);
    must_equal(vigil_group_init(&group, pool, 1U << 31), -EINVAL);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_spawn(NULL, &child.task), -EINVAL);
    must_equal(vigil_group_spawn(&group, NULL), -EINVAL);
    must_equal(vigil_group_submit(NULL, &child.task, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_group_submit(&group, NULL, VIGIL_NORMAL), -EINVAL);
    must_equal(vigil_group_submit(&group, &child.task, (vigil_priority)VIGIL_PRIORITIES), -EINVAL);
    must_equal(vigil_group_wait(&group), 0);
    must_equal(child.runs, 0);
    pool_close(pool);
}

/* ---- depth and width -------------------------------------------------------------------------------------------- */

static void wide_body(vigil_pool *pool, void *arg)
{
    size_t count = *(size_t *)arg;
    struct child *children = calloc(count, sizeof *children);
    must(children != NULL);
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (size_t i = 0; i < count; i++) {
        child_init(&children[i]);
        must_equal(vigil_group_spawn(&group, &children[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    for (size_t i = 0; i < count; i++)
        must_equal(children[i].runs, 1);
    free(children);
}

static void p06_a_group_of_a_million_members_grows_the_deque_and_loses_none(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers++) {
        vigil_pool *pool = pool_of(workers);
        size_t count = scaled(1000000, 20000);
        run_inside(pool, wide_body, &count);
        must_equal(pool_stats(pool).spawned, count);
        pool_close(pool);
    }
}

static void zero_groups(vigil_pool *pool, void *arg)
{
    (void)pool;
    (void)arg;
    struct child child;
    child_init(&child);
    vigil_group group = {0};
    must_equal(vigil_group_wait(&group), -EINVAL);
    must(strstr(vigil_why(), "vigil_group_init") != NULL);
    must_equal(vigil_group_wait_for(&group, 0), -EINVAL);
    must(strstr(vigil_why(), "vigil_group_init") != NULL);
    must_equal(vigil_group_submit(&group, &child.task, VIGIL_NORMAL), -EINVAL);
    must(strstr(vigil_why(), "vigil_group_init") != NULL);
    must_equal(vigil_group_spawn(&group, &child.task), -EINVAL);
    must(strstr(vigil_why(), "vigil_group_init") != NULL);
}

static void p06_a_group_that_was_never_made_is_refused(void **state)
{
    (void)state;
    zero_groups(NULL, NULL);
    vigil_pool *pool = pool_of(1);
    run_inside(pool, zero_groups, NULL);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p06_fib_is_right_on_any_number_of_workers),
        test(p06_quicksort_sorts),
        test(p06_a_group_reports_a_members_failure_and_runs_the_others),
        test(p06_the_first_failure_is_the_one_reported),
        test(p06_a_group_works_from_a_thread_that_is_no_worker),
        test(p06_a_group_with_submitted_members_ends_on_one_worker),
        test(p06_a_detached_group_made_in_a_task_is_waited_for_elsewhere),
        test(p06_a_wait_with_a_limit_leaves_the_group_as_it_is),
        test(p06_a_member_belongs_to_one_group_until_the_wait_returns),
        test(p06_bad_arguments_are_refused),
        test(p06_a_group_that_was_never_made_is_refused),
        test(p06_a_group_of_a_million_members_grows_the_deque_and_loses_none),
    };
    return run_all(tests);
}
