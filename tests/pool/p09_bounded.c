/* SPDX-License-Identifier: MIT */
/* P9: a bound on what waits. Full gives a clear error or blocks, by option, and the sums still agree. */
#include "support.h"

#include "pool/pool_struct.h"

#include <sys/resource.h>

enum {
    BOUND = 4
};

static vigil_pool *bounded_pool(unsigned workers, size_t bound, vigil_full_policy when_full)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.max_queue = bound;
    options.when_full = when_full;
    return pool_with(&options);
}

struct item {
    vigil_task task;
    _Atomic unsigned *runs;
};

static int item_run(vigil_task *task)
{
    (void)atomic_fetch_add_explicit(container_of(task, struct item, task)->runs, 1, memory_order_relaxed);
    return 0;
}

static void items_init(struct item *items, size_t count, _Atomic unsigned *runs)
{
    for (size_t i = 0; i < count; i++) {
        vigil_task_init(&items[i].task, item_run, NULL);
        items[i].runs = runs;
    }
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void p09_a_full_queue_refuses_with_eagain_and_counts_it(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, BOUND, VIGIL_FULL_REFUSE);
    _Atomic unsigned runs = 0;
    struct item items[BOUND + 1];
    items_init(items, count_of(items), &runs);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (int i = 0; i < BOUND; i++)
        must_equal(vigil_pool_submit(pool, &items[i].task, (vigil_priority)i), 0); /* one bound over all classes */
    must_equal(vigil_pool_submit(pool, &items[BOUND].task, VIGIL_HIGH), -EAGAIN);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_HIGH), -EAGAIN);
    vigil_job job = {0};
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), -EAGAIN);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.queued, BOUND);
    must_equal(stats.total.refused, 3);
    must_equal(stats.by_class[VIGIL_HIGH].refused, 2);
    must_equal(stats.by_class[VIGIL_NORMAL].refused, 1);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, BOUND);
    /* There is room again, and the refused task is as it was. */
    must_equal(vigil_pool_submit(pool, &items[BOUND].task, VIGIL_HIGH), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, BOUND + 1);
    pool_close(pool);
}

static void p09_a_batch_that_does_not_fit_is_refused_whole(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, BOUND, VIGIL_FULL_REFUSE);
    _Atomic unsigned runs = 0;
    struct item items[BOUND];
    vigil_task *tasks[BOUND];
    items_init(items, BOUND, &runs);
    for (int i = 0; i < BOUND; i++)
        tasks[i] = &items[i].task;
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(vigil_pool_submit(pool, tasks[0], VIGIL_NORMAL), 0);
    must_equal(vigil_pool_submit(pool, tasks[1], VIGIL_NORMAL), 0);
    must_equal(pool_stats(pool).total.queued, 2);
    struct item extra;
    items_init(&extra, 1, &runs);
    vigil_task *three[3] = {tasks[2], tasks[3], &extra.task};
    must_equal(vigil_pool_submit_batch(pool, three, 3, VIGIL_NORMAL), -EAGAIN);
    must_equal(pool_stats(pool).total.queued, 2);
    must_equal(pool_stats(pool).total.refused, 3);
    must_equal(vigil_pool_submit_batch(pool, tasks + 2, 2, VIGIL_NORMAL), 0);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, BOUND);
    pool_close(pool);
}

struct spawning {
    vigil_pool *pool;
    _Atomic unsigned runs;
    struct item items[100];
    int submit_answer;
};

static int spawn_many(void *arg)
{
    struct spawning *spawning = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, spawning->pool, 0), 0);
    items_init(spawning->items, count_of(spawning->items), &spawning->runs);
    for (size_t i = 0; i < count_of(spawning->items); i++)
        must_equal(vigil_group_spawn(&group, &spawning->items[i].task), 0);
    must_equal(vigil_group_wait(&group), 0);
    return 0;
}

static void p09_spawns_are_not_bounded(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, 1, VIGIL_FULL_REFUSE);
    struct spawning spawning = {.pool = pool};
    must_equal(vigil_pool_call(pool, spawn_many, NULL, &spawning, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(spawning.runs, count_of(spawning.items));
    pool_close(pool);
}

/* ---- blocking --------------------------------------------------------------------------------------------------- */

struct blocked {
    vigil_pool *pool;
    struct item item;
    struct event started, returned;
    int answer;
};

static void *blocked_body(void *arg)
{
    struct blocked *blocked = arg;
    event_set(&blocked->started);
    blocked->answer = vigil_pool_submit(blocked->pool, &blocked->item.task, VIGIL_NORMAL);
    event_set(&blocked->returned);
    return NULL;
}

static void p09_a_blocking_submit_waits_for_room(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, 1, VIGIL_FULL_BLOCK);
    for (uint64_t round = scaled(200, 10); round > 0; round--) {
        _Atomic unsigned runs = 0;
        struct item first;
        items_init(&first, 1, &runs);
        struct blocked blocked = {.pool = pool};
        items_init(&blocked.item, 1, &runs);
        struct hold hold = {0};
        hold_workers(&hold, pool, 1);
        must_equal(vigil_pool_submit(pool, &first.task, VIGIL_NORMAL), 0);
        pthread_t thread = start_thread(blocked_body, &blocked);
        event_wait(&blocked.started);
        if (round % 8 == 0)
            must(!event_wait_for(&blocked.returned, 2000000)); /* the worker is held: there can be no room */
        must(!event_is_set(&blocked.returned));
        hold_release(&hold);
        join_thread(thread);
        must_equal(blocked.answer, 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(runs, 2);
    }
    must_equal(pool_stats(pool).total.refused, 0);
    pool_close(pool);
}

/* A producer inside a task sleeps with a spare in its place, so a pipeline with bounded memory can be built on one worker. */
static int submit_inside(void *arg)
{
    struct spawning *spawning = arg;
    items_init(spawning->items, count_of(spawning->items), &spawning->runs);
    for (size_t i = 0; i < count_of(spawning->items); i++) {
        spawning->submit_answer = vigil_pool_submit(spawning->pool, &spawning->items[i].task, VIGIL_LOW);
        must_equal(spawning->submit_answer, 0);
    }
    return 0;
}

static void p09_a_task_that_waits_for_room_gets_a_spare(void **state)
{
    (void)state;
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        vigil_pool *pool = bounded_pool(1, 1, VIGIL_FULL_BLOCK);
        struct spawning spawning = {.pool = pool};
        must_equal(vigil_pool_call(pool, submit_inside, NULL, &spawning, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(spawning.runs, count_of(spawning.items));
        must_equal(pool_stats(pool).total.refused, 0);
        must(pool_stats(pool).spares_started != 0);
        pool_close(pool);
    }
}

static void p09_without_spares_a_task_makes_room_itself(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.max_queue = 2;
    options.when_full = VIGIL_FULL_BLOCK;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct spawning spawning = {.pool = pool};
    must_equal(vigil_pool_call(pool, submit_inside, NULL, &spawning, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(spawning.runs, count_of(spawning.items));
    pool_close(pool);
}

static int submit_delayed_inside(void *arg)
{
    struct spawning *spawning = arg;
    items_init(spawning->items, 2, &spawning->runs);
    must_equal(vigil_pool_submit_after(spawning->pool, &spawning->items[0].task, VIGIL_LOW, 1000000), 0);
    spawning->submit_answer = vigil_pool_submit(spawning->pool, &spawning->items[1].task, VIGIL_LOW);
    return 0;
}

static void p09_a_task_that_can_neither_sleep_nor_make_room_is_refused(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    struct spawning spawning = {.pool = pool};
    must_equal(vigil_pool_call(pool, submit_delayed_inside, NULL, &spawning, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(spawning.submit_answer, -EAGAIN); /* the one place is that of a task that is not due */
    must_equal(spawning.runs, 1);
    pool_close(pool);
}

/* A worker of one pool waits for room in another: its own pool puts a spare in its place. */
struct across {
    vigil_pool *full;
    struct item item;
    struct hold *hold;
    int answer;
};

static int submit_across(void *arg)
{
    struct across *across = arg;
    across->answer = vigil_pool_submit(across->full, &across->item.task, VIGIL_NORMAL);
    return 0;
}

static int release_hold(void *arg)
{
    hold_release(((struct across *)arg)->hold);
    return 0;
}

static void p09_a_wait_for_room_in_another_pool_gets_a_spare(void **state)
{
    (void)state;
    vigil_pool *full = bounded_pool(1, 1, VIGIL_FULL_BLOCK);
    vigil_pool *pool = pool_of(1);
    _Atomic unsigned runs = 0;
    struct item first;
    struct hold hold = {0};
    struct across across = {.full = full, .hold = &hold, .answer = -1};
    items_init(&first, 1, &runs);
    items_init(&across.item, 1, &runs);
    hold_workers(&hold, full, 1);
    must_equal(vigil_pool_submit(full, &first.task, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, submit_across, NULL, &across, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, release_hold, NULL, &across, VIGIL_NORMAL), 0); /* behind it, on one worker */
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_wait_idle(full, VIGIL_FOREVER), 0);
    must_equal(across.answer, 0);
    must_equal(runs, 2);
    pool_close(pool);
    pool_close(full);
}

static void p09_a_submit_with_a_limit_gives_up_in_time(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, 1, VIGIL_FULL_BLOCK);
    _Atomic unsigned runs = 0;
    struct item items[2];
    items_init(items, 2, &runs);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(vigil_pool_submit_for(pool, &items[0].task, VIGIL_NORMAL, 0), 0); /* there is room: no need to wait */
    const uint64_t before = now_ns();
    must_equal(vigil_pool_submit_for(pool, &items[1].task, VIGIL_NORMAL, 3000000), -ETIMEDOUT);
    must(now_ns() - before >= 3000000);
    must_equal(vigil_pool_submit_for(pool, &items[1].task, VIGIL_NORMAL, 0), -ETIMEDOUT);
    must_equal(pool_stats(pool).total.refused, 2);
    hold_release(&hold);
    must_equal(vigil_pool_submit_for(pool, &items[1].task, VIGIL_NORMAL, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, 2);
    pool_close(pool);
}

/* A freed place wakes one producer, not all of them: counted in context switches. */
enum {
    CROWD = 64
};

struct crowd {
    vigil_pool *pool;
    uint64_t count;
    _Atomic uint64_t *runs;
    uint64_t slept;
};

static int crowd_run(void *arg)
{
    (void)atomic_fetch_add_explicit((_Atomic uint64_t *)arg, 1, memory_order_relaxed);
    return 0;
}

static void *crowd_body(void *arg)
{
    struct crowd *crowd = arg;
    for (uint64_t i = 0; i < crowd->count; i++)
        must_equal(vigil_pool_call(crowd->pool, crowd_run, NULL, (void *)crowd->runs, VIGIL_NORMAL), 0);
    struct rusage usage;
    must_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    crowd->slept = (uint64_t)usage.ru_nvcsw;
    return NULL;
}

static void p09_a_freed_place_wakes_one_of_many_producers(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, 4, VIGIL_FULL_BLOCK);
    const uint64_t each = scaled(400, 20);
    _Atomic uint64_t runs = 0;
    struct crowd crowd[CROWD];
    pthread_t threads[CROWD];
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.pool = pool, .count = each, .runs = &runs};
        threads[i] = start_thread(crowd_body, &crowd[i]);
    }
    hold_release(&hold);
    uint64_t slept = 0;
    for (int i = 0; i < CROWD; i++) {
        join_thread(threads[i]);
        slept += crowd[i].slept;
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, CROWD * each);
    must(slept <= 3 * CROWD * each + 10 * CROWD);
    pool_close(pool);
}

struct batch {
    vigil_pool *pool;
    struct item items[2];
};

static void *batch_body(void *arg)
{
    struct batch *batch = arg;
    vigil_task *tasks[] = {&batch->items[0].task, &batch->items[1].task};
    must_equal(vigil_pool_submit_batch(batch->pool, tasks, 2, VIGIL_NORMAL), 0);
    return NULL;
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

static void wait_for_room_waiters(vigil_pool *pool, uint32_t count)
{
    while (atomic_load_explicit(&pool->room_waiters, memory_order_relaxed) != count)
        yield();
}

/* The batch sleeps first, so a wake of one would reach it alone, and one place is not enough for it. */
static void p09_a_batch_that_waits_does_not_keep_a_free_place_from_the_next(void **state)
{
    (void)state;
    vigil_pool *pool = bounded_pool(1, 2, VIGIL_FULL_BLOCK);
    for (uint64_t round = scaled(100, 10); round > 0; round--) {
        _Atomic unsigned runs = 0;
        struct hold hold = {0};
        struct gate gate = {0};
        struct batch batch = {.pool = pool};
        struct blocked single = {.pool = pool};
        items_init(batch.items, 2, &runs);
        items_init(&single.item, 1, &runs);
        hold_workers(&hold, pool, 1);
        for (int i = 0; i < 2; i++)
            must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_NORMAL), 0);
        pthread_t first = start_thread(batch_body, &batch);
        wait_for_room_waiters(pool, 1);
        pthread_t second = start_thread(blocked_body, &single);
        wait_for_room_waiters(pool, 2);
        hold_release(&hold);
        event_wait(&single.returned); /* one place is free while the worker stands at the gate, and no other comes */
        must_equal(single.answer, 0);
        gate_open(&gate);
        join_thread(second);
        join_thread(first);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(runs, 3);
    }
    pool_close(pool);
}

static void p09_a_stop_lets_blocked_submitters_go(void **state)
{
    (void)state;
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        vigil_pool *pool = bounded_pool(1, 1, VIGIL_FULL_BLOCK);
        _Atomic unsigned runs = 0;
        struct item first;
        items_init(&first, 1, &runs);
        struct blocked blocked[3];
        pthread_t threads[3];
        struct hold hold = {0};
        hold_workers(&hold, pool, 1);
        must_equal(vigil_pool_submit(pool, &first.task, VIGIL_NORMAL), 0);
        for (int i = 0; i < 3; i++) {
            blocked[i] = (struct blocked){.pool = pool};
            items_init(&blocked[i].item, 1, &runs);
            threads[i] = start_thread(blocked_body, &blocked[i]);
            event_wait(&blocked[i].started);
        }
        /* The held task keeps the stop from ending, and not the submitters from hearing of it. */
        must_equal(vigil_pool_shutdown(pool, 0), -ETIMEDOUT);
        for (int i = 0; i < 3; i++) {
            event_wait(&blocked[i].returned);
            must_equal(blocked[i].answer, -ESHUTDOWN);
            join_thread(threads[i]);
        }
        hold_release(&hold);
        must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
        must_equal(runs, 1);
        must_equal(pool_stats(pool).total.refused, 3);
        pool_unwatch(pool);
        must_equal(vigil_pool_destroy(pool), 0);
    }
}

/* ---- storms ----------------------------------------------------------------------------------------------------- */

struct storm {
    vigil_pool *pool;
    uint64_t count;
    _Atomic uint64_t *runs;
    uint64_t accepted, refused;
};

static int storm_run(void *arg)
{
    (void)atomic_fetch_add_explicit((_Atomic uint64_t *)arg, 1, memory_order_relaxed);
    return 0;
}

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    for (uint64_t i = 0; i < storm->count; i++) {
        int rc =
            vigil_pool_call(storm->pool, storm_run, NULL, (void *)storm->runs, (vigil_priority)(i % VIGIL_PRIORITIES));
        must(rc == 0 || rc == -EAGAIN);
        if (rc == 0)
            storm->accepted++;
        else
            storm->refused++;
    }
    return NULL;
}

static void storm_on_bounded(vigil_full_policy when_full, size_t bound, uint64_t count)
{
    enum {
        THREADS = 8
    };
    vigil_pool *pool = bounded_pool(2, bound, when_full);
    _Atomic uint64_t runs = 0;
    struct storm storms[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        storms[i] = (struct storm){.pool = pool, .count = count, .runs = &runs};
        threads[i] = start_thread(storm_body, &storms[i]);
    }
    for (int look = 0; look < 100; look++)
        (void)pool_stats(pool); /* adds up, also while submits are refused */
    uint64_t accepted = 0;
    uint64_t refused = 0;
    for (int i = 0; i < THREADS; i++) {
        join_thread(threads[i]);
        accepted += storms[i].accepted;
        refused += storms[i].refused;
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(runs, accepted);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.completed, accepted);
    must_equal(stats.total.refused, refused);
    if (when_full == VIGIL_FULL_BLOCK)
        must_equal(accepted, THREADS * count);
    pool_close(pool);
}

static void p09_the_counters_balance_after_a_storm_on_a_refusing_queue(void **state)
{
    (void)state;
    storm_on_bounded(VIGIL_FULL_REFUSE, 1, scaled(100000, 1000));
    storm_on_bounded(VIGIL_FULL_REFUSE, 64, scaled(100000, 1000));
}

static void p09_a_storm_on_a_blocking_queue_runs_everything(void **state)
{
    (void)state;
    storm_on_bounded(VIGIL_FULL_BLOCK, 1, scaled(5000, 100));
    storm_on_bounded(VIGIL_FULL_BLOCK, 64, scaled(50000, 1000));
}

struct own_mail {
    vigil_pool *pool;
    _Atomic unsigned runs;
    struct item letters[2], others[2];
};

static int write_to_itself(void *arg)
{
    struct own_mail *it = arg;
    for (int i = 0; i < 2; i++) /* only this worker can run them, and it is here */
        must_equal(vigil_pool_submit_to(it->pool, 0, &it->letters[i].task, VIGIL_NORMAL), 0);
    for (int i = 0; i < 2; i++) /* waits for room, which a spare makes */
        must_equal(vigil_pool_submit(it->pool, &it->others[i].task, VIGIL_NORMAL), 0);
    return 0;
}

static void p09_a_worker_never_waits_for_room_that_only_it_can_make(void **state)
{
    (void)state;
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        struct own_mail it = {.pool = bounded_pool(1, 1, VIGIL_FULL_BLOCK)};
        items_init(it.letters, 2, &it.runs);
        items_init(it.others, 2, &it.runs);
        must_equal(vigil_pool_call(it.pool, write_to_itself, NULL, &it, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(it.pool, VIGIL_FOREVER), 0);
        must_equal(atomic_load_explicit(&it.runs, memory_order_relaxed), 4);
        pool_close(it.pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p09_a_worker_never_waits_for_room_that_only_it_can_make),
        test(p09_a_full_queue_refuses_with_eagain_and_counts_it),
        test(p09_a_batch_that_does_not_fit_is_refused_whole),
        test(p09_spawns_are_not_bounded),
        test(p09_a_blocking_submit_waits_for_room),
        test(p09_a_task_that_waits_for_room_gets_a_spare),
        test(p09_without_spares_a_task_makes_room_itself),
        test(p09_a_task_that_can_neither_sleep_nor_make_room_is_refused),
        test(p09_a_wait_for_room_in_another_pool_gets_a_spare),
        test(p09_a_submit_with_a_limit_gives_up_in_time),
        test(p09_a_freed_place_wakes_one_of_many_producers),
        test(p09_a_batch_that_waits_does_not_keep_a_free_place_from_the_next),
        test(p09_a_stop_lets_blocked_submitters_go),
        test(p09_the_counters_balance_after_a_storm_on_a_refusing_queue),
        test(p09_a_storm_on_a_blocking_queue_runs_everything),
    };
    return run_all(tests);
}
