/* SPDX-License-Identifier: MIT */
/*
 * An event count, and what happens without its fence. A consumer that finds no work announces itself, looks again and sleeps
 * on a futex; a producer publishes work, then looks whether somebody is announced. Each side writes one word and reads the
 * other's: without a full fence on both sides both can read old values, and the consumer sleeps beside work.
 */
#include <vigil_check.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int work, sleepers;
static _Atomic unsigned epoch;

static void futex_wait(_Atomic unsigned *word, unsigned expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic unsigned *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void consume(bool fenced)
{
    for (;;) {
        if (atomic_exchange_explicit(&work, 0, memory_order_acquire))
            return;
        unsigned key = atomic_load_explicit(&epoch, memory_order_acquire);
        atomic_fetch_add_explicit(&sleepers, 1, memory_order_relaxed);
        if (fenced)
            /* The announcement before the second look; pairs with the fence in produce. */
            atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load_explicit(&work, memory_order_relaxed))
            futex_wait(&epoch, key);
        atomic_fetch_sub_explicit(&sleepers, 1, memory_order_relaxed);
    }
}

static void produce(bool fenced)
{
    atomic_store_explicit(&work, 1, memory_order_release);
    if (fenced)
        /* The work before the look at the sleepers; pairs with the fence in consume. */
        atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
        futex_wake(&epoch, 1);
    }
}

static void *consumer(void *arg)
{
    consume(*(const bool *)arg);
    return NULL;
}

static void one_item(void)
{
    const bool *fenced = vgc_arg();
    pthread_t t = vgc_thread_start(consumer, (void *)(uintptr_t)fenced);
    produce(*fenced);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&work, memory_order_relaxed) == 0, "nobody sleeps beside work");
    vgc_thread_join(t);
}

static const bool yes = true, no = false;
VGC_REGISTER(fenced, "eventcount", one_item, "nobody sleeps beside work", .arg = &yes,
             .bound = "1 producer, 1 consumer", .opt.spurious = 1);
VGC_REGISTER(unfenced, "eventcount_without_fences", one_item, "nobody sleeps beside work", .arg = &no,
             .expect = VGC_ASSERTION, .bound = "1 producer, 1 consumer");
