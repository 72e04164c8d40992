/* SPDX-License-Identifier: MIT */
/*
 * injector.h - the way into the pool for submitted work: one for each class, first in first out over all threads.
 *
 *   incoming   a stack that any thread pushes to with one compare-and-swap; nobody pops from it, it is taken whole with
 *              one exchange, so there is no ABA. Its lowest bit says closed: a push is in before the close, or refused.
 *   pending    what was taken from incoming, turned round, oldest first. Belongs to whoever holds `draining`.
 *   ring       the oldest few, filled by the holder of `draining` when it is empty, emptied from the top by any worker
 *              with one compare-and-swap.
 *
 * `draining` is not a lock that anybody waits for. A worker that finds it taken goes on as if the injector were empty: the
 * holder is a running worker, and when it lets go it announces what it leaves behind like any publisher (invariant 4 of
 * IDLE.md). So a holder that the system has put aside delays tasks, but nobody spins for it and no wake-up is lost.
 *
 * Rejected: a lock around a list (a holder that is preempted stops all 33 workers), an exchange-based queue (a producer
 * that is preempted between its two steps hides the tasks of all later ones), taking several tasks at a time into the
 * worker's deque (the second would start after the twentieth).
 */
#ifndef VG_POOL_INJECTOR_H
#define VG_POOL_INJECTOR_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <vigil/pool.h>

#ifdef VIGIL_CHECK
#define VG_RING_SIZE 2
#else
#define VG_RING_SIZE 256
#endif

typedef struct vg_ring_slot {
    _Atomic(vigil_task *) task;
    _Atomic uint64_t
        stamp; /* when it was submitted; a copy, because the task itself is not ours to read from outside */
} vg_ring_slot;

typedef struct vg_injector {
    alignas(64) _Atomic uintptr_t incoming;
    _Atomic uint64_t incoming_since; /* stamp of the push that found incoming empty; for statistics */
    alignas(64) _Atomic uint32_t draining;
    _Atomic(vigil_task *) pending;      /* written by the holder of draining; others only ask whether it is NULL */
    _Atomic uint64_t pending_count;     /* written by the holder */
    _Atomic uint64_t pending_since;     /* stamp of the first in pending; written by the holder */
    alignas(64) _Atomic int64_t top;    /* workers */
    alignas(64) _Atomic int64_t bottom; /* the holder */
    vg_ring_slot ring[VG_RING_SIZE];
} vg_injector;

void vg_injector_init(vg_injector *injector);

/*
 * Push a chain of tasks, linked by vg_next from the newest to the oldest. Any thread.
 * even_if_closed: for work that is already accepted (spawns, tasks of a worker that goes).
 * 0, or -ESHUTDOWN. The caller announces the work afterwards (idle.h).
 */
int vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);

/* Take the oldest task, or NULL. Any thread. *more: the caller has moved tasks on and must announce them. */
vigil_task *vg_injector_take(vg_injector *injector, bool *more);

/* Is there something that vg_injector_take would find, apart from what another is moving right now? Any thread. */
bool vg_injector_visible(vg_injector *injector);

/* Is another moving tasks from list to ring, so that take finds nothing although there may be something? Any thread. */
static inline bool vg_injector_moving(vg_injector *injector)
{
    return atomic_load_explicit(&injector->draining, memory_order_relaxed) != 0;
}

/* From here on only even_if_closed pushes are taken. Any thread, any number of times. */
void vg_injector_close(vg_injector *injector);

/*
 * Count what waits: moves incoming behind pending, where the tasks can be counted without touching one that is not ours.
 * false: another is moving tasks; ask again. The caller announces afterwards. For the audit.
 */
bool vg_injector_count(vg_injector *injector, uint64_t *count);

/*
 * Take out what is unwanted, linked by vg_next in any order; what has come as far as the ring stays. O(what waits).
 * false: another is moving tasks; ask again. The caller announces afterwards, as after a count.
 */
bool vg_injector_sweep(vg_injector *injector, bool (*unwanted)(const vigil_task *task), vigil_task **swept);

/* The stamp of the oldest task that waits, 0 if none is seen. */
uint64_t vg_injector_oldest(vg_injector *injector);

#endif
