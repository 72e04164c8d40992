/* SPDX-License-Identifier: MIT */
/*
 * injector.h - submitted tasks of one class, first in first out over all threads. README.md, "File by file".
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
    _Atomic uint64_t stamp; /* submit time; a copy, because others must not read the task */
} vg_ring_slot;

typedef struct vg_injector {
    alignas(64) _Atomic uintptr_t incoming;
    _Atomic uint64_t incoming_since; /* stamp of the push that found incoming empty */
    alignas(64) _Atomic uint32_t draining;
    _Atomic(vigil_task *) pending;      /* written by the holder; others compare with NULL */
    _Atomic uint64_t pending_count;     /* written by the holder */
    _Atomic uint64_t pending_since;     /* stamp of the first in pending; written by the holder */
    alignas(64) _Atomic int64_t top;    /* workers */
    alignas(64) _Atomic int64_t bottom; /* the holder */
    vg_ring_slot ring[VG_RING_SIZE];
} vg_injector;

void vg_injector_init(vg_injector *injector);

/*
 * Push a chain of tasks, linked by vg_next from newest to oldest. Any thread. even_if_closed: for work that is already
 * accepted. 0; -ESHUTDOWN. The caller announces afterwards (idle.h).
 */
int vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed);

/* Take the oldest task, or NULL. Any thread. *more: the caller has moved tasks and must announce them. */
vigil_task *vg_injector_take(vg_injector *injector, bool *more);

/* Would vg_injector_take find something, apart from what a holder is moving? Any thread. */
bool vg_injector_visible(vg_injector *injector);

/* Is a holder moving tasks, so that take may find nothing although tasks wait? Any thread. */
static inline bool vg_injector_moving(vg_injector *injector)
{
    return atomic_load_explicit(&injector->draining, memory_order_relaxed) != 0;
}

/* From here on only even_if_closed pushes are accepted. Any thread, any number of times. */
void vg_injector_close(vg_injector *injector);

/*
 * Count what waits, for the audit. Moves incoming behind pending, where it may be counted. false: another thread is
 * moving tasks. The caller announces afterwards.
 */
bool vg_injector_count(vg_injector *injector, uint64_t *count);

/*
 * Take out unwanted tasks, linked by vg_next in any order; the ring stays. O(what waits). false: another thread is
 * moving tasks. The caller announces afterwards.
 */
bool vg_injector_sweep(vg_injector *injector, bool (*unwanted)(const vigil_task *task), vigil_task **swept);

/* Stamp of the oldest waiting task, 0 if none is seen. */
uint64_t vg_injector_oldest(vg_injector *injector);

#endif
