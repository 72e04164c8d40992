/* SPDX-License-Identifier: MIT */
/*
 * blocking.c - sections in which a worker is blocked. A section gives one credit, which vg_wake_one may spend on a
 * spare. README.md, "Blocked workers".
 */
#include "blocking.h"

#include "idle.h"
#include "trace.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>
#include <vigil/record.h>

void vg_offer_credit(vigil_pool *pool)
{
    /* A full fence: the credit shows before the queues are read; pairs with A of a publisher that saw all workers
       busy */
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    if (vg_idle_wants_wake(word) && vg_work_visible(pool, vg_idle_ready(word)))
        vg_wake_one(pool);
}

static bool give_credit(vigil_pool *pool)
{
    uint32_t given = atomic_load_explicit(&pool->compensated, memory_order_relaxed);
    do {
        if (given >= pool->max_spares)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&pool->compensated, &given, given + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    /* K1 release: the taker of the credit sees that we wait for a group and could work ourselves; pairs with K2 */
    (void)atomic_fetch_add_explicit(&pool->idle.word, VG_CREDIT_ONE, memory_order_release);
    vg_offer_credit(pool);
    return true;
}

int vg_credit_lend(vigil_pool *pool)
{
    return give_credit(pool) ? 0 : -EAGAIN;
}

void vg_credit_take_back(vigil_pool *pool)
{
    (void)atomic_fetch_sub_explicit(&pool->idle.word, VG_CREDIT_ONE, memory_order_relaxed);
    (void)atomic_fetch_sub_explicit(&pool->compensated, 1, memory_order_relaxed);
}

int vigil_blocking_begin(void)
{
    vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->depth == 0)
        return -EPERM;
    if (worker->blocking++ != 0)
        return 0;
    vg_worker_state(worker, VIGIL_WORKER_BLOCKED);
    vg_file_worker *mine = worker->seat.counts;
    if (worker->level >= VIGIL_RECORD_COUNTERS &&
        vg_peek(&mine->wait.kind) == VG_WAIT_NONE) /* else: a wait that says more */
        vg_wait_begin(&mine->wait, VG_WAIT_DECLARED, 0, (uint64_t)(uintptr_t)__builtin_return_address(0),
                      vg_peek(&mine->state_since));
    worker->compensated = give_credit(worker->pool);
    if (!worker->compensated)
        (void)atomic_fetch_add_explicit(&worker->pool->shared->spares_refused, 1, memory_order_relaxed);
    return 0;
}

int vigil_blocking_end(void)
{
    vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->blocking == 0)
        return -EPERM;
    if (--worker->blocking != 0)
        return 0;
    if (worker->compensated)
        vg_credit_take_back(worker->pool);
    vg_file_worker *mine = worker->seat.counts;
    const uint64_t blocked_since = vg_peek(&mine->state_since);
    vg_worker_state(worker, VIGIL_WORKER_RUNNING);
    worker->age_since += vg_peek(&mine->state_since) - blocked_since; /* no class had the core */
    if (vg_peek(&mine->wait.kind) == VG_WAIT_DECLARED) {
        const uint64_t now = vg_peek(&mine->state_since);
        const uint64_t since = vg_peek(&mine->wait.since);
        if (worker->level == VIGIL_RECORD_EVENTS)
            vg_event_put(now, vg_event_what(VG_EVENT_WAIT, VG_WAIT_DECLARED, vg_peek(&mine->wait.where)), 0,
                         now > since ? now - since : 0);
        vg_wait_end(&mine->wait);
    }
    return 0;
}
