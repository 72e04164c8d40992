/* SPDX-License-Identifier: MIT */
/* System calls that fail: no descriptors left, interrupted waits, a poller that was closed by mistake. */
#include "faults.h"
#include "support.h"

#include <vigil/loop.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- what is taken over ------------------------------------------------------------------------------------------ */

enum {
    CREATE,
    EVENTFD,
    CTL,
    WAIT,
    TIMERFD,
    PIPE,
    KINDS
};

static struct {
    _Atomic int error; /* what the call answers instead; 0: nothing */
    _Atomic int left;  /* how often; negative: always */
    _Atomic int calls;
} fault[KINDS];

static void make_fail(int kind, int error, int times)
{
    atomic_store_explicit(&fault[kind].left, times, memory_order_relaxed);
    atomic_store_explicit(&fault[kind].error, error, memory_order_relaxed);
}

static bool fails(int kind)
{
    atomic_fetch_add_explicit(&fault[kind].calls, 1, memory_order_relaxed);
    int error = atomic_load_explicit(&fault[kind].error, memory_order_relaxed);
    int left = atomic_load_explicit(&fault[kind].left, memory_order_relaxed);
    if (error == 0 || left == 0)
        return false;
    if (left > 0)
        atomic_store_explicit(&fault[kind].left, left - 1, memory_order_relaxed);
    errno = error;
    return true;
}

int __real_epoll_create1(int flags);
int __real_eventfd(unsigned start, int flags);
int __real_epoll_ctl(int set, int op, int fd, struct epoll_event *event);
int __real_epoll_wait(int set, struct epoll_event *events, int room, int timeout);
int __real_timerfd_create(int clock, int flags);
int __real_pipe2(int ends[2], int flags);

int __wrap_epoll_create1(int flags)
{
    return fails(CREATE) ? -1 : __real_epoll_create1(flags);
}

int __wrap_eventfd(unsigned start, int flags)
{
    return fails(EVENTFD) ? -1 : __real_eventfd(start, flags);
}

int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
    return fails(CTL) ? -1 : __real_epoll_ctl(set, op, fd, event);
}

int __wrap_epoll_wait(int set, struct epoll_event *events, int room, int timeout)
{
    return fails(WAIT) ? -1 : __real_epoll_wait(set, events, room, timeout);
}

int __wrap_timerfd_create(int clock, int flags)
{
    return fails(TIMERFD) ? -1 : __real_timerfd_create(clock, flags);
}

int __wrap_pipe2(int ends[2], int flags)
{
    return fails(PIPE) ? -1 : __real_pipe2(ends, flags);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static vigil_loop *loop;
static int poll_failures;

static void on_event(void *user, const vigil_loop_event *event)
{
    (void)user;
    poll_failures += event->kind == VIGIL_LOOP_POLL_FAILED;
}

static vigil_loop *make(vigil_fast_path path)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_event = on_event;
    options.fast_path = path;
    vigil_loop *made;
    poll_failures = 0;
    must_equal(vigil_loop_create(&made, &options), 0);
    return made;
}

static void read_and_go(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    char byte;
    must(events & VIGIL_FD_READ);
    must_equal(read(fd, &byte, 1), 1);
    must_equal(vigil_watch_remove(of, watch), 0);
    tally_add(arg, 1);
}

static void on_signal(vigil_loop *of, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)of;
    (void)signal;
    (void)info;
    (void)arg;
}

static void no_descriptors_left_is_an_answer_and_changes_nothing(void **state)
{
    (void)state;
    int pipes[2];
    struct tally seen = {0};
    must_equal(pipe(pipes), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    loop = make(VIGIL_FAST_PATH_AUTO);
    for (int kind = EVENTFD; kind >= CREATE; kind--) {
        make_fail(kind, EMFILE, 1);
        must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), -EMFILE);
        must(vigil_why()[0] != '\0');
    }
    make_fail(PIPE, EMFILE, 1);
    must_equal(vigil_signal_add(loop, 10, on_signal, NULL, NULL), -EMFILE);
    make_fail(TIMERFD, EMFILE, 1);
    must_equal(vigil_loop_fd(loop), -EMFILE);
    make_fail(CTL, ENOMEM, 1);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), -ENOMEM);
    make_fail(CTL, ENOSPC, 1);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), -ENOSPC);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(tally_get(&seen), 1);
    must_equal(vigil_loop_destroy(loop), 0);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.fast_path = VIGIL_FAST_PATH_DISABLED;
    make_fail(CREATE, EMFILE, 1);
    must_equal(vigil_loop_create(&loop, &options), -EMFILE);
    close(pipes[0]);
    close(pipes[1]);
}

struct writer {
    int fd;
    struct event go;
};

static void *write_later(void *arg)
{
    struct writer *writer = arg;
    event_wait(&writer->go);
    must_equal(write(writer->fd, "x", 1), 1);
    return NULL;
}

static void interrupted_waits_are_no_events(void **state)
{
    (void)state;
    int pipes[2];
    struct tally seen = {0};
    must_equal(pipe(pipes), 0);
    loop = make(VIGIL_FAST_PATH_AUTO);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), 0);
    struct writer writer = {.fd = pipes[1]};
    pthread_t thread = start_thread(write_later, &writer);
    make_fail(WAIT, EINTR, 50);
    event_set(&writer.go);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(tally_get(&seen), 1);
    must_equal(poll_failures, 0);
    join_thread(thread);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void on_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    tally_add(arg, 1);
}

static void interrupted_futex_waits_are_no_wake_ups(void **state)
{
    (void)state;
    faults_reset();
    faults_futex(FUTEX_MIXED, 4);
    loop = make(VIGIL_FAST_PATH_FORCED);
    struct tally seen = {0};
    uint64_t last = now_ns() + 10000000;
    for (uint64_t i = 0; i < 20; i++) {
        vigil_timer_options options = {.size = sizeof options, .deadline_ns = last - i * 500000};
        must_equal(vigil_timer_start_with(loop, &options, on_timer, &seen, NULL), 0);
    }
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must(now_ns() >= last);
    must(faults_syscalls().faked > 0);
    faults_reset();
    must_equal(tally_get(&seen), 20);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_poller_closed_by_mistake_is_made_anew(void **state)
{
    (void)state;
    int pipes[2];
    struct tally seen = {0};
    must_equal(pipe(pipes), 0);
    loop = make(VIGIL_FAST_PATH_AUTO);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_and_go, NULL, &seen, NULL), 0);
    int fd = vigil_loop_fd(loop);
    must(fd >= 0);
    must_equal(close(fd), 0); /* somebody closes what is not his */
    must_equal(write(pipes[1], "x", 1), 1);
    make_fail(CREATE, EMFILE, 2); /* and there are no descriptors at first */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(tally_get(&seen), 1);
    must_equal(poll_failures, 3);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

/* Without a timerfd the embedding loop is told to look often; timers still fire. */
static void embedding_works_without_a_timer_descriptor(void **state)
{
    (void)state;
    loop = make(VIGIL_FAST_PATH_AUTO);
    struct tally seen = {0};
    must(vigil_loop_fd(loop) >= 0);
    must_equal(vigil_timer_start(loop, 2000000, on_timer, &seen, NULL), 0);
    while (vigil_loop_run(loop, VIGIL_RUN_NOWAIT) == 1) {
    }
    must_equal(tally_get(&seen), 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(no_descriptors_left_is_an_answer_and_changes_nothing),
        test(interrupted_waits_are_no_events),
        test(interrupted_futex_waits_are_no_wake_ups),
        test(a_poller_closed_by_mistake_is_made_anew),
        test(embedding_works_without_a_timer_descriptor),
    };
    return run_all(tests);
}
