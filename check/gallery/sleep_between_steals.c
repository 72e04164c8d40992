/* SPDX-License-Identifier: MIT */
/*
 * Sleeping between attempts to steal.
 *
 * Claimed: 78 990 attempts to steal with 23 successes are a waste, so after a failed attempt the worker sleeps a millisecond,
 * then two, then four ("exponential back-off").
 *
 * True: that is a sleep that nobody can end. The worker is not in its wake protocol, no flag says that it sleeps, and no wake
 * reaches it; a task that arrives waits out the back-off beside a worker that does nothing. With all workers in their back-off
 * the whole pool is deaf. The waste is real; the answer is to park properly (and be woken by a push), not to nap.
 *
 * The question is asked when nothing moves any more without the clock: has the task been started? In the control the worker tries
 * again a few times without sleeping and then parks behind two fences.
 */
#include "gallery.h"

static bool naps;
static struct queue queue;
static _Atomic unsigned parked;
static _Atomic int started;

static void back_off(long milliseconds)
{
    if (naps) {
        const struct timespec nap = {.tv_nsec = milliseconds * 1000 * 1000};
        (void)nanosleep(&nap, NULL);
    }
}

static bool try_to_steal(void)
{
    for (long milliseconds = 1; milliseconds <= 2; milliseconds *= 2) {
        if (queue_take(&queue))
            return true;
        back_off(milliseconds);
    }
    return false;
}

static void park(void)
{
    atomic_store_explicit(&parked, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* parked before last look; pairs with the fence in submit */
    if (!queue_has_work(&queue))
        futex_wait(&parked, 1);
    atomic_store_explicit(&parked, 0, memory_order_relaxed);
}

static void submit(void)
{
    queue_push(&queue);
    atomic_thread_fence(memory_order_seq_cst); /* push before look; pairs with the fence in park */
    if (!atomic_load_explicit(&parked, memory_order_relaxed))
        return;
    atomic_store_explicit(&parked, 0, memory_order_relaxed);
    futex_wake(&parked, 1);
}

static void *worker(void *arg)
{
    (void)arg;
    while (!try_to_steal())
        park();
    atomic_store_explicit(&started, 1, memory_order_relaxed);
    return NULL;
}

static void one_task(void)
{
    naps = *(const bool *)vgc_arg();
    pthread_t t = vgc_thread_start(worker, NULL);
    submit();
    vgc_quiesce();
    vgc_assert(atomic_load_explicit(&started, memory_order_relaxed), "a task waits beside a worker that does nothing");
    vgc_thread_join(t);
}

static const bool yes = true, no = false;

VGC_REGISTER(napping, "sleep_between_steals", one_task, "a task is started without waiting for the clock", .arg = &yes,
             .expect = VGC_ASSERTION, .bound = "1 worker, 1 task", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(parking, "park_between_steals", one_task, "a task is started without waiting for the clock", .arg = &no,
             .bound = "1 worker, 1 task", .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
