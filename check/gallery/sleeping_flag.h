/* SPDX-License-Identifier: MIT */
/*
 * sleeping_flag.h: the sleeper and the waker of the exhibits about fences. The worker is that of flag_under_lock.c: it raises its
 * flag and looks again, both under the lock. The submitter saves the lock where it can: it looks at the flag first, and
 * leaves if the flag is down. What differs is what each side does between its store and its look:
 *
 *      worker                              submitter
 *        flag up                             push
 *        after_flag()                        after_push()
 *        look at the queue                   look at the flag
 *
 * Each side stores one thing and then loads the other's. If both loads can be done before the other's store is visible, the
 * worker sleeps beside the task. A processor with a store buffer does just that (x86 too), and so may a compiler.
 */
#ifndef GALLERY_SLEEPING_FLAG_H
#define GALLERY_SLEEPING_FLAG_H

#include "gallery.h"

static void after_flag(void);
static void after_push(void);

static struct queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct condition wake_up;
static _Atomic bool sleeping;

static void sleep_under_lock(void)
{
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&sleeping, true, memory_order_relaxed);
    after_flag();
    if (!queue_has_work(&queue))
        while (atomic_load_explicit(&sleeping, memory_order_relaxed))
            condition_wait(&wake_up, &lock);
    atomic_store_explicit(&sleeping, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static void submit(void)
{
    queue_push(&queue);
    after_push();
    if (!atomic_load_explicit(&sleeping, memory_order_relaxed))
        return;
    pthread_mutex_lock(&lock);
    atomic_store_explicit(&sleeping, false, memory_order_relaxed);
    condition_notify(&wake_up);
    pthread_mutex_unlock(&lock);
}

static const struct protocol sleeping_flag = {sleep_under_lock, submit, &queue};

#endif
