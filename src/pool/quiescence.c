/* SPDX-License-Identifier: MIT */
/*
 * quiescence.c - waiting until every accepted task has ended.
 */
#include "quiescence.h"

#include "base/futex.h"
#include "blocking.h"
#include "books.h"
#include "run.h"
#include "trace.h"

#include <errno.h>
#include <stddef.h>

static bool pool_is_idle(vigil_pool *pool)
{
    vg_books books;
    vg_pool_books(pool, &books);
    return books.ended == books.accepted;
}

void vg_quiescence_signal(vigil_pool *pool)
{
    if (atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed) == 0)
        return;
    /* I2 acquire: the sums below include what the ticket holders had submitted; pairs with I1 */
    const uint32_t tickets = atomic_load_explicit(&pool->idle_tickets, memory_order_acquire);
    if (!pool_is_idle(pool))
        return;
    /* The pool was idle after these tickets were drawn: that ends their waits, and no later one. */
    uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_relaxed);
    do {
        if ((int32_t)(tickets - seen) <= 0)
            return; /* another thread has signalled it */
        /* I3 release: the waiter that sees its number sees the ends that we have seen; pairs with I4 */
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle_seen, &seen, tickets, memory_order_release,
                                                    memory_order_relaxed));
    (void)vg_futex_wake(&pool->idle_seen, VG_WAKE_ALL);
}

int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns)
{
    int error = 0;
    const bool blocked = vg_block_elsewhere();
    const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_IDLE, pool->block.serial, NULL);
    (void)atomic_fetch_add_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    /* I1 release: whoever sees our ticket sees what we submitted; pairs with I2 */
    const uint32_t ticket = atomic_fetch_add_explicit(&pool->idle_tickets, 1, memory_order_release) + 1;
    bool in_time = true;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_acquire); /* I4, pairs with I3 */
        /* G full fence: counted as waiting before the ends are read; pairs with F and with C. It also acquires I3;
           I4 says so to the thread sanitizer, which does not model fences. */
        atomic_thread_fence(memory_order_seq_cst);
        if ((int32_t)(seen - ticket) >= 0 || pool_is_idle(pool)) /* seen idle since we came, or idle now */
            break;
        if (!in_time) {
            error = -ETIMEDOUT;
            break;
        }
        in_time = vg_futex_wait(&pool->idle_seen, seen, deadline_ns) == 0;
    }
    (void)atomic_fetch_sub_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    vg_trace_waited(pool, &waiting);
    vg_unblock_elsewhere(blocked);
    return error;
}

int vigil_pool_wait_idle(vigil_pool *pool, int64_t timeout_ns)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (vg_part_of(pool))
        return -EDEADLK;
    return vg_wait_until_idle(pool, vg_deadline_after(timeout_ns));
}
