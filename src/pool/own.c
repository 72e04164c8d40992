/* SPDX-License-Identifier: MIT */
/*
 * own.c - a worker's own deques.
 */
#include "own.h"

#include "deque.h"
#include "idle.h"
#include "injector.h"
#include "mail.h"
#include "moving.h"

#include <stddef.h>

__thread struct vigil_forks *vigil_forks;

void vg_push_own_slow(vg_worker *worker, vg_own_queue *queue, vigil_task *task)
{
    vigil_pool *pool = worker->pool;
    const unsigned class_ = queue->class_;
    if ((worker->announced & (1U << class_)) == 0) {
        const unsigned index = worker->seat.index;
        /* S2 release: seeing the bit means seeing the seat and its deques; pairs with the acquires in idle.c, take.c */
        (void)atomic_fetch_or_explicit(&pool->spawners[class_][index / VG_SEAT_BITS],
                                       UINT64_C(1) << (index % VG_SEAT_BITS), memory_order_release);
        worker->announced |= 1U << class_;
    }
    if (vg_deque_grow(&queue->own) == 0) {
        (void)vg_deque_push(&queue->own, task);
        vg_announce_own(worker, queue);
        return;
    }
    /* No memory for a larger deque: the injector needs none. It accepts the task even while the pool drains. */
    task = vg_task_from(pool, worker, &queue->own.deque, task);
    vg_stamp_moved(task);
    (void)vg_injector_push(&pool->injectors[class_], task, task, true);
    vg_announce(pool, class_);
}

void vg_announce_own_slow(vigil_pool *pool, unsigned class_)
{
    if (pool->no_stealing) /* nobody else can take it */
        (void)atomic_fetch_or_explicit(&pool->idle.word, vg_ready_bit(class_), memory_order_relaxed);
    else
        vg_announce(pool, class_);
}

void vg_give_away_own_work(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_handling(worker, 1); /* for the audit: on its way a task is in no queue */
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        vigil_task *newest = NULL;
        vigil_task *oldest = NULL;
        vigil_task *task;
        while ((task = vg_mail_next(worker, class_)) != NULL) {
            /* the injector's chain begins with the newest */
            task->vg_next = newest;
            newest = task;
            if (oldest == NULL)
                oldest = task;
        }
        while ((task = vg_deque_pop(&worker->queues[class_].own, worker->fences)) != NULL) {
            task = vg_task_from(pool, worker, worker->seat.deques[class_], task);
            vg_stamp_moved(task);
            task->vg_next = newest;
            newest = task;
            if (oldest == NULL)
                oldest = task;
        }
        if (newest == NULL)
            continue;
        (void)vg_injector_push(&pool->injectors[class_], newest, oldest, true);
        vg_announce(pool, class_);
    }
    vg_handling(worker, 0);
}

void vg_worker_here(vg_worker *worker)
{
    vg_current_worker = worker;
    if (worker == NULL) {
        vigil_forks = NULL;
        vg_raise_links_here = &vg_raise_no_links;
        return;
    }
    worker->raise_top = &vg_raise_top;
    vg_worker_spawns_to(worker, worker->queue);
}
