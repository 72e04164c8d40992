/* SPDX-License-Identifier: MIT */
/* W6: Others have the CPU: the pool's threads could run and are not run. Its tasks are not called hogs for it. */
#include "watchdog_test.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_OTHERS = 256
};

static int needs_two_seconds_of_cpu(void *arg)
{
    struct timespec at;
    (void)arg;
    do {
        must_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at), 0);
    } while (at.tv_sec < 2);
    return 0;
}

/* One busy process for each CPU, at the usual priority. */
static unsigned crowd_in(pid_t *others)
{
    const unsigned cpus = vigil_cpu_count() < MOST_OTHERS ? vigil_cpu_count() : MOST_OTHERS;
    for (unsigned i = 0; i < cpus; i++) {
        others[i] = fork();
        must(others[i] >= 0);
        if (others[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                atomic_signal_fence(memory_order_seq_cst);
        }
    }
    return cpus;
}

/* A worker may do this to itself whoever runs the test; the way back needs a privilege. */
static void take_what_nobody_wants(void *user, unsigned worker)
{
    (void)user;
    (void)worker;
    const struct sched_param none = {0};
    must_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
}

static void tasks_that_are_not_run_are_not_called_hogs(void **state)
{
    (void)state;
    struct heard heard;
    static pid_t others[MOST_OTHERS];
    watch_with(&heard, VIGIL_STALL_NO_CPU, 0);
    watch_settle();
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "poor";
    options.on_worker_start = take_what_nobody_wants;
    vigil_pool *pool = pool_with(&options);
    const unsigned cpus = crowd_in(others);
    for (int i = 0; i < 2; i++)
        must_equal(vigil_pool_call(pool, needs_two_seconds_of_cpu, NULL, NULL, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    if (verdict->subject == pool) {
        must_say(verdict->reason, "The system does not give pool \"poor\" the CPU");
        must_say(verdict->evidence, "was runnable and not run for");
        must_say(verdict->evidence, "% of the");
    } else {
        must_say(verdict->reason, "has not run this process"); /* not even the watchdog: the machine was full already */
    }
    must_say(verdict->advice, "what else runs on the machine");
    must_equal(vigil_watchdog_stop(), 0); /* what they are afterwards, when they may run, is another matter */
    for (unsigned i = 0; i < cpus; i++) {
        must_equal(kill(others[i], SIGKILL), 0);
        must_equal(waitpid(others[i], NULL, 0), others[i]);
    }
    pool_close(pool);
}

int main(void)
{
    if (TEST_SANITIZED)
        return 0; /* what they add to every step would be measured, and not the machine */
    const struct CMUnitTest tests[] = {test(tasks_that_are_not_run_are_not_called_hogs)};
    return run_all(tests);
}
