/* SPDX-License-Identifier: MIT */
/*
 * room.c - what a loop has of promises: their memory, the list of the pending, and their end.
 *
 * The end of the loop (docs/promise.md, E-a) goes in rounds, with all microtasks between them, so that handlers see a world in
 * which things happen one after the other: first the operations and the promises that wait for nothing else are rejected; their
 * handlers settle what is derived from them. When a round finds only promises that wait for each other, there is a cycle, and every
 * cycle has a link that was made by adoption: those are rejected. When nothing is pending, the room is closed.
 */
#include "inner.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_ROUNDS = 1000 /* handlers that make new promises all the time do not keep the loop from ending */
};

static void room_checkpoint(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_room_report(upstairs, loop);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Move all of `from` behind `to`. */
static void ring_move(vg_ring *to, vg_ring *from)
{
    while (!vg_ring_empty(from)) {
        vigil_promise *promise = vg_ring_promise(from->next);
        vg_ring_remove(promise);
        vg_ring_add(to, promise);
    }
}

/* From here on those that other threads have made are like the owner's. */
static void take_in_away(vg_room *room)
{
    vg_mutex_lock(&room->away_lock);
    for (vg_ring *it = room->away_pending.next; it != &room->away_pending; it = it->next)
        vg_ring_promise(it)->flags &= (uint16_t)~VG_AWAY;
    ring_move(&room->pending, &room->away_pending);
    vg_mutex_unlock(&room->away_lock);
}

/* Reject those that wait for nothing else; or have one of the flags. */
static bool reject_pending(vg_room *room, uint16_t or_with)
{
    vg_ring now;
    bool any = false;
    vg_ring_init(&now);
    ring_move(&now, &room->pending);
    while (!vg_ring_empty(&now)) {
        vigil_promise *promise = vg_ring_promise(now.next);
        if ((promise->flags & VG_WAITING) != 0 && (promise->flags & or_with) == 0) {
            vg_ring_remove(promise);
            vg_ring_add(&room->pending, promise);
            continue;
        }
        any = true;
        vg_promise_force(promise, -ESHUTDOWN);
    }
    return any;
}

/* The loop is closed: nobody is told of them any more. */
static void forget_rejected(vg_room *room)
{
    while (!vg_ring_empty(&room->rejected)) {
        vigil_promise *promise = vg_ring_promise(room->rejected.next);
        vg_ring_remove(promise);
        vg_promise_unhold(promise);
    }
}

static bool room_end(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_room *room = (vg_room *)upstairs;
    room->ending = true;
    bool last_round = ++room->end_rounds >= END_ROUNDS;
    if (last_round)
        atomic_store_explicit(&room->ended, true, memory_order_relaxed); /* what is there goes, nothing new comes */
    bool any = vg_room_end_ops(room);
    take_in_away(room);
    any = reject_pending(room, 0) || any;
    if (any || reject_pending(room, VG_ADOPTS) || reject_pending(room, VG_WAITING))
        return true;
    vg_mutex_lock(&room->away_lock);
    bool over = vg_ring_empty(&room->away_pending);
    if (over) /* release: who sees it, sees every promise settled; pairs with the acquire in vg_room_ended */
        atomic_store_explicit(&room->ended, true, memory_order_release);
    vg_mutex_unlock(&room->away_lock);
    if (over && loop->ended)
        forget_rejected(room);
    return !over;
}

static void room_destroy(vg_room *room)
{
    vigil_loop *loop = room->loop;
    for (int i = 0; i < VG_SLABS; i++)
        vg_slab_destroy(&room->slabs[i]);
    free(room);
    vg_loop_free(loop);
}

/* `change` objects more (or less) than before, seen from another thread. */
static void count_away(vg_room *room, int64_t change)
{
    /* acq_rel: each thread's last touch of the room comes before its end */
    if (atomic_fetch_add_explicit(&room->away, change, memory_order_acq_rel) + change == 0)
        room_destroy(room);
}

static bool room_gone(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_room *room = (vg_room *)upstairs;
    (void)loop;
    forget_rejected(room);
    uint64_t own = atomic_load_explicit(&room->own, memory_order_relaxed) +
                   atomic_load_explicit(&room->own_created, memory_order_relaxed) -
                   atomic_load_explicit(&room->own_destroyed, memory_order_relaxed);
    count_away(room, (int64_t)own - VG_ROOM_OPEN);
    return true; /* it has been freed just now, or will be */
}

/* Whoever held a lock at the fork is not here. */
static void room_forked(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_room *room = (vg_room *)upstairs;
    (void)loop;
    vg_mutex_init(&room->away_lock);
    for (unsigned i = 0; i < VG_ROOM_STRIPES; i++)
        vg_mutex_init(&room->stripes[i].lock);
    atomic_store_explicit(&room->waiters, 0, memory_order_relaxed);
    if (room->fences == VG_FENCE_MEMBARRIER)
        (void)vg_fence_register(); /* belongs to the process; succeeded in the parent */
    vg_room_fork_ops(room);
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) vg_room *room_make(vigil_loop *loop)
{
    vg_room *room = aligned_alloc(64, (sizeof *room + 63) / 64 * 64);
    if (room == NULL)
        return NULL;
    memset(room, 0, sizeof *room);
    room->upstairs =
        (vg_upstairs){.checkpoint = room_checkpoint, .end = room_end, .gone = room_gone, .forked = room_forked};
    room->loop = loop;
    room->fences = vg_fence_register() == 0 ? VG_FENCE_MEMBARRIER : VG_FENCE_SYMMETRIC;
    atomic_init(&room->away, VG_ROOM_OPEN);
    vg_ring_init(&room->pending);
    vg_ring_init(&room->away_pending);
    vg_ring_init(&room->rejected);
    vg_slab_init(&room->slabs[VG_SLAB_PROMISES], sizeof(vigil_promise));
    vg_slab_init(&room->slabs[VG_SLAB_OPS], vg_op_size());
    for (int i = 0; i < VG_SLABS; i++) {
        vg_slab_cache_init(&room->caches[i], &room->slabs[i]);
        for (unsigned k = 0; k < VG_ROOM_STRIPES; k++)
            vg_slab_cache_init(&room->stripes[k].caches[i], &room->slabs[i]);
    }
    return room;
}

static inline vg_room *room_find_or_make(vigil_loop *loop, int *error)
{
    /* acquire: what its maker wrote; pairs with the release below */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    if (__builtin_expect(upstairs == NULL, 0)) {
        vg_room *room = room_make(loop);
        if (room == NULL) {
            *error = vg_refuse(loop, -ENOMEM, "no memory for the loop's first promise");
            return NULL;
        }
        /* release: the room's fields; pairs with the acquires here and in src/loop. acquire if it fails: another's room */
        if (atomic_compare_exchange_strong_explicit(&loop->upstairs, &upstairs, &room->upstairs, memory_order_release,
                                                    memory_order_acquire))
            return room;
        free(room);
    }
    if (__builtin_expect(upstairs == &vg_upstairs_none, 0)) {
        *error = vg_refuse(loop, -ESHUTDOWN, "the loop has ended; make a new one");
        return NULL;
    }
    return (vg_room *)upstairs;
}

vg_room *vg_room_of(vigil_loop *loop, int *error)
{
    *error = vg_guard_any(loop);
    if (*error != 0)
        return NULL;
    vg_room *room = room_find_or_make(loop, error);
    if (room != NULL && vg_room_ended(room)) {
        *error = vg_refuse(loop, -ESHUTDOWN, "the loop has ended; make a new one");
        return NULL;
    }
    return room;
}

vg_room *vg_room_of_owner(vigil_loop *loop, int *error)
{
    *error = vg_guard_owner(loop);
    if (*error != 0)
        return NULL;
    vg_room *room = room_find_or_make(loop, error);
    if (room == NULL)
        return NULL;
    *error = vg_room_guard_owner(room);
    return *error == 0 ? room : NULL;
}

int vg_room_guard_owner_slow(const vg_room *room)
{
    vigil_loop *loop = room->loop;
    int error = vg_guard_owner(loop);
    if (error != 0)
        return error;
    if (loop->ended || vg_room_ended(room))
        return vg_refuse(loop, -ESHUTDOWN, "the loop has ended; make a new one");
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void *vg_room_alloc_away(vg_room *room, int slab)
{
    vg_room_stripe *stripe = &room->stripes[vg_thread_number() % VG_ROOM_STRIPES];
    vg_mutex_lock(&stripe->lock);
    void *object = vg_slab_alloc(&stripe->caches[slab]);
    vg_mutex_unlock(&stripe->lock);
    if (object != NULL)
        count_away(room, 1);
    return object;
}

void vg_room_free_away(vg_room *room, int slab, void *object)
{
    vg_room_stripe *stripe = &room->stripes[vg_thread_number() % VG_ROOM_STRIPES];
    vg_mutex_lock(&stripe->lock);
    vg_slab_free(&stripe->caches[slab], object);
    vg_mutex_unlock(&stripe->lock);
    count_away(room, -1);
}

/* ---- looking at it ----------------------------------------------------------------------------------------------- */

int vigil_promise_stats_get(vigil_loop *loop, vigil_promise_stats *stats)
{
    int error = vg_guard_any(loop);
    if (error != 0)
        return error;
    if (stats == NULL)
        return vg_refuse(loop, -EINVAL, "there is nowhere to put the statistics");
    vigil_promise_stats ours = {.size = sizeof ours};
    /* acquire: what its maker wrote; pairs with the release in room_find_or_make */
    vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_acquire);
    if (upstairs != NULL && upstairs != &vg_upstairs_none) {
        vg_room *room = (vg_room *)upstairs;
        /* The destroyed first: what is made and destroyed between the looks counts as alive, not as less than nothing. They are
           relaxed, so the second look may be the older one all the same. */
        uint64_t destroyed = atomic_load_explicit(&room->own_destroyed, memory_order_relaxed) +
                             atomic_load_explicit(&room->away_destroyed, memory_order_relaxed);
        ours.created = atomic_load_explicit(&room->own_created, memory_order_relaxed) +
                       atomic_load_explicit(&room->away_created, memory_order_relaxed);
        ours.alive = ours.created > destroyed ? ours.created - destroyed : 0;
        ours.unhandled = atomic_load_explicit(&room->unhandled, memory_order_relaxed);
        ours.handled_late = atomic_load_explicit(&room->handled_late, memory_order_relaxed);
        ours.in_flight = atomic_load_explicit(&room->in_flight, memory_order_relaxed);
        ours.chunks = vg_slab_chunks(&room->slabs[VG_SLAB_PROMISES]) + vg_slab_chunks(&room->slabs[VG_SLAB_OPS]);
    }
    if (vg_options_give(stats, stats->size, &ours, sizeof ours, 2 * sizeof(uint64_t)) != 0)
        return vg_refuse(loop, -EINVAL, "stats->size must be the size of the struct");
    return 0;
}
