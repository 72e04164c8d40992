/* SPDX-License-Identifier: MIT */
/* Every allocation of a loop's life fails once, in turn: each call that fails says so and changes nothing, each that succeeds is
   kept, and nothing leaks (the address sanitizer looks). */
#include "faults.h"
#include "support.h"

#include <vigil/loop.h>

#include <sys/wait.h>
#include <unistd.h>

enum {
    POSTS = 600 /* several chunks */
};

struct life {
    vigil_loop *loop;
    uint32_t accepted, ran;
    uint32_t timers, fired;
    uint32_t watches, closed;
    uint32_t calls, called;
    int failures;
};

static bool went_well(struct life *life, int rc)
{
    must(rc == 0 || rc == -ENOMEM);
    life->failures += rc != 0;
    return rc == 0;
}

static void on_post(void *arg)
{
    ((struct life *)arg)->ran++;
}

static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    ((struct life *)arg)->fired++;
}

static void on_watch(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)arg;
    (void)fd;
    (void)events;
    must_equal(vigil_watch_remove(loop, watch), 0);
}

static void on_closed(void *arg)
{
    ((struct life *)arg)->closed++;
}

static void on_call(void *arg)
{
    ((struct life *)arg)->called++;
}

static void on_signal(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)loop;
    (void)signal;
    (void)info;
    (void)arg;
}

static void on_child(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)loop;
    (void)child;
    (void)pid;
    (void)code;
    must_equal(status, 5);
    on_call(arg);
}

static int64_t on_prepare(vigil_loop *loop, void *arg)
{
    (void)loop;
    (void)arg;
    return -1;
}

/* A whole life; returns false when the loop itself could not be made. */
static bool live(struct life *life, int readable, pid_t child)
{
    *life = (struct life){0};
    if (!went_well(life, vigil_loop_create(&life->loop, NULL)))
        return false;
    vigil_loop *loop = life->loop;
    for (int i = 0; i < POSTS; i++)
        life->accepted += went_well(life, vigil_loop_call(loop, on_post, NULL, life));
    for (int i = 0; i < 700; i++)
        life->timers += went_well(life, vigil_timer_start(loop, i, on_timer, life, NULL));
    for (int i = 0; i < 3; i++)
        life->watches +=
            went_well(life, vigil_watch_add(loop, readable, VIGIL_FD_READ, 0, on_watch, on_closed, life, NULL));
    for (int i = 0; i < 100; i++) {
        life->calls += went_well(life, vigil_loop_microtask_call(loop, on_call, NULL, life));
        life->calls += went_well(life, vigil_loop_immediate_call(loop, on_call, NULL, life));
    }
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = on_prepare};
    (void)went_well(life, vigil_hook_add(loop, &calls, NULL, NULL));
    (void)went_well(life, vigil_signal_add(loop, 10, on_signal, NULL, NULL));
    life->calls += went_well(life, vigil_child_add(loop, child, on_child, life, NULL));
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(life->ran, life->accepted);
    must_equal(life->fired, life->timers);
    must_equal(life->closed, life->watches);
    must_equal(life->called, life->calls);
    char text[128];
    int length = vigil_loop_explain(loop, text, sizeof text);
    must(length > 0 || length == -ENOMEM);
    must_equal(vigil_loop_destroy(loop), 0);
    return true;
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    struct life life;
    uint64_t k = 0;
    uint64_t failed;
    do {
        pid_t child = fork();
        must(child >= 0);
        if (child == 0)
            _exit(5);
        faults_reset();
        faults_fail_at(FAULT_ALLOC, ++k);
        (void)live(&life, pipes[0], child);
        failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        (void)waitpid(child, NULL, 0); /* if the loop did not */
        if (failed != 0)
            must_be_between(life.failures, 0, 1); /* a chunk that is missing is asked for again by the next post */
        else
            must_equal(life.failures, 0);
    } while (failed != 0);
    must(k > 10);
    close(pipes[0]);
    close(pipes[1]);
}

/* Memory that stays away: many timers due at once still fire, in small batches. */
static void a_burst_fires_without_memory_for_its_batch(void **state)
{
    (void)state;
    struct life life = {0};
    must_equal(vigil_loop_create(&life.loop, NULL), 0);
    for (int i = 0; i < 5000; i++)
        must_equal(vigil_timer_start(life.loop, 0, on_timer, &life, NULL), 0);
    while (vigil_loop_run(life.loop, VIGIL_RUN_NOWAIT) == 1) {
    } /* the last deadlines may lie a moment ahead of the clock (instant.h): never early */
    must_equal(life.fired, 5000);
    for (int i = 0; i < 50000; i++)
        must_equal(vigil_timer_start(life.loop, 0, on_timer, &life, NULL), 0);
    faults_reset();
    faults_fail_after(FAULT_ALLOC, 0);
    while (vigil_loop_run(life.loop, VIGIL_RUN_NOWAIT) == 1) {
    }
    faults_reset();
    must_equal(life.fired, 55000);
    must_equal(vigil_loop_destroy(life.loop), 0);
}

/* No chunk to be had: the posts that have a place run, the others are refused, and it goes on when there is memory again. */
static void posts_without_memory_are_refused_and_nothing_is_lost(void **state)
{
    (void)state;
    struct life life = {0};
    must_equal(vigil_loop_create(&life.loop, NULL), 0);
    faults_reset();
    faults_fail_after(FAULT_ALLOC, 2);
    for (int i = 0; i < 10000; i++)
        life.accepted += went_well(&life, vigil_loop_call(life.loop, on_post, NULL, &life));
    faults_reset();
    must_be_between(life.accepted, 1, 9999);
    must_equal(life.accepted + (uint32_t)life.failures, 10000);
    for (int i = 0; i < 1000; i++)
        life.accepted += went_well(&life, vigil_loop_call(life.loop, on_post, NULL, &life));
    must_equal(vigil_loop_run(life.loop, VIGIL_RUN), 0);
    must_equal(life.ran, life.accepted);
    must_equal(vigil_loop_destroy(life.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(each_allocation_fails_once),
        test(a_burst_fires_without_memory_for_its_batch),
        test(posts_without_memory_are_refused_and_nothing_is_lost),
    };
    return run_all(tests);
}
