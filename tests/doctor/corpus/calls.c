/* SPDX-License-Identifier: MIT */
/*
 * calls [THREADS] - sleeps in every kind of system call that a stop could disturb, and counts those that return. It says "ready" when
 * all sleep, and "returned N" when a line comes on stdin. THREADS: so many more threads that only sleep.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static atomic_int begun, returned;
static int quiet[2]; /* a pipe in which nothing comes */

static void in_sleep(void)
{
    struct timespec time = {1000, 0};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}
static void in_poll(void)
{
    struct pollfd fd = {quiet[0], POLLIN, 0};
    (void)poll(&fd, 1, -1);
}
static void in_poll_limited(void)
{
    struct pollfd fd = {quiet[0], POLLIN, 0};
    (void)poll(&fd, 1, 1000000);
}
static void in_epoll(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, quiet[0], &event);
    (void)epoll_wait(poller, &event, 1, -1);
}
static void in_epoll_limited(void)
{
    struct epoll_event event;
    (void)epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, 1000000);
}
static void in_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    (void)select(quiet[0] + 1, &set, NULL, NULL, NULL);
}
static void in_read(void)
{
    char byte;
    (void)!read(quiet[0], &byte, 1);
}
static void in_receive_limited(void)
{
    int ends[2];
    char byte;
    const struct timeval limit = {1000, 0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        abort();
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)!recv(ends[0], &byte, 1, 0);
}
static void in_connect(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof name;
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)) != 0 || listen(listener, 0) != 0)
        abort();
    getsockname(listener, (struct sockaddr *)&name, &length);
    for (int i = 0; i < 8; i++) /* nobody accepts: the queue is full soon */
        (void)connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, length);
}
static void in_accept(void)
{
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, 1) != 0)
        abort();
    (void)accept(listener, NULL, NULL);
}
static void in_futex(void)
{
    static unsigned word;
    (void)syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL);
}
static void in_futex_limited(void)
{
    static unsigned word;
    const struct timespec limit = {1000, 0};
    (void)syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &limit);
}
static void in_semaphore(void)
{
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    (void)sem_wait(&semaphore);
}
static void in_signal(void)
{
    sigset_t set;
    const struct timespec limit = {1000, 0};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)sigtimedwait(&set, NULL, &limit);
}

static void (*const calls[])(void) = {
    in_sleep,           in_poll,    in_poll_limited, in_epoll, in_epoll_limited, in_select,    in_read,
    in_receive_limited, in_connect, in_accept,       in_futex, in_futex_limited, in_semaphore, in_signal,
};

static void *sleep_in(void *arg)
{
    atomic_fetch_add(&begun, 1);
    calls[(size_t)arg]();
    atomic_fetch_add(&returned, 1);
    return NULL;
}

static void *compute(void *arg)
{
    unsigned value = 1;
    atomic_fetch_add(&begun, 1);
    while (atomic_load_explicit(&begun, memory_order_relaxed) > 0)
        value = value * 1664525 + 1013904223;
    return (void *)(unsigned long)(value + (unsigned)(unsigned long)arg);
}

int main(int argc, char **argv)
{
    const int more = argc > 1 ? atoi(argv[1]) : 0;
    const int kinds = (int)(sizeof calls / sizeof calls[0]);
    pthread_attr_t small;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (pipe(quiet) != 0)
        abort();
    pthread_t thread;
    for (int i = 0; i < kinds + more; i++)
        if (pthread_create(&thread, &small, sleep_in, (void *)(long)(i < kinds ? i : i % 3)) != 0)
            abort();
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++)
        if (pthread_create(&thread, &small, compute, NULL) != 0)
            abort();
    while (atomic_load(&begun) < kinds + more)
        sched_yield();
    printf("ready\n");
    fflush(stdout);
    char line[16];
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("returned %d\n", atomic_load(&returned));
        fflush(stdout);
    }
    return 0;
}
