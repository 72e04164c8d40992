/* SPDX-License-Identifier: MIT */
/*
 * A scheduler yield taken for a full fence, in an event loop's check-then-sleep.
 *
 * The loop says Sleeping, yields, looks at its queue once more and blocks. A producer pushes, yields, and wakes the loop if that says
 * Sleeping.
 *
 * Claimed: the yield between store and load is "additional memory fencing"; the second look closes the race. "Correctness proven."
 *
 * True: the second look is right, the fence is not there. A yield promises nothing about memory: it may be a system call that happens to
 * serialise, or a quick return because nobody else wants the processor, and then the store is still in the store buffer.
 * With the yield replaced by a full fence on both sides the protocol is right.
 */
#include "gallery.h"

#include <sched.h>

static bool fenced;
static struct queue queue;
static _Atomic unsigned sleeping;

static void between_store_and_load(void)
{
    if (fenced)
        atomic_thread_fence(memory_order_seq_cst); /* own store before own look, on both sides: a pair */
    else
        sched_yield();
}

static void check_then_sleep(void)
{
    atomic_store_explicit(&sleeping, 1, memory_order_relaxed);
    between_store_and_load();
    while (!queue_has_work(&queue) && atomic_load_explicit(&sleeping, memory_order_relaxed))
        futex_wait(&sleeping, 1);
    atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
}

static void submit(void)
{
    queue_push(&queue);
    between_store_and_load();
    unsigned one = 1;
    /* release: the push; the sleeper that is woken reads the queue again anyway */
    if (atomic_load_explicit(&sleeping, memory_order_relaxed) &&
        atomic_compare_exchange_strong_explicit(&sleeping, &one, 0, memory_order_release, memory_order_relaxed))
        futex_wake(&sleeping, 1);
}

static const struct protocol protocol = {check_then_sleep, submit, &queue};

VGC_SCENARIO(yield_for_a_fence, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 loop, 1 post",
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&protocol, 1);
}

VGC_SCENARIO(check_then_sleep_fenced, "a submitted task is run", .bound = "1 loop, 2 posts", .opt.spurious = 1,
             .opt.time_limit = GALLERY_SECONDS)
{
    fenced = true;
    one_worker_gets(&protocol, 2);
}
