/* SPDX-License-Identifier: MIT */
/*
 * The event count: what makes it work, and two ways to lose it.
 *
 *      consumer                                producer
 *        count myself as a waiter                push
 *        full fence                              full fence
 *        key = epoch (acquire)                   no waiter: done
 *        look again; work: do not sleep          epoch + 1 (release)
 *        sleep while epoch is key                wake one
 *
 * Claimed: (1) the fence in the producer is not needed, since the number of waiters is changed by an atomic read-modify-write,
 * which always sees the newest value; (2) the epoch may be loaded relaxed, since the kernel compares it anyway.
 *
 * True: (1) the consumer's addition is one; the producer only *loads* the number, and does so before its push has left the
 * store buffer. Lost, on x86 too. (2) The kernel compares the epoch, but not what was seen of the queue. Relaxed, the key may
 * already be the new one while the look after it still finds the queue as it was before: the consumer then sleeps with a
 * key that is up to date, and the wake has been. x86 does not do that; Arm and the compiler may. A draft that was thought right had it.
 */
#include "gallery.h"

struct mistakes {
    bool no_fence_after_push, relaxed_epoch;
};

static const struct mistakes *mistakes;
static struct queue queue;
static _Atomic unsigned epoch;
static _Atomic int waiters;

static unsigned load_epoch(void)
{
    if (mistakes->relaxed_epoch)
        return atomic_load_explicit(&epoch, memory_order_relaxed);
    /* acquire: who sees the new epoch sees the push before it; pairs with the release in submit */
    return atomic_load_explicit(&epoch, memory_order_acquire);
}

static void sleep_on_event_count(void)
{
    (void)atomic_fetch_add_explicit(&waiters, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* waiter before second look; pairs with the fence in submit */
    unsigned key = load_epoch();
    if (!queue_has_work(&queue))
        futex_wait(&epoch, key);
    (void)atomic_fetch_sub_explicit(&waiters, 1, memory_order_relaxed);
}

static void submit(void)
{
    queue_push(&queue);
    if (!mistakes->no_fence_after_push)
        atomic_thread_fence(memory_order_seq_cst); /* push before look; pairs with the fence in sleep_on_event_count */
    if (atomic_load_explicit(&waiters, memory_order_relaxed) == 0)
        return;
    (void)atomic_fetch_add_explicit(&epoch, 1, memory_order_release); /* the push; pairs with load_epoch */
    futex_wake(&epoch, 1);
}

static const struct protocol protocol = {sleep_on_event_count, submit, &queue};

static void two_tasks(void)
{
    mistakes = vgc_arg();
    one_worker_gets(&protocol, 2);
}

static const struct mistakes none, no_fence = {.no_fence_after_push = true}, relaxed = {.relaxed_epoch = true};

VGC_REGISTER(none, "event_count", two_tasks, "a submitted task is run", .arg = &none, .bound = "1 worker, 2 tasks",
             .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(no_fence, "event_count_without_fence", two_tasks, "a submitted task is run", .arg = &no_fence,
             .expect = VGC_DEADLOCK, .bound = "1 worker, 2 tasks", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(relaxed, "event_count_relaxed_epoch", two_tasks, "a submitted task is run", .arg = &relaxed,
             .expect = VGC_DEADLOCK, .bound = "1 worker, 2 tasks", .opt.time_limit = GALLERY_SECONDS);
