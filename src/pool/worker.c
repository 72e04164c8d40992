/* SPDX-License-Identifier: MIT */
/*
 * worker.c - the life of a worker: take, search, park. README.md, "File by file".
 */
#include "worker.h"

#include "base/fault.h"
#include "caps.h"
#include "counter.h"
#include "idle.h"
#include "own.h"
#include "quiescence.h"
#include "run.h"
#include "take.h"
#include "trace.h"

#include <errno.h>
#include <stddef.h>
#include <vigil/record.h>

#ifdef VIGIL_CHECK
#define VG_SPIN_ROUND 1
#else
#define VG_SPIN_ROUND 32
#endif
#define VG_SPIN_LEAST_NS 1000
#define VG_SPIN_PROBE    16

_Thread_local vg_worker *vg_current_worker;

void vg_worker_state(vg_worker *worker, vigil_worker_state state)
{
    vg_file_worker *counts = worker->seat.counts;
    uint64_t before = atomic_load_explicit(&counts->state, memory_order_relaxed);
    if (before == (uint64_t)state)
        return;
    uint64_t now = vg_ticks();
    vg_trace_pause(worker);
    if (state == VIGIL_WORKER_RUNNING && worker->depth == 0)
        worker->last_end = now;
    uint64_t since = atomic_load_explicit(&counts->state_since, memory_order_relaxed);
    vg_count_release(&counts->time[before], now > since ? now - since : 0);
    atomic_store_explicit(&counts->state_since, now, memory_order_relaxed);
    atomic_store_explicit(&counts->state, (uint64_t)state, memory_order_relaxed);
    vg_history_put(counts->history, &counts->changes, (uint64_t)state, now);
}

static bool wait_expired(const vg_wait *wait)
{
    return wait->deadline_ns != VG_NO_DEADLINE && vg_now_ns() >= wait->deadline_ns;
}

/* Look again for a while without sleeping. true: there is something to take, or the wait is over. */
static bool spin_awhile(vg_worker *worker, const vg_wait *wait)
{
    vigil_pool *pool = worker->pool;
    if (pool->idle_policy == VIGIL_IDLE_PARK || pool->max_spin_ns == 0)
        return false;
    const bool keep_one = pool->idle_policy == VIGIL_IDLE_KEEP_ONE_AWAKE;
    if (!keep_one && worker->spin_ns <= VG_SPIN_LEAST_NS && ++worker->spins_skipped % VG_SPIN_PROBE != 0)
        return false; /* spinning has long been useless: retry now and then */
    vg_worker_state(worker, VIGIL_WORKER_SPINNING);
    uint64_t until = vg_now_ns() + worker->spin_ns;
    for (;;) {
        for (int i = 0; i < VG_SPIN_ROUND; i++) {
            uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
            if (vg_idle_searching(word) > 1)
                return false; /* one spinner is enough */
            if (vg_work_visible(pool, vg_idle_ready(word)) ||
                atomic_load_explicit(&worker->seat.mailbox, memory_order_relaxed) > 1 ||
                wait->over(worker, wait->arg)) {
                worker->spin_ns = 2 * worker->spin_ns < pool->max_spin_ns ? 2 * worker->spin_ns : pool->max_spin_ns;
                return true;
            }
            vg_spin_pause();
        }
        if (vg_now_ns() < until)
            continue;
        if (keep_one) {
            vg_thread_yield(); /* let others use the core */
            return false;      /* vg_park decides who stays awake */
        }
        worker->spin_ns = worker->spin_ns / 2 > VG_SPIN_LEAST_NS ? worker->spin_ns / 2 : VG_SPIN_LEAST_NS;
        return false;
    }
}

/* Look everywhere, then spin. The caller searches. NULL: nothing, or the wait is over. */
static vigil_task *search_everywhere(vg_worker *worker, const vg_wait *wait, unsigned *looked_at)
{
    vg_worker_state(worker, VIGIL_WORKER_LOOKING);
    vigil_task *task = vg_take(worker, looked_at);
    vg_caps_look(worker);
    if (task != NULL)
        return task;
    /* F full fence: our tasks' ends are counted before waiters are looked for; pairs with G in quiescence.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_quiescence_signal(worker->pool);
    while (!wait->over(worker, wait->arg) && spin_awhile(worker, wait)) {
        task = vg_take(worker, looked_at);
        vg_caps_look(worker);
        if (task != NULL)
            return task;
    }
    return NULL;
}

static void run_found(vg_worker *worker, vigil_task *task)
{
    if (worker->woken) {
        vg_count_release(&worker->seat.counts->wakes_useful, 1);
        worker->woken = false;
    }
    const unsigned class_ = task->vg_class; /* read now: the task may be gone later */
    worker->last_class = class_;
    if (vg_fault(VG_FAULT_FREEZE_WORKER))
        vg_fault_freeze();
    vg_run(worker, task);
    if (worker->pool->caps[class_] != 0)
        vg_cap_leave(worker, class_);
}

/* A spare goes dormant when more workers are at work than the pool should have. */
static bool is_surplus_spare(const vg_worker *worker)
{
    return worker->seat.spare && worker->depth == 0 &&
           vg_idle_credits(atomic_load_explicit(&worker->pool->idle.word, memory_order_relaxed)) < 0;
}

void vg_worker_loop(vg_worker *worker, const vg_wait *wait, bool searching)
{
    vigil_pool *pool = worker->pool;
    for (;;) {
        unsigned looked_at = 0;
        if (!searching) {
            if (wait->over(worker, wait->arg)) {
                vg_caps_look(worker);
                return;
            }
            if (__builtin_expect(is_surplus_spare(worker), 0)) {
                vg_caps_look(worker);
                vg_search_begin(pool);
                vg_give_away_own_work(worker);
                (void)vg_park(worker, 0, wait);
            } else {
                vigil_task *task = vg_take(worker, &looked_at);
                vg_caps_look(worker);
                if (task != NULL) {
                    run_found(worker, task);
                    continue;
                }
                vg_search_begin(pool);
            }
            searching = true;
        }
        vigil_task *task = search_everywhere(worker, wait, &looked_at);
        if (task != NULL) {
            vg_search_end(pool);
            searching = false;
            run_found(worker, task);
            continue;
        }
        if (wait->over(worker, wait->arg) || wait_expired(wait) || !vg_park(worker, looked_at, wait)) {
            vg_search_end(pool);
            return;
        }
    }
}

/* A wait puts strangers on this stack, or has done so. */
static void help_begin(vg_worker *worker, unsigned held[VG_CLASSES])
{
    vg_caps_suspend(worker, held);
    worker->helping++;
    if (worker->level >= VIGIL_RECORD_COUNTERS)
        vg_cell_add(&worker->seat.counts->depth, 1);
}

static void help_end(vg_worker *worker, const unsigned held[VG_CLASSES], vigil_worker_state before)
{
    if (worker->level >= VIGIL_RECORD_COUNTERS)
        vg_cell_add(&worker->seat.counts->depth, UINT64_MAX);
    worker->helping--;
    vg_caps_resume(worker, held);
    vg_worker_state(worker, before);
}

bool vg_worker_run_one(vg_worker *worker)
{
    return vg_worker_run_above(worker, VG_CLASSES - 1);
}

bool vg_worker_run_above(vg_worker *worker, unsigned lowest)
{
    const vigil_worker_state before =
        (vigil_worker_state)atomic_load_explicit(&worker->seat.counts->state, memory_order_relaxed);
    unsigned held[VG_CLASSES];
    help_begin(worker, held);
    vigil_task *task = vg_take_above(worker, lowest);
    vg_caps_look(worker);
    if (task != NULL)
        run_found(worker, task);
    vg_caps_look(worker);
    help_end(worker, held, before);
    return task != NULL;
}

void vg_worker_help_above(vg_worker *worker, const vg_wait *wait)
{
    const vigil_worker_state before =
        (vigil_worker_state)atomic_load_explicit(&worker->seat.counts->state, memory_order_relaxed);
    const unsigned lowest = worker->queue->class_;
    unsigned held[VG_CLASSES];
    help_begin(worker, held);
    while (!wait->over(worker, wait->arg) && !wait_expired(wait)) {
        vigil_task *task = vg_take_above(worker, lowest);
        vg_caps_look(worker);
        if (task == NULL)
            break;
        run_found(worker, task);
    }
    vg_caps_look(worker);
    help_end(worker, held, before);
}

int vg_worker_help(vg_worker *worker, const vg_wait *wait)
{
    vigil_worker_state before =
        (vigil_worker_state)atomic_load_explicit(&worker->seat.counts->state, memory_order_relaxed);
    unsigned held[VG_CLASSES];
    help_begin(worker, held);
    vg_worker_loop(worker, wait, false);
    help_end(worker, held, before);
    return wait->over(worker, wait->arg) ? 0 : -ETIMEDOUT;
}
