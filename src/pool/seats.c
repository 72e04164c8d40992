/* SPDX-License-Identifier: MIT */
/*
 * seats.c - the workers' threads: starting, retiring, joining. README.md, "File by file".
 */
#include "seats.h"

#include "base/futex.h"
#include "record/stack.h"
#include "contain.h"
#include "deque.h"
#include "idle.h"
#include "own.h"
#include "quiescence.h"
#include "slots.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool must_leave(vg_worker *worker, void *arg)
{
    (void)arg;
    /* relaxed: a thread that sets these calls vg_unpark afterwards, which orders them */
    return atomic_load_explicit(&worker->pool->quit, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&worker->seat.retire, memory_order_relaxed) != 0;
}

/* The worker was asked to leave: give up the seat. false: the pool has grown again, it stays. */
static bool give_up_seat(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_seat *seat = &worker->seat;
    if (seat->spare || atomic_load_explicit(&pool->quit, memory_order_relaxed) != 0)
        return true; /* the end of the pool joins us, and nothing is queued */
    vg_mutex_lock(&pool->admin);
    bool go = atomic_load_explicit(&seat->retire, memory_order_relaxed) != 0;
    if (go) {
        seat->life = VG_SEAT_LEFT;
        /* No mail from here on: a push sees the bit, or is collected below (M2). relaxed: one word decides. */
        (void)atomic_fetch_or_explicit(&seat->mailbox, 1U, memory_order_relaxed);
    }
    vg_mutex_unlock(&pool->admin);
    return go;
}

static void name_thread(vg_worker *worker)
{
    const vigil_pool *pool = worker->pool;
    vg_seat *seat = &worker->seat;
    const unsigned index = worker->seat.index;
    char name[32];
    if (worker->seat.spare)
        (void)snprintf(name, sizeof name, "%.10s/s%u", pool->name, index - VG_MAX_WORKERS);
    else
        (void)snprintf(name, sizeof name, "%.10s/%u", pool->name, index);
    vg_thread_set_name(name);
    atomic_store_explicit(&seat->thread_id, vg_thread_id(), memory_order_relaxed);
    vg_thread_origin_apply(&pool->origin); /* the one who submits, blocks or resizes may have started us */
    vg_thread_mask_set(&pool->signals);    /* and so do the children and threads that tasks start */
    if (pool->cpu_count != 0)
        vg_thread_bind(pool->cpus[index % pool->cpu_count]);
}

/* From its first hook to its last. */
static void worker_live(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    bool searching = true;
    if (pool->on_worker_start != NULL) {
        vg_search_end(pool); /* a hook may take long: publishers must not rely on our search */
        worker->hook = VG_HOOK_START;
        vg_contained_hook(worker, pool->on_worker_start, pool->user);
        worker->hook = VG_HOOK_NONE;
        searching = false;
    }
    const vg_wait wait = {.over = must_leave, .arg = NULL, .deadline_ns = VG_NO_DEADLINE};
    do {
        vg_worker_loop(worker, &wait, searching);
        searching = false;
    } while (!give_up_seat(worker));
    vg_worker_state(worker, VIGIL_WORKER_STOPPING);
    vg_give_away_own_work(worker);
    vg_slab_flush(&worker->calls);
    vg_handles_hand_over(&worker->pool->jobs, &worker->free_jobs);
    /* F full fence: our tasks' ends are counted before waiters are looked for; pairs with G in quiescence.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_quiescence_signal(pool);
    worker->hook = VG_HOOK_STOP;
    if (pool->on_worker_stop != NULL)
        vg_contained_hook(worker, pool->on_worker_stop, pool->user);
}

static void *worker_main(void *arg)
{
    vg_worker *worker = arg;
    vigil_pool *pool = worker->pool;
    vg_worker_here(worker);
    worker->hook = VG_HOOK_NONE; /* the seat may have had another thread */
    name_thread(worker);
    vg_slot_begin(worker);
    vg_stack_open_signal();
    vg_contained(worker_live, worker);
    vg_worker_state(worker, VIGIL_WORKER_STOPPED);
    atomic_store_explicit(&worker->seat.thread_id, 0, memory_order_relaxed);
    vg_slot_end(worker);
    vg_worker_here(NULL);
    /* The last touch of the pool before the join. relaxed: see vg_seats_wait. */
    if (atomic_fetch_sub_explicit(&pool->alive, 1, memory_order_relaxed) == 1)
        (void)vg_futex_wake(&pool->alive, VG_WAKE_ALL);
    return NULL;
}

static vg_worker *worker_make(vigil_pool *pool, unsigned index, bool spare, bool guest)
{
    vg_file_worker *slot = vg_slot_of(pool, index);
    vg_worker *worker = slot == NULL ? NULL : aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);
    if (worker == NULL)
        return NULL;
    memset(worker, 0, sizeof *worker);
    vg_seat *seat = &worker->seat;
    seat->pool = pool;
    seat->index = index;
    seat->spare = spare;
    seat->guest = guest;
    seat->counts = slot;
    atomic_init(&seat->mailbox, 1U); /* closed while there is no thread */
    worker->pool = pool;
    worker->fences = pool->fences;
    worker->queue = &worker->queues[VIGIL_NORMAL];
    worker->spin_ns = pool->max_spin_ns;
    worker->random = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        vg_own_queue *queue = &worker->queues[class_];
        vg_deque_init(&queue->own);
        seat->deques[class_] = &queue->own.deque;
        queue->busy = vg_queue_busy(worker->fences, class_);
        queue->busy_mask = vg_idle_busy_mask(class_);
        queue->counts = &seat->counts->of[class_];
        queue->class_ = class_;
        queue->tail.of.state = VG_TASK_QUEUED;
        queue->tail.of.class_ = (uint8_t)class_;
        queue->tail.of.kind = VG_KIND_PLAIN;
        queue->tail.of.flags = 0;
        vg_join_queue_init(queue, worker);
    }
    vg_slab_cache_init(&worker->calls, &pool->call_slab);
    return worker;
}

/* Make sure that the seat exists and is free. */
static int prepare_seat(vigil_pool *pool, unsigned index, bool spare, bool guest, vg_worker **worker)
{
    vg_seat *seat = atomic_load_explicit(&pool->seats[index], memory_order_relaxed); /* written under our lock */
    if (seat == NULL) {
        *worker = worker_make(pool, index, spare, guest);
        if (*worker == NULL)
            return -ENOMEM;
        /* S1 release: a thread that finds the seat in the table sees all of it; pairs with vg_seat_at */
        atomic_store_explicit(&pool->seats[index], &(*worker)->seat, memory_order_release);
        return 0;
    }
    *worker = (vg_worker *)(void *)seat; /* its thread is gone: nobody uses the private half */
    if (seat->life == VG_SEAT_LEFT) {
        vg_thread_join(seat->thread);
        seat->life = VG_SEAT_EMPTY;
    }
    return 0;
}

static int start_thread(vg_worker *worker)
{
    vg_seat *seat = &worker->seat;
    atomic_store_explicit(&seat->retire, 0, memory_order_relaxed);
    atomic_store_explicit(&seat->counts->state_since, vg_ticks(), memory_order_relaxed);
    vg_worker_state(worker, VIGIL_WORKER_STARTING);
    (void)atomic_fetch_add_explicit(&worker->pool->alive, 1, memory_order_relaxed);
    int error = vg_thread_start(&seat->thread, worker->pool->stack_size, worker_main, worker);
    if (error != 0) {
        vg_worker_state(worker, VIGIL_WORKER_UNUSED);
        (void)atomic_fetch_sub_explicit(&worker->pool->alive, 1, memory_order_relaxed);
        return error;
    }
    seat->life = VG_SEAT_TAKEN;
    return 0;
}

int vg_seat_start(vigil_pool *pool, unsigned index)
{
    vg_worker *worker = NULL;
    int error = prepare_seat(pool, index, false, false, &worker);
    if (error != 0)
        return error;
    /* relaxed: the thread starts later, so a thread that sees its bits sees this (IDLE.md, "Tables") */
    if (index >= atomic_load_explicit(&pool->high, memory_order_relaxed))
        atomic_store_explicit(&pool->high, index + 1, memory_order_relaxed);
    error = start_thread(worker);
    if (error == 0) /* relaxed: later mail brings its own order (M1, E) */
        (void)atomic_fetch_and_explicit(&worker->seat.mailbox, ~(uintptr_t)1, memory_order_relaxed);
    return error;
}

int vg_spare_start(vigil_pool *pool)
{
    int error = -EAGAIN;
    vg_mutex_lock(&pool->spare_lock);
    unsigned next = atomic_load_explicit(&pool->spare_high, memory_order_relaxed);
    if (pool->spares_made < pool->max_spares && next < pool->spare_seats &&
        atomic_load_explicit(&pool->quit, memory_order_relaxed) == 0) {
        vg_worker *worker = NULL;
        error = prepare_seat(pool, VG_MAX_WORKERS + next, true, false, &worker);
        if (error == 0) {
            atomic_store_explicit(&pool->spare_high, next + 1, memory_order_relaxed); /* as high, above */
            error = start_thread(worker);
            if (error != 0)
                atomic_store_explicit(&pool->spare_high, next, memory_order_relaxed);
            else
                pool->spares_made++;
        }
        (void)atomic_fetch_add_explicit(error == 0 ? &pool->shared->spares_started : &pool->shared->spares_refused, 1,
                                        memory_order_relaxed);
    }
    vg_mutex_unlock(&pool->spare_lock);
    return error;
}

int vg_guest_seat(vigil_pool *pool, vg_worker **worker)
{
    const unsigned next = atomic_load_explicit(&pool->spare_high, memory_order_relaxed);
    for (unsigned i = 0; pool->guests_made != 0 && i < next; i++) {
        *worker = (vg_worker *)(void *)vg_seat_at(pool, VG_MAX_WORKERS + i);
        if ((*worker)->seat.guest && !(*worker)->guest_here) {
            (*worker)->guest_here = true;
            return 0;
        }
    }
    if (pool->guests_made == VG_MAX_GUESTS || next >= pool->spare_seats)
        return -EAGAIN;
    const int error = prepare_seat(pool, VG_MAX_WORKERS + next, true, true, worker);
    if (error != 0)
        return error;
    (*worker)->guest_here = true;
    pool->guests_made++;
    /* relaxed: a thread that sees its bits sees this (IDLE.md, "Tables") */
    atomic_store_explicit(&pool->spare_high, next + 1, memory_order_relaxed);
    return 0;
}

void vg_seats_quit(vigil_pool *pool)
{
    atomic_store_explicit(&pool->quit, 1, memory_order_relaxed);
    vg_mutex_lock(&pool->spare_lock); /* a spare that is starting now is counted; later ones are refused */
    vg_mutex_unlock(&pool->spare_lock);
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++)
        vg_unpark(vg_seat_at(pool, i));
}

int vg_seats_wait(vigil_pool *pool, uint64_t deadline_ns)
{
    bool in_time = true;
    uint32_t alive;
    /* acquire: what guests have done; pairs with the release in guest_leave. The join orders what threads have done. */
    while ((alive = atomic_load_explicit(&pool->alive, memory_order_acquire)) != 0) {
        if (!in_time)
            return -ETIMEDOUT;
        in_time = vg_futex_wait(&pool->alive, alive, deadline_ns) == 0;
    }
    return 0;
}

void vg_seats_join(vigil_pool *pool)
{
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        if (seat->life != VG_SEAT_EMPTY)
            vg_thread_join(seat->thread);
        seat->life = VG_SEAT_EMPTY;
    }
}

void vg_seats_free(vigil_pool *pool)
{
    for (unsigned i = 0; i < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        if (seat == NULL)
            continue;
        for (unsigned class_ = 0; class_ < VG_CLASSES; class_++)
            vg_deque_destroy(seat->deques[class_]);
        free(seat);
    }
}
