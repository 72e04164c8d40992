/* SPDX-License-Identifier: MIT */
/*
 * waiters.h - does anybody wait for what a worker does?
 */
#ifndef VG_WATCHDOG_WAITERS_H
#define VG_WATCHDOG_WAITERS_H

#include "record/facts.h"
#include "pool_history.h"

typedef struct vg_waiter {
    int thread; /* 0: nobody waits */
    bool stop;  /* it waits for the pool to stop or to become idle */
    bool certain;
    uint64_t since_ns; /* how long it has waited */
} vg_waiter;

/* Who has waited for at least least_ns for the task on this worker: for its job, for the pool to become idle or, while
   nothing else moves in the pool (quiet), for any job or group. */
vg_waiter vg_waiter_find(const vg_pool_history *history, const vg_worker_fact *worker, const vg_look *look,
                         uint64_t least_ns, bool quiet);

#endif
