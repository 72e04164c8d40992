/* SPDX-License-Identifier: MIT */
/* W1, W2: The numbers: they agree with what really happened, add up in every snapshot, and every state is really reached. */
#include "support.h"

static int return_arg(void *arg)
{
    return (int)(intptr_t)arg;
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 0;
}

/* ---- scripted workloads ----------------------------------------------------------------------------------------- */

struct child {
    vigil_task task;
};

static int child_run(vigil_task *task)
{
    (void)task;
    return 0;
}

static int spawn_ten(void *arg)
{
    struct child children[10];
    vigil_group group;
    must_equal(vigil_group_init(&group, arg, 0), 0);
    for (int i = 0; i < 10; i++) {
        vigil_task_init(&children[i].task, child_run, NULL);
        must_equal(vigil_group_spawn(&group, &children[i].task), 0);
    }
    return vigil_group_wait(&group);
}

static void counters_agree_with_a_script(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers++) {
        vigil_pool *pool = pool_of(workers);
        /* Class p: 10 + p succeed, 3 + p fail, p + 1 are cancelled, 2 spawn ten each. */
        struct hold hold = {0};
        hold_workers(&hold, pool, workers);
        for (unsigned p = 0; p < VIGIL_PRIORITIES; p++) {
            vigil_priority priority = (vigil_priority)p;
            for (unsigned i = 0; i < 10 + p; i++)
                must_equal(vigil_pool_call(pool, return_arg, NULL, (void *)(intptr_t)i, priority), 0);
            for (unsigned i = 0; i < 3 + p; i++)
                must_equal(vigil_pool_call(pool, return_arg, NULL, (void *)(intptr_t)-5, priority), 0);
            for (unsigned i = 0; i < p + 1; i++) {
                vigil_job job;
                vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
                options.priority = priority;
                must_equal(vigil_job_call(pool, return_arg, NULL, &options, &job), 0);
                must_equal(vigil_job_cancel(pool, job), 0);
                must_equal(vigil_job_unref(pool, job), 0);
            }
            for (unsigned i = 0; i < 2; i++)
                must_equal(vigil_pool_call(pool, spawn_ten, NULL, pool, priority), 0);
            vigil_pool_stats held = pool_stats(pool);
            must_equal(held.by_class[p].queued, 10 + p + 3 + p + 2);
            must_equal(held.by_class[p].cancelled, p + 1);
            must_equal(held.by_class[VIGIL_CRITICAL].running, workers);
        }
        hold_release(&hold);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        vigil_pool_stats stats = pool_stats(pool);
        for (unsigned p = 0; p < VIGIL_PRIORITIES; p++) {
            const vigil_class_stats *one = &stats.by_class[p];
            unsigned held = p == VIGIL_CRITICAL ? workers : 0;
            must_equal(one->completed, 10 + p + 2 + 20 + held);
            must_equal(one->failed, 3 + p);
            must_equal(one->cancelled, p + 1);
            must_equal(one->submitted, one->completed + one->failed + one->cancelled);
            must_equal(one->queued, 0);
            must_equal(one->running, 0);
            must_equal(one->refused, 0);
            must_equal(one->oldest_age_ns, 0);
        }
        must_equal(stats.spawned, VIGIL_PRIORITIES * 20);
        must_equal(stats.delayed, 0);
        must_equal(stats.spares_started, 0);

        uint64_t started[VIGIL_PRIORITIES] = {0};
        uint64_t completed = 0;
        uint64_t failed = 0;
        uint64_t spawned = 0;
        uint64_t parks = 0;
        uint64_t useful = 0;
        uint64_t spurious = 0;
        for (unsigned w = 0; w < workers; w++) {
            vigil_worker_stats worker = pool_worker(pool, w);
            must(!worker.spare);
            for (unsigned p = 0; p < VIGIL_PRIORITIES; p++)
                started[p] += worker.started[p];
            completed += worker.completed;
            failed += worker.failed;
            spawned += worker.spawned;
            parks += worker.parks;
            useful += worker.wakes_useful;
            spurious += worker.wakes_spurious;
        }
        for (unsigned p = 0; p < VIGIL_PRIORITIES; p++)
            must_equal(started[p], stats.by_class[p].completed + stats.by_class[p].failed);
        must_equal(completed, stats.total.completed);
        must_equal(failed, stats.total.failed);
        must_equal(spawned, stats.spawned);
        (void)parks; /* these go on while workers go to sleep: only the ones below are still */
        pool_wait_all_parked(pool);
        vigil_pool_stats calm = pool_stats(pool);
        must(calm.parks >= workers);
        must(calm.wakes_useful + calm.wakes_spurious >= useful + spurious);
        pool_close(pool);
    }
}

static void delayed_tasks_are_counted_as_queued_until_they_are_due(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct child children[5];
    for (int i = 0; i < 5; i++) {
        vigil_task_init(&children[i].task, child_run, NULL);
        must_equal(vigil_pool_submit_after(pool, &children[i].task, VIGIL_LOW, (int64_t)3600 * 1000000000), 0);
    }
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.delayed, 5);
    must_equal(stats.by_class[VIGIL_LOW].queued, 5);
    must_equal(stats.by_class[VIGIL_LOW].submitted, 5);
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    stats = pool_stats(pool);
    must_equal(stats.delayed, 0);
    must_equal(stats.by_class[VIGIL_LOW].cancelled, 5);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void the_age_of_the_oldest_waiting_task_is_told(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    must_equal(pool_stats(pool).total.oldest_age_ns, 0);
    uint64_t before = now_ns();
    must_equal(vigil_pool_call(pool, return_arg, NULL, NULL, VIGIL_LOW), 0);
    uint64_t after = now_ns();
    observe_for_ms(10);
    must_equal(vigil_pool_call(pool, return_arg, NULL, NULL, VIGIL_LOW), 0); /* younger: does not count */
    must_equal(vigil_pool_call(pool, return_arg, NULL, NULL, VIGIL_HIGH), 0);
    uint64_t looked = now_ns();
    vigil_pool_stats stats = pool_stats(pool);
    uint64_t told = now_ns();
    /* The tick's length is measured over the pool's life; allow it some error. */
    must_be_between(stats.by_class[VIGIL_LOW].oldest_age_ns, (looked - after) * 8 / 10, (told - before) * 12 / 10);
    must(stats.by_class[VIGIL_HIGH].oldest_age_ns < stats.by_class[VIGIL_LOW].oldest_age_ns);
    must_equal(stats.by_class[VIGIL_NORMAL].oldest_age_ns, 0);
    must_equal(stats.total.oldest_age_ns, stats.by_class[VIGIL_LOW].oldest_age_ns);
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.oldest_age_ns, 0);
    pool_close(pool);
}

/* ---- snapshots amid a storm ------------------------------------------------------------------------------------- */

struct storm {
    vigil_pool *pool;
    _Atomic bool stop;
};

static int mixed(void *arg)
{
    static _Atomic unsigned turn;
    struct storm *storm = arg;
    switch (atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % 8) {
    case 0:
        return -EIO;
    case 1:
        vigil_raise(-EPIPE);
    case 2:
        return spawn_ten(storm->pool);
    default:
        return 0;
    }
}

static void *storm_body(void *arg)
{
    struct storm *storm = arg;
    for (unsigned i = 0; !atomic_load_explicit(&storm->stop, memory_order_relaxed); i++) {
        vigil_priority priority = (vigil_priority)(i % VIGIL_PRIORITIES);
        if (i % 7 == 0) {
            vigil_job job;
            must_equal(vigil_job_call(storm->pool, mixed, storm, NULL, &job), 0);
            if (i % 2 == 0)
                (void)vigil_job_cancel(storm->pool, job);
            must_equal(vigil_job_unref(storm->pool, job), 0);
        } else {
            must_equal(vigil_pool_call(storm->pool, mixed, NULL, storm, priority), 0);
        }
        if (i % 256 == 0)
            must_equal(vigil_pool_wait_idle(storm->pool, VIGIL_FOREVER), 0);
    }
    return NULL;
}

static void in_every_snapshot_amid_a_storm_the_sums_agree_and_nothing_runs_backwards(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 3, 33};
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        struct storm storm = {.pool = pool};
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            threads[i] = start_thread(storm_body, &storm);
        vigil_pool_stats last = pool_stats(pool);
        for (uint64_t look = scaled(20000, 1000); look > 0; look--) {
            vigil_pool_stats now = pool_stats(pool); /* checks the sums */
            for (unsigned p = 0; p < VIGIL_PRIORITIES; p++) {
                must(now.by_class[p].completed >= last.by_class[p].completed);
                must(now.by_class[p].failed >= last.by_class[p].failed);
                must(now.by_class[p].cancelled >= last.by_class[p].cancelled);
                must(now.by_class[p].submitted >= last.by_class[p].submitted);
                must(now.by_class[p].queued < (uint64_t)1 << 40); /* no difference below zero */
                must(now.by_class[p].running < (uint64_t)1 << 40);
            }
            must(now.spawned >= last.spawned);
            must(now.parks >= last.parks);
            must(now.steals_tried >= last.steals_tried);
            must(now.wakes_sent >= last.wakes_sent);
            must_be_between(now.threads, 1, workers[w] * 2); /* one that waits for its children may have a spare */
            last = now;
        }
        atomic_store_explicit(&storm.stop, true, memory_order_relaxed);
        for (int i = 0; i < 4; i++)
            join_thread(threads[i]);
        pool_close(pool);
    }
}

/* ---- states ----------------------------------------------------------------------------------------------------- */

static void wait_for_state(vigil_pool *pool, unsigned worker, vigil_worker_state wanted)
{
    while (pool_worker(pool, worker).state != wanted)
        yield();
}

struct hooks {
    struct gate start, stop;
};

static void start_hook(void *user, unsigned worker)
{
    (void)worker;
    gate_pass(&((struct hooks *)user)->start);
}

static void stop_hook(void *user, unsigned worker)
{
    (void)worker;
    gate_pass(&((struct hooks *)user)->stop);
}

static int block_at_gate(void *arg)
{
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(arg);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void a_script_leads_a_worker_through_the_states_from_starting_to_stopped(void **state)
{
    (void)state;
    struct hooks hooks = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.no_spares = true;
    options.on_worker_start = start_hook;
    options.on_worker_stop = stop_hook;
    options.user = &hooks;
    vigil_pool *pool = pool_with(&options);

    gate_wait_entered(&hooks.start, 1);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_STARTING);
    gate_open(&hooks.start);

    wait_for_state(pool, 0, VIGIL_WORKER_PARKED);

    struct gate running = {0};
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &running, VIGIL_NORMAL), 0);
    gate_wait_entered(&running, 1);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_RUNNING);
    gate_open(&running);

    struct gate blocked = {0};
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &blocked, VIGIL_NORMAL), 0);
    gate_wait_entered(&blocked, 1);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_BLOCKED);
    must_equal(pool_stats(pool).blocked, 1);
    gate_open(&blocked);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER),
               0); /* else the stop gives up before it sends the worker home */

    must_equal(vigil_pool_shutdown(pool, 0), -ETIMEDOUT);
    gate_wait_entered(&hooks.stop, 1);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_STOPPING);
    gate_open(&hooks.stop);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    must_equal(pool_worker(pool, 0).state, VIGIL_WORKER_STOPPED);
    vigil_worker_stats worker = pool_worker(pool, 0);
    must(worker.time_ns[VIGIL_WORKER_STARTING] > 0);
    must(worker.time_ns[VIGIL_WORKER_RUNNING] > 0);
    must(worker.time_ns[VIGIL_WORKER_PARKED] > 0);
    must(worker.time_ns[VIGIL_WORKER_BLOCKED] > 0);
    must(worker.time_ns[VIGIL_WORKER_STOPPING] > 0);
    must_equal(pool_stats(pool).threads, 0);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void a_worker_that_spins_says_so(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.idle = VIGIL_IDLE_KEEP_ONE_AWAKE;
    vigil_pool *pool = pool_with(&options);
    wait_for_state(pool, 0, VIGIL_WORKER_SPINNING);
    must_equal(pool_stats(pool).parked, 0);
    must_equal(pool_stats(pool).searching, 1);
    pool_close(pool);
}

static bool in_history(vigil_pool *pool, unsigned worker, vigil_worker_state wanted)
{
    vigil_worker_change changes[VIGIL_WORKER_HISTORY];
    int count = vigil_pool_worker_history(pool, worker, changes, VIGIL_WORKER_HISTORY);
    must(count >= 0);
    for (int i = 0; i < count; i++) {
        if (changes[i].state == wanted)
            return true;
    }
    return false;
}

static void looking_and_stealing_are_seen_while_workers_do_that(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    bool looked = false;
    bool stole = false;
    while (!looked || !stole) {
        /* A parent that sits in its task until the other has taken its children. */
        for (int i = 0; i < 10; i++)
            must_equal(vigil_pool_call(pool, spawn_ten, NULL, pool, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        for (unsigned w = 0; w < 2; w++) {
            looked = looked || in_history(pool, w, VIGIL_WORKER_LOOKING);
            stole = stole || in_history(pool, w, VIGIL_WORKER_STEALING);
        }
    }
    pool_close(pool);
}

/* ---- time and history ------------------------------------------------------------------------------------------- */

static void the_time_in_all_states_adds_up_to_the_workers_life(void **state)
{
    (void)state;
    uint64_t before = now_ns();
    vigil_pool *pool = pool_of(2);
    struct hold hold = {0};
    hold_workers(&hold, pool, 2); /* both live from here on */
    uint64_t alive = now_ns();
    observe_for_ms(50);
    hold_release(&hold);
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_pool_call(pool, return_arg, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_wait_parked(pool, 2);
    observe_for_ms(50);
    uint64_t asked = now_ns();
    for (unsigned w = 0; w < 2; w++) {
        vigil_worker_stats worker = pool_worker(pool, w);
        uint64_t sum = 0;
        for (int s = 0; s < VIGIL_WORKER_STATES; s++)
            sum += worker.time_ns[s];
        uint64_t told = now_ns();
        must(worker.time_ns[VIGIL_WORKER_RUNNING] >= 40000000);
        must_be_between(sum, (asked - alive) * 9 / 10, (told - before) * 11 / 10);
    }
    vigil_pool_stats stats = pool_stats(pool);
    must(stats.work_ns >= 2 * 40000000);
    must(stats.idle_ns > 0);
    must_be_between(stats.work_ns + stats.search_ns + stats.idle_ns + stats.blocked_ns, (asked - alive) * 18 / 10,
                    (now_ns() - before) * 22 / 10);
    pool_close(pool);
}

static void blocked_time_is_told_apart_from_work(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct gate gate = {0};
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 1);
    observe_for_ms(20);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must(pool_stats(pool).blocked_ns >= 15000000);
    must(pool_worker(pool, 0).time_ns[VIGIL_WORKER_BLOCKED] >= 15000000);
    pool_close(pool);
}

static void since_when_a_worker_is_in_its_state_is_told(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    hold_workers(&hold, pool, 1);
    uint64_t since = now_ns();
    observe_for_ms(10);
    vigil_worker_stats worker = pool_worker(pool, 0);
    must_equal(worker.state, VIGIL_WORKER_RUNNING);
    must(worker.state_since_ns >= 8000000);
    must(worker.state_since_ns <= (now_ns() - since) * 11 / 10 + 1000000000);
    hold_release(&hold);
    pool_close(pool);
}

static void the_history_tells_the_last_changes_newest_first(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_worker_change changes[VIGIL_WORKER_HISTORY + 8];
    for (int round = 0; round < 40; round++) {
        struct hold hold = {0};
        hold_workers(&hold, pool, 1);
        int count = vigil_pool_worker_history(pool, 0, changes, count_of(changes));
        must_be_between(count, 1, VIGIL_WORKER_HISTORY);
        must_equal(changes[0].state, VIGIL_WORKER_RUNNING);
        for (int i = 1; i < count; i++) {
            must(changes[i].age_ns >= changes[i - 1].age_ns);
            must(changes[i].state != changes[i - 1].state);
            must_be_between(changes[i].state, VIGIL_WORKER_STARTING, VIGIL_WORKER_STOPPED);
        }
        hold_release(&hold);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_wait_all_parked(pool);
        must_equal(vigil_pool_worker_history(pool, 0, changes, 1), 1);
        must_equal(changes[0].state, VIGIL_WORKER_PARKED);
        must_equal(vigil_pool_worker_history(pool, 0, changes, 0), 0);
    }
    must_equal(vigil_pool_worker_history(pool, 0, changes, count_of(changes)), VIGIL_WORKER_HISTORY);
    must_equal(vigil_pool_worker_history(pool, 1, changes, count_of(changes)), -ENOENT);
    must_equal(vigil_pool_worker_history(pool, UINT32_MAX, changes, count_of(changes)), -ENOENT);
    pool_close(pool);
}

static void a_worker_that_never_was_has_no_numbers(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vigil_worker_stats worker = {.size = sizeof worker};
    must_equal(vigil_pool_worker_stats_get(pool, UINT32_MAX, &worker), -ENOENT);
    must_equal(vigil_pool_worker_stats_get(pool, 1, &worker), 0);
    worker.size = 0;
    must_equal(vigil_pool_worker_stats_get(pool, 1, &worker), -EINVAL);
    vigil_pool_stats stats = {.size = 0};
    must_equal(vigil_pool_stats_get(pool, &stats), -EINVAL);
    pool_close(pool);
}

static void spares_are_told_apart_and_numbered_from_the_most_workers_there_may_be(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.max_spares = 1;
    vigil_pool *pool = pool_with(&options);
    struct gate blocked = {0};
    struct gate on_spare = {0};
    must_equal(vigil_pool_call(pool, block_at_gate, NULL, &blocked, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &on_spare, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, pass_gate, NULL, &on_spare, VIGIL_NORMAL), 0);
    gate_wait_entered(&blocked, 1);
    gate_wait_entered(&on_spare, 2);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.spares, 1);
    must_equal(stats.threads, 3);
    must_equal(stats.workers, 2);
    must_equal(stats.spares_started, 1);
    vigil_worker_stats spare = pool_worker(pool, VIGIL_MAX_WORKERS);
    must(spare.spare);
    must_equal(spare.state, VIGIL_WORKER_RUNNING);
    gate_open(&on_spare);
    gate_open(&blocked);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(counters_agree_with_a_script),
        test(delayed_tasks_are_counted_as_queued_until_they_are_due),
        test(the_age_of_the_oldest_waiting_task_is_told),
        test(in_every_snapshot_amid_a_storm_the_sums_agree_and_nothing_runs_backwards),
        test(a_script_leads_a_worker_through_the_states_from_starting_to_stopped),
        test(a_worker_that_spins_says_so),
        test(looking_and_stealing_are_seen_while_workers_do_that),
        test(the_time_in_all_states_adds_up_to_the_workers_life),
        test(blocked_time_is_told_apart_from_work),
        test(since_when_a_worker_is_in_its_state_is_told),
        test(the_history_tells_the_last_changes_newest_first),
        test(a_worker_that_never_was_has_no_numbers),
        test(spares_are_told_apart_and_numbered_from_the_most_workers_there_may_be),
    };
    return run_all(tests);
}
