/* SPDX-License-Identifier: MIT */
/* A process for outside.py to look at: it becomes sick in the way that its argument names, says "ready", and stays until killed. */
#include <vigil/loop.h>
#include <vigil/pool.h>
#include <vigil/record.h>
#include <vigil/sync.h>
#include <vigil/watchdog.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "streams.h"

static vigil_pool *pool;
static _Atomic uint64_t jobs[2];
static _Atomic unsigned running;

static int sleeps_for_ever(void *arg)
{
    const struct timespec day = {.tv_sec = 86400};
    (void)arg;
    atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL);
    return 0;
}

/* One of two jobs that wait for each other. */
static int waits_for_other(void *arg)
{
    const size_t other = (size_t)(uintptr_t)arg;
    uint64_t id;
    atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
    while ((id = atomic_load_explicit(&jobs[other], memory_order_relaxed)) == 0 ||
           atomic_load_explicit(&running, memory_order_relaxed) < 2) /* else one would run the other itself */
        (void)poll(NULL, 0, 1);
    return vigil_job_wait(pool, (vigil_job){.id = id}, VIGIL_FOREVER, NULL);
}

/* One of two tasks that lock two mutexes in two orders. */
static pthread_mutex_t doors[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int locks_in_order(void *arg)
{
    const size_t first = (size_t)(uintptr_t)arg;
    pthread_mutex_lock(&doors[first]);
    atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
    while (atomic_load_explicit(&running, memory_order_relaxed) < 2)
        (void)poll(NULL, 0, 1);
    pthread_mutex_lock(&doors[1 - first]);
    return 0;
}

/* The same with mutexes of Vigil. */
static vigil_mutex gates[2] = {VIGIL_MUTEX_INIT, VIGIL_MUTEX_INIT};
static int gates_in_order(void *arg)
{
    const size_t first = (size_t)(uintptr_t)arg;
    (void)vigil_mutex_lock(&gates[first]);
    atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
    while (atomic_load_explicit(&running, memory_order_relaxed) < 2)
        (void)poll(NULL, 0, 1);
    return vigil_mutex_lock(&gates[1 - first]);
}

static int comes_again(void *arg)
{
    (void)poll(NULL, 0, 1);
    return vigil_pool_call(pool, comes_again, NULL, arg, VIGIL_NORMAL);
}

static int is_short(void *arg)
{
    (void)arg;
    return 0;
}

static void blocks(void *arg)
{
    (void)sleeps_for_ever(arg);
}

static void *runs_loop(void *arg)
{
    vigil_loop *loop = arg;
    (void)vigil_loop_run(loop, VIGIL_RUN);
    return NULL;
}

static void *stops_pool(void *arg)
{
    (void)arg;
    (void)vigil_pool_shutdown(pool, VIGIL_FOREVER);
    return NULL;
}

static void hook_sleeps(void *user, const vigil_verdict *verdict)
{
    (void)verdict;
    (void)sleeps_for_ever(user);
}

static int labels_and_ends(void *arg)
{
    (void)arg;
    (void)vigil_task_label("bot 17 is over, and its label is cut");
    (void)poll(NULL, 0, 20);
    return 0;
}

static int labels_and_sleeps(void *arg)
{
    (void)vigil_task_label("bot 18, whose label is longer than events are");
    return sleeps_for_ever(arg);
}

static void start(void *(*main)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, main, arg) != 0)
        exit(1);
}

static void make_pool(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    options.name = getenv("VIGIL_PATIENT_NAME");
    if (vigil_pool_create(&pool, &options) != 0)
        exit(1);
}

static void submit(unsigned count)
{
    while (count-- > 0)
        if (vigil_pool_call(pool, sleeps_for_ever, NULL, NULL, VIGIL_NORMAL) != 0)
            exit(1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "busy") == 0) { /* more events than its rings remember */
        vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
        options.ring_events = 64;
        if (vigil_record_configure(&options) != 0)
            return 1;
    }
    make_pool(2);
    if (strcmp(how, "all-blocked") == 0) {
        submit(5);
    } else if (strcmp(how, "stop") == 0) {
        submit(1);
        while (atomic_load_explicit(&running, memory_order_relaxed) == 0)
            (void)poll(NULL, 0, 1);
        start(stops_pool, NULL);
    } else if (strcmp(how, "loop-blocked") == 0) {
        vigil_loop *loop = NULL;
        if (vigil_loop_create(&loop, NULL) != 0 || vigil_loop_call(loop, blocks, NULL, NULL) != 0)
            return 1;
        start(runs_loop, loop);
    } else if (strcmp(how, "streams") == 0) {
        vigil_loop *loop = NULL;
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.name = "front";
        if (vigil_loop_create(&loop, &options) != 0 || vigil_loop_call(loop, opens_streams, NULL, loop) != 0)
            return 1;
        start(runs_loop, loop);
    } else if (strcmp(how, "cycle") == 0) {
        for (size_t i = 0; i < 2; i++) {
            vigil_job job;
            if (vigil_job_call(pool, waits_for_other, (void *)(uintptr_t)(1 - i), NULL, &job) != 0)
                return 1;
            atomic_store_explicit(&jobs[i], job.id, memory_order_relaxed);
        }
    } else if (strcmp(how, "locks") == 0 || strcmp(how, "own-locks") == 0) {
        for (size_t i = 0; i < 2; i++)
            if (vigil_pool_call(pool, how[0] == 'o' ? gates_in_order : locks_in_order, NULL, (void *)(uintptr_t)i,
                                VIGIL_NORMAL) != 0)
                return 1;
    } else if (strcmp(how, "late") == 0) {
        vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
        options.hog_ms = 100;
        options.on_verdict = hook_sleeps;
        if (vigil_watchdog_start(&options) != 0)
            return 1;
        submit(1);
    } else if (strcmp(how, "named") == 0) { /* as VIGIL_PATIENT_NAME says */
        submit(5);
    } else if (strcmp(how, "labelled") == 0) { /* one task that is over, one that runs */
        if (vigil_pool_call(pool, labels_and_ends, NULL, NULL, VIGIL_HIGH) != 0 ||
            vigil_pool_call(pool, labels_and_sleeps, NULL, NULL, VIGIL_LOW) != 0)
            return 1;
    } else if (strcmp(how, "busy") == 0) {
        for (size_t i = 0; i < 2; i++)
            if (vigil_pool_call(pool, comes_again, NULL, NULL, VIGIL_NORMAL) != 0)
                return 1;
    } else if (strcmp(how, "healthy") != 0) {
        return 2;
    }
    (void)puts("ready");
    (void)fflush(stdout);
    for (;;) {
        if (strcmp(how, "healthy") == 0)
            (void)vigil_pool_call(pool, is_short, NULL, NULL, VIGIL_NORMAL);
        (void)poll(NULL, 0, 5);
    }
}
