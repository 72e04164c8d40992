/* SPDX-License-Identifier: MIT */
/* Circles through locks of both libraries, joins, promises and threads of nobody. Each in a child, which ends stuck. */
#include "watchdog_test.h"

#include <vigil/promise.h>
#include <vigil/sync.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct heard heard;
static struct meeting both = {.size = 2};

static void watch_shortly(vigil_stall want)
{
    heard.want = want;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.interval_ms = 50;
    options.stuck_ms = 200;
    options.loop_ms = 200;
    must_equal(vigil_watchdog_start(&options), 0);
}

static const vigil_verdict *circle(void)
{
    event_wait(&heard.raised[VIGIL_STALL_WAIT_CYCLE]);
    const vigil_verdict *verdict = &heard.first[VIGIL_STALL_WAIT_CYCLE];
    must_equal(verdict->severity, VIGIL_SEVERITY_ERROR);
    return verdict;
}

/* ---- threads of nobody ---- */

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rwlocks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};

static void *locks_both(void *arg)
{
    const int first = *(const int *)arg;
    must_equal(pthread_mutex_lock(&mutexes[first]), 0);
    (void)meeting_join(&both);
    (void)pthread_mutex_lock(&mutexes[1 - first]);
    return NULL;
}

static void *writes_both(void *arg)
{
    const int first = *(const int *)arg;
    must_equal(pthread_rwlock_wrlock(&rwlocks[first]), 0);
    (void)meeting_join(&both);
    (void)(first == 0 ? pthread_rwlock_wrlock(&rwlocks[1]) : pthread_rwlock_rdlock(&rwlocks[0]));
    return NULL;
}

static const int order[2] = {0, 1};

static const vigil_verdict *circle_of_threads(void *(*body)(void *))
{
    (void)pool_of(1);
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    for (int i = 0; i < 2; i++)
        (void)start_thread(body, (void *)(uintptr_t)&order[i]); // NOLINT
    const vigil_verdict *verdict = circle();
    must_say(verdict->reason, "2 threads wait for each other in a circle: thread ");
    must_say(verdict->stacks, body == locks_both ? "locks_both" : "writes_both");
    must_say(verdict->advice, "same order");
    return verdict;
}

static void plain_threads(void *arg)
{
    (void)arg;
    must_say(circle_of_threads(locks_both)->evidence, "for the mutex at 0x");
    _exit(0);
}

static void plain_writers(void *arg)
{
    (void)arg;
    must_say(circle_of_threads(writes_both)->evidence, "for the read-write lock at 0x");
    _exit(0);
}

static void robust_mutexes(void *arg)
{
    (void)arg;
    pthread_mutexattr_t how;
    must_equal(pthread_mutexattr_init(&how), 0);
    must_equal(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), 0);
    for (int i = 0; i < 2; i++)
        must_equal(pthread_mutex_init(&mutexes[i], &how), 0);
    must_say(circle_of_threads(locks_both)->evidence, "for the mutex at 0x");
    _exit(0);
}

static void *wants_the_mutex(void *arg)
{
    (void)arg;
    (void)meeting_join(&both);
    (void)pthread_mutex_lock(&mutexes[0]);
    return NULL;
}

static void *holds_and_joins(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&mutexes[0]), 0);
    pthread_t other = start_thread(wants_the_mutex, NULL);
    (void)meeting_join(&both);
    (void)pthread_join(other, NULL);
    return NULL;
}

static void joins_with_the_lock(void *arg)
{
    (void)arg;
    (void)pool_of(1);
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    (void)start_thread(holds_and_joins, NULL);
    const vigil_verdict *verdict = circle();
    must_say(verdict->evidence, "for the end of thread ");
    must_say(verdict->evidence, "for the mutex at 0x");
    must_say(verdict->advice, "Do not join");
    _exit(0);
}

/* ---- our own locks, from a thread that is no worker ---- */

static vigil_mutex own_mutex;
static vigil_rwlock own_rwlock;

static int wants_the_own_mutex(void *arg)
{
    (void)arg;
    return vigil_mutex_lock(&own_mutex);
}

static int writes_then_wants(void *arg)
{
    (void)arg;
    must_equal(vigil_rwlock_write(&own_rwlock, VIGIL_FOREVER, NULL), 0);
    (void)meeting_join(&both);
    return pthread_mutex_lock(&mutexes[0]);
}

static void *watches_the_others(void *arg)
{
    const vigil_verdict *verdict = circle();
    const char *const *words = arg;
    for (; *words != NULL; words++)
        must_say(verdict->evidence, *words);
    must(verdict->stacks[0] != 0);
    _exit(0);
}

static void own_mutex_held_over_a_job(void *arg)
{
    (void)arg;
    static const char *const words[] = {"for a job (wants_the_own_mutex)", "for the lock at 0x", NULL};
    vigil_pool *pool = pool_of(1);
    vigil_job job;
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    (void)start_thread(watches_the_others, (void *)(uintptr_t)words); // NOLINT
    must_equal(vigil_mutex_lock(&own_mutex), 0);
    must_equal(vigil_job_call(pool, wants_the_own_mutex, NULL, NULL, &job), 0);
    (void)vigil_job_wait(pool, job, VIGIL_FOREVER, NULL);
}

/* A worker wants the pthread mutex of this thread, which wants the worker's rwlock of ours. */
static void both_libraries(void *arg)
{
    (void)arg;
    static const char *const words[] = {"for the mutex at 0x", "for the lock at 0x", NULL};
    vigil_pool *pool = pool_of(1);
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    (void)start_thread(watches_the_others, (void *)(uintptr_t)words); // NOLINT
    must_equal(pthread_mutex_lock(&mutexes[0]), 0);
    must_equal(vigil_pool_call(pool, writes_then_wants, NULL, NULL, VIGIL_NORMAL), 0);
    (void)meeting_join(&both);
    (void)vigil_rwlock_read(&own_rwlock, VIGIL_FOREVER, NULL);
}

/* ---- a group whose task wants the mutex that is held over its wait ---- */

static struct event child_runs;

static int child_wants(vigil_task *task)
{
    (void)task;
    event_set(&child_runs);
    return pthread_mutex_lock(&mutexes[0]);
}

static int holds_over_a_group(void *arg)
{
    static vigil_task child;
    vigil_group group;
    must_equal(pthread_mutex_lock(&mutexes[0]), 0);
    must_equal(vigil_group_init(&group, arg, 0), 0);
    vigil_task_init(&child, child_wants, NULL);
    must_equal(vigil_group_spawn(&group, &child), 0);
    event_wait(&child_runs); /* a thief has it */
    return vigil_group_wait(&group);
}

static void mutex_over_a_group(void *arg)
{
    (void)arg;
    vigil_pool *pool = pool_of(2);
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    must_equal(vigil_pool_call(pool, holds_over_a_group, NULL, pool, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = circle();
    must_say(verdict->evidence, "for a group that cannot end before");
    must_say(verdict->evidence, "inside child_wants");
    must_say(verdict->advice, "hold a mutex over a wait");
    _exit(0);
}

/* ---- loops ---- */

static vigil_loop *loops[2];
static vigil_promise *never[2];

static void *run_the_loop(void *arg)
{
    (void)vigil_loop_run(arg, VIGIL_RUN);
    return NULL;
}

static void begin_loops(void)
{
    static const char *const names[2] = {"left", "right"};
    for (int i = 0; i < 2; i++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.name = names[i];
        options.stay = true;
        must_equal(vigil_loop_create(&loops[i], &options), 0);
        (void)start_thread(run_the_loop, loops[i]);
    }
}

static void waits_for_the_other(void *arg)
{
    const int self = *(const int *)arg;
    must_equal(vigil_promise_create(&never[self], loops[self]), 0);
    (void)meeting_join(&both);
    (void)vigil_promise_wait(never[1 - self], VIGIL_FOREVER, NULL);
}

static void two_loops(void *arg)
{
    (void)arg;
    watch_shortly(VIGIL_STALL_WAIT_CYCLE);
    begin_loops();
    for (int i = 0; i < 2; i++)
        must_equal(vigil_loop_call(loops[i], waits_for_the_other, NULL, (void *)(uintptr_t)&order[i]), 0); // NOLINT
    const vigil_verdict *verdict = circle();
    must_say(verdict->reason, "loop \"left\"");
    must_say(verdict->reason, "loop \"right\"");
    must_say(verdict->evidence, "inside waits_for_the_other, for a promise that cannot be settled before loop");
    _exit(0);
}

static void wants_what_is_held(void *arg)
{
    (void)arg;
    if (pthread_mutex_lock(&mutexes[0]) == 0)
        must_equal(pthread_mutex_unlock(&mutexes[0]), 0); /* no jump into the lock: the callback stays on the stack */
}

static void *holds_and_reads(void *arg)
{
    int ends[2];
    char byte;
    must_equal(pipe(ends), 0);
    must_equal(pthread_mutex_lock(&mutexes[0]), 0);
    event_set(arg);
    (void)!read(ends[0], &byte, 1);
    return NULL;
}

/* No circle: the owner of the mutex sleeps in something else, and is named. */
static void held_over_a_read(void *arg)
{
    (void)arg;
    struct event held = {0};
    watch_shortly(VIGIL_STALL_LOOP_BLOCKED);
    begin_loops();
    (void)start_thread(holds_and_reads, &held);
    event_wait(&held);
    must_equal(vigil_loop_call(loops[0], wants_what_is_held, NULL, NULL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_say(verdict->evidence, "; waits for the mutex at 0x");
    must_say(verdict->evidence, " holds, which is asleep");
    if (!TEST_SANITIZED) /* a sanitizer's own read() stands between, without a frame that can be followed */
        must_say(verdict->stacks, "holds_and_reads");
    must_say(verdict->stacks, "wants_what_is_held");
    _exit(0);
}

static void in_a_child(void (*body)(void *))
{
    if (TEST_TSAN) /* it cannot start threads in the child of a process that has some */
        skip();
    const int status = in_child(body, NULL);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define CHILD_TEST(name, body)     \
    static void name(void **state) \
    {                              \
        (void)state;               \
        in_a_child(body);          \
    }
CHILD_TEST(threads_of_nobody_are_named, plain_threads)
CHILD_TEST(writers_of_read_write_locks_are_named, plain_writers)
CHILD_TEST(robust_mutexes_are_followed, robust_mutexes)
CHILD_TEST(a_join_under_a_lock_is_named, joins_with_the_lock)
CHILD_TEST(a_lock_of_ours_held_over_a_job_is_named, own_mutex_held_over_a_job)
CHILD_TEST(a_circle_through_locks_of_both_libraries_is_named, both_libraries)
CHILD_TEST(a_mutex_held_over_a_group_is_named, mutex_over_a_group)
CHILD_TEST(two_loops_that_wait_for_each_other_are_named, two_loops)
CHILD_TEST(a_mutex_held_over_a_read_is_named_with_both_ends, held_over_a_read)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(threads_of_nobody_are_named),
        test(writers_of_read_write_locks_are_named),
        test(robust_mutexes_are_followed),
        test(a_join_under_a_lock_is_named),
        test(a_lock_of_ours_held_over_a_job_is_named),
        test(a_circle_through_locks_of_both_libraries_is_named),
        test(a_mutex_held_over_a_group_is_named),
        test(two_loops_that_wait_for_each_other_are_named),
        test(a_mutex_held_over_a_read_is_named_with_both_ends),
    };
    return run_all(tests);
}
