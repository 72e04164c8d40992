/* SPDX-License-Identifier: MIT */
/*
 * "Option 1", the recommended one: one worker is always awake.
 *
 * The number of sleeping workers is counted, and the last one that is awake does not sleep but goes round looking for work. The sleep itself
 * stays as it was (here: first_version.c, no look after the flag is up).
 *
 * Claimed: it is mathematically impossible that all workers sleep, so every task is found.
 *
 * True: neither needed nor enough. That not all sleep says nothing about the one that is needed. Here worker B has gone to sleep, a task
 * is pushed to its queue and its wake-up is lost. Worker A is awake and goes round, but a thief skips victims that
 * sleep ("they have nothing, or they would not sleep"): the task stays, and A burns a core for ever. Without the skipping the same happens as
 * soon as A is inside a task that waits for the one in B's queue. What is needed is that no wake-up is lost, and then
 * nobody has to stay awake.
 */
#include "gallery.h"

struct worker {
    struct queue queue;
    _Atomic unsigned sleeping;
};

static struct worker sleeper;
static _Atomic int started;

/* Owner and thief take by exchange: who moves `taken` has it. */
static bool take(struct worker *from)
{
    int n = atomic_load_explicit(&from->queue.taken, memory_order_relaxed);
    /* acquire: the task; pairs with queue_push */
    while (atomic_load_explicit(&from->queue.pushed, memory_order_acquire) > n)
        if (atomic_compare_exchange_strong_explicit(&from->queue.taken, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed))
            return true;
    return false;
}

static void *runs_and_sleeps(void *arg)
{
    struct worker *self = arg;
    for (;;) {
        while (take(self))
            (void)atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
        atomic_store_explicit(&self->sleeping, 1, memory_order_relaxed);
        futex_wait(&self->sleeping, 1);
        atomic_store_explicit(&self->sleeping, 0, memory_order_relaxed);
    }
    return NULL;
}

/* Would be the last to sleep, so it does not. */
static void *goes_round(void *arg)
{
    struct worker *victim = arg;
    for (;;)
        if (!atomic_load_explicit(&victim->sleeping, memory_order_relaxed) && queue_has_work(&victim->queue) &&
            take(victim))
            (void)atomic_fetch_add_explicit(&started, 1, memory_order_relaxed);
    return NULL;
}

static void submit_to(struct worker *worker)
{
    queue_push(&worker->queue);
    if (!atomic_load_explicit(&worker->sleeping, memory_order_relaxed))
        return;
    atomic_store_explicit(&worker->sleeping, 0, memory_order_relaxed);
    futex_wake(&worker->sleeping, 1);
}

VGC_SCENARIO(one_always_awake, "a submitted task is run", .expect = VGC_ASSERTION, .bound = "2 workers, 1 task",
             .opt.sc_memory = true, .opt.allow_sleepers = true, .opt.time_limit = GALLERY_SECONDS)
{
    (void)vgc_thread_start(goes_round, &sleeper);
    (void)vgc_thread_start(runs_and_sleeps, &sleeper);
    submit_to(&sleeper);
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&started, memory_order_relaxed) == 1, "a task is queued beside a sleeping worker");
}
