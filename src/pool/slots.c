/* SPDX-License-Identifier: MIT */
/*
 * slots.c - the pool's part of the recorder: its own block, its workers' slots, its histograms. README.md, "File by
 * file".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "slots.h"

#include "past.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <vigil/record.h>

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
    /* relaxed: readers and writers of worker slots hold admin. A spare's slot is in the first block, which is
       older than the first thread. */
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
        error = add_slots(pool, VG_MAX_WORKERS, pool->spare_seats);
    }
    if (error == 0)
        error = vg_slot_blocks_cover(pool, workers);
    if (error == 0 && pool->level >= VIGIL_RECORD_COUNTERS) {
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

void vg_slot_begin_guest(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_file_worker *mine = worker->seat.counts;
    worker->level = pool->level;
    worker->past.next = UINT64_MAX;
    if (worker->level < VIGIL_RECORD_COUNTERS)
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
}

void vg_slot_begin(vg_worker *worker)
{
    vg_slot_begin_guest(worker);
    if (worker->level == VIGIL_RECORD_EVENTS) {
        vg_ring_attach(VG_ROLE_WORKER, worker->pool->block.serial, worker->seat.index);
        vg_cell_set(&worker->seat.counts->thread, vg_my_ring.serial);
    }
    vg_past_begin(worker);
}

void vg_slot_end_guest(vg_worker *worker)
{
    vg_file_worker *mine = worker->seat.counts;
    if (worker->level < VIGIL_RECORD_COUNTERS)
        return;
    vg_cell_set(&mine->tid, 0);
    vg_cell_set(&mine->task_function, 0);
}

void vg_slot_end(vg_worker *worker)
{
    vg_slot_end_guest(worker);
    if (worker->level == VIGIL_RECORD_EVENTS) {
        vg_cell_set(&worker->seat.counts->thread, 0);
        vg_ring_detach();
    }
}
