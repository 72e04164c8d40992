/* SPDX-License-Identifier: MIT */
/* W6: The process is stopped for a while: that is what is said afterwards, and nobody else is blamed. */
#include "watchdog_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int short_task(void *arg)
{
    (void)arg;
    return 0;
}

struct stopped {
    int ready[2]; /* the child says that it may be stopped */
};

static void be_stopped(void *arg)
{
    struct stopped *it = arg;
    struct heard heard;
    vigil_pool *pool = pool_of(2);
    watch_with(&heard, VIGIL_STALL_NO_CPU, 0);
    watch_settle();
    must_equal(write(it->ready[1], "x", 1), 1);
    while (!event_is_set(&heard.raised[VIGIL_STALL_NO_CPU])) { /* with something to do all the time */
        must_equal(vigil_pool_call(pool, short_task, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        yield();
    }
    const vigil_verdict *verdict = verdict_of(&heard);
    if (strstr(verdict->reason, "was stopped for") == NULL) { /* a machine so busy that a second passed without us */
        must_say(verdict->reason, "has not run this process");
        _exit(2);
    }
    must_say(verdict->reason, "it was not even runnable");
    must_say(verdict->advice, "SIGSTOP");
    event_wait(&heard.cleared[VIGIL_STALL_NO_CPU]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
    _exit(0);
}

static void a_stopped_process_says_so_afterwards_and_blames_nobody(void **state)
{
    (void)state;
    if (TEST_SANITIZED)
        skip(); /* the thread sanitizer lets no thread start in the child of a process that has several */
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0;) {
        struct stopped it;
        must_equal(pipe(it.ready), 0);
        const pid_t child = fork();
        must(child >= 0);
        if (child == 0)
            be_stopped(&it);
        char byte;
        must_equal(read(it.ready[0], &byte, 1), 1);
        must_equal(kill(child, SIGSTOP), 0);
        observe_for_ms(2500);
        must_equal(kill(child, SIGCONT), 0);
        fault_now(&timing); /* it can say so from here on */
        int status = 0;
        must_equal(waitpid(child, &status, 0), child);
        (void)close(it.ready[0]);
        (void)close(it.ready[1]);
        must(WIFEXITED(status));
        must(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2);
        if (WEXITSTATUS(status) == 0) {
            verdict_came_at(&timing, now_ns());
            i--;
        }
    }
    must_be_in_time(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(a_stopped_process_says_so_afterwards_and_blames_nobody)};
    return run_all(tests);
}
