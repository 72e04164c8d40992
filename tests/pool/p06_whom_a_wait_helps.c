/* SPDX-License-Identifier: MIT */
/* P6: a wait inside a task helps, and helps its own descendants before anybody else's. */
#include "child.h"

#include "pool/pool_struct.h"

static void own_body(vigil_pool *pool, void *arg)
{
    struct child *foreign = arg;
    struct child own[20];
    vigil_group group;
    must_equal(vigil_pool_submit(pool, &foreign->task, VIGIL_CRITICAL), 0);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    for (int i = 0; i < 20; i++) {
        child_init(&own[i]);
        must_equal(vigil_group_spawn(&group, &own[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    for (int i = 0; i < 20; i++)
        must_equal(own[i].runs, 1);
    must_equal(foreign->runs, 0); /* one worker, and it is us: nothing foreign may have run in the wait */
}

static void p06_a_wait_runs_its_own_spawns_and_nothing_foreign(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct child foreign;
    child_init(&foreign);
    run_inside(pool, own_body, &foreign);
    must_equal(foreign.runs, 1);
    pool_close(pool);
}

struct stolen {
    struct child child;
    struct child foreign;
    struct gate gate;
    unsigned flags;
    int waiter;
    bool foreign_done_in_wait;
};

static void stolen_body(vigil_pool *pool, void *arg)
{
    struct stolen *stolen = arg;
    vigil_group group;
    stolen->waiter = vigil_pool_current_worker();
    must_equal(vigil_group_init(&group, pool, stolen->flags), 0);
    must_equal(vigil_group_spawn(&group, &stolen->child.task), 0);
    gate_wait_entered(&stolen->gate, 1); /* the other worker has stolen it and sits in it */
    must_equal(vigil_pool_submit(pool, &stolen->foreign.task, VIGIL_CRITICAL), 0);
    must_equal(vigil_group_wait(&group), 0);
    stolen->foreign_done_in_wait = atomic_load_explicit(&stolen->foreign.runs, memory_order_relaxed) != 0;
}

struct opener {
    vigil_pool *pool;
    struct gate *gate;
};

static void *open_when_blocked(void *arg)
{
    /* Event, not time: the waiting worker is counted as blocked, so it has found nothing that it may help with. */
    struct opener *both = arg;
    while (pool_stats(both->pool).blocked == 0)
        yield();
    gate_open(both->gate);
    return NULL;
}

static void p06_a_wait_for_a_stolen_child_runs_no_foreign_task(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (uint64_t round = scaled(200, 10); round > 0; round--) {
        struct stolen stolen = {0};
        child_init(&stolen.child);
        child_init(&stolen.foreign);
        stolen.child.gate = &stolen.gate;
        struct opener both = {.pool = pool, .gate = &stolen.gate};
        pthread_t opener = start_thread(open_when_blocked, &both);
        run_inside(pool, stolen_body, &stolen);
        join_thread(opener);
        must(stolen.child.ran_on != stolen.waiter);
        must_equal(stolen.foreign.runs, 1);
        /* If it ran before the wait was over, then on the thief or on a spare. */
        if (stolen.foreign_done_in_wait)
            must(stolen.foreign.ran_on != stolen.waiter);
    }
    pool_close(pool);
}

static void p06_where_no_spare_can_be_had_a_wait_that_cannot_help_runs_any_task(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(2);
    for (uint64_t round = scaled(1000, 20); round > 0; round--) {
        struct stolen stolen = {0};
        struct event ran = {0};
        child_init(&stolen.child);
        child_init(&stolen.foreign);
        stolen.child.gate = &stolen.gate;
        stolen.child.require = &ran; /* the stolen child waits for the foreign task: the waiter must not just sleep */
        stolen.foreign.finish = &ran;
        gate_open(&stolen.gate);
        run_inside(pool, stolen_body, &stolen);
        must_equal(stolen.foreign.ran_on, stolen.waiter);
    }
    pool_close(pool);
}

static void p06_a_wait_with_help_any_runs_a_foreign_task(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(2);
    for (uint64_t round = scaled(2000, 20); round > 0; round--) {
        struct stolen stolen = {.flags = VIGIL_GROUP_HELP_ANY};
        struct event ran = {0};
        child_init(&stolen.child);
        child_init(&stolen.foreign);
        stolen.child.gate = &stolen.gate;
        stolen.child.require = &ran; /* the stolen child waits for the foreign task: only the waiter can run it */
        stolen.foreign.finish = &ran;
        gate_open(&stolen.gate);
        run_inside(pool, stolen_body, &stolen);
        must(stolen.foreign_done_in_wait);
        must_equal(stolen.foreign.ran_on, stolen.waiter);
    }
    pool_close(pool);
}

static void p06_a_spare_runs_the_foreign_task_while_the_wait_cannot_help(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.max_spares = 1;
    vigil_pool *pool = pool_with(&options);
    for (uint64_t round = scaled(500, 10); round > 0; round--) {
        struct stolen stolen = {0};
        struct event ran = {0};
        child_init(&stolen.child);
        child_init(&stolen.foreign);
        stolen.child.gate = &stolen.gate;
        stolen.child.require = &ran;
        stolen.foreign.finish = &ran;
        gate_open(&stolen.gate);
        run_inside(pool, stolen_body, &stolen);
        must(stolen.foreign_done_in_wait);
        must(stolen.foreign.ran_on != stolen.waiter && stolen.foreign.ran_on != stolen.child.ran_on);
    }
    must(pool_stats(pool).spares_started > 0);
    pool_close(pool);
}

/* The thief of our child spawns from it and then waits, without helping: we are the only one who can run that. */
struct grand {
    vigil_task task;
    vigil_pool *pool;
    struct gate gate;
    struct child grandchild;
    int waiter;
};

static int grand_child_run(vigil_task *task)
{
    struct grand *grand = container_of(task, struct grand, task);
    struct event ran = {0};
    vigil_group group;
    gate_pass(&grand->gate);
    child_init(&grand->grandchild);
    grand->grandchild.finish = &ran;
    must_equal(vigil_group_init(&group, grand->pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &grand->grandchild.task), 0);
    event_wait(&ran);
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static void grand_body(vigil_pool *pool, void *arg)
{
    struct grand *grand = arg;
    vigil_group group;
    grand->waiter = vigil_pool_current_worker();
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &grand->task), 0);
    gate_wait_entered(&grand->gate, 1);
    gate_open(&grand->gate);
    must_equal(vigil_group_wait(&group), 0);
}

static void p06_a_wait_helps_the_thief_of_its_child_with_what_it_spawned(void **state)
{
    (void)state;
    vigil_pool *pool = pool_without_spares(2);
    for (uint64_t round = scaled(2000, 20); round > 0; round--) {
        struct grand grand = {.pool = pool};
        vigil_task_init(&grand.task, grand_child_run, NULL);
        run_inside(pool, grand_body, &grand);
        must_equal(grand.grandchild.runs, 1);
        must_equal(grand.grandchild.ran_on, grand.waiter);
    }
    pool_close(pool);
}

static void limit_body(vigil_pool *pool, void *arg)
{
    struct stolen *stolen = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, pool, 0), 0);
    must_equal(vigil_group_spawn(&group, &stolen->child.task), 0);
    gate_wait_entered(&stolen->gate, 1);
    must_equal(vigil_group_wait_for(&group, 1000000), -ETIMEDOUT);
    gate_open(&stolen->gate);
    must_equal(vigil_group_wait_for(&group, VIGIL_FOREVER), 0);
}

static void p06_a_wait_with_a_limit_ends_inside_a_task_too(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    struct stolen stolen = {0};
    child_init(&stolen.child);
    stolen.child.gate = &stolen.gate;
    run_inside(pool, limit_body, &stolen);
    must_equal(stolen.child.runs, 1);
    pool_close(pool);
}

/* A job stands for each task that a task submits to a group. A wait outside runs none of them, and gives them back. */

static struct child submitted[20];

static void submit_body(vigil_pool *pool, void *arg)
{
    (void)pool;
    for (size_t i = 0; i < count_of(submitted); i++) {
        child_init(&submitted[i]);
        must_equal(vigil_group_submit(arg, &submitted[i].task, VIGIL_NORMAL), 0);
    }
}

static void p06_a_wait_outside_keeps_nothing_of_what_tasks_submitted(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    for (int round = 0; round < 100; round++) {
        vigil_group group;
        must_equal(vigil_group_init(&group, pool, 0), 0);
        run_inside(pool, submit_body, &group);
        must_equal(vigil_group_wait(&group), 0);
        for (size_t i = 0; i < count_of(submitted); i++)
            must_equal(submitted[i].runs, 1);
    }
    must(atomic_load_explicit(&pool->jobs.used, memory_order_relaxed) < 10 * count_of(submitted));
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p06_a_wait_runs_its_own_spawns_and_nothing_foreign),
        test(p06_a_wait_for_a_stolen_child_runs_no_foreign_task),
        test(p06_where_no_spare_can_be_had_a_wait_that_cannot_help_runs_any_task),
        test(p06_a_wait_with_help_any_runs_a_foreign_task),
        test(p06_a_spare_runs_the_foreign_task_while_the_wait_cannot_help),
        test(p06_a_wait_helps_the_thief_of_its_child_with_what_it_spawned),
        test(p06_a_wait_with_a_limit_ends_inside_a_task_too),
        test(p06_a_wait_outside_keeps_nothing_of_what_tasks_submitted),
    };
    return run_all(tests);
}
