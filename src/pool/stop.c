/* SPDX-License-Identifier: MIT */
/*
 * stop.c - the end of a pool, in three steps. README.md, "File by file".
 */
#include "bound.h"
#include "delay.h"
#include "deque.h"
#include "follow.h"
#include "guest.h"
#include "idle.h"
#include "injector.h"
#include "moving.h"
#include "own.h"
#include "quiescence.h"
#include "run.h"
#include "seats.h"

#include <errno.h>
#include <stddef.h>

static void raise_phase(vigil_pool *pool, vg_phase phase)
{
    uint32_t seen = atomic_load_explicit(&pool->phase, memory_order_relaxed);
    while (seen < (uint32_t)phase &&
           !atomic_compare_exchange_weak_explicit(&pool->phase, &seen, (uint32_t)phase, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    if (phase == VG_DISCARDING)
        (void)atomic_fetch_or_explicit(&pool->idle.word, VG_NO_TAKE_BACK, memory_order_relaxed); /* see join.c */
    vg_cell_set(&pool->shared->phase, atomic_load_explicit(&pool->phase, memory_order_relaxed)); /* may lag */
}

static void close_entrances(vigil_pool *pool)
{
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++)
        vg_injector_close(&pool->injectors[class_]);
    vg_mutex_lock(&pool->admin); /* against a resize that opens a mailbox */
    const unsigned high = atomic_load_explicit(&pool->high, memory_order_relaxed);
    for (unsigned i = 0; i < high; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        if (seat != NULL)
            (void)atomic_fetch_or_explicit(&seat->mailbox, 1U, memory_order_relaxed);
    }
    vg_mutex_unlock(&pool->admin);
    vg_delay_close(pool);
    vg_follow_close(pool);
    vg_guests_close(pool);
    vg_room_close(pool);
}

static void discard_mail(vigil_pool *pool, vg_seat *seat)
{
    uintptr_t head = atomic_fetch_and_explicit(&seat->mailbox, 1U, memory_order_acquire); /* M2, pairs with M1 */
    vigil_task *task = (vigil_task *)(head & ~(uintptr_t)1);
    while (task != NULL) {
        vigil_task *next = task->vg_next;
        /* relaxed: an audit that sees it sees our call, which began before the full fence of close_entrances (R2) */
        (void)atomic_fetch_add_explicit(&seat->mail_taken, 1, memory_order_relaxed);
        vg_discard(pool, task);
        task = next;
    }
}

static void discard_deque(vigil_pool *pool, vg_deque *deque)
{
    vigil_task *task = NULL;
    vg_steal_result result;
    while ((result = vg_deque_steal(deque, pool->fences, &task)) != VG_STEAL_EMPTY)
        if (result == VG_STEAL_WON)
            vg_discard(pool, vg_task_from(pool, vg_worker_of(pool), deque, task));
}

/* Discard what is queued. Running workers discard what they add. */
static void discard_queued(vigil_pool *pool)
{
    vg_delay_cancel_all(pool);
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        vigil_task *task;
        bool more = false;
        while ((task = vg_injector_take(&pool->injectors[class_], &more)) != NULL)
            vg_discard(pool, task);
        if (more)
            vg_announce(pool, class_);
    }
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        discard_mail(pool, seat);
        for (unsigned class_ = 0; class_ < VG_CLASSES; class_++)
            discard_deque(pool, seat->deques[class_]);
    }
}

static int end_pool(vigil_pool *pool, bool at_once, int64_t timeout_ns)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (vg_part_of(pool))
        return vg_why(-EDEADLK, "a task, cancel callback or hook of the pool cannot wait for the end of the pool");
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    raise_phase(pool, at_once ? VG_DISCARDING : VG_DRAINING);
    vg_stripe *call = vg_visit_begin(pool); /* for the audit: before the fence in close_entrances, see discard_mail */
    close_entrances(pool);
    if (at_once)
        discard_queued(pool);
    vg_visit_end(call);
    error = vg_wait_until_idle(pool, deadline);
    if (error != 0)
        return error;
    vg_mutex_lock(&pool->admin);
    if (!pool->joined)
        vg_seats_quit(pool);
    vg_mutex_unlock(&pool->admin);
    error = vg_seats_wait(pool, deadline); /* stop hooks may take long */
    if (error != 0)
        return error;
    vg_mutex_lock(&pool->admin);
    if (!pool->joined) {
        vg_seats_join(pool);
        vg_delay_stop(pool);
        pool->joined = true;
        vg_cell_set(&pool->shared->phase, 3);
    }
    vg_mutex_unlock(&pool->admin);
    return 0;
}

int vigil_pool_shutdown(vigil_pool *pool, int64_t timeout_ns)
{
    return end_pool(pool, false, timeout_ns);
}

int vigil_pool_close(vigil_pool *pool, int64_t timeout_ns)
{
    return end_pool(pool, true, timeout_ns);
}
