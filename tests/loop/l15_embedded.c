/* SPDX-License-Identifier: MIT */
/* L15: an embedded loop that nobody is inside shows whatever owner's calls add to it; a fork takes nothing from the parent. */
#include "loop_test.h"

#include <vigil/promise.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static vigil_loop *loop;
static int calls;

static void count(void *arg)
{
    (void)arg;
    calls++;
}

static void count_node(vigil_post *post)
{
    (void)post;
    calls++;
}

static void count_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    calls++;
}

static vigil_value count_value(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    calls++;
    return vigil_value_none();
}

static bool readable(int fd, int ms)
{
    struct pollfd ask = {.fd = fd, .events = POLLIN};
    return poll(&ask, 1, ms) == 1;
}

static void run_till_quiet(int fd)
{
    while (readable(fd, 0))
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

/* ---- owner's calls, while nobody is inside ----------------------------------------------------------------------- */

static vigil_timer far;
static vigil_post node;
static vigil_promise *settled;

static void tick(void)
{
    must_equal(vigil_loop_tick_call(loop, count, NULL, NULL), 0);
}

static void microtask(void)
{
    vigil_post_init(&node, count_node, NULL);
    must_equal(vigil_loop_microtask(loop, &node), 0);
}

static void immediate(void)
{
    must_equal(vigil_loop_immediate_call(loop, count, NULL, NULL), 0);
}

static void defer(void)
{
    must_equal(vigil_loop_defer_call(loop, count, NULL, NULL), 0);
}

static void start_timer(void)
{
    must_equal(vigil_timer_start(loop, 1000, count_timer, NULL, NULL), 0);
}

static void advance_timer(void)
{
    must_equal(vigil_timer_again(loop, far, 1000), 0);
}

static void handle(void)
{
    must_equal(vigil_promise_then(settled, count_value, NULL, NULL, NULL), 0);
}

static void what_is_added_to_an_embedded_loop_from_outside_shows(void **state)
{
    (void)state;
    void (*const adds[])(void) = {tick, microtask, immediate, defer, start_timer, advance_timer, handle};
    loop = loop_that_stays();
    int fd = vigil_loop_fd(loop);
    must(fd >= 0);
    must_equal(vigil_timer_start(loop, UINT64_C(3600000000000), count_timer, NULL, &far), 0);
    must_equal(vigil_promise_resolved(loop, vigil_value_none(), &settled), 0);
    calls = 0;
    for (size_t i = 0; i < count_of(adds); i++) {
        run_till_quiet(fd);
        must_equal(calls, i);
        adds[i]();
        while (calls == (int)i) {
            must(readable(fd, -1)); /* else this waits for ever */
            must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        }
    }
    vigil_promise_unref(settled);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- a fork ------------------------------------------------------------------------------------------------------ */

static void child_ended(vigil_loop *of, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)of;
    (void)child;
    (void)pid;
    (void)arg;
    must_equal(code, CLD_EXITED);
    must_equal(status, 7);
    calls++;
}

static void fork_and_give_back(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_fork(loop), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* the child watch was dropped, and nothing else keeps it */
    must_equal(calls, 0);
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_fork_does_not_take_the_child_watches_from_the_parent(void **state)
{
    (void)state;
    calls = 0;
    loop = loop_plain();
    int pipes[2];
    must_equal(pipe(pipes), 0);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        char byte;
        close(pipes[1]);
        _exit(read(pipes[0], &byte, 1) == 1 ? 7 : 8);
    }
    must_equal(vigil_child_add(loop, pid, child_ended, NULL, NULL), 0);
    must_equal(in_child(fork_and_give_back, NULL), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* else this waits for ever */
    must_equal(calls, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void read_once(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
    calls++;
    must_equal(vigil_watch_remove(of, watch), 0);
}

static void fork_without_descriptors(void *arg)
{
    const int *pipes = arg;
    struct rlimit usual;
    must_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
    must_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    must_equal(vigil_loop_fork(loop), -EMFILE);
    must_equal(vigil_loop_fork(loop), -EMFILE);
    must_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    must_equal(vigil_loop_fork(loop), 0); /* as the header says: try again */
    must_equal(write(pipes[1], "x", 1), 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(calls, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    _exit(0);
}

static void a_fork_that_fails_for_want_of_descriptors_can_be_tried_again(void **state)
{
    (void)state;
    calls = 0;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    loop = loop_plain();
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, read_once, NULL, NULL, NULL), 0);
    must_equal(in_child(fork_without_descriptors, pipes), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_added_to_an_embedded_loop_from_outside_shows),
        test(a_fork_does_not_take_the_child_watches_from_the_parent),
        test(a_fork_that_fails_for_want_of_descriptors_can_be_tried_again),
    };
    return run_all(tests);
}
