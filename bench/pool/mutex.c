/* SPDX-License-Identifier: MIT */
/* The textbook: one list, one mutex, one condition variable. Nodes are embedded, so it does not even pay for malloc. */
#include "harness.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct node {
    struct node *next;
    pool_fn fn;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct node *first, **end;
    bool stopping;
    pthread_t *threads;
    unsigned workers;
    struct node *nodes;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .end = &pool.first};

static void *worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (!pool.first && !pool.stopping)
            pthread_cond_wait(&pool.more, &pool.lock);
        struct node *node = pool.first;
        if (!node)
            break;
        pool.first = node->next;
        if (!pool.first)
            pool.end = &pool.first;
        pthread_mutex_unlock(&pool.lock);
        node->fn();
        pthread_mutex_lock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

static void start(unsigned workers, size_t tasks)
{
    pool.nodes = bench_alloc(tasks, sizeof *pool.nodes);
    pool.threads = bench_alloc(workers, sizeof *pool.threads);
    pool.workers = workers;
    for (unsigned i = 0; i < workers; i++)
        bench_must(pthread_create(&pool.threads[i], NULL, worker, NULL) == 0, "a worker thread");
}

static void produce(size_t first, size_t count, pool_fn fn)
{
    for (size_t i = first; i < first + count; i++) {
        struct node *node = &pool.nodes[i];
        node->fn = fn;
        node->next = NULL;
        pthread_mutex_lock(&pool.lock);
        *pool.end = node;
        pool.end = &node->next;
        pthread_mutex_unlock(&pool.lock);
        pthread_cond_signal(&pool.more);
    }
}

static void stop(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stopping = true;
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_broadcast(&pool.more);
    for (unsigned i = 0; i < pool.workers; i++)
        pthread_join(pool.threads[i], NULL);
    free(pool.threads);
    free(pool.nodes);
}

const struct pool_peer pool_peer = {.start = start, .produce = produce, .stop = stop};
