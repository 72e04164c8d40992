/* SPDX-License-Identifier: MIT */
/* Measures one repetition of a bench of the share family; bench/share/catalog.c says what each number means. */
#include "harness.h"

#include "../peer/peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct bench_args args;
static void (*enter)(void);
static void (*leave)(void);
static pthread_barrier_t ready;
static int stop;
static uint64_t guarded; /* touched inside the lock */
static uint64_t section_rounds;

/* ---- locks ---- */

static void alone(void)
{
    for (long i = 0; i < args.n / 10; i++) { /* warm up */
        enter();
        leave();
    }
    const uint64_t begin = bench_now();
    for (long i = 0; i < args.n; i++) {
        enter();
        leave();
    }
    bench_print("ns_per_op", (double)(bench_now() - begin) / (double)args.n);
}

enum {
    SAMPLES = 1 << 18
};

struct contender {
    pthread_t thread;
    uint64_t count, longest, sampled;
    uint64_t *samples;
};

static void *contend(void *arg)
{
    struct contender *self = arg;
    pthread_barrier_wait(&ready);
    uint64_t before = bench_now();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        enter();
        const uint64_t now = bench_now();
        const uint64_t took = now - before;
        guarded += bench_work(section_rounds);
        leave();
        self->count++;
        self->longest = took > self->longest ? took : self->longest;
        self->samples[self->sampled++ % SAMPLES] = took;
        before = bench_now();
    }
    return NULL;
}

static void busy(void)
{
    section_rounds = bench_rounds(50);
    struct contender *all = bench_alloc(args.workers, sizeof *all);
    bench_must(pthread_barrier_init(&ready, NULL, args.workers + 1) == 0, "a barrier");
    for (unsigned i = 0; i < args.workers; i++) {
        all[i].samples = bench_alloc(SAMPLES, sizeof(uint64_t));
        bench_must(pthread_create(&all[i].thread, NULL, contend, &all[i]) == 0, "a thread");
    }
    pthread_barrier_wait(&ready);
    const uint64_t begin = bench_now();
    bench_sleep((uint64_t)args.n * 1000000);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    uint64_t sum = 0, most = 0, least = UINT64_MAX, longest = 0;
    size_t sampled = 0;
    for (unsigned i = 0; i < args.workers; i++)
        pthread_join(all[i].thread, NULL);
    const double seconds = (double)(bench_now() - begin) / 1e9;
    uint64_t *samples = bench_alloc((size_t)args.workers * SAMPLES, sizeof(uint64_t));
    for (unsigned i = 0; i < args.workers; i++) {
        const size_t kept = all[i].sampled < SAMPLES ? (size_t)all[i].sampled : SAMPLES;
        memcpy(samples + sampled, all[i].samples, kept * sizeof(uint64_t));
        sampled += kept;
        sum += all[i].count;
        most = all[i].count > most ? all[i].count : most;
        least = all[i].count < least ? all[i].count : least;
        longest = all[i].longest > longest ? all[i].longest : longest;
    }
    bench_print("mops_per_s", (double)sum / seconds / 1e6);
    bench_print_percentiles(samples, sampled);
    bench_print("longest_ms", (double)longest / 1e6);
    bench_print("most_by_least", (double)most / (double)(least != 0 ? least : 1));
}

/* ---- channels ---- */

static long each;

static void *send_all(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&ready);
    for (long i = 1; i <= each; i++)
        share_peer.send((uint64_t)i);
    return NULL;
}

static void *receive_all(void *arg)
{
    uint64_t sum = 0;
    pthread_barrier_wait(&ready);
    for (long i = 0; i < each; i++)
        sum += share_peer.receive();
    *(uint64_t *)arg = sum;
    return NULL;
}

static void channel(void)
{
    pthread_t *threads = bench_alloc(2 * args.producers, sizeof *threads);
    uint64_t *sums = bench_alloc(args.producers, sizeof *sums);
    share_peer.open(args.param < 0 ? SIZE_MAX : (size_t)args.param);
    each = args.n / args.producers;
    bench_must(pthread_barrier_init(&ready, NULL, 2 * args.producers + 1) == 0, "a barrier");
    for (unsigned i = 0; i < args.producers; i++) {
        bench_must(pthread_create(&threads[2 * i], NULL, send_all, NULL) == 0, "a thread");
        bench_must(pthread_create(&threads[2 * i + 1], NULL, receive_all, &sums[i]) == 0, "a thread");
    }
    const uint64_t begin = bench_now();
    pthread_barrier_wait(&ready);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 2 * args.producers; i++)
        pthread_join(threads[i], NULL);
    const uint64_t took = bench_now() - begin;
    for (unsigned i = 0; i < args.producers; i++)
        sum += sums[i];
    bench_must(sum == (uint64_t)each * (uint64_t)(each + 1) / 2 * args.producers, "each message arrives once");
    bench_print("ns_per_op", (double)took / (double)(each * args.producers));
}

int main(int argc, char **argv)
{
    args = bench_parse(argc, argv);
    const int units = strstr(args.bench, "semaphore") != NULL;
    enter = units ? share_peer.acquire : share_peer.lock;
    leave = units ? share_peer.post : share_peer.unlock;
    if (strcmp(args.bench, "share-channel") == 0) {
        if (share_peer.open == NULL)
            bench_trouble("no channel");
        channel();
        return 0;
    }
    if (strcmp(args.bench, "share-green") == 0) {
        if (share_peer.green == NULL)
            bench_trouble("no asynchronous functions");
        each = args.n / args.producers;
        bench_print("ns_per_op",
                    share_peer.green(args.param < 0 ? SIZE_MAX : (size_t)args.param, args.producers, each) /
                        (double)(each * args.producers));
        return 0;
    }
    if (enter == NULL)
        bench_trouble("no such lock");
    if (strstr(args.bench, "-busy") != NULL)
        busy();
    else
        alone();
    return 0;
}
