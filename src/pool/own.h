/* SPDX-License-Identifier: MIT */
/*
 * own.h - a worker's own deques: push and announce.
 */
#ifndef VG_POOL_OWN_H
#define VG_POOL_OWN_H

#include "join.h"
#include "pool_struct.h"

/* For vg_own_queue.busy: without light fences there is always something to do (A). */
static inline uint64_t vg_queue_busy(vg_fence_mode fences, unsigned class_)
{
    return fences == VG_FENCE_SYMMETRIC ? UINT64_MAX : vg_idle_busy(class_);
}

void vg_push_own_slow(vg_worker *worker, vg_own_queue *queue,
                      vigil_task *task); /* the deque is full or was never used */
void vg_announce_own_slow(vigil_pool *pool, unsigned class_);

/* true: nobody searches or sleeps, so a push needs no more. */
static inline bool vg_all_busy(const vg_worker *worker, const vg_own_queue *queue)
{
    /* A' light fence: the push is visible before the word is read; pairs with C. If somebody searches or sleeps,
       the class is not ready, or fences are not light (then no word equals `busy`), vg_announce adds the full
       fence A. */
    vg_fence_light(VG_FENCE_MEMBARRIER);
    return __builtin_expect(
        (atomic_load_explicit(&worker->pool->idle.word, memory_order_relaxed) & queue->busy_mask) == queue->busy, 1);
}

/* false: the push has to be announced by vg_announce_own_slow. */
static inline bool vg_announced(const vg_worker *worker, const vg_own_queue *queue)
{
    if (vg_all_busy(worker, queue))
        return true;
    const uint64_t word = atomic_load_explicit(&worker->pool->idle.word, memory_order_relaxed); /* after A' */
    /* More spares at work than blocked workers: nobody can be woken either. A spare that goes dormant looks after C. */
    return queue->busy != UINT64_MAX && ((word ^ queue->busy) & queue->busy_mask & ~VG_CREDIT_MASK) == 0 &&
           (word & VG_CREDIT_MASK) < VG_CREDIT_ZERO;
}

static inline void vg_announce_own(const vg_worker *worker, const vg_own_queue *queue)
{
    if (__builtin_expect(!vg_announced(worker, queue), 0))
        vg_announce_own_slow(worker->pool, queue->class_);
}

/* Push a task of the worker's own. */
static inline void vg_push_own(vg_worker *worker, vg_own_queue *queue, vigil_task *task)
{
    if (__builtin_expect(!vg_deque_push(&queue->own, task), 0))
        vg_push_own_slow(worker, queue, task);
    else
        vg_announce_own(worker, queue);
}

/* A task goes from a deque to an injector, which reports the age of its oldest; a spawn has none. */
static inline void vg_stamp_moved(vigil_task *task)
{
    if ((task->vg_flags & VG_FLAG_STAMPED) == 0)
        task->vg_stamp = vg_ticks();
}

void vg_give_away_own_work(vg_worker *worker);

/* The calling thread is the worker; NULL: no longer. */
void vg_worker_here(vg_worker *worker);

/* From here on spawns go to this queue. */
static inline void vg_worker_spawns_to(vg_worker *worker, vg_own_queue *queue)
{
    worker->queue = queue;
    vigil_forks = (struct vigil_forks *)(void *)queue;
    vg_raise_links_here = &queue->links;
}

/* An entry has left the deque. A join's becomes a task, counted by its taker (NULL: no worker). */
static inline vigil_task *vg_task_from(vigil_pool *pool, vg_worker *taker, vg_deque *from, vigil_task *entry)
{
    return __builtin_expect(vg_deque_is_join(entry), 0) ? vg_join_taken(pool, taker, from, entry) : entry;
}

#endif
