/* SPDX-License-Identifier: MIT */
/* W8: other processes, live, stopped and dead; forks; and places where there can be no file. */
#include "watch_test.h"

#include <fcntl.h>
#include <sys/resource.h>

/* The thread sanitizer cannot start threads in the child of a process that has some (ours has the support's watchdog). */
static void no_threads_after_fork(void)
{
    if (TEST_TSAN)
        skip();
}

/* ---- a process to look at ---------------------------------------------------------------------------------------- */

static struct shared_words *child_words;

static int endless(vigil_task *task)
{
    (void)task;
    event_set(&child_words->ready);
    while (!event_is_set(&child_words->more)) /* which never happens */
        yield();
    return 0;
}

/* One worker hogged, work queued behind it. */
static void hogged(struct shared_words *words)
{
    child_words = words;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.name = "hogged";
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, &options) != 0)
        _exit(1);
    (void)VIGIL_RECORD_NAME(endless, "the endless one");
    static vigil_task tasks[4];
    for (size_t i = 0; i < count_of(tasks); i++) {
        vigil_task_init(&tasks[i], endless, NULL);
        (void)vigil_pool_submit(pool, &tasks[i], VIGIL_LOW);
    }
    wait_shared(&words->ready);
    vigil_pool_stats stats = {.size = sizeof stats};
    (void)vigil_pool_stats_get(pool, &stats);
    event_set(&words->go);
    for (;;)
        (void)pause();
}

static void must_show_the_hog(vg_reader *reader, bool alive, bool stopped)
{
    vg_snapshot *seen = NULL;
    must_equal(vg_reader_snapshot(reader, &seen), 0);
    must_equal(seen->alive, alive);
    must_equal(seen->stopped, stopped);
    must_equal(seen->pool_count, 1);
    const vg_pool_view *pool = &seen->pools[0];
    must(strcmp(pool->name, "hogged") == 0);
    must_equal(pool->of[VIGIL_LOW].submitted, 4);
    must_equal(pool->of[VIGIL_LOW].queued, 3);
    must_equal(pool->of[VIGIL_LOW].running, 1);
    must(pool->of[VIGIL_LOW].oldest_age_ns != 0);
    must_equal(pool->worker_count, 1);
    const vg_worker_view *worker = &pool->workers[0];
    must_equal(worker->state, VIGIL_WORKER_RUNNING);
    must(worker->in_task);
    char name[64];
    vg_reader_name(reader, worker->task_function, name, sizeof name);
    must(strcmp(name, "the endless one") == 0);
    bool submitted = false;
    for (size_t i = 0; i < seen->thread_count; i++) {
        vg_event *events = NULL;
        uint64_t first = 0;
        size_t count = 0;
        must_equal(vg_reader_events(reader, seen->threads[i].serial, 0, &events, &first, &count), 0);
        for (size_t k = 0; k < count; k++)
            submitted = submitted || vg_event_kind_of(&events[k]) == VG_EVENT_SUBMIT;
        free(events);
    }
    must(submitted);
    vg_snapshot_free(seen);
}

static void a_live_a_stopped_and_a_killed_process_can_be_read(void **state)
{
    (void)state;
    no_threads_after_fork();
    struct shared_words *words = share_words();
    pid_t child = start_child(hogged, words);
    wait_shared(&words->go);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, child), 0);
    must_show_the_hog(reader, true, false);
    must_equal(kill(child, SIGSTOP), 0);
    int status = 0;
    must_equal(waitpid(child, &status, WUNTRACED), child);
    must(WIFSTOPPED(status));
    must_show_the_hog(reader, true, true); /* waits for nothing that the process would have to do, or never returned */
    must_equal(kill(child, SIGKILL), 0);
    must(WIFSIGNALED(child_status(child)));
    must_show_the_hog(reader, false, false);
    vg_reader_close(reader);
    must_equal(vg_reader_open_pid(&reader, child), 0); /* the file is still there */
    must_show_the_hog(reader, false, false);
    vg_process processes[4];
    must_equal(vg_processes(processes, count_of(processes)), 1);
    must_equal(processes[0].pid, child);
    must(!processes[0].alive);
    vg_reader_close(reader);
    must_equal(munmap(words, sizeof *words), 0);
}

static void lives_and_ends(struct shared_words *words)
{
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, NULL) != 0)
        _exit(1);
    event_set(&words->ready);
    wait_shared(&words->go);
    if (vigil_pool_destroy(pool) != 0)
        _exit(2);
}

static void a_clean_end_removes_the_file(void **state)
{
    (void)state;
    no_threads_after_fork();
    struct shared_words *words = share_words();
    pid_t child = start_child(lives_and_ends, words);
    wait_shared(&words->ready);
    vg_process processes[4];
    must_equal(vg_processes(processes, count_of(processes)), 1);
    must_equal(processes[0].pid, child);
    must(processes[0].alive);
    must(processes[0].command[0] != '\0');
    event_set(&words->go);
    must_equal(child_status(child), 0);
    must_equal(vg_processes(processes, count_of(processes)), 0);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, child), -ENOENT);
    must_equal(munmap(words, sizeof *words), 0);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static vigil_pool *parents_pool;
static vigil_loop *parents_loop;

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void uses_pools_of_both(struct shared_words *words)
{
    char path[256];
    if (vigil_record_path(path, sizeof path) != -ENOENT) /* the parent's file is not ours */
        _exit(1);
    vigil_pool *own = NULL;
    if (vigil_pool_create(&own, NULL) != 0)
        _exit(2);
    for (int i = 0; i < 1000; i++)
        if (vigil_pool_call(own, nothing, NULL, NULL, VIGIL_NORMAL) != 0)
            _exit(3);
    if (vigil_pool_wait_idle(own, VIGIL_FOREVER) != 0 || vigil_record_path(path, sizeof path) <= 0)
        _exit(4);
    if (vigil_loop_fork(parents_loop) != 0)
        _exit(5);
    vg_reader *reader = NULL;
    vg_snapshot *seen = NULL;
    if (vg_reader_open_path(&reader, path) != 0 || vg_reader_snapshot(reader, &seen) != 0)
        _exit(6);
    if (seen->pid != getpid() || seen->pool_count != 1 || seen->pools[0].total.completed != 1000 ||
        seen->loop_count != 1 || strcmp(seen->loops[0].name, "carried over") != 0)
        _exit(7);
    vg_snapshot_free(seen);
    vg_reader_close(reader);
    event_set(&words->ready);
    wait_shared(&words->go);
    if (vigil_pool_destroy(parents_pool) != 0 || vigil_pool_destroy(own) != 0 || vigil_loop_destroy(parents_loop) != 0)
        _exit(8);
    if (vigil_record_path(path, sizeof path) != -ENOENT)
        _exit(9);
}

static void the_child_of_a_fork_has_a_file_of_its_own_and_leaves_its_parents_alone(void **state)
{
    (void)state;
    no_threads_after_fork();
    struct shared_words *words = share_words();
    parents_pool = pool_of(2);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.name = "carried over";
    must_equal(vigil_loop_create(&parents_loop, &options), 0);
    must_equal(vigil_pool_call(parents_pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(parents_pool, VIGIL_FOREVER), 0);
    /* A worker that allocates during the fork would leave a lock of gcc 12's address sanitizer to the child. */
    pool_wait_all_parked(parents_pool);
    pool_unwatch(parents_pool);
    pid_t child = start_child(uses_pools_of_both, words);
    int status = 0;
    while (!event_is_set(&words->ready)) {
        must_equal(waitpid(child, &status, WNOHANG), 0);
        yield();
    }
    must_equal(files_in_directory(), 2);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(seen->pool_count, 1);
    must_equal(seen->pools[0].total.submitted, 1); /* nothing of the child's thousand */
    vg_snapshot_free(seen);
    event_set(&words->go);
    must_equal(child_status(child), 0);
    must_equal(files_in_directory(), 1);
    must_equal(vigil_pool_call(parents_pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(parents_pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(parents_pool).total.completed, 2);
    must_equal(vigil_loop_destroy(parents_loop), 0);
    must_equal(vigil_pool_destroy(parents_pool), 0);
    must_equal(files_in_directory(), 0);
    must_equal(munmap(words, sizeof *words), 0);
}

/* ---- places where there can be no file --------------------------------------------------------------------------- */

static char said[512];
static unsigned times_said;

static void keep_log(void *user, const char *text)
{
    (void)user;
    times_said++;
    (void)snprintf(said, sizeof said, "%s", text);
}

/* The process runs on without the file, and says so once. */
static void must_run_without_a_file(const char *directory, const char *reason)
{
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.log = keep_log;
    options.directory = directory;
    must_equal(vigil_record_configure(&options), 0);
    times_said = 0;
    vigil_pool *pool = pool_of(2);
    vigil_pool *another = pool_of(1);
    must_equal(times_said, 1);
    must(strstr(said, reason) != NULL && strstr(said, "VIGIL_DIR") != NULL);
    must_equal(vigil_record_path(NULL, 0), -ENOENT);
    must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.completed, 1);
    must_equal(vigil_record_mark("nowhere", 1), -EAGAIN);
    pool_close(another);
    pool_close(pool);
}

static void a_directory_that_cannot_be_trusted_or_made_is_not_used(void **state)
{
    (void)state;
    char path[128];
    must_run_without_a_file("/proc/vigil", "No such file");
    (void)snprintf(path, sizeof path, "%s/link", own_directory);
    must_equal(symlink("/tmp", path), 0);
    must_run_without_a_file(path, "not permitted");
    (void)snprintf(path, sizeof path, "%s/file", own_directory);
    must(creat(path, 0600) >= 0);
    must_run_without_a_file(path, "not permitted");
    (void)snprintf(path, sizeof path, "%s", own_directory);
    must_equal(chmod(own_directory, 0777), 0);
    must_run_without_a_file(path, "not permitted");
    must_equal(chmod(own_directory, 0700), 0);
}

static void a_limit_on_the_size_of_files_kills_nobody(void **state)
{
    (void)state;
    struct rlimit limit;
    must_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 16384, .rlim_max = limit.rlim_max};
    must_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    must_run_without_a_file(own_directory, "File too large");
    must_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void what_does_not_fit_below_max_bytes_is_left_out_and_counted(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.max_bytes = 1 << 20;
    must_equal(vigil_record_configure(&options), 0);
    vigil_pool *pool = pool_of(8);
    vigil_record_stats stats = VIGIL_RECORD_STATS_INIT;
    uint64_t called = 0;
    do { /* until a task has met a thread that has no ring: its events are dropped */
        for (int i = 0; i < 8; i++)
            must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
        called += 8;
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        pool_wait_all_parked(pool);
        must_equal(vigil_record_stats_get(&stats), 0);
    } while (stats.dropped == 0);
    must(stats.file_bytes <= 1 << 20);
    must(stats.left_out > 0);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(seen->left_out, stats.left_out);
    must(seen->events_dropped > 0);
    vg_snapshot_free(seen);
    must_equal(pool_stats(pool).total.completed, called);
    pool_close(pool);
}

static void the_file_of_another_user_stays_closed(void **state)
{
    (void)state;
    no_threads_after_fork();
    if (geteuid() != 0)
        skip();
    struct shared_words *words = share_words();
    pid_t child = start_child(lives_and_ends, words);
    wait_shared(&words->ready);
    pid_t other = fork();
    must(other >= 0);
    if (other == 0) {
        vg_reader *reader = NULL;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        _exit(vg_reader_open_pid(&reader, child) == -EACCES ? 0 : 2);
    }
    must_equal(child_status(other), 0);
    event_set(&words->go);
    must_equal(child_status(child), 0);
    must_equal(munmap(words, sizeof *words), 0);
}

/* A record as a process leaves it that was killed. */
static void leave_record(const char *path, uint64_t pid, time_t when)
{
    static vg_file_header header;
    memset(&header, 0, sizeof header);
    atomic_store(&header.magic, VG_FILE_MAGIC);
    header.version = VG_FILE_VERSION;
    header.pid = pid;
    header.locked = 1;
    int fd = creat(path, 0600);
    must(fd >= 0);
    must_equal(write(fd, &header, sizeof header), sizeof header);
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    must_equal(futimens(fd, times), 0);
    must_equal(close(fd), 0);
}

static void of_the_dead_the_newest_are_kept(void **state)
{
    (void)state;
    char path[128];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(path, sizeof path, "%s/%d-%016x", own_directory, 10000000 + i, i);
        leave_record(path, (uint64_t)(10000000 + i), 1000 + i);
    }
    vigil_pool *pool = pool_of(1);
    must_equal(files_in_directory(), 17);
    (void)snprintf(path, sizeof path, "%s/%d-%016x", own_directory, 10000039, 39);
    must_equal(access(path, F_OK), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_live_a_stopped_and_a_killed_process_can_be_read),
        watch_test(a_clean_end_removes_the_file),
        watch_test(the_child_of_a_fork_has_a_file_of_its_own_and_leaves_its_parents_alone),
        watch_test(a_directory_that_cannot_be_trusted_or_made_is_not_used),
        watch_test(a_limit_on_the_size_of_files_kills_nobody),
        watch_test(what_does_not_fit_below_max_bytes_is_left_out_and_counted),
        watch_test(the_file_of_another_user_stays_closed),
        watch_test(of_the_dead_the_newest_are_kept),
    };
    return run_all(tests);
}
