/* SPDX-License-Identifier: MIT */
/* W2: every state is really reached, seen from outside, with the time spent in it; and the loop's. */
#include "watch_test.h"

/* Look until worker `index` of the only pool is in the wanted state. */
static void see_state(vg_reader *reader, unsigned index, unsigned wanted, vg_worker_view *found)
{
    for (;;) {
        vg_snapshot *seen = NULL;
        must_equal(vg_reader_snapshot(reader, &seen), 0);
        must_equal(seen->pool_count, 1);
        bool there = false;
        for (size_t i = 0; i < seen->pools[0].worker_count && !there; i++) {
            const vg_worker_view *worker = &seen->pools[0].workers[i];
            there = worker->index == index && worker->state == wanted;
            if (there && found != NULL)
                *found = *worker;
        }
        vg_snapshot_free(seen);
        if (there)
            return;
        yield();
    }
}

static struct gate starting, stopping;

static void on_start(void *user, unsigned worker)
{
    (void)user;
    (void)worker;
    gate_pass(&starting);
}

static void on_stop(void *user, unsigned worker)
{
    (void)user;
    (void)worker;
    gate_pass(&stopping);
}

static struct gate inside;

static int in_gate(vigil_task *task)
{
    (void)task;
    gate_pass(&inside);
    return 0;
}

static struct gate blocking;

static int blocks(void *arg)
{
    (void)arg;
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(&blocking);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void *stop_pool(void *pool)
{
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    return NULL;
}

static void starting_running_blocked_parked_stopping_and_stopped_are_seen(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_worker_start = on_start;
    options.on_worker_stop = on_stop;
    options.idle = VIGIL_IDLE_PARK;
    vigil_pool *pool = pool_with(&options);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    vg_worker_view worker;
    gate_wait_entered(&starting, 1);
    see_state(reader, 0, VIGIL_WORKER_STARTING, &worker);
    must(worker.tid != 0);
    gate_open(&starting);
    see_state(reader, 0, VIGIL_WORKER_PARKED, &worker);
    while (worker.wait.kind != VG_WAIT_WORK) /* it says so when it has looked once more */
        see_state(reader, 0, VIGIL_WORKER_PARKED, &worker);
    vigil_task task;
    vigil_task_init(&task, in_gate, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_CRITICAL), 0);
    gate_wait_entered(&inside, 1);
    see_state(reader, 0, VIGIL_WORKER_RUNNING, &worker);
    must(worker.in_task && worker.task_function == (uintptr_t)in_gate && worker.task_id != 0);
    must_equal(worker.wait.kind, VG_WAIT_NONE);
    gate_open(&inside);
    vigil_job job;
    must_equal(vigil_job_call(pool, blocks, NULL, NULL, &job), 0);
    gate_wait_entered(&blocking, 1);
    see_state(reader, 0, VIGIL_WORKER_BLOCKED, &worker);
    must_equal(worker.wait.kind, VG_WAIT_DECLARED);
    must(worker.wait.where != 0);
    must(worker.in_task && worker.task_function == (uintptr_t)blocks && worker.task_job == job.id);
    gate_open(&blocking);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    see_state(reader, 0, VIGIL_WORKER_PARKED, &worker);
    must(worker.time_ns[VIGIL_WORKER_STARTING] != 0 && worker.time_ns[VIGIL_WORKER_RUNNING] != 0);
    must(worker.time_ns[VIGIL_WORKER_BLOCKED] != 0 && worker.time_ns[VIGIL_WORKER_PARKED] != 0);
    must(worker.time_ns[VIGIL_WORKER_LOOKING] != 0);
    must_equal(worker.history[0].state, VIGIL_WORKER_PARKED);
    pthread_t stopper;
    must_equal(pthread_create(&stopper, NULL, stop_pool, pool), 0);
    gate_wait_entered(&stopping, 1);
    see_state(reader, 0, VIGIL_WORKER_STOPPING, NULL);
    gate_open(&stopping);
    must_equal(pthread_join(stopper, NULL), 0);
    see_state(reader, 0, VIGIL_WORKER_STOPPED, &worker);
    must_equal(worker.tid, 0);
    vg_reader_close(reader);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static void one_that_is_kept_awake_is_seen_spinning(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.idle = VIGIL_IDLE_KEEP_ONE_AWAKE;
    vigil_pool *pool = pool_with(&options);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    see_state(reader, 0, VIGIL_WORKER_SPINNING, NULL);
    vg_reader_close(reader);
    pool_close(pool);
}

static struct gate victim;

static int nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

/* Spawns tasks that it cannot run itself, because it is inside the gate. */
static int spawns(vigil_task *task)
{
    (void)task;
    vigil_group group;
    vigil_task children[50];
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    for (size_t i = 0; i < count_of(children); i++) {
        vigil_task_init(&children[i], nothing, NULL);
        must_equal(vigil_group_spawn(&group, &children[i]), 0);
    }
    gate_pass(&victim);
    return vigil_group_wait(&group);
}

static void stealing_is_counted_timed_and_recorded(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vigil_task task;
    vigil_task_init(&task, spawns, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_NORMAL), 0);
    gate_wait_entered(&victim, 1);
    while (pool_stats(pool).total.queued != 0) /* the other worker has taken them all */
        yield();
    gate_open(&victim);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_wait_all_parked(pool);
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_pool_view *view = &seen->pools[0];
    must_equal(view->steals_won, 50);
    uint64_t stealing = 0;
    for (size_t i = 0; i < view->worker_count; i++)
        stealing += view->workers[i].time_ns[VIGIL_WORKER_STEALING];
    must(stealing != 0);
    must_equal(view->total.spawned, 50);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    unsigned steals = 0;
    for (size_t i = 0; i < seen->thread_count; i++) {
        vg_event *events = NULL;
        uint64_t first = 0;
        size_t count = 0;
        must_equal(vg_reader_events(reader, seen->threads[i].serial, 0, &events, &first, &count), 0);
        for (size_t k = 0; k < count; k++)
            steals += vg_event_kind_of(&events[k]) == VG_EVENT_STEAL;
        free(events);
    }
    must_equal(steals, 50);
    vg_reader_close(reader);
    vg_snapshot_free(seen);
    pool_close(pool);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void see_loop(unsigned wanted, vg_loop_view *found)
{
    for (;;) {
        vg_snapshot *seen = snapshot_of(getpid());
        must_equal(seen->loop_count, 1);
        *found = seen->loops[0];
        vg_snapshot_free(seen);
        if (found->state == wanted)
            return;
        yield();
    }
}

static void *run_loop(void *loop)
{
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    return NULL;
}

static struct gate callback;

static void long_callback(void *arg)
{
    (void)arg;
    gate_pass(&callback);
}

static void short_callback(void *arg)
{
    (void)arg;
}

static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    event_set(arg);
}

static void a_loop_shows_its_state_its_phase_and_the_callback_that_runs(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.name = "seen";
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, &options), 0);
    vg_loop_view view;
    see_loop(VIGIL_LOOP_AWAKE, &view);
    must(strcmp(view.name, "seen") == 0 && view.tid == 0);
    static struct event fired;
    vigil_timer timer;
    must_equal(vigil_timer_start(loop, 1000000, on_timer, &fired, &timer), 0);
    pthread_t owner;
    must_equal(pthread_create(&owner, NULL, run_loop, loop), 0);
    event_wait(&fired);
    see_loop(VIGIL_LOOP_SLEEPING, &view);
    must(view.tid != 0 && view.call_function == 0);
    bool waits = false;
    while (!waits) { /* it says so right after its state */
        vg_snapshot *asleep = snapshot_of(getpid());
        for (size_t i = 0; i < asleep->thread_count; i++)
            waits =
                waits || (asleep->threads[i].role == VG_ROLE_LOOP && asleep->threads[i].wait.kind == VG_WAIT_EVENTS);
        vg_snapshot_free(asleep);
    }
    must_equal(vigil_loop_call(loop, long_callback, NULL, NULL), 0);
    gate_wait_entered(&callback, 1);
    for (int i = 0; i < 20; i++)
        must_equal(vigil_loop_call(loop, short_callback, NULL, NULL), 0);
    see_loop(VIGIL_LOOP_RUNNING, &view);
    must_equal(view.call_function, (uintptr_t)long_callback);
    must_equal(view.phase, VIGIL_PHASE_POSTS);
    vigil_loop_stats truth = {.size = sizeof truth};
    must_equal(vigil_loop_stats_get(loop, &truth), 0); /* looks into the queue */
    see_loop(VIGIL_LOOP_RUNNING, &view);
    must_equal(view.posts_queued, 20);
    gate_open(&callback);
    do
        see_loop(VIGIL_LOOP_SLEEPING, &view);
    while (view.posts_run != 21);
    must_equal(view.timers_fired, 1);
    must_equal(view.delay.count, 1);
    must_equal(view.callback.count, 22);
    must(view.poll.count != 0 && view.wake.count != 0 && view.changes > 2);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_equal(pthread_join(owner, NULL), 0);
    see_loop(VIGIL_LOOP_TERMINATED, &view);
    must_equal(view.tid, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

enum {
    LATE_TIMERS = 300,
    LATE_MS = 1000000
};

static void pauses(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    must_equal(vigil_loop_pause(loop), 0); /* leaves the batch, which goes on in the next run */
}

static void ignore_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
}

/* Many that are equally late, then some that are not, and the batch is left in between. */
static void the_delay_of_each_timer_is_in_the_histogram(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, &options), 0);
    const uint64_t now = vigil_loop_now(loop);
    for (uint64_t i = 0; i < LATE_TIMERS; i++) {
        vigil_timer_options timer = {.size = sizeof timer};
        timer.deadline_ns = now - (i < LATE_TIMERS / 2 ? 2000 : LATE_TIMERS - i) * LATE_MS;
        must_equal(vigil_timer_start_with(loop, &timer, i == LATE_TIMERS / 4 ? pauses : ignore_timer, NULL, NULL), 0);
    }
    vg_loop_view view;
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
    see_loop(VIGIL_LOOP_AWAKE, &view);
    must_equal(view.timers_fired, LATE_TIMERS / 4 + 1);
    must_equal(view.delay.count, view.timers_fired);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    see_loop(VIGIL_LOOP_AWAKE, &view);
    must_equal(view.timers_fired, LATE_TIMERS);
    must_equal(view.delay.count, LATE_TIMERS);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(starting_running_blocked_parked_stopping_and_stopped_are_seen),
        watch_test(one_that_is_kept_awake_is_seen_spinning),
        watch_test(stealing_is_counted_timed_and_recorded),
        watch_test(a_loop_shows_its_state_its_phase_and_the_callback_that_runs),
        watch_test(the_delay_of_each_timer_is_in_the_histogram),
    };
    return run_all(tests);
}
