/* SPDX-License-Identifier: MIT */
/*
 * reader_snapshot.c - copying what is in the file, and turning it into something that can be shown.
 *
 * First everything is copied, then it is judged. A block counts only if its entry in the directory is the same before
 * and after: otherwise its owner is gone, and the bytes belong to another.
 *
 * Blocks are copied three times, but for the histograms: in which order the words of one copy are read is the kernel's
 * business, and what counts the changes of others has to be known before and after them (waits, histories; record.h).
 * Of pools and workers the first two copies are made shortly after each other: ends and starts of tasks are taken from
 * the first, submits from the second. Since a task is counted as submitted, then as started, then as ended, what seems
 * to be queued is at most what came between the two copies too much. Inside the first copy the counters lie in the
 * order in which they are wanted; should they be read in another, a difference that would be negative is shown as 0.
 *
 * An aligned word is copied whole by the kernels and machines that we know, so a cell is never torn. Nothing depends on
 * that but the numbers that are shown.
 */
#include "reader_snapshot.h"
#include "process.h"
#include "raw.h"
#include "reader_entries.h"
#include "reader_io.h"
#include "reader_loop.h"
#include "reader_pool.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No file that we write comes near these; they keep one that is made to do harm from using up our memory. */
enum {
    MOST_ENTRIES = 4096,
    MOST_COPIED = 1 << 28
};

/* ---- times ------------------------------------------------------------------------------------------------------- */

uint64_t vg_raw_ns(const vg_raw *raw, uint64_t ticks)
{
    const double ns = (double)ticks * raw->snapshot->tick_ns;
    return ns < 1.8e19 ? (uint64_t)ns : UINT64_MAX;
}

uint64_t vg_raw_age(const vg_raw *raw, uint64_t ticks)
{
    return ticks == 0 ? 0 : vg_raw_ns(raw, vg_less(raw->snapshot->now_ticks, ticks));
}

static int64_t signed_ns(double ns)
{
    return ns > 9e18 ? INT64_MAX : ns < -9e18 ? INT64_MIN : (int64_t)ns;
}

uint64_t vg_raw_age_of_ns(const vg_raw *raw, uint64_t ns)
{
    const vg_file_header *header = &raw->reader->header;
    const uint64_t passed = vg_raw_ns(raw, vg_less(raw->snapshot->now_ticks, header->born_ticks));
    return ns == 0 ? 0 : vg_less(header->born_ns + passed, ns);
}

int64_t vg_snapshot_age(const vg_snapshot *snapshot, uint64_t ticks)
{
    return signed_ns((double)(int64_t)(snapshot->now_ticks - ticks) * snapshot->tick_ns);
}

int64_t vg_snapshot_time(const vg_snapshot *snapshot, uint64_t ticks)
{
    return signed_ns((double)(int64_t)(ticks - snapshot->born_ticks) * snapshot->tick_ns);
}

/* How long a tick is, from two moments on both clocks. */
static double tick_length(uint64_t ticks, uint64_t ns)
{
    if (ticks == 0 || ns == 0)
        return 1.0;
    const double length = (double)ns / (double)ticks;
    return length > 1e-3 && length < 1e3 ? length : 1.0; /* 1 MHz to 1 THz: else it is no clock */
}

static void set_clock(vg_raw *raw, bool same_clock)
{
    const vg_file_header *header = &raw->reader->header;
    vg_snapshot *snapshot = raw->snapshot;
    const vg_tick_base now = vg_tick_base_now();
    if (same_clock && now.ticks > header->born_ticks && now.ns > header->born_ns)
        snapshot->tick_ns = tick_length(now.ticks - header->born_ticks, now.ns - header->born_ns);
    else
        snapshot->tick_ns = tick_length(vg_less(vg_raw_get(&header->mark_ticks), header->born_ticks),
                                        vg_less(vg_raw_get(&header->mark_ns), header->born_ns));
    snapshot->now_ticks = snapshot->alive ? now.ticks : raw->last;
    snapshot->born_ticks = header->born_ticks;
    snapshot->born_wall_ns = header->born_wall_ns;
    snapshot->age_ns = vg_raw_age(raw, header->born_ticks);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

vg_wait_view vg_raw_wait(const vg_raw *raw, const vg_file_wait *before, const vg_file_wait *wait,
                         const vg_file_wait *after)
{
    const uint64_t writes = vg_raw_get(&before->writes);
    const uint64_t kind = vg_raw_get(&wait->kind);
    vg_wait_view view = {.kind = VG_WAIT_NONE};
    if (writes % 2 != 0 || vg_raw_get(&after->writes) != writes || kind == VG_WAIT_NONE || kind >= VG_WAIT_KINDS)
        return view;
    view.kind = (vg_wait_kind)kind;
    view.on = vg_raw_get(&wait->on);
    view.where = vg_raw_get(&wait->where);
    view.age_ns = vg_raw_age(raw, vg_raw_get(&wait->since));
    return view;
}

unsigned vg_raw_history(const vg_raw *raw, const vg_cell *before, const vg_file_change *changes, const vg_cell *after,
                        vg_change_view *history)
{
    const uint64_t end = vg_raw_get(before);
    const uint64_t now = vg_raw_get(after);
    /* What was written since then lies over the oldest ones, and number `now` is perhaps being written. */
    const uint64_t first = now >= VG_FILE_HISTORY ? now - VG_FILE_HISTORY + 1 : 0;
    unsigned count = 0;
    while (count < VG_FILE_HISTORY - 1 && end > first + count) {
        const vg_file_change *change = &changes[(end - 1 - count) % VG_FILE_HISTORY];
        const uint64_t state = vg_raw_get(&change->state);
        if (state >= VG_FILE_STATES)
            break;
        history[count].state = (unsigned)state;
        history[count].age_ns = vg_raw_age(raw, vg_raw_get(&change->since));
        count++;
    }
    return count;
}

/* ---- copying ----------------------------------------------------------------------------------------------------- */

/* How much of a block is copied; 0: it is none that we know, or too short for what it claims. */
static size_t wanted_bytes(const vg_reader *reader, const vg_raw_block *block)
{
    uint64_t needed = 0;
    uint64_t copied = 0;
    switch (block->kind) {
    case VG_BLOCK_POOL:
        needed = copied = sizeof(vg_file_pool);
        break;
    case VG_BLOCK_WORKERS:
        if (block->entries <= MOST_ENTRIES)
            needed = copied = block->entries * sizeof(vg_file_worker);
        break;
    case VG_BLOCK_HISTS:
        if (block->entries <= MOST_ENTRIES)
            needed = copied = block->entries * sizeof(vg_file_pool_hists);
        break;
    case VG_BLOCK_LOOP:
        needed = copied = sizeof(vg_file_loop);
        break;
    case VG_BLOCK_IO:
        needed = copied = sizeof(vg_file_ios);
        break;
    case VG_BLOCK_RING:
        if (block->entries == reader->header.ring_events) {
            needed = vg_ring_bytes(block->entries);
            copied = sizeof(vg_file_thread);
        }
        break;
    default:
        break;
    }
    return needed <= block->bytes ? (size_t)copied : 0;
}

static int copy_directory(const vg_reader *reader, vg_file_block **directory)
{
    int error = 0;
    *directory = vg_reader_copy(reader, reader->header.sections[VG_SECTION_DIRECTORY].offset,
                                VG_FILE_BLOCKS * sizeof **directory, &error);
    return error;
}

static bool is_counted(const vg_raw_block *block)
{
    return block->kind == VG_BLOCK_POOL || block->kind == VG_BLOCK_WORKERS;
}

/* Memory for a copy, which is there already: a copy that has to wait for pages takes longer than the file stays the
   same. */
static void *room_for(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory != NULL)
        memset(memory, 1, bytes);
    return memory;
}

/* Blocks of an honest file do not overlap, so all of them together are no longer than the file. In one that claims
   more, the same bytes would be copied again and again. */
static bool fits_file(const vg_raw *raw)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < raw->count; i++) {
        sum += raw->blocks[i].bytes;
        if (sum < raw->blocks[i].bytes)
            return false;
    }
    return vg_reader_holds(raw->reader, 0, sum);
}

/* A file may be long and hold next to nothing, so its length alone is no limit. */
static bool copies_are_few(vg_raw *raw)
{
    for (size_t i = 0; i < raw->count; i++) {
        const size_t bytes = wanted_bytes(raw->reader, &raw->blocks[i]);
        raw->copied += raw->blocks[i].kind != VG_BLOCK_HISTS ? 3 * bytes : bytes;
    }
    return raw->copied <= MOST_COPIED;
}

static int make_copies_room(vg_raw *raw)
{
    if (!fits_file(raw) || !copies_are_few(raw))
        return -EBADMSG;
    for (size_t i = 0; i < raw->count; i++) {
        vg_raw_block *block = &raw->blocks[i];
        const size_t bytes = wanted_bytes(raw->reader, block);
        const bool thrice = block->kind != VG_BLOCK_HISTS;
        if (bytes == 0 || !vg_reader_holds(raw->reader, block->offset, bytes)) {
            block->kind = VG_BLOCK_FREE;
            continue;
        }
        char *memory = room_for(thrice ? 3 * bytes : bytes);
        if (memory == NULL)
            return -ENOMEM;
        block->memory = memory;
        raw->before[i] = thrice ? memory + bytes : NULL;
        raw->after[i] = thrice ? memory + 2 * bytes : NULL;
    }
    return 0;
}

/* Copy those that are counted, or the others, to where `to` says (NULL: not wanted). What cannot be read any more is
   left out. */
static void copy_blocks(vg_raw *raw, bool counted, void *const *to)
{
    for (size_t i = 0; i < raw->count; i++) {
        vg_raw_block *block = &raw->blocks[i];
        void *memory = to != NULL ? to[i] : block->memory;
        if (block->kind == VG_BLOCK_FREE || memory == NULL || is_counted(block) != counted)
            continue;
        if (vg_reader_read(raw->reader, block->offset, memory, wanted_bytes(raw->reader, block)) != 0)
            block->kind = VG_BLOCK_FREE;
    }
}

static int by_serial(const void *a, const void *b)
{
    const uint64_t x = ((const vg_raw_block *)a)->serial;
    const uint64_t y = ((const vg_raw_block *)b)->serial;
    return (x > y) - (x < y);
}

static void list_blocks(vg_raw *raw, const vg_file_block *directory)
{
    for (size_t i = 0; i < VG_FILE_BLOCKS; i++) {
        vg_raw_block block = {.serial = vg_raw_get(&directory[i].serial),
                              .kind = vg_raw_get(&directory[i].kind),
                              .owner = vg_raw_get(&directory[i].owner),
                              .entries = vg_raw_get(&directory[i].entries),
                              .offset = vg_raw_get(&directory[i].offset),
                              .bytes = vg_raw_get(&directory[i].bytes)};
        if (block.serial != 0 && wanted_bytes(raw->reader, &block) != 0)
            raw->blocks[raw->count++] = block;
    }
    qsort(raw->blocks, raw->count, sizeof raw->blocks[0], by_serial);
}

/* Forget the blocks that have changed hands since the directory was read. */
static void drop_changed(vg_raw *raw, const vg_file_block *directory)
{
    for (size_t i = 0; i < raw->count; i++) {
        vg_raw_block *block = &raw->blocks[i];
        bool there = false;
        for (size_t k = 0; k < VG_FILE_BLOCKS && !there; k++)
            there = vg_raw_get(&directory[k].serial) == block->serial &&
                    vg_raw_get(&directory[k].kind) == block->kind && vg_raw_get(&directory[k].owner) == block->owner &&
                    vg_raw_get(&directory[k].entries) == block->entries &&
                    vg_raw_get(&directory[k].offset) == block->offset &&
                    vg_raw_get(&directory[k].bytes) == block->bytes;
        if (!there)
            block->kind = VG_BLOCK_FREE;
    }
}

static int copy_all(vg_raw *raw)
{
    vg_file_block *directory = NULL;
    int error = copy_directory(raw->reader, &directory);
    if (error != 0)
        return error;
    list_blocks(raw, directory);
    free(directory);
    error = make_copies_room(raw);
    if (error != 0)
        return error;
    /* acquire: a block whose serial we have seen is filled; pairs with the release in vg_block_show */
    atomic_thread_fence(memory_order_acquire);
    copy_blocks(raw, false, raw->before);
    copy_blocks(raw, true, raw->before);
    /* acquire: what the counts of changes count is seen; pairs with the releases in vg_change_end and vg_history_put */
    atomic_thread_fence(memory_order_acquire);
    copy_blocks(raw, true, NULL);
    copy_blocks(raw, false, NULL);
    /* acquire: of what was written over the copied words the counts tell us now; pairs with the fences in
       vg_change_begin and vg_history_put */
    atomic_thread_fence(memory_order_acquire);
    copy_blocks(raw, true, raw->after);
    copy_blocks(raw, false, raw->after);
    /* acquire: if any of it was another's, the directory tells us now; pairs with the fence in vg_block_get_locked */
    atomic_thread_fence(memory_order_acquire);
    directory = NULL;
    error = copy_directory(raw->reader, &directory);
    if (error == 0)
        drop_changed(raw, directory);
    free(directory);
    return error;
}

/* ---- the last sign of life --------------------------------------------------------------------------------------- */

static void note_stamp(vg_raw *raw, uint64_t ticks)
{
    if (ticks > raw->last)
        raw->last = ticks;
}

static void note_ring_stamps(vg_raw *raw, const vg_raw_block *block)
{
    const vg_file_thread *thread = block->memory;
    const uint64_t head = vg_raw_get(&thread->head);
    vg_event last;
    note_stamp(raw, vg_raw_get(&thread->begun));
    note_stamp(raw, vg_raw_get(&thread->ended));
    if (head != 0 &&
        vg_reader_read(raw->reader, block->offset + sizeof *thread + ((head - 1) & (block->entries - 1)) * sizeof last,
                       &last, sizeof last) == 0)
        note_stamp(raw, last.ticks);
}

static void find_last(vg_raw *raw)
{
    const vg_file_header *header = &raw->reader->header;
    note_stamp(raw, header->born_ticks);
    note_stamp(raw, vg_raw_get(&header->mark_ticks));
    note_stamp(raw, vg_raw_get(&header->watch_ticks));
    for (size_t i = 0; i < raw->count; i++) {
        const vg_raw_block *block = &raw->blocks[i];
        if (block->kind == VG_BLOCK_WORKERS) {
            const vg_file_worker *workers = block->memory;
            for (uint64_t w = 0; w < block->entries; w++) {
                note_stamp(raw, vg_raw_get(&workers[w].state_since));
                note_stamp(raw, vg_raw_get(&workers[w].task_since));
                note_stamp(raw, vg_raw_get(&workers[w].called_at));
            }
        } else if (block->kind == VG_BLOCK_LOOP) {
            const vg_file_loop *loop = block->memory;
            note_stamp(raw, vg_raw_get(&loop->state_since));
            note_stamp(raw, vg_raw_get(&loop->phase_since));
            note_stamp(raw, vg_raw_get(&loop->call_since));
        } else if (block->kind == VG_BLOCK_RING) {
            note_ring_stamps(raw, block);
        }
    }
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static void show_thread(const vg_raw *raw, size_t at, vg_thread_view *view)
{
    const vg_raw_block *block = &raw->blocks[at];
    const vg_file_thread *before = raw->before[at];
    const vg_file_thread *thread = block->memory;
    const vg_file_thread *after = raw->after[at];
    const uint64_t role = vg_raw_get(&thread->role);
    view->serial = block->serial;
    view->tid = (pid_t)vg_raw_get(&thread->tid);
    view->ended = vg_raw_get(&thread->ended) != 0;
    view->role = role < VG_ROLES ? (vg_thread_role)role : VG_ROLE_OTHER;
    view->owner = vg_raw_get(&thread->owner);
    view->index = (unsigned)vg_raw_get(&thread->index);
    vg_copy_text(view->name, sizeof view->name, thread->name, sizeof thread->name);
    view->age_ns = vg_raw_age(raw, vg_raw_get(&thread->begun));
    view->events = vg_raw_get(&thread->head);
    view->dropped = vg_less(view->events, block->entries);
    view->wait = vg_raw_wait(raw, &before->wait, &thread->wait, &after->wait);
}

static int show_blocks(vg_raw *raw)
{
    vg_snapshot *snapshot = raw->snapshot;
    size_t pools = 0;
    size_t loops = 0;
    size_t threads = 0;
    for (size_t i = 0; i < raw->count; i++) {
        pools += raw->blocks[i].kind == VG_BLOCK_POOL;
        loops += raw->blocks[i].kind == VG_BLOCK_LOOP;
        threads += raw->blocks[i].kind == VG_BLOCK_RING;
    }
    snapshot->pools = calloc(pools + 1, sizeof *snapshot->pools);
    snapshot->loops = calloc(loops + 1, sizeof *snapshot->loops);
    snapshot->threads = calloc(threads + 1, sizeof *snapshot->threads);
    if (snapshot->pools == NULL || snapshot->loops == NULL || snapshot->threads == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < raw->count; i++) {
        const vg_raw_block *block = &raw->blocks[i];
        if (block->kind == VG_BLOCK_POOL) {
            int error = vg_raw_pool(raw, i, &snapshot->pools[snapshot->pool_count++]);
            if (error != 0)
                return error;
        } else if (block->kind == VG_BLOCK_LOOP) {
            vg_raw_loop(raw, i, &snapshot->loops[snapshot->loop_count++]);
        } else if (block->kind == VG_BLOCK_IO) {
            int error = vg_raw_ios(raw, i); /* its loop has a smaller serial: it is there already */
            if (error != 0)
                return error;
        } else if (block->kind == VG_BLOCK_RING) {
            show_thread(raw, i, &snapshot->threads[snapshot->thread_count++]);
        }
    }
    return 0;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void show_process(vg_raw *raw)
{
    const vg_file_header *header = &raw->reader->header;
    vg_snapshot *snapshot = raw->snapshot;
    const char state = vg_reader_process_state(raw->reader);
    snapshot->pid = (pid_t)header->pid;
    snapshot->zombie = state == 'Z' || state == 'X';
    snapshot->alive = state != 0 && !snapshot->zombie;
    snapshot->stopped = state == 'T' || state == 't';
    snapshot->level = header->level <= 3 ? (unsigned)header->level : 0;
    vg_copy_text(snapshot->command, sizeof snapshot->command, header->command, sizeof header->command);
    vg_copy_text(snapshot->library, sizeof snapshot->library, header->library, sizeof header->library);
    snapshot->file_bytes = vg_raw_get(&header->file_bytes);
    snapshot->max_bytes = header->max_bytes;
    snapshot->left_out = vg_raw_get(&header->left_out);
    for (unsigned i = 0; i < VG_FILE_STRIPES; i++)
        snapshot->events_dropped += vg_raw_get(&header->drops[i].events);
    set_clock(raw, snapshot->alive || vg_reader_same_boot(header));
    const uint64_t looked = vg_raw_get(&header->watch_ticks);
    snapshot->watch_age_ns = looked == 0 ? UINT64_MAX : vg_raw_age(raw, looked);
    snapshot->watch_interval_ns = vg_raw_get(&header->watch_interval);
}

int vg_reader_snapshot(vg_reader *reader, vg_snapshot **result)
{
    vg_raw *raw = calloc(1, sizeof *raw);
    vg_snapshot *snapshot = calloc(1, sizeof *snapshot);
    int error = raw == NULL || snapshot == NULL ? -ENOMEM : vg_reader_header(reader);
    if (error == 0)
        error = vg_reader_load_names(reader);
    if (error == 0) {
        raw->reader = reader;
        raw->snapshot = snapshot;
        error = copy_all(raw);
    }
    if (error == 0) {
        find_last(raw);
        show_process(raw);
        error = show_blocks(raw);
    }
    if (error == 0)
        error = vg_raw_verdicts(raw);
    for (size_t i = 0; raw != NULL && i < raw->count; i++)
        free(raw->blocks[i].memory); /* with the copies before and after it */
    free(raw);
    if (error != 0) {
        vg_snapshot_free(snapshot);
        return error;
    }
    *result = snapshot;
    return 0;
}

void vg_snapshot_free(vg_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    for (size_t i = 0; i < snapshot->pool_count; i++)
        free(snapshot->pools[i].workers);
    for (size_t i = 0; i < snapshot->loop_count; i++)
        free(snapshot->loops[i].ios);
    free(snapshot->pools);
    free(snapshot->loops);
    free(snapshot->threads);
    free(snapshot->verdicts);
    free(snapshot->acts);
    free(snapshot);
}
