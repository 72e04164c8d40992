/* SPDX-License-Identifier: MIT */
/*
 * Workers that come and go: blocking sections with spares, resize, tasks for one worker.
 */
#include "pool_common.h"

static int block_at_gate(counted *self)
{
    gate *g = &gates[number_of(self) + 1];
    vgc_assert(vigil_blocking_begin() == 0, "inside a task");
    gate_wait(g);
    vgc_assert(vigil_blocking_end() == 0, "inside a task");
    return 0;
}

/* One worker, and it is blocked until the second task has run: only a spare can do that. */
static void blocked_worker_is_replaced(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    pool_make_with(&options);
    counted_make(0)->body = block_at_gate;
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    finish();
}

/* Twice, so that the spare goes dormant in between and is used again. */
static void spare_is_used_again(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    pool_make_with(&options);
    for (int i = 0; i < 4; i += 2) {
        counted_make(i)->body = block_at_gate;
        counted_make(i + 1)->opens = &gates[i + 1];
        submit_made(i, VIGIL_NORMAL);
        submit_made(i + 1, VIGIL_NORMAL);
    }
    finish();
}

/* The system gives no thread for the spare: the task waits for its worker, and is not lost. */
static void spare_cannot_be_made(void)
{
    vigil_pool_options options = options_of(the_setup());
    options.max_spares = 1;
    if (vigil_pool_create(&pool, &options) != 0)
        return;
    counted_make(0)->body = block_at_gate;
    (void)counted_make(1);
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    gate_open(&gates[1]);
    finish();
}

static void grow_against_submit(void)
{
    pool_make();
    counted_make(0)->waits_for = &gates[1];
    counted_make(1)->opens = &gates[1];
    submit_made(0, VIGIL_NORMAL);
    submit_made(1, VIGIL_NORMAL);
    vgc_assert(vigil_pool_resize(pool, 2) == 0, "the pool grows"); /* without this the two would wait for ever */
    finish();
}

static void *submit_one(void *arg)
{
    submit((int)(intptr_t)arg);
    return NULL;
}

static void shrink_against_submit(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_one, (void *)(intptr_t)1);
    submit(0);
    vgc_assert(vigil_pool_resize(pool, 1) == 0, "the pool shrinks");
    (void)finish_with(&other);
    if (the_setup()->end == AT_REST) {
        vigil_pool_stats stats = {.size = sizeof stats};
        vgc_assert(vigil_pool_stats_get(pool, &stats) == 0 && stats.threads == 1, "the other worker has gone");
    }
}

static void shrink_and_grow(void)
{
    pool_make();
    submit(0);
    vgc_assert(vigil_pool_resize(pool, 1) == 0, "the pool shrinks");
    vgc_assert(vigil_pool_resize(pool, 2) == 0, "the pool grows");
    counted_make(1)->waits_for = &gates[2];
    counted_make(2)->opens = &gates[2];
    submit_made(1, VIGIL_NORMAL);
    submit_made(2, VIGIL_NORMAL);
    finish();
}

static void mail(int number, unsigned worker)
{
    int error = vigil_pool_submit_to(pool, worker, &counted_make(number)->task, VIGIL_NORMAL);
    vgc_assert(error == 0 || error == -ENOENT || error == -ESHUTDOWN, "mail is taken or refused");
    atomic_store_explicit(&tasks[number].refused, error != 0, memory_order_relaxed);
}

static int must_be_worker_one(counted *self)
{
    (void)self;
    vgc_assert(vigil_pool_current_worker() == 1, "a task for one worker runs there");
    return 0;
}

static void mail_against_park(void)
{
    pool_make();
    counted *one = counted_make(0);
    one->body = must_be_worker_one;
    int error = vigil_pool_submit_to(pool, 1, &one->task, VIGIL_NORMAL);
    vgc_assert(error == 0, "the worker exists");
    submit(1);
    finish();
}

static void *shrink(void *arg)
{
    (void)arg;
    int error = vigil_pool_resize(pool, 1);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "the pool shrinks unless it stops");
    return NULL;
}

/* The mail reaches the worker, or is refused, or goes to the others with the worker's queue. */
static void mail_against_shrink(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(shrink, NULL);
    mail(0, 1);
    (void)finish_with(&other);
}

/* Another thread writes the mail while the pool stops: whoever stops it throws away what it has not written itself. */
static void *mail_worker_zero(void *arg)
{
    (void)arg;
    mail(0, 0);
    mail(1, 0);
    return NULL;
}

static void mail_against_stop(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(mail_worker_zero, NULL);
    (void)finish_with(&other);
}

#define COMPENSATED "work that is queued beside a blocked worker is run by a spare"

SCENARIOS(blocking_one, blocked_worker_is_replaced, COMPENSATED, "1 worker, 1 spare, 2 dependent tasks", 1);
SCENARIOS(blocking_two, blocked_worker_is_replaced, COMPENSATED, "2 workers, 1 spare, 2 dependent tasks", 2);
SCENARIOS(blocking_again, spare_is_used_again, COMPENSATED, "1 worker, 1 spare, 4 tasks, two pairs", 1);
SCENARIO(blocking_no_thread, spare_cannot_be_made, "a task is not lost because no spare could be made",
         "1 worker, 1 spare, 2 tasks; threads may fail", 1, VIGIL_FENCE_SYMMETRIC, AUDIT, BY_CHANCE,
         .opt.fail_thread = 2);

/* A thread that knows nothing of the new worker wakes it, and the old one steals from it. */
static int spawn_another(counted *self)
{
    const int child = number_of(self) + 2;
    (void)counted_make(child);
    vigil_group group;
    vgc_assert(vigil_group_init(&group, pool, 0) == 0 && vigil_group_spawn(&group, &tasks[child].task) == 0,
               "a spawn is taken");
    (void)vigil_group_wait(&group); /* a stop may have cancelled it */
    return 0;
}

static void *submit_two_spawners(void *arg)
{
    (void)arg;
    for (int i = 0; i < 2; i++) {
        counted_make(i)->body = spawn_another;
        submit_made(i, VIGIL_NORMAL);
    }
    return NULL;
}

static void grow_behind_submitter(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_two_spawners, NULL);
    vgc_assert(vigil_pool_resize(pool, 2) == 0, "the pool grows");
    (void)finish_with(&other);
}

/* The same with mail: the new worker touches nothing that the old one looks at before it shows that it has spawned. */
static void *submit_zero(void *arg)
{
    (void)arg;
    submit(0);
    return NULL;
}

static void grow_behind_searcher(void)
{
    pool_make();
    pthread_t other = vgc_thread_start(submit_zero, NULL);
    vgc_assert(vigil_pool_resize(pool, 2) == 0, "the pool grows");
    counted_make(1)->body = spawn_another;
    vgc_assert(vigil_pool_submit_to(pool, 1, &tasks[1].task, VIGIL_NORMAL) == 0, "the worker exists");
    (void)finish_with(&other);
}

#define RESIZED "a pool that changes its size loses no task and no wake-up"

SCENARIOS(resize_grow, grow_against_submit, RESIZED, "1 to 2 workers, 2 dependent tasks", 1);
SCENARIOS(resize_unknown, grow_behind_submitter, RESIZED, "1 to 2 workers, a submitter, 2 tasks that spawn", 1);
SCENARIO(resize_unknown_mail, grow_behind_searcher, RESIZED,
         "1 to 2 workers, 1 task, 1 mail that spawns; at rest; membarrier", 1, VIGIL_FENCE_MEMBARRIER, AT_REST,
         BY_CHANCE_LONG);
SCENARIOS(resize_shrink, shrink_against_submit, RESIZED, "2 to 1 worker, 2 submitters", 2);
SCENARIOS(resize_both, shrink_and_grow, RESIZED, "2 to 1 to 2 workers, 3 tasks", 2);

#define MAILED "a task for one worker is run by it, and wakes it"

WATCHED(resize_shrink, shrink_against_submit, RESIZED, "2 to 1 worker, 2 submitters", 2);
WATCHED(blocking_two, blocked_worker_is_replaced, COMPENSATED, "2 workers, 1 spare, 2 dependent tasks", 2);
SCENARIOS(mail_park, mail_against_park, MAILED, "2 workers, 1 mail, 1 submit", 2);
SCENARIOS(mail_shrink, mail_against_shrink, "mail to a worker that leaves goes to the others", "2 to 1 worker, 1 mail",
          2);
SCENARIOS(mail_other, mail_against_stop, "mail of another thread is run, thrown away whole, or refused",
          "1 worker, 2 mails of another thread", 1);
