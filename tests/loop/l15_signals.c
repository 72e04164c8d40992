/* SPDX-License-Identifier: MIT */
/* L15: signals are events of every loop that watches them, until the loop is destroyed. G1 to G6: src/loop/SIGNALS.md. */
#include "loop_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
    _Atomic uint32_t count;
    int signo;
    int code;
};

static void note_signal(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    struct seen *seen = arg;
    (void)loop;
    (void)signal;
    seen->signo = info->signo;
    seen->code = info->code;
    (void)atomic_fetch_add(&seen->count, 1);
}

static vigil_signal watch_signal(vigil_loop *loop, int signo, vigil_signal_fn fn, void *arg)
{
    vigil_signal signal;
    must_equal(vigil_signal_add(loop, signo, fn, arg, &signal), 0);
    return signal;
}

static void turn(vigil_loop *loop)
{
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

static void must_exit_with_0(void (*body)(void *arg))
{
    const int status = in_child(body, NULL);
    must(WIFEXITED(status));
    must_equal(WEXITSTATUS(status), 0);
}

/* ---- the end (G3) ------------------------------------------------------------------------------------------------ */

enum {
    POSTS = 1000
};

static uint32_t posts_run;

static void kill_ourselves(void *arg)
{
    (void)arg;
    posts_run++;
    if (posts_run % 100 == 0)
        must_equal(kill(getpid(), SIGTERM), 0);
}

static void shut_down(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    struct seen *seen = arg;
    (void)signal;
    (void)info;
    if (atomic_fetch_add(&seen->count, 1) != 0)
        return;
    for (int i = 0; i < POSTS; i++)
        must_equal(vigil_loop_call(loop, kill_ourselves, NULL, NULL), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void drain_under_signals(void *arg)
{
    (void)arg;
    struct seen seen = {0};
    vigil_loop *loop = loop_that_stays();
    (void)watch_signal(loop, SIGTERM, shut_down, &seen);
    must_equal(kill(getpid(), SIGTERM), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(posts_run, POSTS);
    must(atomic_load(&seen.count) >= 2);    /* the later ones are events too */
    must_equal(kill(getpid(), SIGTERM), 0); /* the loop has ended: absorbed */
    (void)signal(SIGTERM, SIG_IGN);         /* as docs/shutdown.md: until exit */
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(kill(getpid(), SIGTERM), 0);
    _exit(0);
}

static void a_second_signal_during_the_drain_is_an_event(void **state)
{
    (void)state;
    must_exit_with_0(drain_under_signals);
}

static void end_with_a_signal_unread(void *arg)
{
    (void)arg;
    struct seen seen = {0};
    vigil_loop *loop = loop_plain();
    (void)watch_signal(loop, SIGTERM, note_signal, &seen);
    must_equal(kill(getpid(), SIGTERM), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(atomic_load(&seen.count), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_signal_that_is_pending_when_the_loop_ends_does_not_kill(void **state)
{
    (void)state;
    must_exit_with_0(end_with_a_signal_unread);
}

static void destroy_and_die(void *arg)
{
    (void)arg;
    struct seen seen = {0};
    vigil_loop *loop = loop_plain();
    (void)watch_signal(loop, SIGTERM, note_signal, &seen);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(raise(SIGTERM), 0);
    _exit(1);
}

static void a_destroyed_loop_gives_the_signal_back(void **state)
{
    (void)state;
    const int status = in_child(destroy_and_die, NULL);
    must(WIFSIGNALED(status));
    must_equal(WTERMSIG(status), SIGTERM);
}

/* ---- masks and threads (G1, G2) ---------------------------------------------------------------------------------- */

static struct event thread_may_end;

static void *stand_by(void *arg)
{
    (void)arg;
    event_wait(&thread_may_end);
    return NULL;
}

static void signal_to_an_old_thread(void *arg)
{
    (void)arg;
    struct seen seen = {0};
    pthread_t thread = start_thread(stand_by, NULL); /* before the watch: it knows nothing of it */
    vigil_loop *loop = loop_that_stays();
    (void)watch_signal(loop, SIGTERM, note_signal, &seen);
    must_equal(pthread_kill(thread, SIGTERM), 0);
    while (atomic_load(&seen.count) == 0)
        must(vigil_loop_run(loop, VIGIL_RUN_ONCE) >= 0);
    event_set(&thread_may_end);
    join_thread(thread);
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_thread_that_existed_before_the_watch_does_not_matter(void **state)
{
    (void)state;
    if (!TEST_TSAN) /* it allows no new thread after a fork */
        must_exit_with_0(signal_to_an_old_thread);
}

static void signal_that_all_threads_block(void *arg)
{
    (void)arg;
    struct seen seen = {0};
    sigset_t term;
    sigset_t mask;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    must_equal(pthread_sigmask(SIG_BLOCK, &term, NULL), 0);
    vigil_loop *loop = loop_that_stays();
    (void)watch_signal(loop, SIGTERM, note_signal, &seen);
    must_equal(kill(getpid(), SIGTERM), 0);
    turn(loop);
    turn(loop);
    must_equal(atomic_load(&seen.count), 1);
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    must_equal(sigismember(&mask, SIGTERM), 1); /* outside the loop as before */
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_signal_that_every_thread_blocks_reaches_the_loop(void **state)
{
    (void)state;
    must_exit_with_0(signal_that_all_threads_block);
}

static void every_loop_gets_each_signal(void **state)
{
    (void)state;
    enum {
        LOOPS = 3
    };
    vigil_loop *loops[LOOPS];
    struct seen seen[LOOPS] = {0};
    for (int i = 0; i < LOOPS; i++) {
        loops[i] = loop_that_stays();
        (void)watch_signal(loops[i], SIGUSR1, note_signal, &seen[i]);
    }
    must_equal(raise(SIGUSR1), 0);
    for (int i = 0; i < LOOPS; i++) {
        turn(loops[i]);
        must_equal(atomic_load(&seen[i].count), 1);
    }
    must_equal(vigil_loop_destroy(loops[0]), 0);
    must_equal(raise(SIGUSR1), 0);
    turn(loops[1]);
    must_equal(atomic_load(&seen[1].count), 2);
    must_equal(vigil_loop_destroy(loops[1]), 0);
    must_equal(vigil_loop_destroy(loops[2]), 0);
}

static void *say_mask(void *arg)
{
    must_equal(pthread_sigmask(SIG_BLOCK, NULL, arg), 0);
    return NULL;
}

static void start_others(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    sigset_t mask;
    (void)loop;
    (void)signal;
    (void)info;
    join_thread(start_thread(say_mask, &mask));
    must_equal(sigismember(&mask, SIGTERM), 0);
    *(int *)arg = system("kill -TERM $$; exit 3");
}

static void threads_and_children_inherit_no_blocked_signals(void **state)
{
    (void)state;
    int status = 0;
    vigil_loop *loop = loop_that_stays();
    (void)watch_signal(loop, SIGTERM, start_others, &status);
    must_equal(raise(SIGTERM), 0);
    turn(loop);
    must(WIFSIGNALED(status));
    must_equal(WTERMSIG(status), SIGTERM);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- the handler that was there before (G1, G4) ------------------------------------------------------------------- */

static _Atomic uint32_t former_calls;
static struct sigaction kept;

static void former(int signo)
{
    (void)signo;
    (void)atomic_fetch_add(&former_calls, 1);
}

static void on_top(int signo, siginfo_t *info, void *context)
{
    (void)atomic_fetch_add(&former_calls, 100);
    if ((kept.sa_flags & SA_SIGINFO) != 0)
        kept.sa_sigaction(signo, info, context);
}

static void must_be_installed(int signo, void (*handler)(int))
{
    struct sigaction now;
    must_equal(sigaction(signo, NULL, &now), 0);
    must(now.sa_handler == handler);
}

static void the_former_handler_is_called_and_restored(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sigaction before;
    const struct sigaction plain = {.sa_handler = former};
    must_equal(sigaction(SIGUSR2, &plain, &before), 0);
    atomic_store(&former_calls, 0);
    vigil_loop *loop = loop_that_stays();
    vigil_signal first = watch_signal(loop, SIGUSR2, note_signal, &seen);
    vigil_signal second = watch_signal(loop, SIGUSR2, note_signal, &seen);
    must_equal(raise(SIGUSR2), 0);
    must_equal(atomic_load(&former_calls), 1);
    turn(loop);
    must_equal(atomic_load(&seen.count), 2);
    must_equal(vigil_signal_remove(loop, first), 0);
    must_equal(raise(SIGUSR2), 0);
    must_equal(atomic_load(&former_calls), 2);
    must_equal(vigil_signal_remove(loop, second), 0);
    must_be_installed(SIGUSR2, former);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

static void a_handler_that_replaced_ours_stays_and_may_call_it(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct sigaction before;
    const struct sigaction plain = {.sa_handler = former};
    const struct sigaction theirs = {.sa_sigaction = on_top, .sa_flags = SA_SIGINFO};
    must_equal(sigaction(SIGUSR2, &plain, &before), 0);
    atomic_store(&former_calls, 0);
    vigil_loop *loop = loop_that_stays();
    vigil_signal signal = watch_signal(loop, SIGUSR2, note_signal, &seen);
    must_equal(sigaction(SIGUSR2, &theirs, &kept), 0);
    must_equal(raise(SIGUSR2), 0); /* theirs, ours, former */
    must_equal(atomic_load(&former_calls), 101);
    turn(loop);
    must_equal(atomic_load(&seen.count), 1);
    must_equal(vigil_signal_remove(loop, signal), 0);
    must_be_installed(SIGUSR2, (void (*)(int))(void *)on_top);
    must_equal(raise(SIGUSR2), 0); /* ours has no loop, and passes it on */
    must_equal(atomic_load(&former_calls), 202);
    signal = watch_signal(loop, SIGUSR2, note_signal, &seen);
    must_equal(raise(SIGUSR2), 0); /* ours, theirs, ours again, former: each once */
    must_equal(atomic_load(&former_calls), 303);
    turn(loop);
    must_equal(atomic_load(&seen.count), 2);
    must_equal(vigil_signal_remove(loop, signal), 0);
    must_be_installed(SIGUSR2, (void (*)(int))(void *)on_top);
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

/* ---- forks (G5) -------------------------------------------------------------------------------------------------- */

static vigil_loop *shared;
static vigil_signal shared_signal;

static void fork_and_remove(void *arg)
{
    struct seen here = {0};
    (void)arg;
    must_equal(vigil_loop_fork(shared), 0);
    must_equal(vigil_signal_remove(shared, shared_signal), 0);
    (void)watch_signal(shared, SIGUSR2, note_signal, &here);
    must_equal(raise(SIGUSR2), 0);
    turn(shared);
    must_equal(atomic_load(&here.count), 1);
    must_equal(vigil_loop_destroy(shared), 0);
    _exit(0);
}

static void fork_and_leave_one_unread(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_fork(shared), 0);
    must_equal(raise(SIGUSR1), 0); /* into a pipe of its own */
    _exit(0);
}

static void raise_and_survive_not(void *arg)
{
    (void)arg;
    must_equal(raise(SIGUSR1), 0);
    _exit(1);
}

static void destroy_and_survive_not(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_destroy(shared), 0);
    must_equal(raise(SIGUSR1), 0);
    _exit(1);
}

static void a_forked_child_takes_no_signal_from_its_parent_and_gives_it_none(void **state)
{
    (void)state;
    struct seen seen = {0};
    shared = loop_that_stays();
    shared_signal = watch_signal(shared, SIGUSR1, note_signal, &seen);
    must_exit_with_0(fork_and_remove);
    must_exit_with_0(fork_and_leave_one_unread);
    if (!TEST_TSAN) { /* its own handler stays between the kernel and ours */
        must_equal(WTERMSIG(in_child(raise_and_survive_not, NULL)), SIGUSR1);
        must_equal(WTERMSIG(in_child(destroy_and_survive_not, NULL)), SIGUSR1);
    }
    turn(shared);
    must_equal(atomic_load(&seen.count), 0); /* those were the children's */
    must_equal(raise(SIGUSR1), 0);
    turn(shared);
    must_equal(atomic_load(&seen.count), 1);
    must_equal(vigil_loop_destroy(shared), 0);
}

/* Process 1 of a container makes process 1 of another one. */
static void raise_as_the_first_process(void *arg)
{
    (void)arg;
    must_equal(getpid(), 1);
    must_equal(raise(SIGUSR1), 0); /* nothing: the first process has no default actions */
    _exit(0);
}

static void have_a_child_of_ones_own_number(void *arg)
{
    struct seen seen = {0};
    (void)arg;
    shared = loop_that_stays();
    (void)watch_signal(shared, SIGUSR1, note_signal, &seen);
    next_child_has_my_number();
    must_exit_with_0(raise_as_the_first_process);
    turn(shared);
    must_equal(atomic_load(&seen.count), 0);
    must_equal(raise(SIGUSR1), 0);
    turn(shared);
    must_equal(atomic_load(&seen.count), 1);
    must_equal(vigil_loop_destroy(shared), 0);
    _exit(0);
}

static void a_child_that_has_its_parents_number_is_a_child(void **state)
{
    (void)state;
    if (TEST_TSAN)
        skip();
    const int status = as_first_process(have_a_child_of_ones_own_number, NULL);
    must(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    must_equal(WEXITSTATUS(status), 0);
}

/* ---- many (G6), and what cannot be watched ------------------------------------------------------------------------ */

static void signals_that_find_the_pipe_full_become_one(void **state)
{
    (void)state;
    enum {
        MANY = 20000
    };
    struct seen many = {0};
    struct seen last = {0};
    vigil_loop *loop = loop_that_stays();
    (void)watch_signal(loop, SIGUSR1, note_signal, &many);
    (void)watch_signal(loop, SIGUSR2, note_signal, &last);
    for (int i = 0; i < MANY; i++)
        must_equal(raise(SIGUSR1), 0);
    must_equal(raise(SIGUSR2), 0);
    for (int i = 0; i < 400; i++)
        turn(loop);
    must_be_between(atomic_load(&many.count), 1000, MANY - 1);
    must_equal(atomic_load(&last.count), 1); /* the one that was last is not lost */
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_fault_cannot_be_watched(void **state)
{
    (void)state;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGKILL, SIGSTOP};
    vigil_loop *loop = loop_that_stays();
    for (size_t i = 0; i < count_of(faults); i++)
        must_equal(vigil_signal_add(loop, faults[i], note_signal, NULL, NULL), -EINVAL);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- what is safe in a handler of one's own ----------------------------------------------------------------------- */

enum {
    NODES = 64,
    RINGS = 3000
};

static struct {
    vigil_loop *loop;
    vigil_post nodes[NODES];
    uint32_t next;
    _Atomic uint32_t accepted, ran;
} rung;

static void node_ran(vigil_post *node)
{
    (void)node;
    (void)atomic_fetch_add(&rung.ran, 1);
}

static void ring(int signo)
{
    const int saved = errno;
    (void)signo;
    errno = 12345;
    if (vigil_loop_post_from_handler(rung.loop, &rung.nodes[rung.next % NODES]) == 0)
        (void)atomic_fetch_add(&rung.accepted, 1);
    must_equal(errno, 12345);
    rung.next++;
    errno = saved;
}

static void do_a_little(void *arg)
{
    (void)arg;
}

static void *ring_often(void *arg)
{
    const pthread_t *runner = arg;
    for (int i = 0; i < RINGS; i++) {
        must_equal(pthread_kill(*runner, SIGUSR2), 0); /* in the middle of whatever the owner does */
        must_equal(vigil_loop_call(rung.loop, do_a_little, NULL, NULL), 0);
        if (i % 16 == 0)
            yield();
    }
    must_equal(vigil_loop_shutdown(rung.loop, VIGIL_FOREVER), 0);
    return NULL;
}

static void a_prepared_node_may_be_posted_in_a_signal_handler(void **state)
{
    (void)state;
    struct sigaction before;
    const struct sigaction plain = {.sa_handler = ring};
    must_equal(sigaction(SIGUSR2, &plain, &before), 0);
    rung.loop = loop_that_stays();
    for (int i = 0; i < NODES; i++)
        vigil_post_init(&rung.nodes[i], node_ran, NULL);
    pthread_t self = pthread_self();
    pthread_t thread = start_thread(ring_often, &self);
    must_equal(vigil_loop_run(rung.loop, VIGIL_RUN), 0);
    join_thread(thread);
    must(atomic_load(&rung.accepted) > 0);
    must_equal(atomic_load(&rung.ran), atomic_load(&rung.accepted));
    must_equal(vigil_loop_post_from_handler(rung.loop, &rung.nodes[0]), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(rung.loop), 0);
    must_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

static void *run_to_the_end(void *arg)
{
    must_equal(vigil_loop_run(arg, VIGIL_RUN), 0);
    return NULL;
}

static void a_node_posted_in_a_handler_wakes_a_loop_of_another_thread(void **state)
{
    (void)state;
    struct sigaction before;
    const struct sigaction plain = {.sa_handler = ring};
    must_equal(sigaction(SIGUSR2, &plain, &before), 0);
    for (int in_poller = 0; in_poller < 2; in_poller++) {
        rung.loop = loop_that_stays();
        if (in_poller != 0)
            must_equal(vigil_loop_fast_path_set(rung.loop, VIGIL_FAST_PATH_DISABLED), 0);
        atomic_store(&rung.ran, 0);
        vigil_post_init(&rung.nodes[0], node_ran, NULL);
        rung.next = 0;
        pthread_t runner = start_thread(run_to_the_end, rung.loop);
        loop_wait_sleeping(rung.loop);
        must_equal(raise(SIGUSR2), 0); /* on this thread: no system call of the other one returns by itself */
        while (atomic_load(&rung.ran) == 0)
            yield();
        must_equal(vigil_loop_shutdown(rung.loop, VIGIL_FOREVER), 0);
        join_thread(runner);
        must_equal(vigil_loop_destroy(rung.loop), 0);
    }
    must_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_second_signal_during_the_drain_is_an_event),
        test(a_signal_that_is_pending_when_the_loop_ends_does_not_kill),
        test(a_destroyed_loop_gives_the_signal_back),
        test(a_thread_that_existed_before_the_watch_does_not_matter),
        test(a_signal_that_every_thread_blocks_reaches_the_loop),
        test(every_loop_gets_each_signal),
        test(threads_and_children_inherit_no_blocked_signals),
        test(the_former_handler_is_called_and_restored),
        test(a_handler_that_replaced_ours_stays_and_may_call_it),
        test(a_forked_child_takes_no_signal_from_its_parent_and_gives_it_none),
        test(a_child_that_has_its_parents_number_is_a_child),
        test(signals_that_find_the_pipe_full_become_one),
        test(a_fault_cannot_be_watched),
        test(a_prepared_node_may_be_posted_in_a_signal_handler),
        test(a_node_posted_in_a_handler_wakes_a_loop_of_another_thread),
    };
    return run_all(tests);
}
