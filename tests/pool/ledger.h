/* SPDX-License-Identifier: MIT */
/* Tasks that write down what became of them, and what must hold of a pool that has been stopped. */
#ifndef VG_TEST_LEDGER_H
#define VG_TEST_LEDGER_H

#include "support.h"

struct item {
    vigil_task task;
    struct ledger *ledger;
    _Atomic uint8_t ran, cancelled;
};

struct ledger {
    vigil_pool *pool;
    _Atomic uint64_t ran, cancelled;
};

static inline int item_run(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    (void)atomic_fetch_add_explicit(&item->ran, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&item->ledger->ran, 1, memory_order_relaxed);
    return 0;
}

static inline void item_cancel(vigil_task *task)
{
    struct item *item = container_of(task, struct item, task);
    (void)atomic_fetch_add_explicit(&item->cancelled, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&item->ledger->cancelled, 1, memory_order_relaxed);
}

static inline void item_init(struct item *item, struct ledger *ledger)
{
    *item = (struct item){.ledger = ledger};
    vigil_task_init(&item->task, item_run, item_cancel);
}

static inline void destroy_stopped(vigil_pool *pool)
{
    pool_audit_clean(pool);
    vigil_pool_stats stats = pool_stats(pool);
    must_equal(stats.total.queued, 0);
    must_equal(stats.total.running, 0);
    must_equal(stats.threads, 0);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

#endif
