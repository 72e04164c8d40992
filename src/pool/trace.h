/* SPDX-License-Identifier: MIT */
/*
 * trace.h - what the pool writes to the recorder (record/record.h), apart from counters. README.md, "Trace", says when
 * the clock is read. Tasks of groups, jobs with a handle and nested tasks are exact; spawns that their parent runs
 * are not recorded.
 */
#ifndef VG_POOL_TRACE_H
#define VG_POOL_TRACE_H

#include "record/probes.h"
#include "pool_struct.h"

#include <vigil/record.h>

/* A nested task: what is shown again afterwards. */
typedef struct vg_trace_frame {
    uint64_t began, id, function;
    uint64_t outer_function, outer_since, outer_id, outer_job;
} vg_trace_frame;

static inline uint64_t vg_peek(const vg_cell *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed); /* our own, or a statistic */
}

void vg_trace_begin_slow(vg_worker *worker, vg_trace_frame *note, const vigil_task *task, void *function, uint64_t key);
void vg_trace_close(vg_worker *worker, int status);
void vg_trace_pause_slow(vg_worker *worker);
void vg_trace_inner_end(vg_worker *worker, const vg_trace_frame *note, unsigned class_, int status);

/* Something that may take long comes between two tasks. */
static inline void vg_trace_pause(vg_worker *worker)
{
    if (worker->last_end != 0 && worker->depth == 0)
        vg_trace_pause_slow(worker);
}

/* The task is about to be called; its depth is counted. Nothing to do if it continues a batch (same function and
   class, all short). `exact`: see above. */
static inline void vg_trace_begin(vg_worker *worker, vg_trace_frame *note, const vigil_task *task, void *function,
                                  bool exact)
{
    const uint64_t key = exact ? 0 : (uint64_t)(uintptr_t)function ^ (uint64_t)(task->vg_class + 1U) << 56;
    if (__builtin_expect(key != worker->batch_key || worker->depth > 1 || exact, 0))
        vg_trace_begin_slow(worker, note, task, function, key);
}

/* Its function has returned; its depth is no longer counted. `simple`: its end is reported to nobody. */
static inline void vg_trace_end(vg_worker *worker, const vg_trace_frame *note, unsigned class_, int status, bool simple)
{
    if (__builtin_expect(worker->depth != 0, 0)) {
        vg_trace_inner_end(worker, note, class_, status);
        return;
    }
    if (++worker->unread < worker->interval && simple)
        return;
    vg_trace_close(worker, status);
    if (!simple)
        worker->last_end = 0;
}

/* `count` tasks are about to be pushed; `first` has the stamp. */
static inline void vg_trace_submit(vigil_pool *pool, const vigil_task *first, void *function, unsigned class_,
                                   uint64_t count)
{
    VG_PROBE(submit, pool->block.serial, function, class_, count);
    if (pool->level == VIGIL_RECORD_EVENTS)
        vg_event_put(first->vg_stamp, vg_event_what(VG_EVENT_SUBMIT, class_, (uint64_t)(uintptr_t)function),
                     pool->block.serial << 32 | (count & 0xffffffffU), (uint64_t)(uintptr_t)first);
}

/* The current wait of a thread, and the outer one below it on the stack. */
typedef struct vg_waiting {
    vg_file_wait *wait; /* NULL: not recorded */
    uint64_t outer_kind, outer_on, outer_where, outer_since;
} vg_waiting;

/* worker: the caller, NULL if it is not of this pool. */
vg_waiting vg_trace_wait(vigil_pool *pool, const vg_worker *worker, vg_wait_kind kind, uint64_t on, const void *where);
void vg_trace_waited(const vigil_pool *pool, const vg_waiting *waiting);

void vg_trace_time(vg_worker *worker, vg_file_hist *hist, uint64_t ticks, uint64_t times);
void vg_trace_steal(vg_worker *thief, unsigned class_, unsigned victim);
/* Worker `index` slept and is woken, at that time. */
void vg_trace_wake(const vigil_pool *pool, unsigned index, uint64_t at);
void vg_trace_parked(vg_worker *worker, uint64_t since); /* it is back since state_since */
void vg_trace_map_ahead(const vigil_pool *pool);         /* nobody waits for the caller now: ring.h */

#endif
