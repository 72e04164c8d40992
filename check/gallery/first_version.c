/* SPDX-License-Identifier: MIT */
/*
 * The first version of the original pool.
 *
 * The worker says "I sleep" in a flag, then takes the lock and waits until the pool stops. The submitter pushes, looks at the
 * flag without the lock, and notifies if it is set.
 *
 * Claimed: a sleeping worker has its flag up, so a submitter that sees the flag down need not bother.
 *
 * True: it loses wake-ups twice over, with no help from the memory model.
 *   - The worker looks at its queue, finds nothing, and has not yet set the flag. The submitter pushes, sees no flag, leaves. The
 *     worker sets the flag and sleeps. Nothing looks at the queue after the flag is up.
 *   - Even a notify that arrives is ignored: the condition that is waited for is "the pool stops", which a wake does not
 *     make true. The worker looks at it, finds it false, and sleeps on.
 * In production a timeout of ten milliseconds ended each such sleep. So it did not hang at once; it was slow, until the
 * timeout was not enough either.
 *
 * The second exhibit has the condition mended (the wake takes the flag down, and that ends the sleep). The first hole is still there.
 */
#include "gallery.h"

static struct queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct condition wake_up;
static _Atomic bool sleeping, stopping;
static bool wake_ends_sleep;

static bool sleep_is_over(void)
{
    return atomic_load_explicit(&stopping, memory_order_relaxed) ||
           (wake_ends_sleep && !atomic_load_explicit(&sleeping, memory_order_relaxed));
}

static void sleep_flag_first(void)
{
    atomic_store_explicit(&sleeping, true, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    while (!sleep_is_over())
        condition_wait(&wake_up, &lock);
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&sleeping, false, memory_order_relaxed);
}

static void submit(void)
{
    queue_push(&queue);
    if (!atomic_load_explicit(&sleeping, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    if (wake_ends_sleep)
        atomic_store_explicit(&sleeping, false, memory_order_relaxed);
    condition_notify(&wake_up);
    pthread_mutex_unlock(&lock);
}

static const struct protocol protocol = {sleep_flag_first, submit, &queue};

VGC_SCENARIO(first_version, "a submitted task is run", .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task",
             .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&protocol, 1);
}

VGC_SCENARIO(first_version_condition_mended, "a submitted task is run", .expect = VGC_DEADLOCK,
             .bound = "1 worker, 1 task", .opt.sc_memory = true, .opt.time_limit = GALLERY_SECONDS)
{
    wake_ends_sleep = true;
    one_worker_gets(&protocol, 1);
}
