/* SPDX-License-Identifier: MIT */
/*
 * "Option 2": one flag for the whole pool that says there is work.
 *
 * Each worker has its queue, its lock and its condition variable. A submit pushes to one worker's queue, sets the flag, fences (fully), and
 * wakes that worker under its lock. A worker sleeps until the flag is set; then, if the queues look empty, it clears the flag.
 *
 * Claimed: no race between looking for work and sleeping is left, because the queues are not looked at any more.
 *
 * True: the race has moved to the clearing. Worker A has found the queues empty and is about to clear. Worker B has found nothing and
 * is about to sleep. A task is pushed to B and the flag is set; now A clears it. B asks the flag, is told that there is nothing, and
 * sleeps beside its own task; the notify finds the flag down as well. No weak memory is needed, and the fence changes
 * nothing. Where stealing is on, A often takes the task away and hides the loss; here it is off, as it can be there.
 *
 * A flag that several clear is right only if whoever clears it looks again afterwards (the pool's ready bits do).
 */
#include "gallery.h"

enum {
    WORKERS = 2
};

struct worker {
    struct queue queue;
    pthread_mutex_t lock;
    struct condition wake_up;
};

static struct worker workers[WORKERS] = {{.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}};
static _Atomic bool has_work = true; /* a task has been run a moment ago: nobody has cleared the flag yet */

static bool queues_look_empty(void)
{
    return !queue_has_work(&workers[0].queue) && !queue_has_work(&workers[1].queue);
}

static void sleep_on_global_flag(struct worker *self)
{
    pthread_mutex_lock(&self->lock);
    while (!atomic_load_explicit(&has_work, memory_order_acquire)) /* as the original has it */
        condition_wait(&self->wake_up, &self->lock);
    if (queues_look_empty())
        atomic_store_explicit(&has_work, false, memory_order_release); /* as the original has it */
    pthread_mutex_unlock(&self->lock);
}

static void submit_to(struct worker *worker)
{
    queue_push(&worker->queue);
    atomic_store_explicit(&has_work, true, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst); /* as the original has it; does not help */
    pthread_mutex_lock(&worker->lock);
    condition_notify(&worker->wake_up);
    pthread_mutex_unlock(&worker->lock);
}

static void *worker_runs(void *arg)
{
    struct worker *self = arg;
    for (;;)
        if (!queue_take(&self->queue))
            sleep_on_global_flag(self);
    return NULL;
}

VGC_SCENARIO(global_work_flag, "nobody sleeps beside a task of its own", .expect = VGC_ASSERTION,
             .bound = "2 workers, 1 task", .opt.sc_memory = true, .opt.allow_sleepers = true,
             .opt.time_limit = GALLERY_SECONDS)
{
    (void)vgc_thread_start(worker_runs, &workers[0]);
    (void)vgc_thread_start(worker_runs, &workers[1]);
    submit_to(&workers[1]);
    vgc_quiesce();
    vgc_assert(!queue_has_work(&workers[1].queue), "the worker sleeps beside its task");
}
