/* SPDX-License-Identifier: MIT */
/* Signals: workers block what their creator blocks, and a storm of them changes nothing about any wait. */
#include "support.h"

#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t signals_seen;

static void on_alarm(int number)
{
    (void)number;
    (void)atomic_fetch_add_explicit(&signals_seen, 1, memory_order_relaxed);
}

/* SIGALRM every 100 us to whichever thread does not block it, without SA_RESTART: every system call ends with EINTR. */
static void storm_begin(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    must_equal(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval every = {.it_interval = {.tv_usec = TEST_SANITIZED ? 1000 : 100}, .it_value = {.tv_usec = 100}};
    atomic_store_explicit(&signals_seen, 0, memory_order_relaxed);
    must_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void storm_end(void)
{
    struct itimerval off = {0};
    must_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
    must(atomic_load_explicit(&signals_seen, memory_order_relaxed) > 0);
}

static void wait_for_signals(uint64_t more)
{
    uint64_t target = atomic_load_explicit(&signals_seen, memory_order_relaxed) + more;
    while (atomic_load_explicit(&signals_seen, memory_order_relaxed) < target)
        yield();
}

static int pass_gate(void *arg)
{
    gate_pass(arg);
    return 6;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void *open_after_signals(void *arg)
{
    sigset_t alarm;
    (void)sigemptyset(&alarm);
    (void)sigaddset(&alarm, SIGALRM);
    must_equal(pthread_sigmask(SIG_BLOCK, &alarm, NULL), 0); /* so that the waiting thread gets them all */
    struct gate *gate = arg;
    gate_wait_entered(gate, 1);
    wait_for_signals(5);
    gate_open(gate);
    return NULL;
}

static void waits_go_on_through_a_storm_of_signals(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(2);
    storm_begin();
    for (uint64_t round = scaled(50, 5); round > 0; round--) {
        struct gate gate = {0};
        pthread_t opener = start_thread(open_after_signals, &gate);
        vigil_job job;
        int status = 0;
        must_equal(vigil_job_call(pool, pass_gate, &gate, NULL, &job), 0);
        switch (round % 3) {
        case 0:
            must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
            break;
        case 1:
            must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
            must_equal(status, 6);
            break;
        default:
            must_equal(vigil_job_wait(pool, job, (int64_t)3600 * 1000000000, &status), 0);
            must_equal(status, 6);
            break;
        }
        must_equal(vigil_job_poll(pool, job, &status), VIGIL_JOB_DONE);
        must_equal(vigil_job_unref(pool, job), 0);
        join_thread(opener);
    }
    storm_end();
    pool_close(pool);
}

static void timeouts_are_neither_cut_nor_stretched_by_signals(void **state)
{
    (void)state;
    vigil_pool *pool = pool_of(1);
    struct hold hold = {0};
    vigil_group group;
    vigil_job job;
    hold_workers(&hold, pool, 1);
    must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), 0);
    must_equal(vigil_group_init(&group, pool, 0), 0);
    storm_begin();
    for (int i = 0; i < 5; i++) {
        uint64_t before = now_ns();
        must_equal(vigil_pool_wait_idle(pool, 5000000), -ETIMEDOUT);
        must_equal(vigil_job_wait(pool, job, 5000000, NULL), -ETIMEDOUT);
        must(now_ns() - before >= 10000000);
    }
    storm_end();
    hold_release(&hold);
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

static void groups_and_stops_go_through_a_storm_of_signals(void **state)
{
    (void)state;
    storm_begin();
    for (uint64_t round = scaled(100, 5); round > 0; round--) {
        vigil_pool *pool = pool_of(3);
        struct gate gate = {0};
        for (int i = 0; i < 200; i++)
            must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_NORMAL), 0);
        pthread_t opener = start_thread(open_after_signals, &gate);
        must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
        must_equal(pool_stats(pool).total.completed, 201);
        join_thread(opener);
        pool_unwatch(pool);
        must_equal(vigil_pool_destroy(pool), 0);
    }
    storm_end();
}

static void submits_that_wait_for_room_go_through_a_storm_of_signals(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.max_queue = 1;
    options.when_full = VIGIL_FULL_BLOCK;
    vigil_pool *pool = pool_with(&options);
    storm_begin();
    for (uint64_t round = scaled(30, 3); round > 0; round--) {
        struct gate gate = {0};
        must_equal(vigil_pool_call(pool, pass_gate, NULL, &gate, VIGIL_NORMAL), 0);
        gate_wait_entered(&gate, 1);
        pthread_t opener = start_thread(open_after_signals, &gate);
        for (int i = 0; i < 10; i++)
            must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
        join_thread(opener);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    storm_end();
    pool_close(pool);
}

static int look_at_mask(void *arg)
{
    sigset_t mask;
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    must(sigismember(&mask, SIGUSR2));
    must(!sigismember(&mask, SIGTERM));
    must(!sigismember(&mask, SIGINT));
    must(!sigismember(&mask, SIGSEGV)); /* or a crash would be silent and without a report */
    tally_add(arg, 1);
    return 0;
}

static void workers_block_what_their_creator_blocks_but_for_faults(void **state)
{
    (void)state;
    sigset_t block;
    sigset_t before;
    sigset_t after;
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGUSR2);
    (void)sigaddset(&block, SIGSEGV);
    must_equal(pthread_sigmask(SIG_BLOCK, &block, NULL), 0);
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &before), 0);
    vigil_pool *pool = pool_of(1);
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
    for (int number = 1; number < 32; number++)
        must_equal(sigismember(&before, number), sigismember(&after, number));
    must_equal(pthread_sigmask(SIG_UNBLOCK, &block, NULL), 0);
    struct tally looked = {0};
    must_equal(vigil_pool_call(pool, look_at_mask, NULL, &looked, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_resize(pool, 3), 0); /* by a thread with another mask */
    for (int i = 0; i < 3; i++)
        must_equal(vigil_pool_call(pool, look_at_mask, NULL, &looked, VIGIL_NORMAL), 0);
    pool_close(pool);
    must_equal(tally_get(&looked), 4);
}

/* What a task starts can be ended as usual: a program by posix_spawn, and a thread has the mask too. */
struct started {
    _Atomic pid_t pid;
    struct tally *looked;
};

static void *look_in_thread(void *arg)
{
    sigset_t mask;
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    must(!sigismember(&mask, SIGTERM));
    tally_add(arg, 1);
    return NULL;
}

static int start_program(void *arg)
{
    struct started *started = arg;
    char *const command[] = {"sleep", "1000", NULL};
    pid_t pid = 0;
    must_equal(posix_spawnp(&pid, command[0], NULL, NULL, command, environ), 0);
    atomic_store_explicit(&started->pid, pid, memory_order_release);
    join_thread(start_thread(look_in_thread, started->looked));
    int status = 0;
    must_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void what_a_task_starts_can_be_terminated(void **state)
{
    (void)state;
    struct tally looked = {0};
    struct started started = {.looked = &looked};
    vigil_pool *pool = pool_of(1);
    vigil_job job;
    must_equal(vigil_job_call(pool, start_program, &started, NULL, &job), 0);
    pid_t pid = 0;
    while ((pid = atomic_load_explicit(&started.pid, memory_order_acquire)) == 0)
        yield();
    must_equal(kill(pid, SIGTERM), 0);
    int status = 0;
    if (vigil_job_wait(pool, job, INT64_C(5000000000), &status) != 0)
        must_equal(kill(pid, SIGKILL), 0); /* it blocks SIGTERM */
    must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, &status), 0);
    must_equal(status, SIGTERM);
    must_equal(tally_get(&looked), 1);
    must_equal(vigil_job_unref(pool, job), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(waits_go_on_through_a_storm_of_signals),
        test(timeouts_are_neither_cut_nor_stretched_by_signals),
        test(groups_and_stops_go_through_a_storm_of_signals),
        test(submits_that_wait_for_room_go_through_a_storm_of_signals),
        test(workers_block_what_their_creator_blocks_but_for_faults),
        test(what_a_task_starts_can_be_terminated),
    };
    return run_all(tests);
}
