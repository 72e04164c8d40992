/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_UP_TASKS 10000
#define WARM_UP_WAKES 100

static struct bench_args args;
static unsigned team_workers; /* for peers whose producers belong to the team: its members beside the producers */

/* ---- producers -------------------------------------------------------------------------------------------------- */

static void (*producer_body)(unsigned);
static pthread_barrier_t gate;

static void *producer_thread(void *argument)
{
    pthread_barrier_wait(&gate);
    producer_body((unsigned)(uintptr_t)argument);
    return NULL;
}

/* Plain threads that begin together. */
static void run_producers(unsigned producers, void (*body)(unsigned))
{
    if (pool_peer.producers) {
        pool_peer.producers(team_workers, producers, body);
        return;
    }
    pthread_t *threads = bench_alloc(producers, sizeof *threads);
    producer_body = body;
    pthread_barrier_init(&gate, NULL, producers);
    for (unsigned i = 0; i < producers; i++)
        bench_must(pthread_create(&threads[i], NULL, producer_thread, (void *)(uintptr_t)i) == 0, "a producer thread");
    for (unsigned i = 0; i < producers; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&gate);
    free(threads);
}

/* ---- pool-submit, pool-crowd, pool-scale, pool-short ------------------------------------------------------------- */

static uint64_t work_rounds;
static uint64_t submit_start;
static uint64_t run_by_producers; /* tasks that a producer ran itself, inside its call of submit */

static void count_task(void)
{
    bench_count();
}

static void work_task(void)
{
    bench_work(work_rounds);
    bench_count();
}

static pool_fn submit_fn;

static void submit_body(unsigned index)
{
    const size_t n = (size_t)args.n;
    const size_t first = n * index / args.producers, end = n * (index + 1) / args.producers;
    uint64_t none = 0;
    /* The first producer to come here starts the clock for all. */
    __atomic_compare_exchange_n(&submit_start, &none, bench_now(), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    const uint64_t before = bench_my_slot ? bench_my_slot->count : 0;
    pool_peer.produce(first, end - first, submit_fn);
    if (bench_my_slot)
        __atomic_fetch_add(&run_by_producers, bench_my_slot->count - before, __ATOMIC_RELAXED);
}

static void warm_up_body(unsigned index)
{
    (void)index;
    pool_peer.produce(0, WARM_UP_TASKS, count_task);
    bench_wait_counted(WARM_UP_TASKS);
}

static unsigned spawners_begun;

/* One of the P tasks that spawn all others. */
static void spawner_task(void)
{
    const unsigned index = __atomic_fetch_add(&spawners_begun, 1, __ATOMIC_RELAXED);
    const size_t n = (size_t)args.n;
    const size_t first = n * index / args.producers, end = n * (index + 1) / args.producers;
    (pool_peer.spawn ? pool_peer.spawn : pool_peer.produce)(first, end - first, submit_fn);
}

static void spawners_body(unsigned index)
{
    (void)index;
    submit_start = bench_now();
    pool_peer.produce((size_t)args.n, args.producers, spawner_task);
}

/* From the first submit to the last completion, in ns. spawned: P tasks submit the others. */
static uint64_t submit_all(pool_fn fn, bool spawned)
{
    const size_t tasks = (size_t)args.n + args.producers;
    pool_peer.start(args.workers, tasks > WARM_UP_TASKS ? tasks : WARM_UP_TASKS);
    run_producers(1, warm_up_body);
    submit_fn = fn;
    if (spawned)
        run_producers(1, spawners_body);
    else
        run_producers(args.producers, submit_body);
    bench_wait_counted(WARM_UP_TASKS + (uint64_t)args.n);
    const uint64_t took = bench_now() - submit_start;
    if (pool_peer.stop)
        pool_peer.stop();
    bench_must(bench_counted() == WARM_UP_TASKS + (uint64_t)args.n, "each task once");
    return took;
}

static void pool_submit(void)
{
    bench_print("ns_per_op", (double)submit_all(count_task, false) / (double)args.n);
    const double share = (double)run_by_producers / (double)args.n;
    if (share > 0.05)
        printf("unranked its producers ran %.0f %% of the tasks themselves instead of handing them over\n",
               share * 100);
}

/* Efficiency 1: the wall time is the serial time divided by the workers that can run at once here. */
static void pool_scale(bool spawned)
{
    const uint64_t work_ns = (uint64_t)args.param;
    args.n = args.n / args.param; /* n is the work in ns, whatever the task's length */
    /* A producer in the team works too: W in all, or the team would have one more. */
    team_workers = args.workers > args.producers ? args.workers - args.producers : 0;
    work_rounds = bench_rounds(work_ns);
    const uint64_t start = bench_now();
    for (long i = 0; i < args.n; i++)
        work_task();
    const uint64_t serial = bench_now() - start;
    bench_my_slot->count = 0; /* nobody else counts yet */
    const uint64_t took = submit_all(work_task, spawned);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const double lanes = args.workers < (unsigned)cpus ? (double)args.workers : (double)cpus;
    bench_print("efficiency", (double)serial / ((double)took * lanes));
    bench_print("ns_per_op", (double)took / (double)args.n);
}

/* ---- pool-wake -------------------------------------------------------------------------------------------------- */

static uint64_t wake_sent;
static uint64_t *wake_samples;
static size_t wake_seen; /* also the index of the sample to write */

static void woken(void)
{
    const uint64_t now = bench_now();
    const size_t index = wake_seen;
    wake_samples[index] = now - wake_sent;
    __atomic_store_n(&wake_seen, index + 1, __ATOMIC_RELEASE);
}

static void wake_body(unsigned index)
{
    (void)index;
    const size_t wakes = (size_t)args.n + WARM_UP_WAKES;
    for (size_t i = 0; i < wakes; i++) {
        if (i == WARM_UP_WAKES && args.param)
            bench_pin(1); /* now, when every worker has been started and has inherited the other CPUs */
        bench_sleep(1000000);
        while (__atomic_load_n(&wake_seen, __ATOMIC_ACQUIRE) != i)
            bench_sleep(100000);
        wake_sent = bench_now(); /* published to the task by the pool itself */
        pool_peer.produce(i, 1, woken);
    }
    while (__atomic_load_n(&wake_seen, __ATOMIC_ACQUIRE) != wakes)
        bench_sleep(100000);
}

static void pool_wake(void)
{
    wake_samples = bench_alloc((size_t)args.n + WARM_UP_WAKES, sizeof *wake_samples);
    if (args.param)
        bench_pin(0);
    pool_peer.start(args.workers, (size_t)args.n + WARM_UP_WAKES);
    run_producers(1, wake_body);
    if (pool_peer.stop)
        pool_peer.stop();
    bench_print_percentiles(wake_samples + WARM_UP_WAKES, (size_t)args.n);
}

/* ---- pool-idle -------------------------------------------------------------------------------------------------- */

static void idle_body(unsigned index)
{
    (void)index;
    pool_peer.produce(0, WARM_UP_TASKS, count_task);
    bench_wait_counted(WARM_UP_TASKS);
    struct bench_activity before, after;
    double seconds;
    int tries = 0;
    do { /* a pool that still starts or ends threads is not idle yet: look again, but not for ever */
        bench_must(tries++ < 10, "the same threads before and after");
        /* Let them go to sleep: what is measured is idleness, not the way there. */
        bench_sleep((uint64_t)(args.n < 1000 ? args.n / 2 : 500) * 1000000U);
        before = bench_activity_now();
        const uint64_t start = bench_now();
        bench_sleep((uint64_t)args.n * 1000000U);
        seconds = (double)(bench_now() - start) / 1e9;
        after = bench_activity_now();
    } while (after.threads != before.threads);
    bench_print("switches_per_s", (double)(after.switches - before.switches) / seconds);
    bench_print("cpu_us_per_s", (double)(after.cpu_ns - before.cpu_ns) / 1e3 / seconds);
    bench_print("threads", (double)after.threads);
}

static void pool_idle(void)
{
    pool_peer.start(args.workers, WARM_UP_TASKS);
    run_producers(1, idle_body);
    if (pool_peer.stop)
        pool_peer.stop();
}

/* ---- pool-spawn ------------------------------------------------------------------------------------------------- */

uint64_t pool_fib_calls(unsigned n)
{
    uint64_t last = 1, calls = 1; /* of fib(0), fib(1) */
    for (unsigned i = 2; i <= n; i++) {
        const uint64_t next = last + calls + 1;
        last = calls;
        calls = next;
    }
    return calls;
}

/* Calls that are really made: the compiler neither inlines the function into itself nor sees through it. */
__attribute__((noinline)) static uint64_t serial_fib(unsigned n)
{
    __asm__ volatile("" : "+r"(n));
    return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2);
}

static void pool_spawn(void)
{
    const unsigned limit = pool_peer.fib_limit;
    const unsigned n = limit && (long)limit < args.n ? limit : (unsigned)args.n;
    uint64_t serial_ns = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        const uint64_t start = bench_now();
        const uint64_t value = serial_fib(n);
        const uint64_t took = bench_now() - start;
        bench_must(value > 0, "fib");
        serial_ns = took < serial_ns ? took : serial_ns;
    }
    pool_peer.start(args.workers, 1);
    bench_must(pool_peer.fib(args.workers, 20) == 6765, "fib(20) by spawn and sync"); /* warm up */
    const uint64_t start = bench_now();
    const uint64_t value = pool_peer.fib(args.workers, n);
    const uint64_t took = bench_now() - start;
    bench_must(value == serial_fib(n), "fib by spawn and sync");
    if (pool_peer.stop)
        pool_peer.stop();
    const double calls = (double)pool_fib_calls(n);
    bench_print("ns_per_op", (double)took / calls);
    bench_print("over_serial_ns_per_spawn", ((double)took - (double)serial_ns) / ((calls - 1) / 2));
}

int main(int argc, char **argv)
{
    args = bench_parse(argc, argv);
    team_workers = args.workers;
    if (strcmp(args.bench, "pool-submit") == 0 || strcmp(args.bench, "pool-crowd") == 0)
        pool_submit();
    else if (strcmp(args.bench, "pool-scale") == 0 || strcmp(args.bench, "pool-short") == 0)
        pool_scale(false);
    else if (strcmp(args.bench, "pool-short-spawned") == 0)
        pool_scale(true);
    else if (strcmp(args.bench, "pool-wake") == 0)
        pool_wake();
    else if (strcmp(args.bench, "pool-idle") == 0)
        pool_idle();
    else if (strcmp(args.bench, "pool-spawn") == 0 && pool_peer.fib)
        pool_spawn();
    else
        bench_trouble("this peer has no %s", args.bench);
    return 0;
}
