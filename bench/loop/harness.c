/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the list under a mutex -------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop_message *first, *last;

bool loop_queue_push(struct loop_message *message, loop_fn fn, void *arg)
{
    message->next = NULL;
    message->fn = fn;
    message->arg = arg;
    pthread_mutex_lock(&lock);
    bool was_empty = first == NULL;
    if (was_empty)
        first = message;
    else
        last->next = message;
    last = message;
    pthread_mutex_unlock(&lock);
    return was_empty;
}

void loop_queue_run(void)
{
    pthread_mutex_lock(&lock);
    struct loop_message *message = first;
    first = NULL;
    pthread_mutex_unlock(&lock);
    while (message != NULL) {
        struct loop_message *next = message->next;
        message->fn(message->arg);
        message = next;
    }
}

/* What one thread does alone is measured in its own CPU time: the machine's other work does not count. */
static uint64_t cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t thread_cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* ---- loop-post --------------------------------------------------------------------------------------------------- */

static size_t total, done;
static struct loop_message *messages;
static unsigned producers;
static pthread_barrier_t start_line;
static uint64_t producers_cpu;
static uint64_t first_post; /* when it was about to be made */

static void count_post(void *arg)
{
    (void)arg;
    if (++done == total)
        loop_peer.stop();
}

static void *produce(void *arg)
{
    size_t share = total / producers;
    size_t from = (size_t)(uintptr_t)arg * share;
    pthread_barrier_wait(&start_line);
    uint64_t nobody = 0;
    __atomic_compare_exchange_n(&first_post, &nobody, bench_now(), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    uint64_t before = thread_cpu_now();
    for (size_t i = 0; i < share; i++)
        loop_peer.post(&messages[from + i], count_post, NULL);
    __atomic_fetch_add(&producers_cpu, thread_cpu_now() - before, __ATOMIC_RELAXED);
    return NULL;
}

/* The clock runs from the first post, not from when this thread gets round to its loop: with more threads than cores that can be
   much later, and the posts until then would count for nothing. */
static void bench_post(const struct bench_args *args)
{
    producers = args->producers;
    total = (size_t)args->n / producers * producers;
    messages = bench_alloc(total, sizeof *messages);
    loop_peer.open(args->param != 0);
    pthread_t threads[64];
    bench_must(producers <= 64, "at most 64 producers");
    pthread_barrier_init(&start_line, NULL, producers + 1);
    for (unsigned i = 0; i < producers; i++)
        bench_must(pthread_create(&threads[i], NULL, produce, (void *)(uintptr_t)i) == 0, "a thread");
    pthread_barrier_wait(&start_line);
    uint64_t cpu_before = thread_cpu_now();
    loop_peer.run();
    uint64_t after = bench_now();
    uint64_t cpu_after = thread_cpu_now();
    for (unsigned i = 0; i < producers; i++)
        pthread_join(threads[i], NULL);
    bench_must(done == total, "each post once");
    bench_print("ns_per_op", (double)(after - first_post) / (double)total);
    bench_print("producer_cpu_ns", (double)producers_cpu / (double)total);
    bench_print("loop_cpu_ns", (double)(cpu_after - cpu_before) / (double)total);
}

/* The cost to the producer alone, and what a backlog does to it: n posts to a loop that does not run, then all at once. Twice:
   the first time the machine under us may have to find the memory, which has nothing to do with any loop. */
static void bench_backlog(const struct bench_args *args)
{
    total = (size_t)args->param;
    messages = bench_alloc(total, sizeof *messages);
    loop_peer.open(false);
    for (int pass = 0; pass < 2; pass++) {
        done = 0;
        uint64_t before = cpu_now();
        for (size_t i = 0; i < total; i++)
            loop_peer.post(&messages[i], count_post, NULL);
        uint64_t middle = cpu_now();
        loop_peer.run();
        uint64_t after = cpu_now();
        bench_must(done == total, "each post once");
        if (pass == 0)
            continue;
        bench_print("post_ns", (double)(middle - before) / (double)total);
        bench_print("run_ns", (double)(after - middle) / (double)total);
    }
}

/* ---- loop-round-trip --------------------------------------------------------------------------------------------- */

static uint32_t answered;

static void answer(void *arg)
{
    (void)arg;
    __atomic_fetch_add(&answered, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void stop_it(void *arg)
{
    (void)arg;
    loop_peer.stop();
}

static void *ask(void *arg)
{
    const struct bench_args *args = arg;
    size_t n = (size_t)args->n;
    size_t warm = 100;
    uint64_t *samples = bench_alloc(n, sizeof *samples);
    struct loop_message *message = bench_alloc(n + warm + 1, sizeof *message);
    for (size_t i = 0; i < n + warm; i++) {
        bench_sleep(200000); /* it is asleep */
        uint64_t before = bench_now();
        loop_peer.post(&message[i], answer, NULL);
        while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) == (uint32_t)i)
            syscall(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, (uint32_t)i, NULL, NULL, 0);
        if (i >= warm)
            samples[i - warm] = bench_now() - before;
    }
    loop_peer.post(&message[n + warm], stop_it, NULL);
    bench_print_percentiles(samples, n);
    return NULL;
}

static void bench_round_trip(struct bench_args *args)
{
    pthread_t thread;
    loop_peer.open(args->param != 0);
    bench_must(pthread_create(&thread, NULL, ask, args) == 0, "a thread");
    loop_peer.run();
    pthread_join(thread, NULL);
}

/* ---- loop-timers ------------------------------------------------------------------------------------------------- */

static uint64_t dice_state = 88172645463325252U;

static uint64_t dice(void)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return dice_state;
}

static void count_timer(void *arg)
{
    (void)arg;
    if (++done == total)
        loop_peer.stop();
}

static void bench_timers(const struct bench_args *args)
{
    size_t n = (size_t)args->param;
    if (args->param > loop_most_timers)
        bench_trouble("%ld timers take this loop minutes", args->param);
    if (loop_peer.timer_again == NULL)
        bench_trouble("no timers");
    loop_peer.open(false);
    loop_peer.timers(n, count_timer);
    uint32_t *order = bench_alloc(n, sizeof *order);
    unsigned *delay = bench_alloc(n, sizeof *delay);
    unsigned *later = bench_alloc(n, sizeof *later);
    unsigned *other = bench_alloc(n, sizeof *other);
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        delay[i] = 100000 + (unsigned)(dice() % 100000); /* not due while we measure */
        later[i] = delay[i] + 100000 + (unsigned)(dice() % 1000);
        other[i] = 100000 + (unsigned)(dice() % 300000);
    }
    for (size_t i = n - 1; i > 0; i--) { /* any order */
        size_t k = dice() % (i + 1);
        uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < n; i++) /* memory is touched before the clock starts */
        loop_peer.timer_add(i, delay[i]);
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_cancel(i);
    uint64_t t0 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_add(i, delay[i]);
    uint64_t t1 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_again(order[i], later[order[i]]);
    uint64_t t2 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_again(order[i], other[order[i]]);
    uint64_t t3 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_cancel(order[i]);
    uint64_t t4 = cpu_now();
    total = 1; /* the first run of a loop takes what it needs for its life; that has nothing to do with timers */
    done = 0;
    loop_peer.timer_add(0, 0);
    loop_peer.run();
    total = n;
    done = 0;
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_add(i, 1 + delay[i] % 50);
    bench_sleep(60000000); /* all are due */
    uint64_t t5 = cpu_now();
    loop_peer.run();
    uint64_t t6 = cpu_now();
    bench_must(done == n, "each timer once");
    double count = (double)n;
    bench_print("add_ns", (double)(t1 - t0) / count);
    bench_print("postpone_ns", (double)(t2 - t1) / count);
    bench_print("rearm_ns", (double)(t3 - t2) / count);
    bench_print("cancel_ns", (double)(t4 - t3) / count);
    bench_print("fire_ns", (double)(t6 - t5) / count);
}

/* ---- loop-growth ------------------------------------------------------------------------------------------------- */

/* Nothing is touched before but what the user brings: the loop's own memory grows while the clock runs. */
static void bench_growth(const struct bench_args *args)
{
    size_t n = (size_t)(args->param / args->n); /* n is 1, but for the smoke test */
    if (args->param > loop_most_timers)
        bench_trouble("%ld timers take this loop minutes", args->param);
    if (loop_peer.timer_add == NULL || loop_peer.post == NULL)
        bench_trouble("no timers, or no posts");
    loop_peer.open(false);
    loop_peer.timers(n, count_timer);
    unsigned *delay = bench_alloc(n, sizeof *delay);
    struct loop_message *all = bench_alloc(n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        delay[i] = 100000 + (unsigned)(dice() % 100000);
        all[i].next = NULL;
    }
    total = n + 1; /* nothing runs */
    uint64_t t0 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.timer_add(i, delay[i]);
    uint64_t t1 = cpu_now();
    for (size_t i = 0; i < n; i++)
        loop_peer.post(&all[i], count_timer, NULL);
    uint64_t t2 = cpu_now();
    bench_print("add_ns", (double)(t1 - t0) / (double)n);
    bench_print("post_ns", (double)(t2 - t1) / (double)n);
}

/* ---- loop-fds ---------------------------------------------------------------------------------------------------- */

enum {
    MOST_FDS = 65536
};
static unsigned char *is_client; /* by fd */

/* A login usually begins with 1024, and may raise that itself. */
static void allow_fds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= MOST_FDS)
        return;
    limit.rlim_cur = limit.rlim_max < MOST_FDS ? limit.rlim_max : MOST_FDS;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* if not: the sockets will tell */
}

void loop_readable(int fd)
{
    char bytes[64];
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got <= 0)
        return;
    if (is_client[fd]) {
        if (++done >= total) {
            loop_peer.stop();
            return;
        }
    }
    bench_must(write(fd, bytes, (size_t)got) == got, "a write");
}

static void bench_fds(const struct bench_args *args)
{
    total = (size_t)args->n;
    allow_fds();
    loop_peer.open(false);
    is_client = bench_alloc(MOST_FDS, 1);
    int(*pairs)[2] = bench_alloc((size_t)args->param, sizeof *pairs);
    for (long i = 0; i < args->param; i++) {
        bench_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]) == 0, "a socket (see ulimit -n)");
        is_client[pairs[i][0]] = 1;
        loop_peer.watch(pairs[i][0]);
        loop_peer.watch(pairs[i][1]);
    }
    char message[64];
    memset(message, 'x', sizeof message);
    for (long i = 0; i < args->param; i++)
        bench_must(write(pairs[i][0], message, sizeof message) == (ssize_t)sizeof message, "a write");
    uint64_t before = cpu_now();
    loop_peer.run();
    uint64_t after = cpu_now();
    bench_print("trips_per_cpu_s", (double)done * 1e9 / (double)(after - before));
}

/* ---- loop-microtask ---------------------------------------------------------------------------------------------- */

static void again(void *arg)
{
    if (++done == total)
        loop_peer.stop();
    else
        loop_peer.soon(again, arg);
}

static void begin_chain(void *arg)
{
    loop_peer.soon(again, arg);
}

static void bench_microtask(const struct bench_args *args)
{
    if (loop_peer.soon == NULL)
        bench_trouble("this loop has nothing of the kind");
    struct loop_message message;
    total = (size_t)args->n;
    loop_peer.open(false);
    loop_peer.post(&message, begin_chain, NULL);
    uint64_t before = cpu_now();
    loop_peer.run();
    uint64_t after = cpu_now();
    bench_print("ns_per_op", (double)(after - before) / (double)total);
}

int main(int argc, char **argv)
{
    struct bench_args args = bench_parse(argc, argv);
    if (strcmp(args.bench, "loop-post") == 0)
        bench_post(&args);
    else if (strcmp(args.bench, "loop-backlog") == 0)
        bench_backlog(&args);
    else if (strcmp(args.bench, "loop-round-trip") == 0)
        bench_round_trip(&args);
    else if (strcmp(args.bench, "loop-timers") == 0)
        bench_timers(&args);
    else if (strcmp(args.bench, "loop-growth") == 0)
        bench_growth(&args);
    else if (strcmp(args.bench, "loop-fds") == 0)
        bench_fds(&args);
    else if (strcmp(args.bench, "loop-microtask") == 0)
        bench_microtask(&args);
    else
        bench_trouble("there is no bench %s", args.bench);
    return 0;
}
