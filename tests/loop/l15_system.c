/* SPDX-License-Identifier: MIT */
/* L15: signals, children, the loop's own fd, and fork. */
#include "loop_test.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static vigil_loop *loop;

/* ---- signals ----------------------------------------------------------------------------------------------------- */

struct caught {
    int count, signo, value;
    pid_t pid;
    vigil_signal signal;
    bool remove_itself, raise_it;
};

static void on_signal(vigil_loop *of, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    struct caught *caught = arg;
    caught->count++;
    caught->signo = info->signo;
    caught->value = info->value;
    caught->pid = info->pid;
    if (caught->remove_itself)
        must_equal(vigil_signal_remove(of, signal), 0);
    if (caught->raise_it)
        vigil_raise(-EIO);
}

static bool is_blocked(int signo)
{
    sigset_t mask;
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    return sigismember(&mask, signo) == 1;
}

static void signals_become_events(void **state)
{
    (void)state;
    loop = loop_that_stays();
    struct caught first = {.remove_itself = true};
    struct caught second = {.raise_it = true};
    struct caught third = {0};
    must(!is_blocked(SIGUSR1));
    must_equal(vigil_signal_add(loop, SIGUSR1, on_signal, &first, &first.signal), 0);
    must_equal(vigil_signal_add(loop, SIGUSR1, on_signal, &second, &second.signal), 0);
    must_equal(vigil_signal_add(loop, SIGUSR1, on_signal, &third, &third.signal), 0);
    must(!is_blocked(SIGUSR1)); /* the mask is the program's */
    union sigval value = {.sival_int = 77};
    must_equal(sigqueue(getpid(), SIGUSR1, value), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(first.count, 1);
    must_equal(second.count, 1); /* raised, and took the signal from nobody */
    must_equal(third.count, 1);
    must_equal(third.signo, SIGUSR1);
    must_equal(third.value, 77);
    must_equal(third.pid, getpid());
    must_equal(vigil_signal_remove(loop, first.signal), -ESTALE);
    must_equal(kill(getpid(), SIGUSR1), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(first.count, 1);
    must_equal(third.count, 2);
    must_equal(vigil_signal_remove(loop, second.signal), 0);
    must_equal(vigil_signal_remove(loop, third.signal), 0);
    must(!is_blocked(SIGUSR1));
    must_equal(vigil_signal_add(loop, SIGKILL, on_signal, NULL, NULL), -EINVAL);
    must_equal(vigil_signal_add(loop, 0, on_signal, NULL, NULL), -EINVAL);
    must_equal(loop_stats(loop).signals_delivered, 5);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

struct ended {
    pid_t pid;
    int code, status, count;
};

static void on_child(vigil_loop *of, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)of;
    (void)child;
    struct ended *ended = arg;
    *ended = (struct ended){.pid = pid, .code = code, .status = status, .count = ended->count + 1};
}

static pid_t spawn(int exit_code, int signo)
{
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        if (signo != 0)
            kill(getpid(), signo);
        _exit(exit_code);
    }
    return pid;
}

static void the_end_of_a_child_is_an_event_and_others_are_left_alone(void **state)
{
    (void)state;
    loop = loop_plain();
    struct ended exited = {0};
    struct ended killed = {0};
    pid_t first = spawn(7, 0);
    pid_t second = spawn(0, SIGTERM);
    pid_t not_watched = spawn(3, 0);
    must_equal(vigil_child_add(loop, first, on_child, &exited, NULL), 0);
    must_equal(vigil_child_add(loop, second, on_child, &killed, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* they keep it alive */
    must_equal(exited.count, 1);
    must_equal(exited.pid, first);
    must_equal(exited.code, CLD_EXITED);
    must_equal(exited.status, 7);
    must_equal(killed.code, CLD_KILLED);
    must_equal(killed.status, SIGTERM);
    int status;
    must_equal(waitpid(not_watched, &status, 0), not_watched); /* nobody reaped it */
    must_equal(WEXITSTATUS(status), 3);
    must_equal(waitpid(first, &status, 0), -1);
    must_equal(loop_stats(loop).children_reaped, 2);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_process_that_is_not_our_child_is_refused(void **state)
{
    (void)state;
    loop = loop_plain();
    must_equal(vigil_child_add(loop, getppid(), on_child, NULL, NULL), -ENOENT);
    must_equal(vigil_child_add(loop, getpid(), on_child, NULL, NULL), -ENOENT);
    must_equal(vigil_child_add(loop, 0, on_child, NULL, NULL), -EINVAL);
    struct ended ended = {0};
    pid_t pid = spawn(1, 0);
    vigil_child child;
    must_equal(vigil_child_add(loop, pid, on_child, &ended, &child), 0);
    must_equal(vigil_child_remove(loop, child), 0);
    must_equal(vigil_child_remove(loop, child), -ESTALE);
    int status;
    must_equal(waitpid(pid, &status, 0), pid); /* not reaped by us */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(ended.count, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- embedding --------------------------------------------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int rc = poll(&poll_fd, 1, timeout_ms);
    must(rc >= 0);
    return rc == 1;
}

static void count(void *arg)
{
    tally_add(arg, 1);
}

static void count_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    tally_add(arg, 1);
}

static void count_watch(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)events;
    char byte;
    must_equal(read(fd, &byte, 1), 1);
    tally_add(arg, 1);
}

static void *post_to_it(void *arg)
{
    must_equal(vigil_loop_call(loop, count, NULL, arg), 0);
    return NULL;
}

/* Another loop waits for our fd and runs us when it is readable: posts, timers and descriptors must all show. */
static void the_loops_fd_shows_posts_timers_and_descriptors(void **state)
{
    (void)state;
    loop = loop_that_stays();
    struct tally ran = {0};
    int pipes[2];
    must_equal(pipe(pipes), 0);
    int fd = vigil_loop_fd(loop);
    must(fd >= 0);
    must(readable(fd, 0)); /* come in once, to begin with */
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must(!readable(fd, 0));
    for (uint32_t i = 1; i <= 20; i++) {
        pthread_t thread = start_thread(post_to_it, &ran);
        must(readable(fd, -1));
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        must_equal(tally_get(&ran), i);
        join_thread(thread);
        must(!readable(fd, 0));
    }
    must_equal(vigil_timer_start(loop, 3000000, count_timer, &ran, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    while (tally_get(&ran) < 21) { /* on a busy machine it was due already */
        must(readable(fd, -1));
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    }
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(tally_get(&ran), 21);
    must(!readable(fd, 0));
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, count_watch, NULL, &ran, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(write(pipes[1], "x", 1), 1);
    must(readable(fd, -1));
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(tally_get(&ran), 22);
    must(!readable(fd, 0));
    /* More than a turn's budget: it stays readable until all is done. */
    for (int i = 0; i < 3000; i++)
        must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
    int turns = 0;
    while (readable(fd, 0)) {
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        turns++;
    }
    must_equal(tally_get(&ran), 3022);
    must(turns >= 3);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static int fork_pipes[2];
static struct tally forked;

static void fork_watch(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    count_watch(of, watch, fd, events, arg);
    must_equal(vigil_watch_remove(of, watch), 0);
}

static void as_the_child(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_call(loop, count, NULL, &forked), -ECHILD);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), -ECHILD);
    must_equal(vigil_timer_start(loop, 0, count_timer, &forked, NULL), -ECHILD);
    must_equal(vigil_loop_shutdown(loop, 0), -ECHILD);
    must_equal(vigil_loop_fork(loop), 0);
    must_equal(vigil_loop_fork(loop), -EINVAL);
    must_equal(vigil_loop_call(loop, count, NULL, &forked), 0);
    must_equal(write(fork_pipes[1], "x", 1), 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* the timer, the watch, the old post and the new one */
    must_equal(tally_get(&forked), 4);
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void after_a_fork_the_loop_is_the_childs_when_it_says_so(void **state)
{
    (void)state;
    loop = loop_plain();
    memset(&forked, 0, sizeof forked);
    must_equal(pipe(fork_pipes), 0);
    must_equal(vigil_loop_fork(loop), -EINVAL);
    must_equal(vigil_loop_call(loop, count, NULL, &forked), 0);
    must_equal(vigil_timer_start(loop, 1000000, count_timer, &forked, NULL), 0);
    must_equal(vigil_watch_add(loop, fork_pipes[0], VIGIL_FD_READ, 0, fork_watch, NULL, &forked, NULL), 0);
    must_equal(in_child(as_the_child, NULL), 0);
    /* The parent is as it was: the child's reading took the byte from the pipe, nothing else. */
    must_equal(write(fork_pipes[1], "x", 1), 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(tally_get(&forked), 3);
    must_equal(vigil_loop_destroy(loop), 0);
    close(fork_pipes[0]);
    close(fork_pipes[1]);
}

static void destroy_as_child(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_fork(loop), -EPERM); /* its owner is a thread that is not here */
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_child_of_a_running_loop_can_only_destroy_it(void **state)
{
    (void)state;
    loop = loop_that_stays();
    pthread_t owner = start_thread(loop_runner, loop);
    loop_wait_sleeping(loop);
    must_equal(in_child(destroy_as_child, NULL), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(signals_become_events),
        test(the_end_of_a_child_is_an_event_and_others_are_left_alone),
        test(a_process_that_is_not_our_child_is_refused),
        test(the_loops_fd_shows_posts_timers_and_descriptors),
        test(after_a_fork_the_loop_is_the_childs_when_it_says_so),
        test(a_child_of_a_running_loop_can_only_destroy_it),
    };
    return run_all(tests);
}
