/* SPDX-License-Identifier: MIT */
/* sick NAME - hangs in the way that the name says, and tells so by a line on stdout when everybody is in place. */
#define _GNU_SOURCE
#include "settle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
                       third = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static atomic_int stage;

static void two(void *(*one)(void *), void *(*other)(void *))
{
    pthread_barrier_init(&both, NULL, 2);
    pthread_t a = start(one, NULL), b = start(other, NULL);
    ready();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

/* ---- circles ---- */

static void *lock_forwards(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    return NULL;
}
static void *lock_backwards(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return NULL;
}
static void abba(void)
{
    two(lock_forwards, lock_backwards);
}

static void with_kind(int kind, int protocol, int robust, bool shared)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, kind);
    pthread_mutexattr_setprotocol(&how, protocol);
    pthread_mutexattr_setrobust(&how, robust);
    if (shared)
        pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&first, &how);
    pthread_mutex_init(&second, &how);
}
static void abba_recursive(void)
{
    with_kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, false);
    abba();
}
static void abba_robust(void)
{
    with_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, false);
    abba();
}
static void abba_inherit(void)
{
    with_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, false);
    abba();
}

static atomic_int arrived;
static pthread_mutex_t round_table[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                         PTHREAD_MUTEX_INITIALIZER};
static void *philosopher(void *arg)
{
    const long seat = (long)arg;
    pthread_mutex_lock(&round_table[seat]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&round_table[(seat + 1) % 3]);
    return NULL;
}
static void philosophers(void)
{
    pthread_t seats[3];
    pthread_barrier_init(&both, NULL, 3);
    for (long i = 0; i < 3; i++)
        seats[i] = start(philosopher, (void *)i);
    ready();
    for (int i = 0; i < 3; i++)
        pthread_join(seats[i], NULL);
}

static void self_lock(void)
{
    pthread_mutex_lock(&first);
    ready();
    pthread_mutex_lock(&first);
}

static void *needs_lock(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    return NULL;
}
static void join_with_lock(void)
{
    pthread_mutex_lock(&first);
    pthread_t thread = start(needs_lock, NULL);
    ready();
    pthread_join(thread, NULL);
}

static pthread_t joined[2];
static void *join_other(void *arg)
{
    const long which = (long)arg;
    pthread_barrier_wait(&both);
    pthread_join(joined[1 - which], NULL);
    return NULL;
}
static void join_circle(void)
{
    pthread_barrier_init(&both, NULL, 3);
    for (long i = 0; i < 2; i++)
        joined[i] = start(join_other, (void *)i);
    pthread_barrier_wait(&both);
    ready();
    (void)pause();
}

static mtx_t plain[2];
static void *c11_forwards(void *arg)
{
    const long from = (long)arg;
    mtx_lock(&plain[from]);
    pthread_barrier_wait(&both);
    mtx_lock(&plain[1 - from]);
    return NULL;
}
static void c11_abba(void)
{
    mtx_init(&plain[0], mtx_plain);
    mtx_init(&plain[1], mtx_plain);
    pthread_barrier_init(&both, NULL, 2);
    pthread_t a = start(c11_forwards, (void *)0), b = start(c11_forwards, (void *)1);
    ready();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void *stdio_first(void *arg)
{
    (void)arg;
    flockfile(stderr);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return NULL;
}
static void *mutex_then_stdio(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    flockfile(stderr);
    return NULL;
}
static void stdio_circle(void)
{
    two(stdio_first, mutex_then_stdio);
}

static pthread_rwlock_t area = PTHREAD_RWLOCK_INITIALIZER, other_area = PTHREAD_RWLOCK_INITIALIZER;
static void *write_forwards(void *arg)
{
    (void)arg;
    pthread_rwlock_wrlock(&area);
    pthread_barrier_wait(&both);
    pthread_rwlock_rdlock(&other_area);
    return NULL;
}
static void *write_backwards(void *arg)
{
    (void)arg;
    pthread_rwlock_wrlock(&other_area);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&area);
    return NULL;
}
static void rwlock_circle(void)
{
    two(write_forwards, write_backwards);
}
static void *read_then_mutex(void *arg)
{
    (void)arg;
    pthread_rwlock_rdlock(&area);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return NULL;
}
static void *mutex_then_write(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&area);
    return NULL;
}
static void reader_circle(void)
{
    two(read_then_mutex, mutex_then_write);
}
static void upgrade(void)
{
    pthread_rwlock_rdlock(&area);
    ready();
    pthread_rwlock_wrlock(&area);
}

static sem_t tokens[2];
static void *take_tokens(void *arg)
{
    const long from = (long)arg;
    sem_wait(&tokens[from]);
    pthread_barrier_wait(&both);
    sem_wait(&tokens[1 - from]);
    return NULL;
}
static void semaphore_circle(void)
{
    sem_init(&tokens[0], 0, 1);
    sem_init(&tokens[1], 0, 1);
    pthread_barrier_init(&both, NULL, 2);
    pthread_t a = start(take_tokens, (void *)0), b = start(take_tokens, (void *)1);
    ready();
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

/* ---- lost ---- */

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool go_on;
static void *wait_for_change(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    while (!go_on)
        pthread_cond_wait(&changed, &first);
    pthread_mutex_unlock(&first);
    return NULL;
}
static void lost_signal(void)
{
    pthread_cond_signal(&changed); /* before anybody waits, and the flag is forgotten */
    pthread_t thread = start(wait_for_change, NULL);
    ready();
    pthread_join(thread, NULL);
}
static void *wait_at_barrier(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&both);
    return NULL;
}
static void short_barrier(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 3);
    for (int i = 0; i < 2; i++)
        threads[i] = start(wait_at_barrier, NULL);
    ready();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
static void *lock_and_end(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    return NULL;
}
static void owner_ended(void)
{
    pthread_join(start(lock_and_end, NULL), NULL);
    ready();
    pthread_mutex_lock(&first);
}
static void *hold_for_ever(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    atomic_store(&stage, 1);
    for (;;)
        (void)pause();
    return NULL;
}
static void fork_with_lock(void)
{
    start(hold_for_ever, NULL);
    while (atomic_load(&stage) == 0)
        tick();
    const pid_t child = fork();
    if (child == 0) { /* the owner exists in the parent alone */
        printf("patient %d\n", (int)getpid());
        fflush(stdout);
        ready();
        pthread_mutex_lock(&first);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}
static void empty_epoll(void)
{
    struct epoll_event event;
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    ready();
    (void)epoll_wait(poller, &event, 1, -1);
}

/* ---- processes ---- */

static void own_pipe(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    ready();
    (void)!read(ends[0], &byte, 1); /* the end never comes: the write end is open here */
}
static void pipe_circle(void)
{
    int to[2], from[2];
    char byte;
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        abort();
    if (fork() == 0) {
        close(to[1]);
        close(from[0]);
        (void)!read(to[0], &byte, 1);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    settle_then_say(0);
    (void)!read(from[0], &byte, 1);
}
static void child_pipe_full(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    const pid_t child = fork();
    if (child == 0) {
        static char much[1 << 20];
        close(ends[0]);
        (void)!write(ends[1], much, sizeof much);
        _exit(0);
    }
    close(ends[1]);
    settle_then_say(0);
    (void)waitpid(child, NULL, 0); /* reads only afterwards */
}
static void socket_circle(void)
{
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    if (fork() == 0) {
        close(ends[0]);
        (void)!recv(ends[1], &byte, 1, 0);
        _exit(0);
    }
    close(ends[1]);
    settle_then_say(0);
    (void)!recv(ends[0], &byte, 1, 0);
}
static void file_lock_circle(void)
{
    char names[2][64];
    int files[2];
    int turn[2];
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "/tmp/vigil-sick-%d-%d", (int)getpid(), i);
        files[i] = open(names[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        unlink(names[i]);
    }
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (pipe2(turn, O_CLOEXEC) != 0)
        abort();
    if (fork() == 0) {
        fcntl(files[1], F_SETLKW, &whole);
        (void)!write(turn[1], "x", 1);
        fcntl(files[0], F_SETLKW, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0});
        /* The kernel refuses the second one with EDEADLK, so the child waits for the parent instead. */
        for (;;)
            (void)pause();
    }
    char byte;
    (void)!read(turn[0], &byte, 1);
    settle_then_say(0);
    fcntl(files[1], F_SETLKW, &whole);
}
static void shared_mutex(void)
{
    pthread_mutex_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared[0], &how);
    pthread_mutex_init(&shared[1], &how);
    atomic_int *there = (atomic_int *)(void *)(shared + 2);
    if (fork() == 0) {
        pthread_mutex_lock(&shared[1]);
        atomic_fetch_add(there, 1);
        while (atomic_load(there) < 2)
            tick();
        pthread_mutex_lock(&shared[0]);
        _exit(0);
    }
    pthread_mutex_lock(&shared[0]);
    atomic_fetch_add(there, 1);
    while (atomic_load(there) < 2)
        tick();
    settle_then_say(0);
    pthread_mutex_lock(&shared[1]);
}

/* ---- one bad thread ---- */

static void *lock_and_read(void *arg)
{
    char byte;
    pthread_mutex_lock(&first);
    atomic_store(&stage, 1);
    (void)!recv(*(int *)arg, &byte, 1, 0);
    return NULL;
}
static void held_over_read(void)
{
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* nobody is known to send here, and anybody could */
    pthread_t a = start(lock_and_read, &sock);
    while (atomic_load(&stage) == 0)
        tick();
    pthread_t b = start(needs_lock, NULL);
    ready();
    pthread_join(b, NULL);
    pthread_join(a, NULL);
}
static void *compute_under_lock(void *arg)
{
    (void)arg;
    unsigned value = 1;
    pthread_mutex_lock(&first);
    atomic_store(&stage, 1);
    for (;;)
        value = value * 1664525 + 1013904223 + (unsigned)atomic_load(&arrived);
    return (void *)(unsigned long)value;
}
static void convoy(void)
{
    pthread_t threads[5];
    start(compute_under_lock, NULL);
    while (atomic_load(&stage) == 0)
        tick();
    for (int i = 0; i < 5; i++)
        threads[i] = start(needs_lock, NULL);
    settle_then_say(1);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
}
static void *spin_on_flag(void *arg)
{
    (void)arg;
    while (atomic_load(&arrived) == 0)
        continue;
    return NULL;
}
static void spin(void)
{
    pthread_t thread = start(spin_on_flag, NULL);
    settle_then_say(1);
    pthread_join(thread, NULL);
}
static pthread_spinlock_t bare;
static void spin_lock(void)
{
    pthread_spin_init(&bare, 0);
    pthread_spin_lock(&bare);
    settle_then_say(1);
    pthread_spin_lock(&bare);
}
static void yield_for_ever(void)
{
    settle_then_say(1);
    while (atomic_load(&arrived) == 0)
        sched_yield();
}
static void descriptors(void)
{
    const struct rlimit few = {64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    settle_then_say(0);
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        continue;
    for (;;)
        (void)pause();
}
/* No more memory, and no way to go on without it. */
static void address_space(void)
{
    const struct rlimit most = {.rlim_cur = 64 << 20, .rlim_max = 64 << 20};
    setrlimit(RLIMIT_AS, &most);
    for (size_t size = 1 << 20; size >= 4096; size /= 2)
        while (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            ;
    printf("ready\n");
    fflush(stdout);
    for (;;)
        tick();
}

/* Two threads on one processor: the one with the higher priority never lets the other run. The main thread puts both there, because
   the second could not say that it has come. Needs root. */
static atomic_int runner, may_run;
static void *run_at(void *arg)
{
    const int priority = (int)(intptr_t)arg;
    const struct sched_param how = {.sched_priority = priority};
    volatile unsigned long work = 1;
    sched_setscheduler(0, SCHED_FIFO, &how);
    atomic_store(&runner, (int)syscall(SYS_gettid));
    while (atomic_load(&may_run) != priority)
        tick();
    atomic_fetch_add(&stage, 1);
    for (;;)
        work = work * 3 + 1;
    return NULL;
}
static void start_at(int priority)
{
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    atomic_store(&runner, 0);
    start(run_at, (void *)(intptr_t)priority);
    while (atomic_load(&runner) == 0)
        tick();
    sched_setaffinity(atomic_load(&runner), sizeof last, &last);
    atomic_store(&may_run, priority);
}
static void starved(void)
{
    cpu_set_t first_cpu;
    CPU_ZERO(&first_cpu);
    CPU_SET(0, &first_cpu);
    sched_setaffinity(0, sizeof first_cpu, &first_cpu);
    alarm(60); /* whatever happens, the processor is given back */
    start_at(2);
    while (atomic_load(&stage) < 1)
        tick();
    start_at(1);
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* Starts threads until it may start no more (corpus.py limits them). */
static void *wait_for_nothing(void *arg)
{
    (void)arg;
    for (;;)
        tick();
    return NULL;
}
static void no_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 1000 && pthread_create(&thread, NULL, wait_for_nothing, NULL) == 0; i++)
        ;
    printf("ready\n");
    fflush(stdout);
    for (;;)
        tick();
}

/* Fills most of the memory that corpus.py allows it, and then wants a little more again and again. */
static void *read_again(void *arg)
{
    static char room[1 << 16];
    for (;;) {
        const int fd = open(arg, O_RDONLY);
        while (read(fd, room, sizeof room) > 0)
            ;
        close(fd);
    }
    return NULL;
}
static void full_memory(void)
{
    const char *file = getenv("SICK_FILE");
    const size_t size = (size_t)atol(getenv("SICK_BYTES"));
    char *all = malloc(size);
    memset(all, 1, size);
    start(read_again, (void *)(uintptr_t)file);
    printf("ready\n");
    fflush(stdout);
    for (;;)
        tick();
}

/* Opens a file of a file system that corpus.py has frozen: state D. */
static void frozen_disk(void)
{
    settle_then_say(0);
    (void)open(getenv("SICK_FILE"), O_CREAT | O_WRONLY, 0600);
}

static void stopped(void)
{
    printf("ready\n");
    fflush(stdout);
    raise(SIGSTOP);
}
static void vfork_child(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    settle_then_say(0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const pid_t child = vfork(); /* the parent sleeps until the child ends: and the child waits for the parent */
#pragma GCC diagnostic pop
    if (child == 0) {
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"abba", abba},
    {"abba-recursive", abba_recursive},
    {"abba-robust", abba_robust},
    {"abba-inherit", abba_inherit},
    {"philosophers", philosophers},
    {"self", self_lock},
    {"join-with-lock", join_with_lock},
    {"join-circle", join_circle},
    {"c11", c11_abba},
    {"stdio", stdio_circle},
    {"rwlock", rwlock_circle},
    {"reader", reader_circle},
    {"upgrade", upgrade},
    {"semaphores", semaphore_circle},
    {"lost-signal", lost_signal},
    {"barrier", short_barrier},
    {"orphan", owner_ended},
    {"fork", fork_with_lock},
    {"epoll", empty_epoll},
    {"own-pipe", own_pipe},
    {"pipes", pipe_circle},
    {"full-pipe", child_pipe_full},
    {"sockets", socket_circle},
    {"file-lock", file_lock_circle},
    {"shared", shared_mutex},
    {"held", held_over_read},
    {"convoy", convoy},
    {"spin", spin},
    {"spin-lock", spin_lock},
    {"yield", yield_for_ever},
    {"descriptors", descriptors},
    {"address-space", address_space},
    {"starved", starved},
    {"no-threads", no_threads},
    {"full-memory", full_memory},
    {"frozen-disk", frozen_disk},
    {"stopped", stopped},
    {"vfork", vfork_child},
};

int main(int argc, char **argv)
{
    (void)third;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        printf("%s\n", ways[i].name);
    return argc > 1 ? 2 : 0;
}
