/* SPDX-License-Identifier: MIT */
/*
 * guest.c - a thread from outside works for the pool for the time of a call. It gets a seat among the spares, so
 * thieves, the idle protocol, the audit and the recorder treat it as one; it has no thread of the pool's, takes no
 * credit, and never looks for work outside a wait.
 *
 * The call counts as a task. The gate is spare_lock: what is counted before the pool closes it is waited for by the end
 * of the pool, and `alive` keeps the pool until the guest has left its seat.
 */
#include "guest.h"

#include "base/futex.h"
#include "counter.h"
#include "group.h"
#include "moving.h"
#include "own.h"
#include "quiescence.h"
#include "refuse.h"
#include "run.h"
#include "seats.h"
#include "slots.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>
#include <vigil/flow.h>

void vg_guests_close(vigil_pool *pool)
{
    vg_mutex_lock(&pool->spare_lock);
    pool->guests_closed = true;
    vg_mutex_unlock(&pool->spare_lock);
}

/* A seat, and the call counted as accepted. -ESHUTDOWN; -EAGAIN: no seat is free. */
static int guest_enter(vigil_pool *pool, unsigned class_, vg_worker **worker)
{
    int error = 0;
    vg_mutex_lock(&pool->spare_lock);
    if (pool->guests_closed)
        error = -ESHUTDOWN;
    else
        error = vg_guest_seat(pool, worker);
    if (error == 0) {
        vg_handling(*worker, 1); /* for the audit: accepted and in no queue until it is counted as started */
        vg_count_release(&(*worker)->seat.counts->of[class_].submitted, 1);
        (void)atomic_fetch_add_explicit(&pool->alive, 1, memory_order_relaxed);
    }
    vg_mutex_unlock(&pool->spare_lock);
    return error;
}

static void guest_leave(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_give_away_own_work(worker); /* spawned to groups that are waited for elsewhere */
    vg_slab_flush(&worker->calls);
    vg_handles_hand_over(&worker->pool->jobs, &worker->free_jobs);
    vg_worker_state(worker, VIGIL_WORKER_STOPPED);
    atomic_store_explicit(&worker->seat.thread_id, 0, memory_order_relaxed);
    vg_slot_end_guest(worker);
    vg_worker_here(NULL);
    /* F full fence: our tasks' ends are counted before waiters are looked for; pairs with G in quiescence.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_quiescence_signal(pool);
    vg_mutex_lock(&pool->spare_lock);
    worker->guest_here = false;
    vg_mutex_unlock(&pool->spare_lock);
    /* The last touch of the pool. release: all of it comes before the end of the pool; pairs with vg_seats_wait */
    if (atomic_fetch_sub_explicit(&pool->alive, 1, memory_order_release) == 1)
        (void)vg_futex_wake(&pool->alive, VG_WAKE_ALL);
}

typedef struct guest_call {
    vigil_task task; /* first */
    int (*fn)(void *arg);
    void *arg;
} guest_call;

static int guest_call_run(vigil_task *task)
{
    guest_call *call = (guest_call *)(void *)task;
    return call->fn(call->arg);
}

static int guest_run(vg_worker *worker, guest_call *call, unsigned class_)
{
    vigil_group group; /* keeps the status, also of a raise */
    vg_worker_here(worker);
    worker->hook = VG_HOOK_NONE;
    worker->job = NULL;
    atomic_store_explicit(&worker->seat.thread_id, vg_thread_id(), memory_order_relaxed);
    atomic_store_explicit(&worker->seat.counts->state_since, vg_ticks(), memory_order_relaxed);
    vg_worker_state(worker, VIGIL_WORKER_STARTING);
    vg_slot_begin_guest(worker);
    vg_group_prepare(&group, worker->pool, worker, 1);
    call->task.vg_group = &group;
    call->task.vg_class = (uint8_t)class_;
    vg_run_claimed(worker, &call->task);
    const int status = atomic_load_explicit(&group.vg_status, memory_order_relaxed); /* our own */
    guest_leave(worker);
    return status;
}

/* Without a seat the call goes to a worker. */
static int run_on_worker(vigil_pool *pool, guest_call *call, vigil_priority priority)
{
    vigil_group group;
    vg_group_prepare(&group, pool, NULL, 0);
    const int refused = vigil_group_submit(&group, &call->task, priority);
    return refused != 0 ? refused : vigil_group_wait(&group);
}

int vigil_pool_run(vigil_pool *pool, int (*fn)(void *arg), void *arg, vigil_priority priority)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (fn == NULL)
        return VG_WHY_NULL("fn");
    if ((unsigned)priority >= VG_CLASSES)
        return vg_refuse_priority(priority);
    if (vg_in_task(vg_worker_of(pool)))
        return fn(arg);
    guest_call call = {.fn = fn, .arg = arg};
    vg_worker *worker = NULL;
    vigil_task_init(&call.task, guest_call_run, NULL);
    if (vg_current_worker != NULL) /* of another pool, or in a hook: one seat a thread */
        return run_on_worker(pool, &call, priority);
    error = guest_enter(pool, (unsigned)priority, &worker);
    if (error == -EAGAIN || error == -ENOMEM)
        return run_on_worker(pool, &call, priority);
    return error != 0 ? error : guest_run(worker, &call, (unsigned)priority);
}
