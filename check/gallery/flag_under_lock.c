/* SPDX-License-Identifier: MIT */
/*
 * Control: flag and second look under the lock, and a wake that always takes the lock.
 *
 * This is the second version of the original pool without its timeout, and the one that its own analysis went on to blame:
 * "between the look and the wait the notification is lost".
 *
 * True: it is safe. The look happens under the lock. A submitter whose push the look missed has not had the lock yet; it
 * gets it only when the worker lets go of it, which is when the worker waits. So the notify finds it waiting. The hang
 * that made people look here had another cause; see foreign_push.c.
 *
 * It is not what a fast pool does, though: a lock and a system call for each submit, also when the worker is awake.
 */
#include "gallery.h"

static struct queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct condition wake_up;
static _Atomic bool sleeping;
static bool stopping; /* under the lock */

static void sleep_under_lock(void)
{
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&sleeping, true, memory_order_relaxed);
    if (!queue_has_work(&queue))
        while (atomic_load_explicit(&sleeping, memory_order_relaxed) && !stopping)
            condition_wait(&wake_up, &lock);
    atomic_store_explicit(&sleeping, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void wake_always(void)
{
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&sleeping, false, memory_order_relaxed);
    condition_notify(&wake_up);
    pthread_mutex_unlock(&lock);
}

static void submit(void)
{
    queue_push(&queue);
    wake_always();
}

static const struct protocol protocol = {sleep_under_lock, submit, &queue};

VGC_SCENARIO(flag_under_lock, "a submitted task is run", .bound = "1 worker, 2 tasks", .opt.spurious = 1,
             .opt.time_limit = GALLERY_SECONDS)
{
    one_worker_gets(&protocol, 2);
}

/* The same against a stop: the worker leaves when it is told to, and has run what was pushed before. */
static void *runs_until_stopped(void *arg)
{
    int *ran = arg;
    for (bool last = false;;) {
        while (queue_take(&queue))
            ++*ran;
        if (last)
            return NULL;
        sleep_under_lock();
        pthread_mutex_lock(&lock);
        last = stopping;
        pthread_mutex_unlock(&lock);
    }
}

VGC_SCENARIO(flag_under_lock_stop, "a stop ends the worker, and nothing that was submitted before is left",
             .bound = "1 worker, 1 task, stop", .opt.time_limit = GALLERY_SECONDS)
{
    int ran = 0;
    pthread_t worker = vgc_thread_start(runs_until_stopped, &ran);
    submit();
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_mutex_unlock(&lock);
    wake_always();
    vgc_thread_join(worker);
    vgc_assert(ran == 1, "the task was run before the worker left");
}
