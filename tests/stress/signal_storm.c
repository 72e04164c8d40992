/* SPDX-License-Identifier: MIT */
/*
 * SIGTERM storms against a server that drains: 1 to 5 signals at random moments, with and without other threads, forked children and
 * executed ones. Whatever comes, everything that was accepted runs, and the server exits with 0 (docs/shutdown.md, "Signals").
 * 2000 rounds; VIGIL_TEST_SCALE makes it fewer. VIGIL_TEST_SEED repeats a run's dice, not its timing.
 */
#include "dice.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vigil/loop.h>

enum {
    ROUNDS = 2000,
    MOST_SIGNALS = 5,
    THREADS = 2,
    UNBALANCED = 3, /* exit statuses of a server that is not right */
    CHILD_SURVIVED = 4
};

struct server {
    vigil_loop *loop;
    vigil_pool *pool;
    _Atomic uint64_t posts_accepted, posts_run;
    _Atomic uint64_t tasks_accepted, tasks_run;
    _Atomic bool ending;
    uint32_t terms;
    bool threads, forks, execs;
};

static struct server server;

/* ---- the server -------------------------------------------------------------------------------------------------- */

static int run_task(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&server.tasks_run, 1);
    return 0;
}

static void run_post(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&server.posts_run, 1);
    if (vigil_pool_call(server.pool, run_task, NULL, NULL, VIGIL_NORMAL) == 0)
        (void)atomic_fetch_add(&server.tasks_accepted, 1);
}

static bool give_work(void)
{
    if (vigil_loop_call(server.loop, run_post, NULL, NULL) != 0)
        return false;
    (void)atomic_fetch_add(&server.posts_accepted, 1);
    return true;
}

static void *client(void *arg)
{
    (void)arg;
    while (give_work())
        yield();
    return NULL;
}

static void run_a_program(void *arg)
{
    (void)arg;
    (void)atomic_fetch_add(&server.posts_run, 1);
    const int status = system("kill -TERM $$; exit 0"); /* it has no blocked signals, and no handler of ours */
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
        _exit(CHILD_SURVIVED);
}

static int run_a_program_in_a_task(void *arg)
{
    run_a_program(arg);
    return 0;
}

static pid_t fork_a_child(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)kill(getpid(), SIGTERM); /* it never calls vigil_loop_fork: the signal ends it, and is nobody else's */
        _exit(0);
    }
    return pid;
}

static void on_term(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)info;
    (void)arg;
    if (server.terms++ != 0)
        return;
    for (int i = 0; i < 200; i++)
        (void)give_work();
    (void)vigil_loop_shutdown(loop, VIGIL_FOREVER);
}

static void check_child(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM)
        _exit(CHILD_SURVIVED);
}

static void serve(int ready)
{
    pthread_t threads[THREADS];
    pid_t child = 0;
    must_equal(vigil_pool_create(&server.pool, NULL), 0);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    must_equal(vigil_loop_create(&server.loop, &options), 0);
    for (int i = 0; server.threads && i < THREADS; i++) /* before the watch: they know nothing of it */
        must_equal(pthread_create(&threads[i], NULL, client, NULL), 0);
    must_equal(vigil_signal_add(server.loop, SIGTERM, on_term, NULL, NULL), 0);
    must_equal(write(ready, "r", 1), 1);
    if (server.forks)
        child = fork_a_child();
    if (server.execs && vigil_loop_call(server.loop, run_a_program, NULL, NULL) == 0)
        (void)atomic_fetch_add(&server.posts_accepted, 1);
    if (server.execs && vigil_pool_call(server.pool, run_a_program_in_a_task, NULL, NULL, VIGIL_NORMAL) == 0)
        (void)atomic_fetch_add(&server.posts_accepted, 1);
    must_equal(vigil_loop_run(server.loop, VIGIL_RUN), 0);
    for (int i = 0; server.threads && i < THREADS; i++)
        must_equal(pthread_join(threads[i], NULL), 0);
    must_equal(vigil_pool_shutdown(server.pool, VIGIL_FOREVER), 0);
    if (server.forks)
        check_child(child);
    const bool balanced = atomic_load(&server.posts_accepted) == atomic_load(&server.posts_run) &&
                          atomic_load(&server.tasks_accepted) == atomic_load(&server.tasks_run);
    (void)signal(SIGTERM, SIG_IGN);
    must_equal(vigil_loop_destroy(server.loop), 0);
    must_equal(vigil_pool_destroy(server.pool), 0);
    _exit(balanced && server.terms != 0 ? 0 : UNBALANCED);
}

/* ---- the storm --------------------------------------------------------------------------------------------------- */

static void one_storm(struct dice *dice, uint64_t round)
{
    int ready[2];
    char byte;
    must_equal(pipe(ready), 0);
    server.threads = (round & 1) != 0;
    server.forks = (round & 2) != 0;
    server.execs = (round & 4) != 0;
    (void)fflush(NULL);
    const pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        close(ready[0]);
        serve(ready[1]);
    }
    close(ready[1]);
    must_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    const uint64_t signals = 1 + roll(dice, MOST_SIGNALS);
    for (uint64_t i = 0; i < signals; i++) {
        const uint64_t moment = now_ns() + 1000 * (uint64_t)roll(dice, one_in(dice, 2) ? 200 : 3000);
        while (now_ns() < moment)
            yield();
        must_equal(kill(pid, SIGTERM), 0); /* it is ours to wait for: the number is not reused */
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        must(errno == EINTR);
    if (status != 0)
        fprintf(stderr, "round %llu: status %#x\n", (unsigned long long)round, (unsigned)status);
    must(WIFEXITED(status));
    must_equal(WEXITSTATUS(status), 0);
}

static void a_draining_server_survives_storms_of_sigterm(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    const uint64_t rounds = TEST_TSAN ? 0 : scaled(ROUNDS, 40); /* tsan allows no new thread after a fork */
    for (uint64_t round = 0; round < rounds; round++)
        one_storm(&dice, round);
    print_message("%llu storms\n", (unsigned long long)rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_draining_server_survives_storms_of_sigterm),
    };
    return run_all(tests);
}
