/* SPDX-License-Identifier: MIT */
/* P8: what a worker has spawned and cannot get to is taken by the others, oldest first; it can be switched off. */
#include "support.h"

#include "pool/idle.h"
#include "pool/pool_struct.h"

enum {
    CHILDREN = 200
};

struct child {
    vigil_task task;
    struct family *family;
    unsigned number;
    int ran_on;
    unsigned turn;
};

struct family {
    vigil_pool *pool;
    vigil_group group;
    struct child children[CHILDREN];
    _Atomic unsigned turns;
    struct tally ran;
    int parent;
    bool parent_waits_for_all; /* without helping: the others have to take everything */
};

static int child_run(vigil_task *task)
{
    struct child *child = container_of(task, struct child, task);
    struct family *family = child->family;
    child->ran_on = vigil_pool_current_worker();
    child->turn = atomic_fetch_add_explicit(&family->turns, 1, memory_order_relaxed);
    tally_add(&family->ran, 1);
    return 0;
}

static int parent_run(void *arg)
{
    struct family *family = arg;
    family->parent = vigil_pool_current_worker();
    for (unsigned i = 0; i < CHILDREN; i++) {
        struct child *child = &family->children[i];
        vigil_task_init(&child->task, child_run, NULL);
        child->family = family;
        child->number = i;
        must_equal(vigil_group_spawn(&family->group, &child->task), 0);
    }
    if (family->parent_waits_for_all)
        tally_wait(&family->ran, CHILDREN);
    else
        must_equal(tally_get(&family->ran), 0);
    return 0;
}

static struct family *family_run(vigil_pool *pool, bool parent_waits_for_all)
{
    struct family *family = calloc(1, sizeof *family);
    must(family != NULL);
    family->pool = pool;
    family->parent_waits_for_all = parent_waits_for_all;
    must_equal(vigil_group_init(&family->group, pool, VIGIL_GROUP_DETACHED), 0);
    must_equal(vigil_pool_call(pool, parent_run, NULL, family, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_group_wait(&family->group), 0);
    must_equal(tally_get(&family->ran), CHILDREN);
    return family;
}

static void p08_the_queue_of_a_worker_that_is_stuck_in_a_task_is_drained_by_the_others(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 3, 16};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        for (uint64_t round = scaled(100, 5); round > 0; round--) {
            struct family *family = family_run(pool, true);
            for (unsigned i = 0; i < CHILDREN; i++)
                must(family->children[i].ran_on != family->parent);
            free(family);
        }
        vigil_pool_stats stats = pool_stats(pool);
        must(stats.steals_won > 0);
        must(stats.steals_tried >= stats.steals_won + stats.steals_lost);
        pool_close(pool);
    }
}

static void p08_a_thief_takes_the_oldest_first(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct family *family = family_run(pool, true);
    /* One thief and a stuck owner: all were stolen, one after another, in the order in which they were spawned. */
    for (unsigned i = 0; i < CHILDREN; i++)
        must_equal(family->children[i].turn, i);
    free(family);
    pool_close(pool);
}

static void p08_without_stealing_everybody_runs_their_own(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 4;
    options.no_stealing = true;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        struct family *family = family_run(pool, false);
        for (unsigned i = 0; i < CHILDREN; i++) {
            must_equal(family->children[i].ran_on, family->parent);
            must_equal(family->children[i].turn, CHILDREN - 1 - i);
        }
        free(family);
    }
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.steals_tried, 0);
    must_equal(stats.steals_won, 0);
    pool_close(pool);
}

static void p08_without_stealing_submitted_work_still_reaches_every_worker(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 4;
    options.no_stealing = true;
    vigil_pool *pool = pool_with(&options);
    struct hold hold = {0};
    hold_workers(&hold, pool, 4); /* returns only when all four sit in a task */
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_close(pool);
}

/* The oldest go first also over classes: the highest queued class is stolen before a lower one of the same victim. */
struct two_classes {
    vigil_pool *pool;
    vigil_group group;
    struct child low[8];
    struct child high[8];
    struct family family; /* turns and counting */
};

static int spawn_row(struct two_classes *both, struct child *row)
{
    for (unsigned i = 0; i < 8; i++) {
        vigil_task_init(&row[i].task, child_run, NULL);
        row[i].family = &both->family;
        must_equal(vigil_group_spawn(&both->group, &row[i].task), 0);
    }
    return 0;
}

static int high_parent(void *arg)
{
    struct two_classes *both = arg;
    (void)spawn_row(both, both->high);
    tally_wait(&both->family.ran, 16);
    return 0;
}

static int low_parent(void *arg)
{
    struct two_classes *both = arg;
    (void)spawn_row(both, both->low);
    vigil_job job;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = VIGIL_HIGH;
    /* Waiting runs it here, on top of this task: one worker with spawns of two classes. */
    must_equal(vigil_job_call(both->pool, high_parent, both, &options, &job), 0);
    must_equal(vigil_job_wait(both->pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(both->pool, job), 0);
    return 0;
}

static void p08_a_thief_takes_the_highest_class_first(void **state)
{
    (void)state;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 2;
        options.no_spares = true;
        options.strict_classes = true;
        vigil_pool *pool = pool_with(&options);
        struct two_classes *both = calloc(1, sizeof *both);
        must(both != NULL);
        both->pool = pool;
        must_equal(vigil_group_init(&both->group, pool, VIGIL_GROUP_DETACHED), 0);
        struct hold hold = {0};
        hold_workers(&hold, pool, 1); /* the thief-to-be; let go when the victim is full */
        must_equal(vigil_pool_call(pool, low_parent, NULL, both, VIGIL_LOW), 0);
        while (pool_stats(pool).by_class[VIGIL_HIGH].queued != 8)
            yield();
        hold_release(&hold);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(vigil_group_wait(&both->group), 0);
        for (unsigned i = 0; i < 8; i++) {
            must_equal(both->high[i].turn, i);
            must_equal(both->low[i].turn, 8 + i);
        }
        free(both);
        pool_close(pool);
    }
}

static void p08_counters_of_thieves_agree_with_who_ran_what(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(4);
    uint64_t stolen = 0;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        struct family *family = family_run(pool, true);
        stolen += CHILDREN; /* the parent sat in its task: each child was stolen once */
        free(family);
    }
    uint64_t won = 0;
    uint64_t spawned = 0;
    for (unsigned w = 0; w < 4; w++) {
        vigil_worker_stats worker = pool_worker(pool, w);
        won += worker.steals_won;
        spawned += worker.spawned;
        must(worker.steals_tried >= worker.steals_won + worker.steals_lost);
    }
    must_equal(spawned, stolen);
    must_equal(won, pool_stats(pool).steals_won);
    must_equal(won, stolen);
    pool_close(pool);
}

/* ---- a bitmap of several words ----------------------------------------------------------------------------------- */

struct spawner {
    vigil_pool *pool;
    vigil_task task, child;
    struct gate before, after; /* it spawns between them */
};

static int spawner_child(vigil_task *task)
{
    (void)task;
    return 0;
}

static int spawner_run(vigil_task *task)
{
    struct spawner *spawner = container_of(task, struct spawner, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, spawner->pool, 0), 0);
    gate_pass(&spawner->before);
    must_equal(vigil_group_spawn(&group, &spawner->child), 0);
    gate_pass(&spawner->after);
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

/* Whoever goes to sleep looks at the queues of those that ever spawned: a bit for each worker. */
static void p08_what_a_worker_beyond_the_first_word_has_spawned_is_seen(void **state)
{
    (void)state;
    enum {
        WORKERS = VG_SEAT_BITS + 2
    };
    vigil_pool *pool = pool_of(WORKERS);
    struct hold hold = {0};
    struct spawner spawner = {.pool = pool};
    vigil_task_init(&spawner.task, spawner_run, NULL);
    vigil_task_init(&spawner.child, spawner_child, NULL);
    must_equal(vigil_pool_submit_to(pool, WORKERS - 1, &spawner.task, VIGIL_NORMAL), 0);
    gate_wait_entered(&spawner.before, 1);
    hold_workers(&hold, pool, WORKERS - 1); /* nobody can steal */
    must(!vg_work_visible(pool, 1U << VIGIL_NORMAL));
    gate_open(&spawner.before);
    gate_wait_entered(&spawner.after, 1);
    must(vg_work_visible(pool, 1U << VIGIL_NORMAL));
    gate_open(&spawner.after);
    hold_release(&hold);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p08_the_queue_of_a_worker_that_is_stuck_in_a_task_is_drained_by_the_others),
        test(p08_a_thief_takes_the_oldest_first),
        test(p08_without_stealing_everybody_runs_their_own),
        test(p08_without_stealing_submitted_work_still_reaches_every_worker),
        test(p08_a_thief_takes_the_highest_class_first),
        test(p08_counters_of_thieves_agree_with_who_ran_what),
        test(p08_what_a_worker_beyond_the_first_word_has_spawned_is_seen),
    };
    return run_all(tests);
}
