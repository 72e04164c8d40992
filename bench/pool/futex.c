/* SPDX-License-Identifier: MIT */
/* The floor of pool-wake: threads that block in futex, one of which is woken. No queue, no choice, nothing to look at. */
#include "harness.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t rounds; /* how often to wake; the word that the first thread sleeps on */
static uint32_t idle;   /* the word that the others sleep on; nobody wakes them */
static pool_fn task;

static void *sleeper(void *argument)
{
    uint32_t *word = argument;
    for (uint32_t seen = 0;;) {
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen) /* pairs with the release in produce */
            syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        seen++;
        task();
    }
    return NULL;
}

static void start(unsigned workers, size_t tasks)
{
    (void)tasks;
    for (unsigned i = 0; i < workers; i++) {
        pthread_t thread;
        bench_must(pthread_create(&thread, NULL, sleeper, i == 0 ? &rounds : &idle) == 0, "a thread");
        pthread_detach(thread); /* ends with the process */
    }
}

static void produce(size_t first, size_t count, pool_fn fn)
{
    bench_must(count == 1, "one task at a time: this is a floor for pool-wake alone");
    task = fn;
    __atomic_store_n(&rounds, (uint32_t)first + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &rounds, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

const struct pool_peer pool_peer = {.start = start, .produce = produce};
