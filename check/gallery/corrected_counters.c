/* SPDX-License-Identifier: MIT */
/*
 * Counters that are corrected so that a wait returns.
 *
 * wait_idle waits until as many tasks are completed as were submitted. With 1145 of 1146 it would wait for ever; so, if the counters differ
 * but all queues are empty and no worker is marked busy, they are set equal.
 *
 * Claimed: a difference with nothing left to do can only be a mistake in the counting.
 *
 * True: it was the one honest sign that a task had vanished (foreign_push.c), and it was wiped away. Nor is the test right where
 * nothing vanished: a worker that has taken the last task and has not yet marked itself busy looks like a worker without work.
 * The wait returns, and its caller frees what the task is about to use. Under plain sequential consistency.
 *
 * In the control the wait believes its counters, and is woken by the end of the last task.
 */
#include "gallery.h"

static bool corrects;
static struct queue queue;
static _Atomic unsigned submitted, completed, busy;
static _Atomic bool finished;

static void *worker(void *arg)
{
    (void)arg;
    if (!queue_take(&queue))
        return NULL; /* the task was pushed before this thread was started */
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    atomic_store_explicit(&finished, true, memory_order_relaxed); /* the task */
    atomic_store_explicit(&busy, 0, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&completed, 1, memory_order_release); /* what the task did; pairs with wait_idle */
    futex_wake(&completed, 1);
    return NULL;
}

static void wait_idle(void)
{
    for (;;) {
        unsigned done = atomic_load_explicit(&completed, memory_order_acquire); /* pairs with worker */
        unsigned all = atomic_load_explicit(&submitted, memory_order_relaxed);
        if (done == all)
            return;
        if (corrects && !queue_has_work(&queue) && !atomic_load_explicit(&busy, memory_order_relaxed)) {
            atomic_store_explicit(&completed, all, memory_order_relaxed);
            return;
        }
        futex_wait(&completed, done);
    }
}

static void wait_for_one_task(void)
{
    corrects = *(const bool *)vgc_arg();
    queue_push(&queue);
    atomic_store_explicit(&submitted, 1, memory_order_relaxed);
    pthread_t t = vgc_thread_start(worker, NULL);
    wait_idle();
    vgc_assert(atomic_load_explicit(&finished, memory_order_relaxed), "wait_idle returned before the task had run");
    vgc_thread_join(t);
}

static const bool yes = true, no = false;

VGC_REGISTER(corrected, "corrected_counters", wait_for_one_task, "after wait_idle every accepted task has finished",
             .arg = &yes, .expect = VGC_ASSERTION, .bound = "1 worker, 1 task", .opt.sc_memory = true,
             .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(believed, "believed_counters", wait_for_one_task, "after wait_idle every accepted task has finished",
             .arg = &no, .bound = "1 worker, 1 task", .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
