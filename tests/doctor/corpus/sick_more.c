/* SPDX-License-Identifier: MIT */
/* sick-more NAME - as sick.c: waits of different kinds that meet, and waits that only their functions name. */
#define _GNU_SOURCE
#include "settle.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t area = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static bool go_on;

/* Three threads, three locks, two kinds. */
static void *read_then_first(void *arg)
{
    pthread_rwlock_rdlock(&area);
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&first);
    return arg;
}
static void *first_then_second(void *arg)
{
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&second);
    return arg;
}
static void *second_then_write(void *arg)
{
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&all);
    pthread_rwlock_wrlock(&area);
    return arg;
}
static void mixed(void)
{
    pthread_barrier_init(&all, NULL, 3);
    const pthread_t one = start(read_then_first, NULL);
    start(first_then_second, NULL);
    start(second_then_write, NULL);
    ready();
    pthread_join(one, NULL);
}

/* The post comes after the join. */
static sem_t posted;
static void *wait_for_post(void *arg)
{
    sem_wait(&posted);
    return arg;
}
static void join_before_post(void)
{
    sem_init(&posted, 0, 0);
    const pthread_t thread = start(wait_for_post, NULL);
    ready();
    pthread_join(thread, NULL);
    sem_post(&posted);
}

/* A condition variable releases a recursive mutex once; it was locked twice. */
static pthread_mutex_t deep;
static void *change(void *arg)
{
    pthread_mutex_lock(&deep);
    go_on = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&deep);
    return arg;
}
static void wait_twice_locked(void)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&deep, &how);
    pthread_mutex_lock(&deep);
    pthread_mutex_lock(&deep);
    start(change, NULL);
    ready();
    while (!go_on)
        pthread_cond_wait(&changed, &deep);
}

static pthread_once_t control = PTHREAD_ONCE_INIT;
static void once_again(void)
{
    settle_then_say(0);
    pthread_once(&control, once_again);
}
static void once_self(void)
{
    pthread_once(&control, once_again);
}
static void nothing(void)
{
}
static void *once_elsewhere(void *arg)
{
    pthread_once(&control, nothing);
    return arg;
}
static void once_and_join(void)
{
    const pthread_t thread = start(once_elsewhere, NULL);
    settle_then_say(0);
    pthread_join(thread, NULL);
}
static void once_join(void)
{
    pthread_once(&control, once_and_join);
}

/* The loader's lock is held during the callback. */
static void *open_library(void *arg)
{
    (void)dlopen("libm.so.6", RTLD_NOW);
    return arg;
}
static int in_callback(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info, (void)size, (void)arg;
    const pthread_t thread = start(open_library, NULL);
    settle_then_say(0);
    pthread_join(thread, NULL);
    return 1;
}
static void loader(void)
{
    dl_iterate_phdr(in_callback, NULL);
}

static void lock_in_handler(int number)
{
    (void)number;
    pthread_mutex_lock(&first);
}
static void interrupted(void)
{
    signal(SIGUSR1, lock_in_handler);
    pthread_mutex_lock(&first);
    settle_then_say(0);
    raise(SIGUSR1);
}

/* Each writes, and neither reads. */
static void both_full(void)
{
    static char much[1 << 20];
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        abort();
    if (fork() == 0) {
        close(to[1]);
        close(from[0]);
        (void)!write(from[1], much, sizeof much);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    settle_then_say(0);
    (void)!write(to[1], much, sizeof much);
}

static void flock_held(void)
{
    char name[] = "/tmp/vigil-sick-XXXXXX", byte;
    int turn[2];
    const int file = mkstemp(name);
    if (file < 0 || pipe2(turn, O_CLOEXEC) != 0)
        abort();
    if (fork() == 0) {
        const int own = open(name, O_RDWR | O_CLOEXEC);
        flock(own, LOCK_EX);
        (void)!write(turn[1], "x", 1);
        for (;;)
            (void)pause();
    }
    (void)!read(turn[0], &byte, 1);
    unlink(name);
    settle_then_say(0);
    flock(file, LOCK_EX);
}

static void stopped_peer(void)
{
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    if (fork() == 0) {
        close(ends[0]);
        raise(SIGSTOP);
        _exit(0);
    }
    close(ends[1]);
    settle_then_say(0);
    (void)!recv(ends[0], &byte, 1, 0);
}

/* Edge-triggered, and the edge came with more than was read. */
static void lost_edge(void)
{
    int ends[2];
    char bytes[8];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    if (fork() == 0) {
        close(ends[0]);
        (void)!send(ends[1], "hello", 5, 0);
        (void)!recv(ends[1], bytes, 1, 0);
        _exit(0);
    }
    close(ends[1]);
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
    (void)epoll_wait(poller, &event, 1, -1);
    (void)!recv(ends[0], bytes, 1, 0);
    settle_then_say(0);
    (void)epoll_wait(poller, &event, 1, -1);
}

/* What a call of sigaction left on the stack, the address where handlers return to, is not taken for a frame. */
static void ignore(int number)
{
    (void)number;
}
static void leave_remains(void)
{
    const struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGWINCH, &action, NULL);
}
static void lock_above_remains(void)
{
    char remains[1024]; /* lies where sigaction ran */
    __asm__ volatile("" : : "r"(remains) : "memory");
    settle_then_say(0);
    pthread_mutex_lock(&first);
}
static void call_above_remains(void)
{
    pthread_mutex_lock(&first);
    leave_remains();
    lock_above_remains();
}

/* Loops over a call that comes back at once, each time with nothing. */
static int empty_pipe(int flags)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | flags) != 0)
        _exit(9);
    return ends[0];
}
static void poll_for_ever(void)
{
    struct pollfd nothing = {.fd = empty_pipe(0), .events = POLLIN};
    settle_then_say(1);
    while (poll(&nothing, 1, 0) == 0)
        continue;
}
static void read_for_ever(void)
{
    const int nothing = empty_pipe(O_NONBLOCK);
    char byte;
    settle_then_say(1);
    while (read(nothing, &byte, 1) < 0)
        continue;
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"remains", call_above_remains},
    {"poll-zero", poll_for_ever},
    {"read-again", read_for_ever},
    {"mixed", mixed},
    {"join-before-post", join_before_post},
    {"twice", wait_twice_locked},
    {"once", once_self},
    {"once-join", once_join},
    {"loader", loader},
    {"both-full", both_full},
    {"flock", flock_held},
    {"stopped-peer", stopped_peer},
    {"lost-edge", lost_edge},
    {"handler", interrupted},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    return 2;
}
