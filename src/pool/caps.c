/* SPDX-License-Identifier: MIT */
/*
 * caps.c - class caps: how many workers run tasks of one class at a time.
 */
#include "caps.h"

#include "idle.h"
#include "seats.h"

bool vg_cap_enter(vg_worker *worker, unsigned class_)
{
    if (worker->cap_held[class_] == 0) {
        _Atomic uint32_t *used = &worker->pool->cap_used[class_];
        uint32_t seen = atomic_load_explicit(used, memory_order_relaxed);
        do {
            if (seen >= worker->pool->caps[class_])
                return false;
            /* Acquire: pairs with the release in free_cap_place. A cap of one orders a class like a lock. */
        } while (
            !atomic_compare_exchange_weak_explicit(used, &seen, seen + 1, memory_order_acquire, memory_order_relaxed));
    }
    worker->cap_held[class_]++;
    return true;
}

/* The class is no longer full: wake somebody for what waits in it. */
static void look_after_leaving(vigil_pool *pool, unsigned class_)
{
    /* A full fence: the place is free before the word is read; pairs with A of a submit that saw the class full, and
       with B, C and D of a worker that did. */
    atomic_thread_fence(memory_order_seq_cst);
    /* Ready bit or not: a worker that parked while the class was full has cleared it. */
    if (vg_work_visible(pool, 1U << class_))
        vg_announce(pool, class_);
    if (atomic_load_explicit(&pool->cap_mail[class_], memory_order_relaxed) == 0)
        return;
    /* Only the parked worker itself can take its mail. */
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        vg_seat *seat = vg_seat_at(pool, i);
        if ((atomic_load_explicit(&seat->mail_waits, memory_order_relaxed) & (1U << class_)) != 0)
            vg_unpark(seat);
    }
}

/* true: the class was full, so somebody may have relied on the one who leaves it. */
static bool free_cap_place(vigil_pool *pool, unsigned class_)
{
    /* Release: pairs with the acquire in vg_cap_enter. */
    return atomic_fetch_sub_explicit(&pool->cap_used[class_], 1, memory_order_release) >= pool->caps[class_];
}

void vg_cap_leave(vg_worker *worker, unsigned class_)
{
    if (--worker->cap_held[class_] == 0 && free_cap_place(worker->pool, class_))
        worker->caps_left |= 1U << class_;
}

void vg_caps_look_slow(vg_worker *worker)
{
    for (; worker->caps_left != 0; worker->caps_left &= worker->caps_left - 1)
        look_after_leaving(worker->pool, (unsigned)__builtin_ctz(worker->caps_left));
}

void vg_caps_suspend(vg_worker *worker, unsigned held[VG_CLASSES])
{
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        held[class_] = worker->cap_held[class_];
        worker->cap_held[class_] = 0;
        if (held[class_] != 0 && free_cap_place(worker->pool, class_))
            look_after_leaving(worker->pool, class_);
    }
}

void vg_caps_resume(vg_worker *worker, const unsigned held[VG_CLASSES])
{
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++) {
        worker->cap_held[class_] = held[class_];
        if (held[class_] != 0)
            (void)atomic_fetch_add_explicit(&worker->pool->cap_used[class_], 1, memory_order_relaxed);
    }
}
