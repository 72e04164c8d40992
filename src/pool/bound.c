/* SPDX-License-Identifier: MIT */
/*
 * bound.c - max_queue: places for queued tasks, and threads that wait for one.
 */
#include "bound.h"

#include "base/futex.h"
#include "trace.h"

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

int vg_bound_take(vigil_pool *pool, const vg_worker *worker, uint64_t count)
{
    if (pool->max_queue == 0 || bound_try(pool, count))
        return 0;
    if (pool->when_full == VIGIL_FULL_REFUSE || worker != NULL)
        return -EAGAIN;
    const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_ROOM, pool->block.serial, NULL);
    (void)atomic_fetch_add_explicit(&pool->room_waiters, 1, memory_order_relaxed);
    int error = 0;
    for (;;) {
        uint32_t seq = atomic_load_explicit(&pool->room_seq, memory_order_relaxed);
        /* R1 full fence: counted as waiting before places and phase are read; pairs with R2 and with stop */
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(&pool->phase, memory_order_relaxed) != VG_OPEN) {
            error = -ESHUTDOWN;
            break;
        }
        if (bound_try(pool, count))
            break;
        (void)vg_futex_wait(&pool->room_seq, seq, VG_NO_DEADLINE);
    }
    (void)atomic_fetch_sub_explicit(&pool->room_waiters, 1, memory_order_relaxed);
    vg_trace_waited(pool, &waiting);
    return error;
}

void vg_room_signal(vigil_pool *pool)
{
    /* R2 full fence: the free place (or the phase) is visible before waiters are looked for; pairs with R1 */
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
