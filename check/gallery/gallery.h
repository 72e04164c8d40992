/* SPDX-License-Identifier: MIT */
/*
 * gallery.h: what the exhibits share. Each exhibit is one file: the story first, then the smallest program that shows it.
 *
 * The queue here is never the culprit, unless the story is about queues: one thread stores `pushed`, one stores `taken`. That
 * is also what a push to a deque comes down to for the processor: a plain store, which may wait in the store buffer.
 *
 * The condition variable is a futex with a sequence number that is read under the lock. It loses nothing by itself. (Not the
 * one of libc: the checker does not look into libc, and Debian 12's has a bug of its own.) No exhibit uses a timeout, but
 * the two whose story is about one.
 *
 * A lost wake-up is found as a deadlock where each worker leaves when its tasks are done: nobody comes later whose wake would
 * mend it. Where a worker may rightly sleep at the end, the body waits until nothing moves (vgc_quiesce) and asks
 * whether a task is left.
 */
#ifndef GALLERY_H
#define GALLERY_H

#include <vigil_check.h>

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Each exhibit has ten seconds. An exploration that is cut short is not the verdict that was expected, so this is a test. */
#define GALLERY_SECONDS 10

static inline void futex_wait(_Atomic unsigned *word, unsigned expected)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static inline void futex_wait_for(_Atomic unsigned *word, unsigned expected, const struct timespec *duration)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, duration, NULL, 0);
}

static inline void futex_wake(_Atomic unsigned *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* ---- a condition variable ---------------------------------------------------------------------------------------- */

struct condition {
    _Atomic unsigned sequence;
};

/* Call with the lock held; the number is read under it, so a notify that comes after the unlock is not slept through. */
static inline void condition_wait(struct condition *c, pthread_mutex_t *lock)
{
    unsigned seen = atomic_load_explicit(&c->sequence, memory_order_relaxed);
    pthread_mutex_unlock(lock);
    futex_wait(&c->sequence, seen);
    pthread_mutex_lock(lock);
}

static inline void condition_notify(struct condition *c)
{
    (void)atomic_fetch_add_explicit(&c->sequence, 1, memory_order_relaxed);
    futex_wake(&c->sequence, 1);
}

/* ---- a queue between one submitter and one worker ---------------------------------------------------------------- */

struct queue {
    _Atomic int pushed; /* stored by the submitter alone */
    _Atomic int taken;  /* stored by the worker alone */
};

static inline void queue_push(struct queue *q)
{
    int n = atomic_load_explicit(&q->pushed, memory_order_relaxed);
    /* The task before the number that shows it; pairs with the load in queue_take. */
    atomic_store_explicit(&q->pushed, n + 1, memory_order_release);
}

static inline bool queue_take(struct queue *q)
{
    int n = atomic_load_explicit(&q->taken, memory_order_relaxed);
    /* acquire: pairs with queue_push */
    if (atomic_load_explicit(&q->pushed, memory_order_acquire) == n)
        return false;
    atomic_store_explicit(&q->taken, n + 1, memory_order_relaxed);
    return true;
}

/* The worker's look before it sleeps. */
static inline bool queue_has_work(struct queue *q)
{
    return atomic_load_explicit(&q->pushed, memory_order_relaxed) !=
           atomic_load_explicit(&q->taken, memory_order_relaxed);
}

/* ---- one worker, one submitter ----------------------------------------------------------------------------------- */

/* How an exhibit sleeps and wakes. */
struct protocol {
    void (*sleep)(void);  /* the worker found nothing */
    void (*submit)(void); /* push one task, and wake the worker if that is needed */
    struct queue *queue;
};

struct one_worker {
    const struct protocol *protocol;
    int tasks;
};

static inline void *one_worker_runs(void *arg)
{
    const struct one_worker *w = arg;
    for (int done = 0; done < w->tasks;) {
        if (queue_take(w->protocol->queue))
            done++;
        else
            w->protocol->sleep();
    }
    return NULL;
}

/* The worker leaves after `tasks` tasks. If it sleeps beside the last one, nobody will ever wake it: a deadlock. */
static inline void one_worker_gets(const struct protocol *protocol, int tasks)
{
    struct one_worker w = {protocol, tasks};
    pthread_t worker = vgc_thread_start(one_worker_runs, &w);
    for (int i = 0; i < tasks; i++)
        protocol->submit();
    vgc_thread_join(worker);
}

#endif
