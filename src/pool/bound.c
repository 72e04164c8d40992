/* SPDX-License-Identifier: MIT */
/*
 * bound.c - max_queue: places for queued tasks, and threads that wait for one.
 *
 * One wake is in flight at a time (room_waking): a freed place wakes one waiter unless another is on its way already. A
 * waiter takes the flag down, looks for room, and wakes the next one if room is left. So 64 blocked producers cost one
 * wake for each that goes on, and none for the others. A waiter for several places (a batch) could swallow a wake that
 * another needs; while there is one, all are woken.
 */
#include "bound.h"

#include "base/futex.h"
#include "blocked.h"
#include "moving.h"
#include "rule.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>

static bool bound_try(vigil_pool *pool, uint64_t count)
{
    uint64_t used = atomic_load_explicit(&pool->queued_places, memory_order_relaxed);
    do {
        if (used + count > pool->max_queue)
            return false;
        /* relaxed: a place is only a number */
    } while (!atomic_compare_exchange_weak_explicit(&pool->queued_places, &used, used + count, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* The wake in flight has arrived. relaxed: a full fence follows, R1 or R2: we see the place of the one that left its
   wake to us, whose R2 comes before its exchange. */
static void wake_arrived(vigil_pool *pool)
{
    (void)atomic_exchange_explicit(&pool->room_waking, 0, memory_order_relaxed);
}

/* Sleep until the places are ours. `inside`: a task of the pool, whose submits are accepted while the pool ends. */
static int room_sleep(vigil_pool *pool, bool inside, uint64_t count, uint64_t deadline_ns)
{
    int error = 0;
    bool in_time = true;
    _Atomic uint32_t *batches = &pool->room_batches;
    if (count > 1)
        (void)atomic_fetch_add_explicit(batches, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&pool->room_waiters, 1, memory_order_relaxed);
    for (;;) {
        const uint32_t seq = atomic_load_explicit(&pool->room_seq, memory_order_relaxed);
        wake_arrived(pool);
        /* R1 full fence: counted as waiting before places and phase are read; pairs with R2 and with stop */
        atomic_thread_fence(memory_order_seq_cst);
        if (!inside && atomic_load_explicit(&pool->phase, memory_order_relaxed) != VG_OPEN)
            error = -ESHUTDOWN;
        else if (bound_try(pool, count))
            error = 0;
        else if (!in_time)
            error = -ETIMEDOUT;
        else {
            in_time = vg_futex_wait(&pool->room_seq, seq, deadline_ns) == 0;
            continue;
        }
        break;
    }
    (void)atomic_fetch_sub_explicit(&pool->room_waiters, 1, memory_order_relaxed);
    if (count > 1)
        (void)atomic_fetch_sub_explicit(batches, 1, memory_order_relaxed);
    wake_arrived(pool); /* one that was meant for us after our last look */
    vg_room_signal(pool);
    return error;
}

/* Step by step as WAITING.md says: inside a task sleep with a spare; without one, run a queued task, which frees its
   place. */
static int room_wait_inside(vigil_pool *pool, vg_worker *worker, uint64_t count, uint64_t deadline_ns)
{
    const bool own = worker->pool == pool;
    const vg_blocked_on on = {
        .kind = VG_WAIT_ROOM, .object = pool, .shown = pool->block.serial, .deadline_ns = deadline_ns};
    for (;;) {
        vg_blocked it;
        vg_blocked_begin(&it, &on);
        const bool alone = own && !worker->compensated;
        const int error = alone ? -EAGAIN : room_sleep(pool, own, count, deadline_ns);
        vg_blocked_end(&it);
        if (!alone)
            return error;
        if (!vg_may_help(worker) || !vg_worker_run_one(worker))
            return vg_why(-EAGAIN, "the queue is full, and no spare worker can be had that would make room");
        if (bound_try(pool, count))
            return 0;
    }
}

int vg_bound_wait(vigil_pool *pool, uint64_t count, uint64_t deadline_ns)
{
    if (pool->max_queue == 0 || bound_try(pool, count))
        return 0;
    if (pool->when_full == VIGIL_FULL_REFUSE)
        return -EAGAIN;
    vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->depth == 0) {
        const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_ROOM, pool->block.serial, NULL);
        const int error = worker != NULL ? -EAGAIN : room_sleep(pool, false, count, deadline_ns);
        vg_trace_waited(pool, &waiting);
        return error;
    }
    if (worker->pool == pool)
        vg_handling(worker, 0); /* for the audit: nothing moves while it waits */
    const int error = room_wait_inside(pool, worker, count, deadline_ns);
    if (worker->pool == pool)
        vg_handling(worker, 1);
    return error;
}

void vg_room_signal(vigil_pool *pool)
{
    /* R2 full fence: the free place is visible before waiters are looked for; pairs with R1 */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pool->room_waiters, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&pool->queued_places, memory_order_relaxed) >= pool->max_queue)
        return;
    const bool all = atomic_load_explicit(&pool->room_batches, memory_order_relaxed) != 0;
    /* relaxed: R2 shows the free place to the thread that takes the flag down (wake_arrived) */
    if (atomic_exchange_explicit(&pool->room_waking, 1, memory_order_relaxed) != 0 && !all)
        return;
    (void)atomic_fetch_add_explicit(&pool->room_seq, 1, memory_order_relaxed);
    (void)vg_futex_wake(&pool->room_seq, all ? VG_WAKE_ALL : 1);
}

void vg_room_close(vigil_pool *pool)
{
    /* R2 full fence: the phase is visible before waiters are looked for; pairs with R1 */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pool->room_waiters, memory_order_relaxed) == 0)
        return;
    (void)atomic_fetch_add_explicit(&pool->room_seq, 1, memory_order_relaxed);
    (void)vg_futex_wake(&pool->room_seq, VG_WAKE_ALL);
}

void vg_room_release(vigil_pool *pool)
{
    (void)atomic_fetch_sub_explicit(&pool->queued_places, 1, memory_order_relaxed);
    if (pool->when_full == VIGIL_FULL_BLOCK)
        vg_room_signal(pool);
}

void vg_bound_give_back(vigil_pool *pool, uint64_t count)
{
    if (pool->max_queue == 0)
        return;
    (void)atomic_fetch_sub_explicit(&pool->queued_places, count, memory_order_relaxed);
    if (pool->when_full == VIGIL_FULL_BLOCK)
        vg_room_signal(pool);
}
