/* SPDX-License-Identifier: MIT */
/* L8: numbers that are not open, far away, closed behind the loop's back; L9: the loop's own descriptors closed. */
#include "loop_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

static vigil_loop *loop;
static uint32_t calls;
static uint32_t gone;
static uint32_t reported;
static uint32_t poll_failures;

static void count_calls(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)arg;
    if ((events & VIGIL_FD_GONE) != 0)
        gone++;
    else
        calls++;
}

static void note_event(void *user, const vigil_loop_event *event)
{
    (void)user;
    if (event->kind == VIGIL_LOOP_FD_GONE)
        reported++;
    if (event->kind == VIGIL_LOOP_POLL_FAILED)
        poll_failures++;
}

static void make(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.on_event = note_event;
    calls = gone = reported = poll_failures = 0;
    loop = loop_with(&options);
}

static int add_watch(int fd)
{
    return vigil_watch_add(loop, fd, VIGIL_FD_READ, 0, count_calls, NULL, NULL, NULL);
}

static void turn(void)
{
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

static size_t memory(void)
{
#ifdef __GLIBC__
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0; /* musl does not say */
#endif
}

static void a_number_that_is_not_open_costs_nothing(void **state)
{
    (void)state;
    make();
    const size_t before = memory();
    must_equal(add_watch(40000000), -EBADF);
    must_equal(add_watch(INT32_MAX), -EBADF);
    must(memory() - before < 100000 || TEST_SANITIZED);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_number_far_away_costs_its_page_alone(void **state)
{
    (void)state;
    struct rlimit limit;
    int pipes[2];
    must_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    must_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const int far = limit.rlim_max > 1000000 ? 1000000 : (int)limit.rlim_max - 1;
    must_equal(pipe(pipes), 0);
    must_equal(dup2(pipes[0], far), far);
    make();
    const size_t before = memory();
    must_equal(add_watch(far), 0);
    must(memory() - before < 300000 || TEST_SANITIZED); /* not 24 bytes for each number below */
    must_equal(write(pipes[1], "x", 1), 1);
    turn();
    must_equal(calls, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(far);
    close(pipes[0]);
    close(pipes[1]);
}

static void a_closed_fd_whose_duplicate_is_readable_is_reported_and_stops(void **state)
{
    (void)state;
    int pipes[2];
    must_equal(pipe(pipes), 0);
    const int duplicate = dup(pipes[0]);
    must_equal(write(pipes[1], "x", 1), 1);
    make();
    must_equal(add_watch(pipes[0]), 0);
    close(pipes[0]);
    for (int i = 0; i < 1000; i++)
        turn();
    must(calls < 200);
    must_equal(gone, 1);
    must_equal(reported, 1);
    must_equal(vigil_loop_destroy(loop), 0);
    close(duplicate);
    close(pipes[1]);
}

/* ---- the loop's own descriptors ---------------------------------------------------------------------------------- */

static bool is_own(int fd)
{
    char name[64];
    char target[64] = {0};
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return readlink(name, target, sizeof target - 1) > 0 &&
           (strstr(target, "[eventpoll]") != NULL || strstr(target, "[eventfd]") != NULL);
}

static void close_own(bool poller_too)
{
    for (int fd = 3; fd < 256; fd++) {
        char name[64];
        char target[64] = {0};
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (!is_own(fd) || readlink(name, target, sizeof target - 1) <= 0)
            continue;
        if (poller_too || strstr(target, "[eventfd]") != NULL)
            close(fd);
    }
}

static void count_post(void *arg)
{
    tally_add(arg, 1);
}

static void heal(bool poller_too)
{
    struct tally ran = {0};
    make();
    must_equal(vigil_loop_fast_path_set(loop, VIGIL_FAST_PATH_DISABLED), 0);
    turn();
    close_own(poller_too);
    pthread_t runner = start_thread(loop_runner, loop);
    for (uint32_t i = 1; i <= 3; i++) {
        observe_for_ms(20); /* it sleeps, most likely */
        must_equal(vigil_loop_call(loop, count_post, NULL, &ran), 0);
        tally_wait(&ran, i);
    }
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(runner);
    must_be_between(poll_failures, 0, 1); /* once, and it is mended */
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_loop_whose_poller_and_eventfd_were_closed_heals(void **state)
{
    (void)state;
    heal(true);
}

static void a_loop_whose_eventfd_alone_was_closed_is_still_woken(void **state)
{
    (void)state;
    heal(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_number_that_is_not_open_costs_nothing),
        test(a_number_far_away_costs_its_page_alone),
        test(a_closed_fd_whose_duplicate_is_readable_is_reported_and_stops),
        test(a_loop_whose_poller_and_eventfd_were_closed_heals),
        test(a_loop_whose_eventfd_alone_was_closed_is_still_woken),
    };
    return run_all(tests);
}
