/* SPDX-License-Identifier: MIT */
/* W1, W4: The recorder and the reader, in one process: what is written can be read, and agrees with the truth. */
#include "watch_test.h"

static const vg_pool_view *only_pool(const vg_snapshot *snapshot)
{
    must_equal(snapshot->pool_count, 1);
    return &snapshot->pools[0];
}

static int task_nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int fails(void *arg)
{
    (void)arg;
    return -EIO;
}

static void the_file_comes_with_the_first_pool_and_goes_with_the_last(void **state)
{
    (void)state;
    char path[256];
    must_equal(vigil_record_path(path, sizeof path), -ENOENT);
    vigil_pool *first = pool_of(1);
    must(vigil_record_path(path, sizeof path) > 0);
    must(strncmp(path, own_directory, strlen(own_directory)) == 0);
    struct stat info;
    must_equal(stat(path, &info), 0);
    must_equal(info.st_mode & 07777, 0600);
    must(info.st_blocks * 512 >= info.st_size); /* every byte is there: no signal for a full disk later */
    vigil_loop *loop = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    pool_close(first);
    must_equal(files_in_directory(), 1);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(files_in_directory(), 0);
    must_equal(vigil_record_path(path, sizeof path), -ENOENT);
    must_equal(vigil_record_mark("late", 1), -ENOENT);
}

static bool all_wait_for_work(const vg_pool_view *view)
{
    for (size_t i = 0; i < view->worker_count; i++) {
        if (view->workers[i].wait.kind != VG_WAIT_WORK)
            return false;
    }
    return true;
}

static void the_reader_tells_the_same_as_the_pool_itself(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.name = "truth";
    options.max_queue = 5;
    vigil_pool *pool = pool_with(&options);
    struct hold hold = {0};
    hold_workers(&hold, pool, 3);
    vigil_task tasks[7];
    unsigned refused = 0;
    for (size_t i = 0; i < count_of(tasks); i++) {
        vigil_task_init(&tasks[i], task_nothing, NULL);
        refused += vigil_pool_submit(pool, &tasks[i], VIGIL_LOW) == -EAGAIN;
    }
    must_equal(refused, 2);
    vigil_pool_stats truth = pool_stats(pool); /* also looks for the oldest */
    vg_snapshot *seen = snapshot_of(getpid());
    const vg_pool_view *view = only_pool(seen);
    must(strcmp(view->name, "truth") == 0);
    must_equal(view->workers_wanted, 3);
    must_equal(view->worker_count, 3);
    must_equal(view->max_queue, 5);
    must_equal(view->of[VIGIL_LOW].queued, 5);
    must_equal(view->of[VIGIL_LOW].refused, 2);
    must(view->of[VIGIL_LOW].oldest_age_ns > 0);
    must_equal(view->total.running, 3);
    must_equal(view->total.submitted, truth.total.submitted);
    must_equal(seen->alive, true);
    for (size_t i = 0; i < view->worker_count; i++) {
        must_equal(view->workers[i].state, VIGIL_WORKER_RUNNING);
        must(view->workers[i].in_task);
        must(view->workers[i].tid != 0);
    }
    vg_snapshot_free(seen);
    hold_release(&hold);
    for (int i = 0; i < 3; i++)
        while (vigil_pool_call(pool, fails, NULL, NULL, VIGIL_HIGH) == -EAGAIN)
            yield(); /* the queue is small */
    /* Somebody has to be woken for one of the next. A worker that counts as parked need not sleep yet: then the call finds it awake,
       and no wake is measured. */
    uint64_t failures = 3;
    for (seen = snapshot_of(getpid()); only_pool(seen)->wake.count == 0; seen = snapshot_of(getpid())) {
        vg_snapshot_free(seen);
        pool_wait_all_parked(pool);
        must_equal(vigil_pool_call(pool, fails, NULL, NULL, VIGIL_HIGH), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        failures++;
    }
    vg_snapshot_free(seen);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    truth = pool_stats(pool);
    seen = snapshot_of(getpid());
    view = only_pool(seen);
    for (unsigned c = 0; c < VIGIL_PRIORITIES; c++) {
        must_equal(view->of[c].submitted, truth.by_class[c].submitted);
        must_equal(view->of[c].completed, truth.by_class[c].completed);
        must_equal(view->of[c].failed, truth.by_class[c].failed);
        must_equal(view->of[c].queued, 0);
        must_equal(view->of[c].running, 0);
        /* Every task that has run is in a histogram. Those that a worker still has together are noted before it parks. */
    }
    must_equal(view->of[VIGIL_HIGH].failed, failures);
    vg_snapshot_free(seen);
    pool_wait_all_parked(pool);
    /* A worker counts as parked a moment before it says what it waits for. */
    for (seen = snapshot_of(getpid()); !all_wait_for_work(only_pool(seen)); seen = snapshot_of(getpid())) {
        vg_snapshot_free(seen);
        yield();
    }
    view = only_pool(seen);
    for (unsigned c = 0; c < VIGIL_PRIORITIES; c++) {
        must_equal(view->run[c].count, truth.by_class[c].completed + truth.by_class[c].failed);
        must_equal(view->wait[c].count, view->run[c].count);
    }
    must(view->parks != 0 && view->wakes_sent != 0 && view->wake.count != 0);
    for (size_t i = 0; i < view->worker_count; i++) {
        must_equal(view->workers[i].state, VIGIL_WORKER_PARKED);
        must_equal(view->workers[i].wait.kind, VG_WAIT_WORK);
        must(view->workers[i].changes > 2);
        must(!view->workers[i].in_task);
    }
    vg_snapshot_free(seen);
    pool_close(pool);
}

static void a_snapshot_adds_up_while_tasks_fly(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    uint64_t completed = 0;
    for (uint64_t round = 0; round < scaled(300, 30); round++) {
        for (int i = 0; i < 64; i++)
            must_equal(vigil_pool_call(pool, nothing, NULL, NULL, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
        vg_snapshot *seen = NULL;
        must_equal(vg_reader_snapshot(reader, &seen), 0);
        const vg_class_view *total = &only_pool(seen)->total;
        must_equal(total->submitted,
                   total->queued + total->running + total->completed + total->failed + total->cancelled);
        /* Never below zero, which would be a very large number; and nothing goes back. */
        must(total->running < 1000 && total->queued < 1000000);
        must(total->completed >= completed);
        completed = total->completed;
        vg_snapshot_free(seen);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    vg_reader_close(reader);
    pool_close(pool);
}

static int named_function(vigil_task *task)
{
    (void)task;
    return 0;
}

/* Find the thread by its role. */
static const vg_thread_view *thread_of(const vg_snapshot *snapshot, vg_thread_role role)
{
    for (size_t i = 0; i < snapshot->thread_count; i++)
        if (snapshot->threads[i].role == role)
            return &snapshot->threads[i];
    return NULL;
}

static void a_task_leaves_two_events_that_belong_together(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    vigil_task task;
    vigil_task_init(&task, named_function, NULL);
    must_equal(vigil_pool_submit(pool, &task, VIGIL_HIGH), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_wait_all_parked(pool);
    must_equal(vigil_record_mark("a mark of mine", 42), 0);
    vg_reader *reader = NULL;
    vg_snapshot *seen = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    const vg_thread_view *main_thread = thread_of(seen, VG_ROLE_OTHER);
    const vg_thread_view *worker = thread_of(seen, VG_ROLE_WORKER);
    must(main_thread != NULL && worker != NULL);
    must_equal(worker->owner, only_pool(seen)->serial);
    must_equal(only_pool(seen)->workers[0].thread, worker->serial);
    vg_event *events = NULL;
    uint64_t first = 0;
    size_t count = 0;
    uint64_t id = 0;
    bool marked = false;
    must_equal(vg_reader_events(reader, main_thread->serial, 0, &events, &first, &count), 0);
    for (size_t i = 0; i < count; i++) {
        if (vg_event_kind_of(&events[i]) == VG_EVENT_SUBMIT) {
            must_equal(vg_event_address(&events[i]), (uintptr_t)named_function);
            must_equal(vg_event_small(&events[i]), VIGIL_HIGH);
            must_equal((uint32_t)events[i].a, 1);
            id = events[i].ticks;
        }
        if (vg_event_kind_of(&events[i]) == VG_EVENT_MARK) {
            marked = true;
            must_equal(events[i].a, 42);
            char name[16] = "";
            uint64_t low = vg_event_address(&events[i]);
            memcpy(name, &low, 6);
            memcpy(name + 6, &events[i].b, 8);
            must(strcmp(name, "a mark of mine") == 0);
        }
    }
    must(id != 0 && marked);
    free(events);
    bool ran = false;
    must_equal(vg_reader_events(reader, worker->serial, 0, &events, &first, &count), 0);
    for (size_t i = 0; i < count; i++)
        if (vg_event_kind_of(&events[i]) == VG_EVENT_RUN && events[i].a == id) {
            ran = true;
            must_equal(vg_event_address(&events[i]), (uintptr_t)named_function);
            must_equal(vg_event_status(&events[i]), 0);
            must(events[i].ticks - vg_event_duration(&events[i]) >= id);
        }
    must(ran);
    free(events);
    char name[128];
    vg_reader_name(reader, (uintptr_t)named_function, name, sizeof name);
    must(strcmp(name, "named_function") == 0);
    must_equal(VIGIL_RECORD_NAME(named_function, "spawn bots"), 0);
    vg_snapshot_free(seen);
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    vg_reader_name(reader, (uintptr_t)named_function, name, sizeof name);
    must(strcmp(name, "spawn bots") == 0);
    vg_reader_name(reader, 12345, name, sizeof name);
    must(strcmp(name, "0x3039") == 0);
    vg_snapshot_free(seen);
    vg_reader_close(reader);
    pool_close(pool);
}

static const char first_part, second_part;

static void door(void *arg)
{
    vigil_loop *loop = arg;
    must_equal(vigil_loop_shows(loop, NULL), -EINVAL);
    must_equal(vigil_loop_shows(loop, &first_part), 0);
    must_equal(vigil_loop_shows(loop, &second_part), 0);
    vg_reader *reader = NULL;
    vg_snapshot *seen = NULL;
    char name[64];
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    vg_reader_name(reader, seen->loops[0].call_function, name, sizeof name);
    must(strcmp(name, "the second part") == 0);
    vg_snapshot_free(seen);
    vg_reader_close(reader);
}

static void a_callback_shows_its_parts_by_names_of_its_own(void **state)
{
    (void)state;
    vigil_loop *loop = NULL;
    unsigned first_seen = 0, second_seen = 0;
    must_equal(vigil_record_name((void (*)(void))(uintptr_t)&first_part, "the first part"), 0);
    must_equal(vigil_record_name((void (*)(void))(uintptr_t)&second_part, "the second part"), 0);
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_loop_shows(loop, &first_part), -ENOENT);
    for (int i = 0; i < 3; i++)
        must_equal(vigil_loop_immediate_call(loop, door, NULL, loop), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    vg_reader *reader = NULL;
    vg_snapshot *seen = NULL;
    vg_event *events = NULL;
    uint64_t first = 0;
    size_t count = 0;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    must_equal(seen->thread_count, 1);
    must_equal(vg_reader_events(reader, seen->threads[0].serial, 0, &events, &first, &count), 0);
    for (size_t i = 0; i < count; i++)
        if (vg_event_kind_of(&events[i]) == VG_EVENT_CALL) {
            first_seen += vg_event_address(&events[i]) == (uintptr_t)&first_part;
            second_seen += vg_event_address(&events[i]) == (uintptr_t)&second_part;
        }
    must_equal(first_seen, 3); /* each by itself */
    must_equal(second_seen, 3);
    free(events);
    vg_snapshot_free(seen);
    vg_reader_close(reader);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_ring_that_overflows_keeps_the_last_and_says_how_many_are_gone(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.ring_events = 64;
    must_equal(vigil_record_configure(&options), 0);
    vigil_pool *pool = pool_of(1);
    for (uint64_t i = 0; i < 1000; i++)
        must_equal(vigil_record_mark("n", i), 0);
    vg_reader *reader = NULL;
    vg_snapshot *seen = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    const vg_thread_view *mine = thread_of(seen, VG_ROLE_OTHER);
    must(mine != NULL && mine->events >= 1000 && mine->dropped == mine->events - 64);
    vg_event *events = NULL;
    uint64_t first = 0;
    size_t count = 0;
    must_equal(vg_reader_events(reader, mine->serial, 0, &events, &first, &count), 0);
    must_equal(count, 63);
    must_equal(events[count - 1].a, 999);
    for (size_t i = 1; i < count; i++)
        must_equal(events[i].a, events[i - 1].a + 1);
    free(events);
    const uint64_t next = first + count;
    must_equal(vigil_record_mark("n", 1000), 0);
    must_equal(vg_reader_events(reader, mine->serial, next, &events, &first, &count), 0);
    must_equal(first, next);
    must_equal(count, 1);
    must_equal(events[0].a, 1000);
    free(events);
    must_equal(vg_reader_events(reader, 999999, 0, &events, &first, &count), -ENOENT);
    vg_snapshot_free(seen);
    vg_reader_close(reader);
    pool_close(pool);
}

static void *mark_once(void *arg)
{
    (void)arg;
    must_equal(vigil_record_mark("short life", 7), 0);
    return NULL;
}

static void threads_that_end_give_their_rings_back(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    pool_wait_all_parked(pool); /* its worker has come, and has its ring: from here on nobody but us takes one */
    uint64_t bytes = 0;
    for (int i = 0; i < 600; i++) { /* more than there are rings */
        pthread_t thread;
        must_equal(pthread_create(&thread, NULL, mark_once, NULL), 0);
        must_equal(pthread_join(thread, NULL), 0);
        vigil_record_stats stats = {.size = sizeof stats};
        must_equal(vigil_record_stats_get(&stats), 0);
        must_equal(stats.dropped, 0);
        if (i == 10)
            bytes = stats.file_bytes;
        if (i > 10)
            must_equal(stats.file_bytes, bytes);
    }
    vg_snapshot *seen = snapshot_of(getpid());
    bool found = false;
    for (size_t i = 0; i < seen->thread_count; i++)
        found = found || seen->threads[i].ended; /* what it did can still be read */
    must(found);
    vg_snapshot_free(seen);
    pool_close(pool);
}

static void levels_are_what_they_say(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.level = VIGIL_RECORD_COUNTERS;
    must_equal(vigil_record_configure(&options), 0);
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_record_configure(&options), -EBUSY);
    must_equal(vigil_record_mark("no", 1), -ENOENT);
    must_equal(vigil_pool_call(pool, fails, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_wait_all_parked(pool);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(seen->level, VIGIL_RECORD_COUNTERS);
    must_equal(seen->thread_count, 0);
    must_equal(only_pool(seen)->total.failed, 1);
    must_equal(only_pool(seen)->run[VIGIL_NORMAL].count, 1);
    vg_snapshot_free(seen);
    pool_close(pool);
    must_equal(setenv("VIGIL_RECORD", "off", 1), 0); /* stronger than what the program says */
    pool = pool_of(1);
    must_equal(files_in_directory(), 0);
    must_equal(vigil_pool_call(pool, fails, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.failed, 1); /* the counters are always there */
    vigil_record_stats stats = {.size = sizeof stats};
    must_equal(vigil_record_stats_get(&stats), 0);
    must_equal(stats.level, VIGIL_RECORD_OFF);
    pool_close(pool);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.max_bytes = 1000;
    must_equal(vigil_record_configure(&options), -EINVAL);
    options.max_bytes = 0;
    options.level = (vigil_record_level)9;
    must_equal(vigil_record_configure(&options), -EINVAL);
    options.level = VIGIL_RECORD_DEFAULT;
    options.ring_events = 1U << 30;
    must_equal(vigil_record_configure(&options), -EINVAL);
    must_equal(vigil_record_name(NULL, "x"), -EINVAL);
    must_equal(VIGIL_RECORD_NAME(named_function, ""), -EINVAL);
    must_equal(vigil_record_mark(NULL, 0), -EINVAL);
    must_equal(vigil_record_stats_get(NULL), -EINVAL);
}

static void many_pools_come_and_go_in_the_same_places(void **state)
{
    (void)state;
    vigil_pool *keeper = pool_of(1);
    pool_wait_all_parked(keeper);
    uint64_t bytes = 0;
    for (int i = 0; i < 30; i++) {
        vigil_pool *pool = pool_of(2);
        pool_wait_all_parked(pool); /* all workers have come: each round needs as many rings as the others */
        must_equal(vigil_pool_call(pool, fails, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        vg_snapshot *seen = snapshot_of(getpid());
        must_equal(seen->pool_count, 2);
        must_equal(seen->pools[1].total.failed, 1); /* nothing of the pool that had the place before */
        vg_snapshot_free(seen);
        pool_close(pool);
        vigil_record_stats stats = {.size = sizeof stats};
        must_equal(vigil_record_stats_get(&stats), 0);
        if (i == 3)
            bytes = stats.file_bytes;
        if (i > 3)
            must_equal(stats.file_bytes, bytes);
    }
    pool_close(keeper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(the_file_comes_with_the_first_pool_and_goes_with_the_last),
        watch_test(the_reader_tells_the_same_as_the_pool_itself),
        watch_test(a_snapshot_adds_up_while_tasks_fly),
        watch_test(a_task_leaves_two_events_that_belong_together),
        watch_test(a_callback_shows_its_parts_by_names_of_its_own),
        watch_test(a_ring_that_overflows_keeps_the_last_and_says_how_many_are_gone),
        watch_test(threads_that_end_give_their_rings_back),
        watch_test(levels_are_what_they_say),
        watch_test(bad_options_are_refused),
        watch_test(many_pools_come_and_go_in_the_same_places),
    };
    return run_all(tests);
}
