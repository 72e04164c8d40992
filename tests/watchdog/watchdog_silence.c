/* SPDX-License-Identifier: MIT */
/*
 * W6: No alarm while nothing is wrong: idle, and at full load. Seconds here; WATCHDOG_SILENCE_S in the environment makes it longer (600 is
 * the promise). A machine that is so busy that it does not run us is not silent about it: NO_CPU is the truth then, and not counted.
 * test: serial - time in which other tests keep a worker off the CPU is charged to its class, which then waits for it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "watchdog_test.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned seconds(void)
{
    const char *wanted = getenv("WATCHDOG_SILENCE_S");
    return wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : (unsigned)scaled(8, 3);
}

static void must_be_silent(struct heard *heard)
{
    vigil_watchdog_stats stats = {.size = sizeof stats};
    must_equal(vigil_watchdog_stats_get(&stats), 0);
    must(stats.running && stats.looks > 0);
    must_equal(atomic_load_explicit(&heard->alarms, memory_order_relaxed), 0);
    (void)fprintf(stderr, "  %llu looks, %u us each, %llu suspicions, %llu times no CPU\n",
                  (unsigned long long)stats.looks, (unsigned)(stats.cpu_ns / stats.looks / 1000),
                  (unsigned long long)stats.suspicions, (unsigned long long)stats.raised[VIGIL_STALL_NO_CPU]);
    must_equal(vigil_watchdog_stop(), 0);
}

static void *run_loop(void *arg)
{
    must_equal(vigil_loop_run(arg, VIGIL_RUN), 0);
    return NULL;
}

static vigil_loop *loop_begin(pthread_t *thread)
{
    vigil_loop *loop = NULL;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    must_equal(vigil_loop_create(&loop, &options), 0);
    *thread = start_thread(run_loop, loop);
    return loop;
}

static void loop_end(vigil_loop *loop, pthread_t thread)
{
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(thread);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void nothing_is_said_about_an_idle_process(void **state)
{
    (void)state;
    struct heard heard;
    pthread_t thread;
    vigil_pool *pool = pool_of(33);
    vigil_loop *loop = loop_begin(&thread);
    watch_with(&heard, VIGIL_STALL_NONE, VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE | VIGIL_RECOVER_REJECT);
    observe_for_ms(1000 * seconds());
    must_be_silent(&heard);
    loop_end(loop, thread);
    pool_close(pool);
}

/* ---- full load: every class, spawns, jobs that wait for jobs, blocking sections, a loop in between ---- */

static _Atomic bool over;

struct bot {
    vigil_task task;
    vigil_pool *pool;
    vigil_loop *loop;
    struct tally *gone;
    unsigned class_;
    uint64_t turns;
};

static int leaf(vigil_task *task)
{
    (void)task;
    for (unsigned i = 0; i < 200; i++)
        atomic_signal_fence(memory_order_seq_cst);
    return 0;
}

static int short_job(void *arg)
{
    (void)arg;
    return 0;
}

static void answered(void *arg)
{
    (void)atomic_fetch_add_explicit((_Atomic uint32_t *)arg, 1, memory_order_relaxed);
}

static _Atomic uint32_t answers;

static int play(vigil_task *task)
{
    struct bot *bot = container_of(task, struct bot, task);
    if (atomic_load_explicit(&over, memory_order_relaxed)) {
        tally_add(bot->gone, 1);
        return 0;
    }
    switch (bot->turns++ % 8) {
    case 0: {
        vigil_group group;
        vigil_task children[8];
        must_equal(vigil_group_init(&group, bot->pool, 0), 0);
        for (size_t i = 0; i < count_of(children); i++) {
            vigil_task_init(&children[i], leaf, NULL);
            must_equal(vigil_group_spawn(&group, &children[i]), 0);
        }
        must_equal(vigil_group_wait(&group), 0);
        break;
    }
    case 1: {
        vigil_job job;
        vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
        options.priority =
            (vigil_priority)
                bot->class_; /* or what a waiter has run itself piles up in a queue that is seldom looked at */
        must_equal(vigil_job_call(bot->pool, short_job, NULL, &options, &job), 0);
        must_equal(vigil_job_wait(bot->pool, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(bot->pool, job), 0);
        break;
    }
    case 2:
        must_equal(vigil_blocking_begin(), 0);
        yield();
        must_equal(vigil_blocking_end(), 0);
        break;
    case 3:
        must_equal(vigil_loop_call(bot->loop, answered, NULL, &answers), 0);
        break;
    default:
        (void)leaf(task);
    }
    must_equal(vigil_pool_submit(bot->pool, task, (vigil_priority)bot->class_), 0);
    return 0;
}

static void full_load(unsigned workers)
{
    struct heard heard;
    pthread_t thread;
    struct tally gone = {0};
    static struct bot bots[200];
    vigil_pool *pool = pool_of(workers);
    vigil_loop *loop = loop_begin(&thread);
    atomic_store_explicit(&over, false, memory_order_relaxed);
    watch_with(&heard, VIGIL_STALL_NONE, VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE | VIGIL_RECOVER_REJECT);
    for (unsigned i = 0; i < count_of(bots); i++) {
        bots[i] = (struct bot){.pool = pool, .loop = loop, .gone = &gone, .class_ = i % VIGIL_PRIORITIES};
        vigil_task_init(&bots[i].task, play, NULL);
        must_equal(vigil_pool_submit(pool, &bots[i].task, (vigil_priority)bots[i].class_), 0);
    }
    observe_for_ms(1000 * seconds());
    must_be_silent(&heard);
    atomic_store_explicit(&over, true, memory_order_relaxed);
    tally_wait(&gone, count_of(bots));
    loop_end(loop, thread);
    pool_close(pool);
}

static void nothing_is_said_about_a_process_at_full_load(void **state)
{
    (void)state;
    full_load(2);
}

static void nothing_is_said_with_many_more_workers_than_cpus(void **state)
{
    (void)state;
    full_load(33);
}

/* ---- a full machine: the workers run for a millisecond in a second, and that is enough for a thousand tasks ---- */

static pid_t spinner_begin(void)
{
    const pid_t child = fork();
    must(child >= 0);
    if (child != 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        atomic_signal_fence(memory_order_seq_cst);
}

static void nothing_is_said_beside_many_busy_processes(void **state)
{
    (void)state;
    pid_t spinners[20];
    cpu_set_t all;
    cpu_set_t one;
    must_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    must_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (size_t i = 0; i < count_of(spinners); i++)
        spinners[i] = spinner_begin();
    full_load(2);
    for (size_t i = 0; i < count_of(spinners); i++) {
        must_equal(kill(spinners[i], SIGKILL), 0);
        must_equal(waitpid(spinners[i], NULL, 0), spinners[i]);
    }
    must_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(int count, char **words)
{
    if (count > 1)
        cmocka_set_test_filter(words[1]); /* only those whose name matches */
    /* Without the limit on a test's time: they last as long as they are told to. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_about_an_idle_process),
        cmocka_unit_test(nothing_is_said_about_a_process_at_full_load),
        cmocka_unit_test(nothing_is_said_with_many_more_workers_than_cpus),
        cmocka_unit_test(nothing_is_said_beside_many_busy_processes),
    };
    return run_all(tests);
}
