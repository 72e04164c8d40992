/* SPDX-License-Identifier: MIT */
/* past.h explains. */
#include "past.h"

#include "books.h"
#include "trace.h"

#include <string.h>

#define VG_PAST_STEP_NS 500000000.0

static uint64_t past_step_ticks(const vg_worker *worker)
{
    const double length = vg_tick_length(worker->pool->born);
    return (uint64_t)(VG_PAST_STEP_NS / (length > 0 ? length : 1));
}

void vg_past_begin(vg_worker *worker)
{
    worker->past.next = UINT64_MAX;
#ifndef VIGIL_CHECK /* there, time is a number that the scenarios give */
    if (worker->level == VIGIL_RECORD_EVENTS && vg_my_ring.past != NULL)
        worker->past.next = vg_ticks() + past_step_ticks(worker);
#endif
}

/* One of the workers counts the queues in each step: that costs as much as there are workers. */
static void past_queues(vg_worker *worker, vg_file_past *step, uint64_t now)
{
    vigil_pool *pool = worker->pool;
    uint64_t at = atomic_load_explicit(&pool->past_sums, memory_order_relaxed);
    /* relaxed: it says only who counts */
    if (now < at || !atomic_compare_exchange_strong_explicit(&pool->past_sums, &at, now + past_step_ticks(worker),
                                                             memory_order_relaxed, memory_order_relaxed)) {
        for (unsigned c = 0; c < VG_CLASSES; c++)
            step->queued[c] = VG_PAST_UNKNOWN;
        return;
    }
    vg_class_sums sums[VG_CLASSES];
    vg_pool_sums(pool, sums);
    for (unsigned c = 0; c < VG_CLASSES; c++)
        step->queued[c] = sums[c].submitted - sums[c].withdrawn - sums[c].started - sums[c].cancelled;
}

/* What one in a hundred exceeds, in ticks; 0: nothing waited. The buckets are halves of powers of two. */
static uint64_t past_wait(const uint32_t *waits)
{
    uint64_t all = 0, seen = 0;
    for (unsigned i = 0; i < VG_PAST_WAITS; i++)
        all += waits[i];
    for (unsigned i = 2; all > 0 && i < VG_PAST_WAITS; i++) {
        seen += waits[i];
        if (seen * 100 >= all * 99)
            return (UINT64_C(2) + i % 2 + 1) << (i / 2) >> 1;
    }
    return 0;
}

static uint64_t past_time(const vg_file_worker *mine, vigil_worker_state state, uint64_t now)
{
    const uint64_t since = vg_peek(&mine->state_since);
    return vg_peek(&mine->time[state]) + (vg_peek(&mine->state) == (uint64_t)state && now > since ? now - since : 0);
}

void vg_past_step(vg_worker *worker, uint64_t now)
{
    const vg_file_worker *mine = worker->seat.counts;
    if (vg_my_ring.past == NULL) { /* a forked child has begun a record of its own, which had no room */
        worker->past.next = UINT64_MAX;
        return;
    }
    vg_file_past step = {.ticks = now,
                         .run = past_time(mine, VIGIL_WORKER_RUNNING, now),
                         .blocked = past_time(mine, VIGIL_WORKER_BLOCKED, now)};
    past_queues(worker, &step, now);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        step.started[c] = vg_peek(&mine->of[c].started);
        step.wait[c] = past_wait(worker->past.waits[c]);
    }
    memset(worker->past.waits, 0, sizeof worker->past.waits);
    vg_entry_put(&vg_my_ring.past[worker->past.count++ % VG_FILE_PAST], &step, sizeof step);
    worker->past.next = now + past_step_ticks(worker);
}
