/* SPDX-License-Identifier: MIT */
/*
 * quiescence.c - waiting until every accepted task has ended. README.md, "File by file".
 */
#include "quiescence.h"

#include "base/futex.h"
#include "blocking.h"
#include "books.h"
#include "run.h"
#include "trace.h"

#include <errno.h>
#include <stddef.h>

/* Accepted tasks that have not ended. */
static uint64_t count_pending(vigil_pool *pool)
{
    vg_books books;
    vg_pool_books(pool, &books);
    return books.accepted - books.ended;
}

static uint32_t tickets_drawn(vigil_pool *pool)
{
    /* I2 acquire: later sums include what the ticket holders had submitted; pairs with I1 */
    return atomic_load_explicit(&pool->idle_tickets, memory_order_acquire);
}

static void unlink_idle_watch(vigil_pool *pool, vg_idle_watch *before, vg_idle_watch *watch)
{
    if (before != NULL)
        before->next = watch->next;
    else /* relaxed: under the lock; a look without it may be old */
        atomic_store_explicit(&pool->idle_watches, watch->next, memory_order_relaxed);
    (void)atomic_fetch_sub_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
}

/* Call the watches with these tickets. A thread that has seen a ticket has seen its watch: I1 and I2. */
static void call_watches(vigil_pool *pool, uint32_t tickets)
{
    if (atomic_load_explicit(&pool->idle_watches, memory_order_relaxed) == NULL)
        return;
    vg_idle_watch *chain = NULL;
    vg_mutex_lock(&pool->idle_lock);
    vg_idle_watch *before = NULL;
    vg_idle_watch *next = NULL;
    for (vg_idle_watch *watch = atomic_load_explicit(&pool->idle_watches, memory_order_relaxed); watch != NULL;
         watch = next) {
        next = watch->next;
        if ((int32_t)(tickets - watch->ticket) < 0) {
            before = watch;
            continue;
        }
        unlink_idle_watch(pool, before, watch);
        watch->next = chain;
        chain = watch;
    }
    vg_mutex_unlock(&pool->idle_lock);
    while (chain != NULL) {
        vg_idle_watch *watch = chain;
        chain = watch->next; /* the call is the end of it */
        watch->idle(watch);
    }
}

/* The pool was idle after these tickets were drawn: that ends their waits, and no later one. */
static void end_waits(vigil_pool *pool, uint32_t tickets)
{
    uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_relaxed);
    do {
        if ((int32_t)(tickets - seen) <= 0)
            return; /* another thread has signalled it */
        /* I3 release: the waiter that sees its number sees the ends that we have seen; pairs with I4 */
    } while (!atomic_compare_exchange_weak_explicit(&pool->idle_seen, &seen, tickets, memory_order_release,
                                                    memory_order_relaxed));
    (void)vg_futex_wake(&pool->idle_seen, VG_WAKE_ALL);
    call_watches(pool, tickets);
}

/* Write the debt, then sum up. */
static uint64_t count_after_debt(vigil_pool *pool, uint64_t debt, uint32_t *tickets)
{
    atomic_store_explicit(&pool->idle_debt, (int64_t)debt, memory_order_relaxed);
    /* N full fence: the debt is written before tickets and ends are read; pairs with F in vg_discard_claimed and with
       G. An end that we do not see is subtracted from this debt. */
    atomic_thread_fence(memory_order_seq_cst);
    *tickets = tickets_drawn(pool);
    return count_pending(pool);
}

/* The pool was idle after these tickets were drawn. A ticket that was drawn before the sum and not seen may rely on us:
   look again after N. A holder whose ticket is still not there has its G after that, and sees the pool idle by
   itself. */
static void pool_was_idle(vigil_pool *pool, uint32_t tickets)
{
    for (;;) {
        uint32_t newer;
        end_waits(pool, tickets);
        if (count_after_debt(pool, 0, &newer) != 0 || newer == tickets)
            return;
        tickets = newer;
    }
}

void vg_quiescence_signal(vigil_pool *pool)
{
    uint32_t tickets;
    if (atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed) == 0)
        return;
    if (count_after_debt(pool, 0, &tickets) == 0) /* a worker's ends are not subtracted: the debt is unknown */
        pool_was_idle(pool, tickets);
}

void vg_quiescence_ended(vigil_pool *pool)
{
    if (atomic_load_explicit(&pool->idle_waiters, memory_order_relaxed) == 0)
        return;
    if (atomic_fetch_sub_explicit(&pool->idle_debt, 1, memory_order_relaxed) > 1) /* relaxed: after F, see N */
        return;
    uint32_t tickets = tickets_drawn(pool);
    uint64_t pending = count_pending(pool);
    while (pending != 0) {
        const uint64_t debt = pending;
        pending = count_after_debt(pool, debt, &tickets);
        if (pending >= debt)
            return; /* so many ends come before the pool is idle, and the last of them is back here */
    }
    pool_was_idle(pool, tickets);
}

int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns)
{
    int error = 0;
    const bool blocked = vg_block_elsewhere();
    const vg_waiting waiting = vg_trace_wait(pool, NULL, VG_WAIT_IDLE, pool->block.serial, NULL);
    (void)atomic_fetch_add_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    /* I1 release: a thread that sees our ticket sees what we submitted; pairs with I2 */
    const uint32_t ticket = atomic_fetch_add_explicit(&pool->idle_tickets, 1, memory_order_release) + 1;
    atomic_store_explicit(&pool->idle_debt, 0, memory_order_relaxed); /* ends before us were not subtracted; see N */
    bool in_time = true;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_acquire); /* I4, pairs with I3 */
        /* G full fence: counted as waiting before the ends are read; pairs with F and with C. It also acquires I3;
           I4 says so to the thread sanitizer, which does not model fences. */
        atomic_thread_fence(memory_order_seq_cst);
        if ((int32_t)(seen - ticket) >= 0 || count_pending(pool) == 0) /* seen idle since we came, or idle now */
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

bool vg_idle_watch_remove(vigil_pool *pool, vg_idle_watch *watch)
{
    vg_idle_watch *before = NULL;
    vg_mutex_lock(&pool->idle_lock);
    vg_idle_watch *at = atomic_load_explicit(&pool->idle_watches, memory_order_relaxed); /* under the lock */
    for (; at != NULL && at != watch; at = at->next)
        before = at;
    if (at != NULL)
        unlink_idle_watch(pool, before, watch);
    vg_mutex_unlock(&pool->idle_lock);
    return at != NULL;
}

void vg_idle_watch_add(vigil_pool *pool, vg_idle_watch *watch)
{
    vg_mutex_lock(&pool->idle_lock);
    (void)atomic_fetch_add_explicit(&pool->idle_waiters, 1, memory_order_relaxed);
    watch->next = atomic_load_explicit(&pool->idle_watches, memory_order_relaxed);
    atomic_store_explicit(&pool->idle_watches, watch, memory_order_relaxed);
    /* I1 release: a thread that sees our ticket sees the watch, and what we submitted; pairs with I2 */
    const uint32_t ticket = atomic_fetch_add_explicit(&pool->idle_tickets, 1, memory_order_release) + 1;
    watch->ticket = ticket;
    atomic_store_explicit(&pool->idle_debt, 0, memory_order_relaxed); /* ends before us were not subtracted; see N */
    vg_mutex_unlock(&pool->idle_lock);
    const uint32_t seen = atomic_load_explicit(&pool->idle_seen, memory_order_acquire); /* I4, pairs with I3 */
    /* G full fence: as in vg_wait_until_idle */
    atomic_thread_fence(memory_order_seq_cst);
    if (((int32_t)(seen - ticket) >= 0 || count_pending(pool) == 0) && vg_idle_watch_remove(pool, watch))
        watch->idle(watch);
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
