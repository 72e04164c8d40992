/* SPDX-License-Identifier: MIT */
/* Deadlocks through pthread mutexes: the circle is named, as an error, with who holds what. Each in a child, which ends stuck. */
#include "watchdog_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned inside;

static void meet(void)
{
    (void)atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
    while (atomic_load_explicit(&inside, memory_order_relaxed) < 2)
        yield();
}

static int takes_first_then_second(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&first), 0);
    meet();
    must_equal(pthread_mutex_lock(&second), 0);
    return 0;
}

static int takes_second_then_first(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&second), 0);
    meet();
    must_equal(pthread_mutex_lock(&first), 0);
    return 0;
}

static const vigil_verdict *circle(struct heard *heard)
{
    event_wait(&heard->raised[VIGIL_STALL_WAIT_CYCLE]);
    const vigil_verdict *verdict = &heard->first[VIGIL_STALL_WAIT_CYCLE];
    must_equal(verdict->severity, VIGIL_SEVERITY_ERROR);
    return verdict;
}

static void opposite_order_in_child(void *arg)
{
    (void)arg;
    static struct heard heard;
    vigil_pool *pool = pool_of(3);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, 0);
    must_equal(vigil_pool_call(pool, takes_first_then_second, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, takes_second_then_first, NULL, NULL, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = circle(&heard);
    must_say(verdict->reason, "2 threads wait for each other in a circle");
    must_say(verdict->evidence, "takes_first_then_second");
    must_say(verdict->evidence, "takes_second_then_first");
    must_say(verdict->evidence, "mutex at 0x");
    must_say(verdict->advice, "same order");
    _exit(0);
}

static int wants_first(void *arg)
{
    (void)arg;
    meet();
    must_equal(pthread_mutex_lock(&first), 0);
    return 0;
}

struct held {
    vigil_pool *pool;
};

static int holds_over_a_wait(void *arg)
{
    struct held *it = arg;
    vigil_job job;
    must_equal(pthread_mutex_lock(&first), 0);
    must_equal(vigil_job_call(it->pool, wants_first, NULL, NULL, &job), 0);
    meet(); /* the job runs on the other worker, so that this one does not run it itself */
    (void)vigil_job_wait(it->pool, job, VIGIL_FOREVER, NULL);
    return 0;
}

static void held_over_a_wait_in_child(void *arg)
{
    (void)arg;
    static struct heard heard;
    struct held it = {.pool = pool_of(2)};
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, 0);
    must_equal(vigil_pool_call(it.pool, holds_over_a_wait, NULL, &it, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = circle(&heard);
    must_say(verdict->evidence, "for a job");
    must_say(verdict->evidence, "mutex at 0x");
    must_say(verdict->advice, "hold a mutex over a wait");
    _exit(0);
}

static int takes_twice(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&first), 0);
    must_equal(pthread_mutex_lock(&first), 0);
    return 0;
}

static void own_mutex_in_child(void *arg)
{
    (void)arg;
    static struct heard heard;
    vigil_pool *pool = pool_of(2);
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, 0);
    must_equal(vigil_pool_call(pool, takes_twice, NULL, NULL, VIGIL_NORMAL), 0);
    must_say(circle(&heard)->reason, "its own thread holds");
    _exit(0);
}

static void in_a_child(void (*body)(void *))
{
    if (TEST_TSAN) /* it cannot start threads in the child of a process that has some */
        skip();
    const int status = in_child(body, NULL);
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void two_mutexes_in_opposite_order_are_named(void **state)
{
    (void)state;
    in_a_child(opposite_order_in_child);
}

static void a_mutex_held_over_a_wait_is_named(void **state)
{
    (void)state;
    in_a_child(held_over_a_wait_in_child);
}

static void a_mutex_taken_twice_is_named(void **state)
{
    (void)state;
    in_a_child(own_mutex_in_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(two_mutexes_in_opposite_order_are_named),
        test(a_mutex_held_over_a_wait_is_named),
        test(a_mutex_taken_twice_is_named),
    };
    return run_all(tests);
}
