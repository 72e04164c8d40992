/* SPDX-License-Identifier: MIT */
/*
 * slots.c - the pool's part of the recorder: its own block, its workers' slots, its histograms.
 *
 * Slots come in blocks, each twice as large as all before, so a pool that grows one worker at a time needs few. Those of the
 * spares are there from the beginning: a spare is started under a lock that allows nothing more.
 *
 * The first workers have histograms of their own; whoever comes later, and all spares, share the last set.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "note.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#ifdef VIGIL_CHECK
#define VG_OWN_HISTS 1
#else
#define VG_OWN_HISTS 63
#endif

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static int add_slots(vigil_pool *pool, unsigned first, unsigned count)
{
    const unsigned at = atomic_load_explicit(&pool->slot_blocks, memory_order_relaxed); /* under admin */
    vg_slot_block *slots = &pool->slots[at];
    int error =
        vg_block_get(&slots->block, VG_BLOCK_WORKERS, count * sizeof(vg_file_worker), pool->block.serial, count);
    if (error != 0)
        return error;
    slots->first = first;
    slots->count = count;
    vg_file_worker *workers = slots->block.memory;
    for (unsigned i = 0; i < count; i++)
        workers[i].index = first + i;
    vg_block_show(&slots->block);
    atomic_store_explicit(&pool->slot_blocks, at + 1, memory_order_relaxed); /* relaxed: see vg_slot_of */
    return 0;
}

int vg_slot_blocks_cover(vigil_pool *pool, unsigned workers)
{
    if (workers <= pool->slots_covered)
        return 0;
    unsigned more = workers - pool->slots_covered;
    if (more < pool->slots_covered)
        more = pool->slots_covered;
    if (pool->slots_covered + more > VG_MAX_WORKERS)
        more = VG_MAX_WORKERS - pool->slots_covered;
    int error = add_slots(pool, pool->slots_covered, more);
    if (error == 0)
        pool->slots_covered += more;
    return error;
}

vg_file_worker *vg_slot_of(vigil_pool *pool, unsigned index)
{
    /* relaxed: who asks for a worker's slot holds admin, as who adds one does; who starts a spare may not, but finds its slot in the
       first block, which is older than the pool's first thread, and looks at no other */
    const unsigned blocks = atomic_load_explicit(&pool->slot_blocks, memory_order_relaxed);
    for (unsigned i = 0; i < blocks; i++) {
        const vg_slot_block *slots = &pool->slots[i];
        if (index >= slots->first && index - slots->first < slots->count)
            return (vg_file_worker *)slots->block.memory + (index - slots->first);
    }
    return NULL;
}

int vg_slot_blocks_open(vigil_pool *pool, unsigned workers)
{
    pool->level = (uint8_t)vg_record_hold(&pool->record_epoch);
    int error = vg_block_get(&pool->block, VG_BLOCK_POOL, sizeof *pool->shared, 0, 1);
    if (error == 0) {
        pool->shared = pool->block.memory;
        if (pool->max_spares != 0)
            error = add_slots(pool, VG_MAX_WORKERS, pool->max_spares);
    }
    if (error == 0)
        error = vg_slot_blocks_cover(pool, workers);
    if (error == 0 && pool->level >= VIGIL_WATCH_COUNTERS) {
        pool->hist_sets = (workers < VG_OWN_HISTS ? workers : VG_OWN_HISTS) + 1;
        error = vg_block_get(&pool->hists, VG_BLOCK_HISTS, pool->hist_sets * sizeof(vg_file_pool_hists),
                             pool->block.serial, pool->hist_sets);
    }
    if (error != 0)
        vg_slot_blocks_close(pool);
    return error;
}

void vg_slot_blocks_show(vigil_pool *pool)
{
    vg_file_pool *shared = pool->shared;
    _Static_assert(sizeof shared->name == sizeof pool->name, "the name fits");
    memcpy(shared->name, pool->name, sizeof shared->name);
    shared->born_ticks = pool->born.ticks;
    shared->max_queue = pool->max_queue;
    for (unsigned c = 0; c < VG_CLASSES; c++)
        shared->caps[c] = pool->caps[c];
    vg_cell_set(&shared->max_spares, pool->max_spares);
    vg_block_show(&pool->block);
    if (pool->hists.memory != NULL)
        vg_block_show(&pool->hists);
}

void vg_slot_blocks_close(vigil_pool *pool)
{
    const unsigned blocks = atomic_load_explicit(&pool->slot_blocks, memory_order_relaxed); /* nobody else is here */
    for (unsigned i = 0; i < blocks; i++)
        vg_block_put(&pool->slots[i].block);
    vg_block_put(&pool->hists);
    vg_block_put(&pool->block);
    vg_record_release(pool->record_epoch);
}

/* ---- the worker's thread ----------------------------------------------------------------------------------------- */

void vg_slot_begin(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_file_worker *mine = worker->seat.counts;
    worker->level = pool->level;
    if (worker->level < VIGIL_WATCH_COUNTERS)
        return;
    vg_file_pool_hists *sets = pool->hists.memory;
    const unsigned last = pool->hist_sets - 1;
    worker->hists_shared = worker->seat.index >= last;
    worker->hists = &sets[worker->hists_shared ? last : worker->seat.index];
    worker->last_end = 0;
    worker->batch_key = 0;
    worker->unread = 0;
    worker->interval = 1;
    vg_cell_set(&mine->tid, (uint64_t)gettid());
    if (worker->level == VIGIL_WATCH_EVENTS) {
        vg_ring_attach(VG_ROLE_WORKER, pool->block.serial, worker->seat.index);
        vg_cell_set(&mine->thread, vg_my_ring.serial);
    }
}

void vg_slot_end(vg_worker *worker)
{
    vg_file_worker *mine = worker->seat.counts;
    if (worker->level < VIGIL_WATCH_COUNTERS)
        return;
    vg_cell_set(&mine->tid, 0);
    vg_cell_set(&mine->task_function, 0);
    if (worker->level == VIGIL_WATCH_EVENTS) {
        vg_cell_set(&mine->thread, 0);
        vg_ring_detach();
    }
}

/* ---- events that are not hot ------------------------------------------------------------------------------------- */

void vg_trace_steal(vg_worker *thief, unsigned class_, unsigned victim)
{
    VG_PROBE(steal, thief->pool->block.serial, thief->seat.index, victim);
    if (thief->level == VIGIL_WATCH_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_STEAL, class_, 0), (uint64_t)victim << 32 | 1U, 0);
}

void vg_trace_wake(vg_seat *seat)
{
    vigil_pool *pool = seat->pool;
    VG_PROBE(wake, pool->block.serial, seat->index);
    const uint64_t now = vg_ticks();
    vg_cell_set(&seat->counts->called_at, now); /* of two wakers the later counts */
    if (pool->level == VIGIL_WATCH_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_WAKE, 0, 0), pool->block.serial << 32 | seat->index, 0);
}

void vg_trace_parked(vg_worker *worker, uint64_t since)
{
    vg_file_worker *mine = worker->seat.counts;
    if (worker->level < VIGIL_WATCH_COUNTERS)
        return;
    const uint64_t now = vg_peek(&mine->state_since);
    const uint64_t called = vg_peek(&mine->called_at);
    uint64_t latency = 0;
    if (called > since && now > called) { /* it was called in this very sleep */
        latency = now - called;
        vg_trace_time(worker, &worker->hists->wake, latency, 1);
    }
    if (worker->level == VIGIL_WATCH_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_PARK, 0, 0), latency, now > since ? now - since : 0);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

vg_waiting vg_trace_wait(vigil_pool *pool, const vg_worker *worker, vg_wait_kind kind, uint64_t on, const void *where)
{
    vg_waiting waiting = {.wait = NULL};
    if (pool->level < VIGIL_WATCH_COUNTERS)
        return waiting;
    if (worker != NULL) {
        waiting.wait = &worker->seat.counts->wait;
    } else if (vg_current_worker != NULL) {
        waiting.wait = &vg_current_worker->seat.counts->wait; /* of another pool */
    } else if (pool->level == VIGIL_WATCH_EVENTS) {
        if (vg_my_ring.epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed)) /* as in vg_event_put */
            vg_ring_attach(VG_ROLE_OTHER, 0, 0);
        waiting.wait = vg_my_ring.thread != NULL ? &vg_my_ring.thread->wait : NULL;
    }
    if (waiting.wait == NULL)
        return waiting;
    waiting.outer_kind = vg_peek(&waiting.wait->kind);
    waiting.outer_on = vg_peek(&waiting.wait->on);
    waiting.outer_where = vg_peek(&waiting.wait->where);
    waiting.outer_since = vg_peek(&waiting.wait->since);
    vg_wait_end(waiting.wait);
    vg_wait_begin(waiting.wait, kind, on, (uint64_t)(uintptr_t)where, vg_ticks());
    return waiting;
}

void vg_trace_waited(const vigil_pool *pool, const vg_waiting *waiting)
{
    vg_file_wait *wait = waiting->wait;
    if (wait == NULL)
        return;
    if (pool->level == VIGIL_WATCH_EVENTS) {
        const uint64_t now = vg_ticks();
        const uint64_t since = vg_peek(&wait->since);
        vg_event_put(now, vg_event_what(VG_EVENT_WAIT, (unsigned)vg_peek(&wait->kind), vg_peek(&wait->where)),
                     vg_peek(&wait->on), now > since ? now - since : 0);
    }
    vg_wait_end(wait);
    if (waiting->outer_kind != VG_WAIT_NONE)
        vg_wait_begin(wait, (vg_wait_kind)waiting->outer_kind, waiting->outer_on, waiting->outer_where,
                      waiting->outer_since);
}
