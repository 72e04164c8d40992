/* SPDX-License-Identifier: MIT */
/*
 * Producers that block on a full queue, two ways: a pool with max_queue and VIGIL_FULL_BLOCK, or, with BENCH_CONDITION, the
 * queue of the textbooks: a ring, a mutex and two condition variables. bench/share/catalog.c says what is measured.
 */
#include "../peer/peer.h"

#include <pthread.h>
#include <sys/resource.h>
#include <vigil/pool.h>

static struct bench_args args;
static vigil_task *tasks;
static uint64_t rounds;
static long each;

static int work(vigil_task *task)
{
    (void)task;
    (void)bench_work(rounds);
    return 0;
}

#ifdef BENCH_CONDITION
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER, has_task = PTHREAD_COND_INITIALIZER;
static vigil_task **ring;
static long head, count;
static int over;
static pthread_t *consumers;

static void *consume(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (count == 0 && !over)
            pthread_cond_wait(&has_task, &lock);
        if (count == 0) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        vigil_task *task = ring[head];
        head = (head + 1) % args.param;
        count--;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&has_room);
        (void)task->run(task);
    }
}

static void submit(vigil_task *task)
{
    pthread_mutex_lock(&lock);
    while (count == args.param)
        pthread_cond_wait(&has_room, &lock);
    ring[(head + count) % args.param] = task;
    count++;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&has_task);
}

static void start(void)
{
    ring = bench_alloc((size_t)args.param, sizeof(vigil_task *));
    consumers = bench_alloc(args.workers, sizeof *consumers);
    for (unsigned i = 0; i < args.workers; i++)
        bench_must(pthread_create(&consumers[i], NULL, consume, NULL) == 0, "a thread");
}

static void finish(void)
{
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_broadcast(&has_task);
    for (unsigned i = 0; i < args.workers; i++)
        pthread_join(consumers[i], NULL);
}
#else
static vigil_pool *pool;

static void submit(vigil_task *task)
{
    bench_must(vigil_pool_submit(pool, task, VIGIL_NORMAL) == 0, "vigil_pool_submit");
}

static void start(void)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = args.workers;
    options.max_queue = (size_t)args.param;
    options.when_full = VIGIL_FULL_BLOCK;
    bench_must(vigil_pool_create(&pool, &options) == 0, "vigil_pool_create");
}

static void finish(void)
{
    bench_must(vigil_pool_shutdown(pool, VIGIL_FOREVER) == 0, "vigil_pool_shutdown");
}
#endif

static double cpu_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec) * 1e9 +
           ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1e3;
}

static void *produce(void *arg)
{
    vigil_task *mine = arg;
    for (long i = 0; i < each; i++)
        submit(&mine[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    args = bench_parse(argc, argv);
    each = args.n / args.producers;
    rounds = bench_rounds(1000);
    const long all = each * args.producers;
    tasks = bench_alloc((size_t)all, sizeof *tasks);
    for (long i = 0; i < all; i++)
        vigil_task_init(&tasks[i], work, NULL);
    pthread_t *producers = bench_alloc(args.producers, sizeof *producers);
    const double cpu_before = cpu_ns();
    const uint64_t before = bench_now();
    start();
    for (unsigned i = 0; i < args.producers; i++)
        bench_must(pthread_create(&producers[i], NULL, produce, &tasks[i * each]) == 0, "a thread");
    for (unsigned i = 0; i < args.producers; i++)
        pthread_join(producers[i], NULL);
    finish();
    bench_print("ns_per_op", (double)(bench_now() - before) / (double)all);
    bench_print("cpu_ns", (cpu_ns() - cpu_before) / (double)all);
    return 0;
}
