/* SPDX-License-Identifier: MIT */
/* Class caps: at most so many workers run a class at a time, the others stay free for the rest, and nothing is lost. */
#include "support.h"

static vigil_pool *capped_pool(unsigned workers, vigil_priority priority, unsigned cap)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.class_cap[priority] = cap;
    return pool_with(&options);
}

struct level {
    _Atomic int now, most;
    _Atomic uint64_t runs;
};

static void level_enter(struct level *level)
{
    int now = atomic_fetch_add_explicit(&level->now, 1, memory_order_relaxed) + 1;
    int most = atomic_load_explicit(&level->most, memory_order_relaxed);
    while (now > most &&
           !atomic_compare_exchange_weak_explicit(&level->most, &most, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

static int level_run(void *arg)
{
    struct level *level = arg;
    level_enter(level);
    for (int i = 0; i < 3; i++)
        yield();
    (void)atomic_fetch_sub_explicit(&level->now, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&level->runs, 1, memory_order_relaxed);
    return 0;
}

static void no_more_workers_than_the_cap_run_a_class_at_a_time(void **state)
{
    (void)state;
    for (unsigned cap = 1; cap <= 3; cap++) {
        vigil_pool *pool = capped_pool(6, VIGIL_LOW, cap);
        struct level low = {0};
        struct level normal = {0};
        const uint64_t count = scaled(20000, 500);
        for (uint64_t i = 0; i < count; i++) {
            must_equal(vigil_pool_call(pool, level_run, NULL, &low, VIGIL_LOW), 0);
            must_equal(vigil_pool_call(pool, level_run, NULL, &normal, VIGIL_NORMAL), 0);
        }
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(low.runs, count);
        must_equal(normal.runs, count);
        must_be_between(low.most, 1, cap);
        pool_close(pool);
    }
}

static int join_meeting(void *arg)
{
    (void)meeting_join(arg);
    return 0;
}

static void the_cap_is_reached_when_there_is_work_for_it(void **state)
{
    (void)state;
    enum {
        CAP = 3
    };
    vigil_pool *pool = capped_pool(5, VIGIL_HIGH, CAP);
    for (uint64_t round = scaled(500, 20); round > 0; round--) {
        struct meeting meeting = {.size = CAP};
        for (int i = 0; i < CAP; i++)
            must_equal(vigil_pool_call(pool, join_meeting, NULL, &meeting, VIGIL_HIGH), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    pool_close(pool);
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void a_full_class_leaves_the_other_workers_to_lower_classes_and_to_sleep(void **state)
{
    (void)state;
    vigil_pool *pool = capped_pool(3, VIGIL_CRITICAL, 1);
    struct gate critical = {0};
    struct gate idle = {0};
    for (int i = 0; i < 4; i++)
        must_equal(vigil_pool_call(pool, pass_gate, NULL, &critical, VIGIL_CRITICAL), 0);
    gate_wait_entered(&critical, 1);
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &idle, VIGIL_IDLE), 0);
    gate_wait_entered(&idle, 1); /* although CRITICAL waits: its cap is full */
    pool_wait_parked(pool, 1);   /* and the third has nothing that it may do */
    must_equal(tally_get(&critical.entered), 1);
    must_equal(pool_stats(pool).by_class[VIGIL_CRITICAL].queued, 3);
    pool_audit_clean(pool);
    gate_open(&idle);
    gate_open(&critical);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(tally_get(&critical.entered), 4);
    pool_close(pool);
}

/* The place that a finished task leaves is taken up even if all other workers are asleep and nobody submits any more. */
static void a_place_that_becomes_free_is_taken_without_another_submit(void **state)
{
    (void)state;
    static const unsigned caps[] = {1, 2};
    for (size_t c = 0; c < count_of(caps); c++) {
        vigil_pool *pool = capped_pool(4, VIGIL_LOW, caps[c]);
        for (uint64_t round = scaled(300, 10); round > 0; round--) {
            struct level low = {0};
            struct gate gate = {0};
            for (unsigned i = 0; i < caps[c]; i++)
                must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_LOW), 0);
            for (int i = 0; i < 10; i++)
                must_equal(vigil_pool_call(pool, level_run, NULL, &low, VIGIL_LOW), 0);
            gate_wait_entered(&gate, caps[c]);
            if (round % 8 == 0)
                pool_wait_parked(pool, 4 - caps[c]);
            gate_open(&gate);
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(low.runs, 10);
            must_be_between(low.most, 1, caps[c]);
        }
        pool_close(pool);
    }
}

static int count_up_run(void *arg)
{
    (*(uint64_t *)arg)++; /* plain, on purpose: the cap is all the order there is */
    return 0;
}

static void a_cap_of_one_orders_a_class_like_a_lock(void **state)
{
    (void)state;
    const uint64_t tasks = scaled(20000, 500);
    vigil_pool *pool = capped_pool(4, VIGIL_HIGH, 1);
    uint64_t count = 0;
    for (uint64_t i = 0; i < tasks; i++)
        must_equal(vigil_pool_call(pool, count_up_run, NULL, &count, VIGIL_HIGH), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(count, tasks);
    pool_close(pool);
}

struct letter {
    vigil_task task;
    struct gate *gate;
    int ran_on;
};

static int letter_run(vigil_task *task)
{
    struct letter *letter = container_of(task, struct letter, task);
    letter->ran_on = vigil_pool_current_worker();
    if (letter->gate != NULL)
        gate_pass(letter->gate);
    return 0;
}

static void a_named_workers_task_that_waited_for_its_cap_is_started_when_a_place_is_free(void **state)
{
    (void)state;
    vigil_pool *pool = capped_pool(3, VIGIL_NORMAL, 1);
    for (uint64_t round = scaled(300, 10); round > 0; round--) {
        struct gate gate = {0};
        struct letter first = {.gate = &gate};
        struct letter second = {.ran_on = -1};
        vigil_task_init(&first.task, letter_run, NULL);
        vigil_task_init(&second.task, letter_run, NULL);
        must_equal(vigil_pool_submit_to(pool, 0, &first.task, VIGIL_NORMAL), 0);
        gate_wait_entered(&gate, 1);
        must_equal(vigil_pool_submit_to(pool, 1, &second.task, VIGIL_NORMAL), 0);
        if (round % 2 == 0)
            pool_wait_parked(pool, 2); /* it has looked, and may not */
        must_equal(second.ran_on, -1);
        gate_open(&gate);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(second.ran_on, 1);
    }
    pool_close(pool);
}

/* ---- spawns ----------------------------------------------------------------------------------------------------- */

struct node {
    vigil_task task;
    vigil_pool *pool;
    struct level *level;
    unsigned depth;
};

static int node_run(vigil_task *task)
{
    struct node *node = container_of(task, struct node, task);
    if (node->depth == 0) {
        (void)level_run(node->level);
        return 0;
    }
    struct node children[3];
    vigil_group group;
    must_equal(vigil_group_init(&group, node->pool, 0), 0);
    for (int i = 0; i < 3; i++) {
        children[i].pool = node->pool;
        children[i].level = node->level;
        children[i].depth = node->depth - 1;
        vigil_task_init(&children[i].task, node_run, NULL);
        must_equal(vigil_group_spawn(&group, &children[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static void spawns_of_a_capped_class_stay_within_the_cap_and_end(void **state)
{
    (void)state;
    for (unsigned cap = 1; cap <= 2; cap++) {
        vigil_pool *pool = capped_pool(4, VIGIL_LOW, cap);
        for (uint64_t round = scaled(20, 2); round > 0; round--) {
            struct level level = {0};
            struct node roots[3];
            for (int i = 0; i < 3; i++) {
                roots[i] = (struct node){.pool = pool, .level = &level, .depth = 5};
                vigil_task_init(&roots[i].task, node_run, NULL);
                must_equal(vigil_pool_submit(pool, &roots[i].task, VIGIL_LOW), 0);
            }
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(level.runs, 3 * 243);
            must_be_between(level.most, 1, cap);
        }
        pool_close(pool);
    }
}

/* Two classes with one place each, and in each a task that waits for one of the other class. */
struct crossing {
    vigil_pool *pool;
    struct meeting *both_inside;
    vigil_priority other;
    bool by_group;
};

static int crossing_leaf(vigil_task *task)
{
    (void)task;
    return 0;
}

static int crossing_job(void *arg)
{
    (void)arg;
    return 0;
}

static int crossing_run(void *arg)
{
    struct crossing *crossing = arg;
    (void)meeting_join(crossing->both_inside); /* both places are taken now */
    if (crossing->by_group) {
        vigil_task leaf;
        vigil_group group;
        vigil_task_init(&leaf, crossing_leaf, NULL);
        must_equal(vigil_group_init(&group, crossing->pool, 0), 0);
        must_equal(vigil_group_submit(&group, &leaf, crossing->other), 0);
        must_equal(vigil_group_wait(&group), 0);
    } else {
        vigil_job job;
        vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
        options.priority = crossing->other;
        must_equal(vigil_job_call(crossing->pool, crossing_job, NULL, &options, &job), 0);
        must_equal(vigil_job_wait(crossing->pool, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(crossing->pool, job), 0);
    }
    return 0;
}

static void a_task_that_waits_does_not_keep_its_place_from_what_others_wait_for(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.class_cap[VIGIL_HIGH] = 1;
    options.class_cap[VIGIL_LOW] = 1;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(1000, 20); round > 0; round--) {
        struct meeting meeting = {.size = 2};
        struct crossing high = {
            .pool = pool, .both_inside = &meeting, .other = VIGIL_LOW, .by_group = (round & 1) != 0};
        struct crossing low = {
            .pool = pool, .both_inside = &meeting, .other = VIGIL_HIGH, .by_group = (round & 2) != 0};
        must_equal(vigil_pool_call(pool, crossing_run, NULL, &high, VIGIL_HIGH), 0);
        must_equal(vigil_pool_call(pool, crossing_run, NULL, &low, VIGIL_LOW), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    pool_close(pool);
}

/* ---- a place that is given up for a wait ------------------------------------------------------------------------- */

struct runner {
    vigil_task task;
    struct gate gate;
    _Atomic int on; /* the worker */
};

static int runner_run(vigil_task *task)
{
    struct runner *runner = container_of(task, struct runner, task);
    atomic_store_explicit(&runner->on, vigil_pool_current_worker(), memory_order_relaxed);
    gate_pass(&runner->gate);
    return 0;
}

struct waiting {
    vigil_pool *pool;
    vigil_task task;
    struct runner child;
};

static int waiting_run(vigil_task *task)
{
    struct waiting *waiting = container_of(task, struct waiting, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, waiting->pool, VIGIL_GROUP_HELP_ANY), 0);
    must_equal(vigil_group_submit(&group, &waiting->child.task, VIGIL_NORMAL), 0);
    gate_wait_entered(&waiting->child.gate, 1); /* another worker has it: the wait cannot run it */
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static int set_event(void *arg)
{
    event_set(arg);
    return 0;
}

static void a_place_given_up_for_a_wait_is_not_used_in_it_and_comes_back_after_it(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.no_spares = true;
    options.class_cap[VIGIL_LOW] = 1;
    vigil_pool *pool = pool_with(&options);
    struct waiting waiting = {.pool = pool};
    struct runner second = {0}, held = {0};
    struct event third = {0}, other = {0}, last = {0};
    vigil_task_init(&waiting.task, waiting_run, NULL);
    vigil_task_init(&waiting.child.task, runner_run, NULL);
    vigil_task_init(&second.task, runner_run, NULL);
    vigil_task_init(&held.task, runner_run, NULL);
    must_equal(vigil_pool_submit_to(pool, 0, &waiting.task, VIGIL_LOW), 0);
    gate_wait_entered(&waiting.child.gate, 1);
    const int free_worker = 3 - atomic_load_explicit(&waiting.child.on, memory_order_relaxed);
    must_equal(vigil_pool_submit_to(pool, (unsigned)free_worker, &second.task, VIGIL_LOW), 0);
    gate_wait_entered(&second.gate, 1); /* with the place of the one that waits */
    must_equal(vigil_pool_call(pool, set_event, NULL, &third, VIGIL_LOW), 0);
    must_equal(vigil_pool_call(pool, set_event, NULL, &other, VIGIL_NORMAL), 0);
    event_wait(&other); /* it ran in the wait: the others stand at gates */
    pool_wait_parked(pool, 1);
    must(!event_is_set(&third)); /* the class is full */
    gate_open(&second.gate);
    event_wait(&third);
    gate_open(&waiting.child.gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    /* The place was taken back and is free: any other worker can have it. */
    must_equal(vigil_pool_submit_to(pool, 0, &held.task, VIGIL_NORMAL), 0);
    gate_wait_entered(&held.gate, 1);
    must_equal(vigil_pool_call(pool, set_event, NULL, &last, VIGIL_LOW), 0);
    event_wait(&last);
    gate_open(&held.gate);
    pool_close(pool);
}

static void caps_on_all_classes_together_run_everything(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 4;
    for (unsigned p = 0; p < VIGIL_PRIORITIES; p++)
        options.class_cap[p] = 1 + p % 2;
    vigil_pool *pool = pool_with(&options);
    struct level levels[VIGIL_PRIORITIES] = {0};
    const uint64_t count = scaled(10000, 500);
    for (uint64_t i = 0; i < count; i++) {
        for (unsigned p = 0; p < VIGIL_PRIORITIES; p++)
            must_equal(vigil_pool_call(pool, level_run, NULL, &levels[p], (vigil_priority)p), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (unsigned p = 0; p < VIGIL_PRIORITIES; p++) {
        must_equal(levels[p].runs, count);
        must_be_between(levels[p].most, 1, 1 + p % 2);
    }
    pool_close(pool);
}

static void a_stop_reaches_tasks_that_wait_for_their_cap(void **state)
{
    (void)state;
    vigil_pool *pool = capped_pool(2, VIGIL_LOW, 1);
    struct gate gate = {0};
    for (int i = 0; i < 5; i++)
        must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_LOW), 0);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_pool_close(pool, 0), -ETIMEDOUT);
    gate_open(&gate);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.cancelled, 4);
    must_equal(pool_stats(pool).total.completed, 1);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static int count_end(void *arg)
{
    (void)atomic_fetch_add_explicit((_Atomic unsigned *)arg, 1, memory_order_relaxed);
    return 0;
}

/* A full class has nothing for a parked worker: neither a submit nor the end of a task that is followed by the next wakes one. */
static void a_class_at_its_cap_wakes_nobody(void **state)
{
    (void)state;
    enum {
        TASKS = 1000
    };
    struct gate gate = {0};
    _Atomic unsigned ended = 0;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 4;
    options.idle = VIGIL_IDLE_PARK;
    options.class_cap[VIGIL_LOW] = 1;
    vigil_pool *pool = pool_with(&options);
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_LOW), 0);
    gate_wait_entered(&gate, 1);
    pool_wait_parked(pool, 3);
    const uint64_t before = pool_stats(pool).wakes_sent;
    for (int i = 0; i < TASKS; i++) {
        must_equal(vigil_pool_call(pool, count_end, NULL, &ended, VIGIL_LOW), 0);
        pool_wait_parked(pool, 3);
    }
    const uint64_t submitted = pool_stats(pool).wakes_sent;
    must_equal(submitted - before, 0);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(ended, TASKS);
    must_be_between(pool_stats(pool).wakes_sent - submitted, 0, 4);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(no_more_workers_than_the_cap_run_a_class_at_a_time),
        test(the_cap_is_reached_when_there_is_work_for_it),
        test(a_full_class_leaves_the_other_workers_to_lower_classes_and_to_sleep),
        test(a_place_that_becomes_free_is_taken_without_another_submit),
        test(a_cap_of_one_orders_a_class_like_a_lock),
        test(a_named_workers_task_that_waited_for_its_cap_is_started_when_a_place_is_free),
        test(spawns_of_a_capped_class_stay_within_the_cap_and_end),
        test(a_task_that_waits_does_not_keep_its_place_from_what_others_wait_for),
        test(a_place_given_up_for_a_wait_is_not_used_in_it_and_comes_back_after_it),
        test(caps_on_all_classes_together_run_everything),
        test(a_stop_reaches_tasks_that_wait_for_their_cap),
        test(a_class_at_its_cap_wakes_nobody),
    };
    return run_all(tests);
}
