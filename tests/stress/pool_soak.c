/* SPDX-License-Identifier: MIT */
/*
 * Everything at once, by dice: pools with random options, threads and tasks that use random calls on them, workers that come
 * and go, and at the end a stop in a random mode while calls are still being made. Then the books are compared: what was
 * accepted has run or been cancelled, once, and the pool's own numbers say the same.
 * VIGIL_TEST_SEED in the environment repeats a run's dice (not its timing).
 */
#include "dice.h"

#include <vigil/watchdog.h>

/* ---- the books -------------------------------------------------------------------------------------------------- */

struct world {
    vigil_pool *pool;
    unsigned most_workers;
    _Atomic bool closing;
    _Atomic uint64_t accepted, ran, cancelled, failed;
    _Atomic uint64_t seeds;
    _Atomic uint64_t board[4]; /* jobs that anybody may wait for, cancel and release; 0: none */
};

static void add(_Atomic uint64_t *counter)
{
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static struct dice dice_of_task(struct world *world)
{
    uint64_t seed = atomic_fetch_add_explicit(&world->seeds, 0x9e3779b97f4a7c15U, memory_order_relaxed);
    return (struct dice){.state = seed | 1};
}

/* The answer of a submit: 0 or one of the refusals that may come in this world. */
static bool entered(struct world *world, int rc)
{
    must(rc == 0 || rc == -ESHUTDOWN || rc == -EAGAIN || rc == -ENOENT);
    if (rc == 0)
        add(&world->accepted);
    return rc == 0;
}

struct item {
    vigil_task task;
    struct world *world;
    unsigned depth;
    bool owned; /* by itself: frees itself; else by a frame that waits for it */
};

static int behave(struct world *world, unsigned depth);

static int item_run(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    struct world *world = item->world;
    unsigned depth = item->depth;
    if (item->owned)
        free(item);
    add(&world->ran);
    return behave(world, depth);
}

static void item_cancel(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    struct world *world = item->world;
    if (item->owned)
        free(item);
    add(&world->cancelled);
}

static void item_init(struct item *item, struct world *world, unsigned depth, bool owned)
{
    vigil_task_init(&item->task, item_run, item_cancel);
    item->world = world;
    item->depth = depth;
    item->owned = owned;
}

static int call_run(void *arg)
{
    struct world *world = arg;
    add(&world->ran);
    return behave(world, 1);
}

static void call_cancel(void *arg)
{
    struct world *world = arg;
    add(&world->cancelled);
}

static int leaf_run(void *arg)
{
    struct world *world = arg;
    add(&world->ran);
    return 0;
}

/* ---- what anybody may do ---------------------------------------------------------------------------------------- */

static void submit_some(struct world *world, struct dice *dice, unsigned depth)
{
    vigil_priority priority = (vigil_priority)roll(dice, VIGIL_PRIORITIES);
    struct item *item = malloc(sizeof *item);
    must(item != NULL);
    item_init(item, world, depth, true);
    vigil_task *batch[1] = {&item->task};
    int rc = 0;
    switch (roll(dice, 4)) {
    case 0:
        rc = vigil_pool_submit_batch(world->pool, batch, 1, priority);
        break;
    case 1:
        rc = vigil_pool_submit_to(world->pool, roll(dice, world->most_workers), &item->task, priority);
        break;
    case 2:
        rc = vigil_pool_submit_after(world->pool, &item->task, priority, roll(dice, 300000));
        break;
    default:
        rc = vigil_pool_submit(world->pool, &item->task, priority);
        break;
    }
    if (!entered(world, rc))
        free(item);
}

/* A job whose handle others may have got hold of: it may have gone under our hands. */
static bool known(int rc)
{
    must(rc >= 0 || rc == -ETIMEDOUT || rc == -EBUSY || rc == -ESTALE);
    return rc != -ESTALE;
}

static void use_shared_job(struct world *world, struct dice *dice)
{
    _Atomic uint64_t *place = &world->board[roll(dice, count_of(world->board))];
    vigil_job job = {.id = atomic_load_explicit(place, memory_order_acquire)}; /* the job came with the handle */
    int status = 0;
    if (job.id == 0)
        return;
    switch (roll(dice, 4)) {
    case 0:
        (void)known(vigil_job_cancel(world->pool, job));
        break;
    case 1:
        (void)known(vigil_job_poll(world->pool, job, &status));
        break;
    default:
        (void)known(
            vigil_job_wait(world->pool, job, one_in(dice, 2) ? VIGIL_FOREVER : (int64_t)roll(dice, 100000), &status));
        must(status == 0 || status == -ECANCELED);
        break;
    }
}

static void share_job(struct world *world, struct dice *dice, vigil_job job)
{
    _Atomic uint64_t *place = &world->board[roll(dice, count_of(world->board))];
    vigil_job old = {.id = atomic_exchange_explicit(place, job.id, memory_order_acq_rel)};
    if (old.id != 0)
        must_equal(vigil_job_unref(world->pool, old), 0);
}

static void job_some(struct world *world, struct dice *dice, bool inside)
{
    vigil_job job;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    options.priority = (vigil_priority)roll(dice, VIGIL_PRIORITIES);
    options.cancel = call_cancel;
    options.delay_ns = one_in(dice, 4) ? roll(dice, 200000) : 0;
    if (!entered(world, vigil_job_call(world->pool, leaf_run, world, &options, &job)))
        return;
    int status = 0;
    if (one_in(dice, 2)) {
        share_job(world, dice, job);
        use_shared_job(world, dice);
        return;
    }
    switch (roll(dice, 4)) {
    case 0: {
        int rc = vigil_job_cancel(world->pool, job);
        must(rc == 0 || rc == -EBUSY);
        break;
    }
    case 1: {
        int rc = vigil_job_wait(world->pool, job, inside ? VIGIL_FOREVER : (int64_t)roll(dice, 100000), &status);
        must(rc == 0 || rc == -ETIMEDOUT);
        break;
    }
    case 2:
        must(vigil_job_poll(world->pool, job, &status) >= 0);
        break;
    default:
        break;
    }
    must_equal(vigil_job_unref(world->pool, job), 0);
    must_equal(vigil_job_poll(world->pool, job, &status), -ESTALE);
}

static void group_some(struct world *world, struct dice *dice, unsigned depth)
{
    struct item items[6];
    vigil_group group;
    must_equal(vigil_group_init(&group, world->pool, one_in(dice, 3) ? VIGIL_GROUP_HELP_ANY : 0), 0);
    unsigned count = 1 + roll(dice, 6);
    for (unsigned i = 0; i < count; i++) {
        item_init(&items[i], world, depth, false);
        int rc = one_in(dice, 4) ? vigil_group_submit(&group, &items[i].task, VIGIL_HIGH)
                                 : vigil_group_spawn(&group, &items[i].task);
        (void)entered(world, rc);
    }
    if (one_in(dice, 4)) {
        int rc = vigil_group_wait_for(&group, roll(dice, 50000));
        if (rc != -ETIMEDOUT)
            return;
    }
    (void)vigil_group_wait(&group);
}

struct pair {
    struct world *world;
    bool ran;
};

static int first_half(void *arg)
{
    (void)arg;
    yield();
    return 0;
}

static int second_half(void *arg)
{
    struct pair *pair = arg;
    pair->ran = true;
    add(&pair->world->ran);
    return behave(pair->world, 1);
}

/* Inside a task: the second half is a spawn, which a pool that discards cancels. */
static void join_some(struct world *world)
{
    struct pair pair = {.world = world};
    add(&world->accepted);
    int rc = vigil_join(world->pool, first_half, &pair, second_half, &pair);
    must(rc == 0 || rc == -EPROTO || (rc == -ECANCELED && !pair.ran));
    if (!pair.ran)
        add(&world->cancelled);
}

/* What a task does: mostly little, sometimes more of the same, sometimes it fails. */
static int behave(struct world *world, unsigned depth)
{
    struct dice dice = dice_of_task(world);
    if (depth > 0) {
        switch (roll(&dice, 10)) {
        case 8:
            join_some(world);
            break;
        case 9:
            use_shared_job(world, &dice);
            break;
        case 0:
            submit_some(world, &dice, depth - 1);
            break;
        case 1:
            group_some(world, &dice, depth - 1);
            break;
        case 2:
            job_some(world, &dice, true);
            break;
        case 3:
            must_equal(vigil_blocking_begin(), 0);
            for (uint32_t i = roll(&dice, 4); i > 0; i--)
                yield();
            must_equal(vigil_blocking_end(), 0);
            break;
        default:
            break;
        }
    }
    if (one_in(&dice, 16)) {
        add(&world->failed);
        if (one_in(&dice, 2))
            vigil_raise(-EPROTO);
        return -EPROTO;
    }
    return 0;
}

struct caller {
    struct world *world;
    struct dice dice;
};

static void *caller_body(void *arg)
{
    struct caller *caller = arg;
    struct world *world = caller->world;
    struct dice *dice = &caller->dice;
    while (!atomic_load_explicit(&world->closing, memory_order_relaxed)) {
        switch (roll(dice, 16)) {
        case 0:
            group_some(world, dice, 2);
            break;
        case 1:
        case 2:
            job_some(world, dice, false);
            break;
        case 3: {
            int rc = vigil_pool_wait_idle(world->pool, roll(dice, 2000000));
            must(rc == 0 || rc == -ETIMEDOUT);
            break;
        }
        case 4: {
            int rc = vigil_pool_resize(world->pool, 1 + roll(dice, world->most_workers));
            must(rc == 0 || rc == -ESHUTDOWN);
            break;
        }
        case 5:
            (void)pool_stats(world->pool);
            break;
        case 6: {
            vigil_audit audit = {.size = sizeof audit};
            int rc = vigil_pool_audit(world->pool, &audit);
            if (rc == -EIO)
                (void)fprintf(stderr, "audit: %s\n", audit.text);
            must(rc == 0 || rc == -EAGAIN);
            break;
        }
        case 7:
        case 8:
        case 9:
            (void)entered(world, vigil_pool_call(world->pool, call_run, call_cancel, world,
                                                 (vigil_priority)roll(dice, VIGIL_PRIORITIES)));
            break;
        default:
            submit_some(world, dice, 3);
            break;
        }
    }
    return NULL;
}

static void random_options(vigil_pool_options *options, struct dice *dice)
{
    options->workers = 1 + roll(dice, 8);
    options->idle = (vigil_idle_policy)roll(dice, 3);
    options->fences = (vigil_fence_mode)roll(dice, 2);
    options->no_stealing = one_in(dice, 6);
    options->no_spares = one_in(dice, 3);
    if (!options->no_spares && one_in(dice, 2))
        options->max_spares = 1 + roll(dice, 4);
    if (one_in(dice, 3)) {
        options->max_queue = 1 + roll(dice, 64);
        options->when_full = (vigil_full_policy)roll(dice, 2);
    }
    bool capped = one_in(dice, 3);
    for (int p = 0; p < VIGIL_PRIORITIES && capped; p++)
        options->class_cap[p] = one_in(dice, 3) ? 1 + roll(dice, 3) : 0;
}

static void *stop_body(void *arg)
{
    must_equal(vigil_pool_shutdown(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void one_world(struct dice *dice, uint64_t tasks)
{
    enum {
        CALLERS = 4
    };
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    random_options(&options, dice);
    vigil_pool *pool = pool_with(&options);
    struct world world = {.pool = pool, .most_workers = 8, .seeds = dice->state};
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.world = &world, .dice.state = dice->state + (uint64_t)i * 7919 + 1};
        threads[i] = start_thread(caller_body, &callers[i]);
    }
    while (atomic_load_explicit(&world.accepted, memory_order_relaxed) < tasks)
        yield();
    enum end_mode mode = (enum end_mode)roll(dice, 2);
    pthread_t stopper = 0;
    bool another = one_in(dice, 2); /* stops it gracefully at the same time */
    bool stop_amid = one_in(dice, 2);
    if (stop_amid) { /* while the others still call */
        if (another)
            stopper = start_thread(stop_body, pool);
        int rc = end_pool(pool, mode, roll(dice, 1000000));
        must(rc == 0 || rc == -ETIMEDOUT);
    }
    atomic_store_explicit(&world.closing, true, memory_order_relaxed);
    for (int i = 0; i < CALLERS; i++)
        join_thread(threads[i]);
    if (!stop_amid && mode == END_GRACEFUL)
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(end_pool(pool, mode, VIGIL_FOREVER), 0);
    if (stop_amid && another)
        join_thread(stopper);

    must_equal(world.ran + world.cancelled, world.accepted);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.submitted, world.accepted);
    must_equal(stats.total.cancelled, world.cancelled);
    must(stats.total.failed >= world.failed); /* tasks also fail by what they return from a wait */
    must_equal(stats.total.queued, 0);
    must_equal(stats.total.running, 0);
    must_equal(stats.threads, 0);
    pool_audit_clean(pool);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void everything_at_once_keeps_the_books(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    uint64_t worlds = scaled(100, 12);
    /* Impatient, so that it looks often and acts now and then. */
    vigil_watchdog_options watchdog = VIGIL_WATCHDOG_OPTIONS_INIT;
    watchdog.interval_ms = watchdog.hog_ms = watchdog.stuck_ms = watchdog.growth_ms = 10;
    watchdog.recover = VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE;
    for (uint64_t i = 0; i < worlds; i++) {
        const bool watched = one_in(&dice, 3);
        if (watched)
            must_equal(vigil_watchdog_start(&watchdog), 0);
        one_world(&dice, scaled(5000, 300));
        if (watched)
            must_equal(vigil_watchdog_stop(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(everything_at_once_keeps_the_books),
    };
    return run_all(tests);
}
