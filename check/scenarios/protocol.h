/* SPDX-License-Identifier: MIT */
/*
 * A pool without its beginning and its end: the structs are filled in by hand, the workers run the real loop (vg_worker_loop)
 * on the real queues, and are left asleep when the scenario is over. So everything that the idle protocol does is explored, and nothing that
 * making and destroying a pool would add to each execution.
 */
#ifndef VIGIL_CHECK_PROTOCOL_H
#define VIGIL_CHECK_PROTOCOL_H

#include "pool_common.h"

#include "pool/blocking.h"
#include "pool/call.h"
#include "pool/idle.h"
#include "pool/job.h"
#include "pool/own.h"
#include "pool/run.h"
#include "pool/worker.h"

#include <string.h>

enum {
    MOST_WORKERS = 3
};

static vigil_pool bare_pool;
static vg_worker bare_workers[MOST_WORKERS];
static vg_file_pool bare_shared;
static vg_file_worker bare_slots[MOST_WORKERS];
static uint32_t bare_guard_page = 1;

static inline bool bare_never_over(vg_worker *worker, void *arg)
{
    (void)worker;
    (void)arg;
    return false;
}

static inline void bare_worker_init(unsigned index, vg_fence_mode fences)
{
    vg_worker *worker = &bare_workers[index];
    worker->seat.pool = pool;
    worker->seat.index = index;
    worker->seat.counts = &bare_slots[index];
    worker->seat.life = VG_SEAT_TAKEN;
    worker->pool = pool;
    worker->fences = fences;
    worker->queue = &worker->queues[VIGIL_NORMAL];
    worker->random = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        vg_own_queue *queue = &worker->queues[class_];
        vg_deque_init(&queue->own);
        worker->seat.deques[class_] = &queue->own.deque;
        queue->busy = vg_queue_busy(worker->fences, class_);
        queue->busy_mask = vg_idle_busy_mask(class_);
        queue->counts = &worker->seat.counts->of[class_];
        queue->class_ = class_;
        vg_join_queue_init(queue, worker);
    }
    vg_slab_cache_init(&worker->calls, &pool->call_slab);
    atomic_init(&pool->seats[index], &worker->seat);
}

static inline void *bare_worker_main(void *arg)
{
    vg_worker *worker = arg;
    vg_current_worker = worker;
    worker->raise_top = &vg_raise_top;
    const vg_wait wait = {.over = bare_never_over, .arg = NULL, .deadline_ns = VG_NO_DEADLINE};
    vg_worker_loop(worker, &wait, true);
    return NULL;
}

/* As vigil_pool_create with VIGIL_IDLE_PARK, with the workers not started. */
static inline void bare_pool_init(unsigned workers, vg_fence_mode fences)
{
    pool = &bare_pool;
    pool->fork_guard.page = &bare_guard_page;
    pool->shared = &bare_shared;
    for (unsigned i = 0; i < VG_STRIPES; i++)
        pool->stripes[i].counts = &bare_shared.stripes[i];
    pool->fences = fences;
    pool->idle_policy = VIGIL_IDLE_PARK;
    vg_idle_init(&pool->idle);
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++)
        vg_injector_init(&pool->injectors[class_]);
    vg_slab_init(&pool->call_slab, vg_pool_call_size());
    if (fences == VG_FENCE_MEMBARRIER)
        vgc_assert(vg_fence_register() == 0, "the model has membarrier");
    for (unsigned i = 0; i < workers; i++)
        bare_worker_init(i, fences);
    atomic_init(&pool->high, workers);
    atomic_init(&pool->target, workers);
}

/* A new thread begins as a searcher, whose token is counted before it is started (seats.c). */
static inline void bare_worker_start(unsigned index)
{
    vg_search_begin(pool);
    (void)vgc_thread_start(bare_worker_main, &bare_workers[index]);
}

#endif
