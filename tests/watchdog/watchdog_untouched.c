/* SPDX-License-Identifier: MIT */
/*
 * The watchdog changes nothing: no system call of a thread that it looks at fails or ends early, and it shows their stacks all the
 * same. Each task here makes one call that a signal would end, for long enough to get a verdict with a stack.
 */
#include "watchdog_test.h"

#include "record/stack.h"
#include "watchdog/unwind.h"

#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LASTS_MS = 900
};
#define LASTS_NS (LASTS_MS * INT64_C(1000000))

struct disturbed {
    _Atomic unsigned ended; /* calls that returned */
    _Atomic unsigned early; /* of these, with EINTR or before their time */
    int pipe[2];            /* nobody writes until the end */
    int listener;
};

static void came_back(struct disturbed *all, int64_t result, uint64_t begin)
{
    if ((result < 0 && errno == EINTR) || now_ns() - begin < (uint64_t)LASTS_NS * 9 / 10) {
        (void)fprintf(stderr, "  a call returned %lld (errno %d) after %llu ms\n", (long long)result, errno,
                      (unsigned long long)((now_ns() - begin) / 1000000));
        (void)atomic_fetch_add_explicit(&all->early, 1, memory_order_relaxed);
    }
    (void)atomic_fetch_add_explicit(&all->ended, 1, memory_order_relaxed);
}

/* Waiting for time is the point here: that is what must not be cut short. */
static int in_nanosleep(void *arg)
{
    const struct timespec span = {.tv_sec = LASTS_NS / 1000000000, .tv_nsec = LASTS_NS % 1000000000};
    const uint64_t begin = now_ns();
    const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
    errno = error;
    came_back(arg, error == 0 ? 0 : -1, begin);
    return 0;
}

static int in_poll(void *arg)
{
    struct disturbed *all = arg;
    struct pollfd fd = {.fd = all->pipe[0], .events = POLLIN};
    const uint64_t begin = now_ns();
    came_back(all, poll(&fd, 1, LASTS_MS), begin);
    return 0;
}

static int in_select(void *arg)
{
    struct disturbed *all = arg;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(all->pipe[0], &set);
    struct timeval limit = {.tv_sec = 0, .tv_usec = LASTS_MS * 1000};
    const uint64_t begin = now_ns();
    came_back(all, select(all->pipe[0] + 1, &set, NULL, NULL, &limit), begin);
    return 0;
}

static int in_epoll(void *arg)
{
    struct disturbed *all = arg;
    struct epoll_event event;
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    must(fd >= 0);
    const uint64_t begin = now_ns();
    came_back(all, epoll_wait(fd, &event, 1, LASTS_MS), begin);
    must_equal(close(fd), 0);
    return 0;
}

static int in_futex(void *arg)
{
    static _Atomic uint32_t word;
    const struct timespec limit = {.tv_sec = 0, .tv_nsec = LASTS_NS};
    const uint64_t begin = now_ns();
    came_back(arg, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0), begin);
    return 0;
}

static int in_sem_timedwait(void *arg)
{
    sem_t never;
    struct timespec end;
    must_equal(sem_init(&never, 0, 0), 0);
    must_equal(clock_gettime(CLOCK_REALTIME, &end), 0);
    end.tv_nsec += LASTS_NS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    const uint64_t begin = now_ns();
    came_back(arg, sem_timedwait(&never, &end), begin);
    return 0;
}

static int in_recv(void *arg) /* with a limit of its own it is not restarted */
{
    struct disturbed *all = arg;
    int pair[2];
    char byte;
    const struct timeval limit = {.tv_sec = 0, .tv_usec = LASTS_MS * 1000};
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    must_equal(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    const uint64_t begin = now_ns();
    came_back(all, recv(pair[0], &byte, 1, 0), begin);
    must_equal(close(pair[0]), 0);
    must_equal(close(pair[1]), 0);
    return 0;
}

static int in_accept(void *arg)
{
    struct disturbed *all = arg;
    const uint64_t begin = now_ns();
    came_back(all, accept(all->listener, NULL, NULL), begin);
    return 0;
}

static int in_sigtimedwait(void *arg)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR2);
    const struct timespec limit = {.tv_sec = 0, .tv_nsec = LASTS_NS};
    const uint64_t begin = now_ns();
    came_back(arg, sigtimedwait(&set, NULL, &limit), begin);
    return 0;
}

static int in_read(void *arg)
{
    struct disturbed *all = arg;
    char byte;
    const uint64_t begin = now_ns();
    came_back(all, read(all->pipe[0], &byte, 1), begin);
    return 0;
}

struct stacks {
    _Atomic unsigned verdicts;
    _Atomic bool seen_sleeper;
};

static void note_stacks(void *user, const vigil_verdict *verdict)
{
    struct stacks *all = user;
    if (getenv("VIGIL_TEST_VERBOSE") != NULL)
        heard_print(verdict);
    if (verdict->stall != VIGIL_STALL_HOG && verdict->stall != VIGIL_STALL_ALL_BLOCKED)
        return;
    (void)atomic_fetch_add_explicit(&all->verdicts, 1, memory_order_relaxed);
    if (strstr(verdict->stacks, "  in_") != NULL)
        atomic_store_explicit(&all->seen_sleeper, true, memory_order_relaxed);
}

static void no_call_fails_or_ends_early(void **state)
{
    (void)state;
    static int (*const tasks[])(void *) = {in_nanosleep,     in_poll, in_select, in_epoll,        in_futex,
                                           in_sem_timedwait, in_recv, in_accept, in_sigtimedwait, in_read};
    struct disturbed all = {0};
    struct stacks stacks = {0};
    const struct timeval limit = {.tv_sec = 0, .tv_usec = LASTS_MS * 1000};
    struct sockaddr_in any = {.sin_family = AF_INET};
    must_equal(pipe(all.pipe), 0);
    all.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(all.listener >= 0);
    must_equal(setsockopt(all.listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    must_equal(bind(all.listener, (struct sockaddr *)&any, sizeof any), 0);
    must_equal(listen(all.listener, 1), 0);
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = note_stacks;
    options.user = &stacks;
    options.interval_ms = 10;
    options.hog_ms = 50;
    options.stuck_ms = 50;
    options.repeat_ms = 10; /* stacks at every look */
    vigil_pool_options pool_options = VIGIL_POOL_OPTIONS_INIT;
    pool_options.workers = (unsigned)count_of(tasks);
    pool_options.strict_classes = true; /* the LOW ones come after the calls, and not in place of them */
    vigil_pool *pool = pool_with(&pool_options);
    must_equal(vigil_watchdog_start(&options), 0);
    const uint64_t rounds = scaled(4, 1);
    for (uint64_t round = 0; round < rounds; round++) {
        atomic_store_explicit(&all.ended, 0, memory_order_relaxed);
        for (size_t i = 0; i < count_of(tasks); i++)
            must_equal(vigil_pool_call(pool, tasks[i], NULL, &all, VIGIL_NORMAL), 0);
        for (int i = 0; i < 3; i++) /* queued work: everybody is blocked */
            must_equal(vigil_pool_call(pool, in_nanosleep, NULL, &all, VIGIL_LOW), 0);
        const uint64_t begin = now_ns();
        while (now_ns() - begin < (uint64_t)LASTS_NS + UINT64_C(100000000))
            yield();
        must_equal(write(all.pipe[1], "x", 1), 1); /* ends the read */
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        must_equal(atomic_load_explicit(&all.ended, memory_order_relaxed), count_of(tasks) + 3);
    }
    must_equal(vigil_watchdog_stop(), 0);
    (void)fprintf(stderr, "  %u verdicts, %u calls disturbed\n",
                  atomic_load_explicit(&stacks.verdicts, memory_order_relaxed),
                  atomic_load_explicit(&all.early, memory_order_relaxed));
    must(atomic_load_explicit(&stacks.verdicts, memory_order_relaxed) > 0);
    must_equal(atomic_load_explicit(&all.early, memory_order_relaxed), 0);
#if defined(__x86_64__)
    must(atomic_load_explicit(&stacks.seen_sleeper, memory_order_relaxed));
#endif
    pool_close(pool);
    must_equal(close(all.pipe[0]), 0);
    must_equal(close(all.pipe[1]), 0);
    must_equal(close(all.listener), 0);
}

/* A thread that runs when it is asked may be inside a call that the kernel does not restart when the request comes. */
struct flicker {
    _Atomic bool end;
    _Atomic unsigned calls, failed;
};

static int runs_and_sleeps(void *arg)
{
    struct flicker *it = arg;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    must(epoll >= 0);
    while (!atomic_load_explicit(&it->end, memory_order_relaxed)) {
        const struct timespec moment = {.tv_nsec = 20000};
        const int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
        struct epoll_event event;
        const int got = epoll_wait(epoll, &event, 1, 1);
        (void)atomic_fetch_add_explicit(&it->failed, error != 0 || got < 0, memory_order_relaxed);
        (void)atomic_fetch_add_explicit(&it->calls, 1, memory_order_relaxed);
        for (unsigned i = 0; i < 20000; i++)
            (void)atomic_load_explicit(&it->end, memory_order_relaxed);
    }
    must_equal(close(epoll), 0);
    return 0;
}

static void a_thread_that_runs_and_sleeps_by_turns_notices_nothing(void **state)
{
    (void)state;
    struct flicker it = {0};
    struct stacks stacks = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = note_stacks;
    options.user = &stacks;
    options.interval_ms = 10;
    options.hog_ms = 30;
    options.stuck_ms = 30;
    options.repeat_ms = 10;
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_watchdog_start(&options), 0);
    must_equal(vigil_pool_call(pool, runs_and_sleeps, NULL, &it, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, in_nanosleep, NULL, &(struct disturbed){0}, VIGIL_NORMAL), 0);
    const unsigned wanted = (unsigned)scaled(200, 30);
    while (atomic_load_explicit(&stacks.verdicts, memory_order_relaxed) < wanted)
        yield();
    atomic_store_explicit(&it.end, true, memory_order_relaxed);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_watchdog_stop(), 0);
    (void)fprintf(stderr, "  %u stacks, %u calls, %u failed\n", wanted,
                  atomic_load_explicit(&it.calls, memory_order_relaxed),
                  atomic_load_explicit(&it.failed, memory_order_relaxed));
    must_equal(atomic_load_explicit(&it.failed, memory_order_relaxed), 0);
    pool_close(pool);
}

/* A thread that falls asleep between the look and the request gets the signal when it runs again, and not before. The call is
   made by number: the handler cannot repeat it for the thread, as it does for the calls of the C library. */
struct asleep {
    int pipe[2];
    _Atomic int thread;
    long result;
    int error;
};

static void *in_a_call_by_number(void *arg)
{
    struct asleep *it = arg;
    struct pollfd fd = {.fd = it->pipe[0], .events = POLLIN};
    atomic_store(&it->thread, (int)gettid());
    it->result = syscall(SYS_ppoll, &fd, 1, NULL, NULL, (size_t)8);
    it->error = errno;
    return NULL;
}

static bool sleeps(int thread)
{
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "re");
    must(file != NULL);
    must(fgets(text, sizeof text, file) != NULL);
    (void)fclose(file);
    const char *behind = strrchr(text, ')');
    return behind != NULL && behind[2] == 'S';
}

static void a_request_does_not_wake_a_thread_that_sleeps(void **state)
{
    (void)state;
    struct asleep it = {0};
    pthread_t thread;
    vg_stack stack;
    must_equal(pipe(it.pipe), 0);
    must_equal(vg_stack_begin(SIGURG), 0);
    must_equal(pthread_create(&thread, NULL, in_a_call_by_number, &it), 0);
    while (atomic_load(&it.thread) == 0 || !sleeps(atomic_load(&it.thread)))
        yield();
    vg_stack_take(atomic_load(&it.thread), 50000000, &stack);
    must_equal(stack.depth, 0);
    must(stack.why != NULL);
    must_equal(write(it.pipe[1], "x", 1), 1);
    must_equal(pthread_join(thread, NULL), 0);
    if (it.result != 1)
        (void)fprintf(stderr, "  the call returned %ld (errno %d)\n", it.result, it.error);
    must_equal(it.result, 1);
    vg_stack_end();
    must_equal(close(it.pipe[0]), 0);
    must_equal(close(it.pipe[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(no_call_fails_or_ends_early),
        test(a_thread_that_runs_and_sleeps_by_turns_notices_nothing),
        test(a_request_does_not_wake_a_thread_that_sleeps),
    };
    return run_all(tests);
}
