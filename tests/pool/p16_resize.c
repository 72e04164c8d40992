/* SPDX-License-Identifier: MIT */
/* P16: the number of workers changes while they run; nothing that was queued anywhere is lost. */
#include "support.h"

static int join_meeting(void *arg)
{
    (void)meeting_join(arg);
    return 0;
}

static void all_meet(vigil_pool *pool, unsigned workers)
{
    struct meeting meeting = {.size = workers};
    for (unsigned i = 0; i < workers; i++)
        must_equal(vigil_pool_call(pool, join_meeting, NULL, &meeting, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

static void wait_for_threads(vigil_pool *pool, unsigned threads)
{
    while (pool_stats(pool).threads != threads)
        yield();
}

static void p16_a_pool_grows_and_the_new_workers_work(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 3, 8, 64, 65, 200};
    vigil_pool *pool = pool_of(1);
    for (size_t i = 0; i < count_of(sizes); i++) {
        must_equal(vigil_pool_resize(pool, sizes[i]), 0);
        must_equal(vigil_pool_workers(pool), sizes[i]);
        must_equal(pool_stats(pool).workers, sizes[i]);
        all_meet(pool, sizes[i]);
    }
    pool_close(pool);
}

static void p16_a_pool_shrinks_and_the_highest_numbers_go(void **state)
{
    (void)state;
    static const unsigned sizes[] = {64, 33, 3, 1};
    vigil_pool *pool = pool_of(65);
    for (size_t i = 0; i < count_of(sizes); i++) {
        must_equal(vigil_pool_resize(pool, sizes[i]), 0);
        must_equal(vigil_pool_workers(pool), sizes[i]);
        wait_for_threads(pool, sizes[i]);
        all_meet(pool, sizes[i]);
        for (unsigned w = 0; w < sizes[i]; w++)
            must(pool_worker(pool, w).state < VIGIL_WORKER_STOPPING);
    }
    pool_close(pool);
}

static void p16_the_number_asked_for_must_make_sense(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_pool_resize(pool, 0), -EINVAL);
    must_equal(vigil_pool_resize(pool, VIGIL_MAX_WORKERS + 1), -EINVAL);
    must_equal(vigil_pool_resize(pool, 2), 0);
    must_equal(vigil_pool_workers(pool), 2);
    pool_close(pool);
}

static void p16_a_worker_that_shall_go_finishes_its_task_first(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    struct hold hold = {0};
    hold_workers(&hold, pool, 3);
    must_equal(vigil_pool_resize(pool, 1), 0); /* does not wait */
    must_equal(vigil_pool_workers(pool), 1);
    must_equal(pool_stats(pool).total.running, 3);
    hold_release(&hold);
    wait_for_threads(pool, 1);
    all_meet(pool, 1);
    pool_close(pool);
}

/* ---- what those that go leave behind ---------------------------------------------------------------------------- */

struct child {
    vigil_task task;
    _Atomic unsigned *runs;
};

static int child_run(vigil_task *task)
{
    (void)atomic_fetch_add_explicit(container_of(task, struct child, task)->runs, 1, memory_order_relaxed);
    return 0;
}

struct heir {
    vigil_group group;
    struct child children[200];
    _Atomic unsigned runs;
    struct gate gate;
};

static int bequeath(void *arg)
{
    struct heir *heir = arg;
    for (size_t i = 0; i < count_of(heir->children) / 2; i++) {
        size_t mine = i + (vigil_pool_current_worker() == 0 ? 0 : count_of(heir->children) / 2);
        vigil_task_init(&heir->children[mine].task, child_run, NULL);
        heir->children[mine].runs = &heir->runs;
        must_equal(vigil_group_spawn(&heir->group, &heir->children[mine].task), 0);
    }
    gate_pass(&heir->gate); /* both workers have spawned, and neither runs its children */
    return 0;
}

static void p16_the_queues_of_a_worker_that_goes_are_handed_to_the_others(void **state)
{
    (void)state;
    for (int stealing = 0; stealing < 2; stealing++) {
        for (uint64_t round = scaled(100, 5); round > 0; round--) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = 2;
            options.no_stealing = stealing == 0; /* then nobody could come and take them */
            vigil_pool *pool = pool_with(&options);
            struct heir *heir = calloc(1, sizeof *heir);
            must(heir != NULL);
            must_equal(vigil_group_init(&heir->group, pool, VIGIL_GROUP_DETACHED), 0);
            must_equal(vigil_pool_call(pool, bequeath, NULL, heir, VIGIL_NORMAL), 0);
            must_equal(vigil_pool_call(pool, bequeath, NULL, heir, VIGIL_NORMAL), 0);
            gate_wait_entered(&heir->gate, 2);
            struct child mail[10];
            for (size_t i = 0; i < count_of(mail); i++) {
                vigil_task_init(&mail[i].task, child_run, NULL);
                mail[i].runs = &heir->runs;
                must_equal(vigil_pool_submit_to(pool, 1, &mail[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
            }
            must_equal(vigil_pool_resize(pool, 1), 0);
            struct child refused = {.runs = &heir->runs};
            vigil_task_init(&refused.task, child_run, NULL);
            must_equal(vigil_pool_submit_to(pool, 1, &refused.task, VIGIL_NORMAL), -ENOENT);
            gate_open(&heir->gate);
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            must_equal(heir->runs, count_of(heir->children) + count_of(mail));
            must_equal(vigil_group_wait(&heir->group), 0);
            wait_for_threads(pool, 1);
            pool_close(pool);
            free(heir);
        }
    }
}

/* A spawn has no time of its own; one that is moved to the shared queue waits there from then on. */
struct mover {
    vigil_pool *pool;
    vigil_group group;
    vigil_task task, spawned;
    struct gate gate;
};

static int do_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static int spawn_and_go(vigil_task *task)
{
    struct mover *mover = container_of(task, struct mover, task);
    gate_pass(&mover->gate);
    must_equal(vigil_group_spawn(&mover->group, &mover->spawned), 0);
    return 0;
}

static void p16_what_is_handed_over_is_as_old_as_that(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.no_stealing = true;
    vigil_pool *pool = pool_with(&options);
    struct mover mover = {.pool = pool};
    vigil_task_init(&mover.spawned, do_nothing, NULL);
    must_equal(vigil_pool_submit(pool, &mover.spawned, VIGIL_NORMAL), 0); /* it has had a time before */
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    observe_for_ms(50);
    must_equal(vigil_group_init(&mover.group, pool, VIGIL_GROUP_DETACHED), 0);
    vigil_task_init(&mover.task, spawn_and_go, NULL);
    const uint64_t before = now_ns();
    must_equal(vigil_pool_submit_to(pool, 1, &mover.task, VIGIL_NORMAL), 0);
    gate_wait_entered(&mover.gate, 1);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(vigil_pool_resize(pool, 1), 0);
    gate_open(&mover.gate);
    while (pool_worker(pool, 1).state != VIGIL_WORKER_STOPPED)
        yield();
    const vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.queued, 1);
    must(stats.total.oldest_age_ns <= now_ns() - before);
    hold_release(&hold);
    must_equal(vigil_group_wait(&mover.group), 0);
    pool_close(pool);
}

/* ---- under load ------------------------------------------------------------------------------------------------- */

struct load {
    vigil_pool *pool;
    _Atomic bool stop;
    _Atomic uint64_t runs;
    uint64_t accepted;
};

struct leaf {
    vigil_task task;
    struct load *load;
};

static int leaf_run(vigil_task *task)
{
    struct leaf *leaf = container_of(task, struct leaf, task);
    (void)atomic_fetch_add_explicit(&leaf->load->runs, 1, memory_order_relaxed);
    return 0;
}

static int fork_join(void *arg)
{
    struct load *load = arg;
    struct leaf leaves[8];
    vigil_group group;
    must_equal(vigil_group_init(&group, load->pool, 0), 0);
    for (int i = 0; i < 8; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        leaves[i].load = load;
        must_equal(vigil_group_spawn(&group, &leaves[i].task), 0);
    }
    must_equal(vigil_group_wait(&group), 0);
    (void)atomic_fetch_add_explicit(&load->runs, 1, memory_order_relaxed);
    return 0;
}

static void *load_body(void *arg)
{
    struct load *load = arg;
    while (!atomic_load_explicit(&load->stop, memory_order_relaxed)) {
        must_equal(
            vigil_pool_call(load->pool, fork_join, NULL, load, (vigil_priority)(load->accepted % VIGIL_PRIORITIES)), 0);
        load->accepted++;
        if (load->accepted % 512 == 0)
            must_equal(vigil_pool_wait_idle(load->pool, VIGIL_FOREVER), 0); /* keep the backlog small */
    }
    return NULL;
}

static void p16_growing_and_shrinking_under_load_loses_nothing(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(3);
    struct load loads[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        loads[i] = (struct load){.pool = pool};
        threads[i] = start_thread(load_body, &loads[i]);
    }
    uint32_t random = 7;
    for (uint64_t round = scaled(400, 15); round > 0; round--) {
        random = random * 1664525U + 1013904223U;
        unsigned workers = 1 + (random >> 16) % 12;
        must_equal(vigil_pool_resize(pool, workers), 0);
        must_equal(vigil_pool_workers(pool), workers);
        if (round % 16 == 0)
            wait_for_threads(pool, workers);
        (void)pool_stats(pool); /* adds up, whatever happens */
    }
    uint64_t accepted = 0;
    uint64_t runs = 0;
    for (int i = 0; i < 3; i++) {
        atomic_store_explicit(&loads[i].stop, true, memory_order_relaxed);
        join_thread(threads[i]);
        accepted += loads[i].accepted;
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < 3; i++)
        runs += loads[i].runs;
    must_equal(runs, accepted * 9);
    must_equal(pool_stats(pool).total.completed, accepted * 9);
    pool_close(pool);
}

struct resizer {
    vigil_pool *pool;
    uint32_t seed;
};

static void *resize_body(void *arg)
{
    struct resizer *resizer = arg;
    for (uint64_t round = scaled(200, 10); round > 0; round--) {
        resizer->seed = resizer->seed * 1664525U + 1013904223U;
        must_equal(vigil_pool_resize(resizer->pool, 1 + (resizer->seed >> 16) % 8), 0);
    }
    return NULL;
}

static void p16_several_threads_may_resize_at_once(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct resizer resizers[4];
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        resizers[i] = (struct resizer){.pool = pool, .seed = i};
        threads[i] = start_thread(resize_body, &resizers[i]);
    }
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    must_equal(vigil_pool_resize(pool, 5), 0);
    all_meet(pool, 5);
    wait_for_threads(pool, 5);
    pool_close(pool);
}

static void on_start(void *user, unsigned worker)
{
    (void)worker;
    (void)atomic_fetch_add_explicit(&((_Atomic uint64_t *)user)[0], 1, memory_order_relaxed);
}

static void on_stop(void *user, unsigned worker)
{
    (void)worker;
    (void)atomic_fetch_add_explicit(&((_Atomic uint64_t *)user)[1], 1, memory_order_relaxed);
}

static void p16_every_worker_that_starts_also_stops(void **state)
{
    (void)state;
    _Atomic uint64_t calls[2] = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 4;
    options.on_worker_start = on_start;
    options.on_worker_stop = on_stop;
    options.user = (void *)calls;
    vigil_pool *pool = pool_with(&options);
    must_equal(vigil_pool_resize(pool, 2), 0);
    wait_for_threads(pool, 2);
    must_equal(vigil_pool_resize(pool, 6), 0);
    all_meet(pool, 6);
    pool_close(pool);
    must_equal(calls[0], 8);
    must_equal(calls[1], 8);
}

static int resize_inside(void *arg)
{
    must_equal(vigil_pool_resize(arg, 1), 0);
    must_equal(vigil_pool_resize(arg, 4), 0);
    return 0;
}

static void p16_a_task_may_resize_its_own_pool(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    for (int i = 0; i < 50; i++)
        must_equal(vigil_pool_call(pool, resize_inside, NULL, pool, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_workers(pool), 4);
    all_meet(pool, 4);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p16_a_pool_grows_and_the_new_workers_work),
        test(p16_a_pool_shrinks_and_the_highest_numbers_go),
        test(p16_the_number_asked_for_must_make_sense),
        test(p16_a_worker_that_shall_go_finishes_its_task_first),
        test(p16_the_queues_of_a_worker_that_goes_are_handed_to_the_others),
        test(p16_what_is_handed_over_is_as_old_as_that),
        test(p16_growing_and_shrinking_under_load_loses_nothing),
        test(p16_several_threads_may_resize_at_once),
        test(p16_every_worker_that_starts_also_stops),
        test(p16_a_task_may_resize_its_own_pool),
    };
    return run_all(tests);
}
