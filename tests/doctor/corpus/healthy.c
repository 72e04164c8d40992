/* SPDX-License-Identifier: MIT */
/* healthy NAME - is busy or idle, and fine, in the way that the name says; prints a line when it is under way. Ends when stdin does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, taken = PTHREAD_COND_INITIALIZER;
static atomic_uint progress;
static int queued;

static void rest(long us)
{
    (void)poll(NULL, 0, (int)((us + 999) / 1000));
}

static pthread_t start(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, arg) != 0)
        abort();
    return thread;
}

static void say_ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

/* The other end of stdin belongs to the test: the end comes with it. */
static void wait_for_end(void)
{
    char byte;
    say_ready();
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

static void *consumer(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (queued == 0)
            pthread_cond_wait(&changed, &lock);
        queued--;
        pthread_cond_signal(&taken);
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&progress, 1);
    }
    return NULL;
}
static void idle_pool(void)
{
    for (int i = 0; i < 6; i++)
        start(consumer, NULL);
    wait_for_end();
}
static void *producer(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (queued > 16)
            pthread_cond_wait(&taken, &lock);
        queued++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void queue(void)
{
    for (int i = 0; i < 3; i++)
        start(consumer, NULL);
    start(producer, NULL);
    wait_for_end();
}
static void *hammer(void *arg)
{
    (void)arg;
    for (unsigned i = 1;; i++) {
        pthread_mutex_lock(&lock);
        for (unsigned k = 0; k < 2000; k++)
            queued += (int)(i ^ k) & 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void contended(void)
{
    for (int i = 0; i < 8; i++)
        start(hammer, NULL);
    wait_for_end();
}
static void *compute(void *arg)
{
    (void)arg;
    uint32_t value = 1;
    for (;;)
        value = value * 1664525 + 1013904223;
    return (void *)(uintptr_t)value;
}
static void computing(void)
{
    start(compute, NULL);
    start(compute, NULL);
    wait_for_end();
}
static void *converge(void *arg)
{
    (void)arg;
    double x = 0.1;
    for (;;)
        x = cos(x) + 1e-3 * x;
    return NULL;
}
static void floats(void)
{
    start(converge, NULL);
    wait_for_end();
}
static void *sort_again(void *arg)
{
    (void)arg;
    static int numbers[20000];
    for (unsigned seed = 1;; seed++) {
        for (int i = 0; i < 20000; i++)
            numbers[i] = (int)((unsigned)i * 2654435761U * seed);
        for (int i = 1; i < 20000; i++)
            for (int k = i; k > 0 && k > i - 64 && numbers[k - 1] > numbers[k]; k--) {
                const int swap = numbers[k];
                numbers[k] = numbers[k - 1];
                numbers[k - 1] = swap;
            }
    }
    return NULL;
}
static void sorting(void)
{
    start(sort_again, NULL);
    wait_for_end();
}
static void *wait_a_little(void *arg)
{
    (void)arg;
    for (;;) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 5;
        pthread_mutex_lock(&lock);
        pthread_cond_timedwait(&changed, &lock, &limit);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void timed(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(wait_a_little, NULL);
    say_ready();
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
static pthread_mutex_t pair[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *back_off(void *arg)
{
    const long from = (long)arg;
    for (;;) {
        pthread_mutex_lock(&pair[from]);
        if (pthread_mutex_trylock(&pair[1 - from]) == 0) {
            atomic_fetch_add(&progress, 1);
            pthread_mutex_unlock(&pair[1 - from]);
        }
        pthread_mutex_unlock(&pair[from]);
        rest(1000);
    }
    return NULL;
}
static void backing_off(void)
{
    start(back_off, (void *)0);
    start(back_off, (void *)1);
    wait_for_end();
}
static void pipeline(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    if (fork() == 0) {
        static char much[65536];
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        while (write(ends[1], much, sizeof much) > 0)
            continue;
        _exit(0);
    }
    close(ends[1]);
    static char room[4096];
    say_ready();
    while (read(ends[0], room, sizeof room) > 0)
        atomic_fetch_add(&progress, 1);
}
static void *serve(void *arg)
{
    const int listener = *(int *)arg;
    char byte;
    for (;;) {
        const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        while (client >= 0 && recv(client, &byte, 1, 0) > 0)
            (void)!send(client, &byte, 1, MSG_NOSIGNAL);
        close(client);
    }
    return NULL;
}
static void server(void)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0)
        abort();
    start(serve, &listener);
    start(serve, &listener);
    wait_for_end();
}
static pthread_rwlock_t area = PTHREAD_RWLOCK_INITIALIZER;
static void *read_and_write(void *arg)
{
    const long writes = (long)arg;
    for (;;) {
        if (writes)
            pthread_rwlock_wrlock(&area);
        else
            pthread_rwlock_rdlock(&area);
        atomic_fetch_add(&progress, 1);
        pthread_rwlock_unlock(&area);
    }
    return NULL;
}
static void readers(void)
{
    for (long i = 0; i < 4; i++)
        start(read_and_write, (void *)(long)(i == 0));
    wait_for_end();
}
static sem_t ping, pong;
static void *echo(void *arg)
{
    (void)arg;
    for (;;) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return NULL;
}
static void *call(void *arg)
{
    (void)arg;
    for (;;) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    return NULL;
}
static void ping_pong(void)
{
    pthread_t a = start(echo, NULL);
    start(call, NULL);
    say_ready();
    pthread_join(a, NULL);
}
static void parent(void)
{
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            rest(50000);
    }
    say_ready();
    (void)waitpid(child, NULL, 0);
}
static void daemon_of_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 3; i++)
        start(consumer, NULL);
    int number;
    say_ready();
    sigwait(&set, &number);
}
/* A handler posts, as one may: the wait is for a signal. */
static sem_t asked;
static void post_asked(int number)
{
    (void)number;
    sem_post(&asked);
}
static void handler(void)
{
    sem_init(&asked, 0, 0);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = post_asked, .sa_flags = SA_RESTART}, NULL);
    say_ready();
    while (sem_wait(&asked) != 0)
        continue;
}
/* The same with a pipe, which wakes a loop. */
static int self_pipe[2];
static void write_self(int number)
{
    (void)number;
    (void)!write(self_pipe[1], "", 1);
}
static void woken_by_handler(void)
{
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    if (pipe(self_pipe) != 0)
        abort();
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = write_self, .sa_flags = SA_RESTART}, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, self_pipe[0], &event);
    say_ready();
    (void)epoll_wait(poller, &event, 1, -1);
}
/* Who waits for somebody that computes is not sick. */
static void slow_answer(void)
{
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    if (fork() == 0) {
        close(ends[0]);
        compute(NULL);
    }
    close(ends[1]);
    say_ready();
    (void)!read(ends[0], &byte, 1);
}
/* An eventfd is shared with a child, which will write to it. */
static void shared_eventfd(void)
{
    const int fd = eventfd(0, 0);
    uint64_t number = 1;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)poll(NULL, 0, 1000000);
        (void)!write(fd, &number, sizeof number);
        _exit(0);
    }
    say_ready();
    (void)!read(fd, &number, sizeof number);
}
/* One of two that may write is stopped: the other one will do. */
static void two_writers(void)
{
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    const pid_t stopped = fork();
    if (stopped == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            raise(SIGSTOP);
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            rest(50000);
    }
    close(ends[1]);
    (void)waitpid(stopped, NULL, WUNTRACED);
    say_ready();
    (void)!read(ends[0], &byte, 1);
}
static void *pass_on(void *arg)
{
    (void)arg;
    for (unsigned last = 0;;) { /* a spinning reader that sees changes */
        unsigned now;
        while ((now = atomic_load(&progress)) == last)
            continue;
        last = now;
    }
    return NULL;
}
static void *advance(void *arg)
{
    (void)arg;
    for (;;) {
        atomic_fetch_add(&progress, 1);
        sched_yield();
    }
    return NULL;
}
static void spinning_reader(void)
{
    start(pass_on, NULL);
    start(advance, NULL);
    wait_for_end();
}
/* Only a timer, far away, will wake it. */
static void far_timer(void)
{
    const int poller = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec late = {{3600, 0}, {3600, 0}};
    timerfd_settime(timer, 0, &late, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    say_ready();
    (void)epoll_wait(poller, &event, 1, -1);
}
/* A game: it looks for input without waiting, and computes the next picture. */
static void frames(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        _exit(9);
    struct pollfd input = {.fd = ends[0], .events = POLLIN};
    say_ready();
    for (unsigned long picture = 0; poll(&input, 1, 0) == 0;)
        picture++;
}
/* A shell: its child waits for a signal, and so may anybody. */
static void shell(void)
{
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    say_ready();
    (void)waitpid(child, NULL, 0);
}
static void event_loop(void)
{
    const int poller = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
              wake = eventfd(0, EFD_CLOEXEC);
    const struct itimerspec every = {{0, 300000000}, {0, 300000000}};
    timerfd_settime(timer, 0, &every, NULL);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    event.data.fd = wake;
    epoll_ctl(poller, EPOLL_CTL_ADD, wake, &event);
    say_ready();
    while (epoll_wait(poller, &event, 1, -1) >= 0 || errno == EINTR) {
        uint64_t count;
        if (event.data.fd == timer)
            (void)!read(timer, &count, sizeof count);
    }
}
static pthread_barrier_t phase;
static void *phases(void *arg)
{
    (void)arg;
    for (;;) {
        for (int i = 0; i < 1000; i++)
            atomic_fetch_add(&progress, 1);
        pthread_barrier_wait(&phase);
    }
    return NULL;
}
static void in_phases(void)
{
    pthread_t a;
    pthread_barrier_init(&phase, NULL, 4);
    for (int i = 0; i < 4; i++)
        a = start(phases, NULL);
    say_ready();
    pthread_join(a, NULL);
}
static void *nothing(void *arg)
{
    rest(2000);
    return arg;
}
static void churn(void)
{
    say_ready();
    for (;;) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            threads[i] = start(nothing, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
}
static void sleeper(void)
{
    start(consumer, NULL);
    say_ready();
    for (;;)
        rest(20000000);
}
static void copying(void)
{
    static char from[1 << 20], to[1 << 20];
    say_ready();
    for (unsigned i = 0;; i++) {
        from[i % sizeof from] = (char)i;
        memcpy(to, from, sizeof to);
    }
}
static void writing(void)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    static char text[512];
    say_ready();
    while (write(null, text, sizeof text) > 0)
        continue;
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"idle-pool", idle_pool},
    {"queue", queue},
    {"contended", contended},
    {"computing", computing},
    {"floats", floats},
    {"sorting", sorting},
    {"timed", timed},
    {"backing-off", backing_off},
    {"pipeline", pipeline},
    {"server", server},
    {"readers", readers},
    {"ping-pong", ping_pong},
    {"parent", parent},
    {"signals", daemon_of_signals},
    {"event-loop", event_loop},
    {"phases", in_phases},
    {"churn", churn},
    {"sleeper", sleeper},
    {"copying", copying},
    {"writing", writing},
    {"handler", handler},
    {"slow-answer", slow_answer},
    {"far-timer", far_timer},
    {"spinning-reader", spinning_reader},
    {"frames", frames},
    {"shell", shell},
    {"woken-by-handler", woken_by_handler},
    {"two-writers", two_writers},
    {"shared-eventfd", shared_eventfd},
};

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
            ways[i].run();
            return 0;
        }
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        printf("%s\n", ways[i].name);
    return argc > 1 ? 2 : 0;
}
