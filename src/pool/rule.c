/* SPDX-License-Identifier: MIT */
/*
 * rule.c - the rule of all waits inside tasks. WAITING.md holds the argument.
 */
#include "rule.h"

#include "base/clock.h"
#include "blocking.h"
#include "caps.h"
#include "urgent.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>

#ifdef VIGIL_CHECK
#define VG_WAIT_SPIN_NS 0
#else
#define VG_WAIT_SPIN_NS 20000 /* about what a sleep and its wake cost */
#endif
#define VG_WAIT_SPIN_ROUND 32

/* A short wait ends before a sleep would. */
static bool spin_until_over(vg_worker *worker, const vg_wait *wait)
{
    const vigil_pool *pool = worker->pool;
    if (pool->idle_policy == VIGIL_IDLE_PARK || VG_WAIT_SPIN_NS == 0)
        return wait->over(worker, wait->arg);
    const uint64_t most = pool->max_spin_ns < VG_WAIT_SPIN_NS ? pool->max_spin_ns : VG_WAIT_SPIN_NS;
    const uint64_t until = vg_now_ns() + most;
    do {
        for (int i = 0; i < VG_WAIT_SPIN_ROUND; i++) {
            if (wait->over(worker, wait->arg))
                return true;
            vg_spin_pause();
        }
    } while (vg_now_ns() < until);
    return false;
}

/*
 * Step 4. A thread that finds no spare calls a waiter that is willing to work instead: 1. Without a credit nobody would
 * call, so a willing worker does not sleep.
 */
static int sleep_blocked(vg_worker *worker, const vg_wait *wait)
{
    _Atomic uint32_t *waiter = &worker->seat.waiter;
    const bool willing = vg_may_help(worker);
    bool in_time = true;
    unsigned held[VG_CLASSES];
    vg_caps_suspend(worker, held);
    if (willing)
        atomic_store_explicit(waiter, VG_WAITER_WILLING, memory_order_relaxed); /* published with the credit (K1) */
    (void)vigil_blocking_begin();
    /* Inside a blocking section of the task the credit is older than our willingness: a thread that wanted a spare
       then found nobody willing. Its A comes before our look, or it sees us. */
    if (willing && worker->blocking > 1)
        vg_offer_credit(worker->pool);
    bool over;
    while (
        !(over = wait->over(worker, wait->arg)) && in_time &&
        (!willing || (worker->compensated && atomic_load_explicit(waiter, memory_order_relaxed) == VG_WAITER_WILLING)))
        in_time = vg_sleep_until_called(worker, wait->deadline_ns);
    (void)vigil_blocking_end();
    atomic_store_explicit(waiter, VG_WAITER_NONE, memory_order_relaxed);
    vg_caps_resume(worker, held);
    if (over)
        return 0;
    return in_time ? 1 : -ETIMEDOUT;
}

/* Step 4 for a wait that another pool ends. 1: there may be something urgent to run. */
static int sleep_elsewhere(vg_worker *worker, const vg_wait *wait)
{
    const bool willing = vigil_self.vg_locks == 0;
    bool in_time = true;
    bool called = false;
    unsigned held[VG_CLASSES];
    vg_caps_suspend(worker, held);
    (void)vigil_blocking_begin();
    if (willing)
        vg_urgent_sleeper_begin(worker);
    bool over;
    while (!(over = wait->over(worker, wait->arg)) && in_time && !called) {
        /* relaxed: the caller only wants us to look */
        called = willing && (atomic_load_explicit(&worker->seat.waiter, memory_order_relaxed) == VG_WAITER_CALLED ||
                             vg_urgent_visible(worker->pool));
        if (!called)
            in_time = vg_sleep_until_called(worker, wait->deadline_ns);
    }
    if (willing)
        vg_urgent_sleeper_end(worker);
    (void)vigil_blocking_end();
    vg_caps_resume(worker, held);
    if (over)
        return 0;
    return in_time ? 1 : -ETIMEDOUT;
}

int vg_wait_elsewhere(vg_worker *worker, const vg_wait *wait)
{
    for (;;) {
        if (spin_until_over(worker, wait))
            return 0;
        const int error = sleep_elsewhere(worker, wait);
        if (error <= 0)
            return error;
        vg_urgent_run(worker);
    }
}

int vg_wait_by_rule(vg_worker *worker, const vg_wait *wait, bool help)
{
    if (help && vg_may_help(worker))
        vg_worker_help_above(worker, wait);
    if (spin_until_over(worker, wait))
        return 0;
    const int error = sleep_blocked(worker, wait);
    return error > 0 ? vg_worker_help(worker, wait) : error;
}
