/* SPDX-License-Identifier: MIT */
/*
 * reader_snapshot.c - copying what is in the file, and turning it into something that can be shown.
 *
 * First everything is copied, then it is judged. A block counts only if its entry in the directory is the same before and
 * after: otherwise its owner has gone meanwhile, and the bytes are another's. Pools and workers are copied twice, shortly after
 * each other, before all the rest: ends and starts of tasks are taken from the first copy, submits from the second. Since a
 * task is counted as submitted, then as started, then as ended, and the counters lie in this order, no difference comes
 * out negative, and what seems to be queued is at most what came between the two copies too much.
 *
 * An aligned word is copied whole by the kernels and machines that we know, so a cell is never torn. Nothing depends on that
 * but the numbers that are shown.
 */
#include "reading.h"

#include "../core/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No file that we write comes near these; they keep one that is made to do harm from using up our memory. */
enum {
    MOST_ENTRIES = 4096,
    MOST_COPIED = 1 << 29
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

vg_wait_view vg_raw_wait(const vg_raw *raw, const vg_file_wait *wait)
{
    const uint64_t kind = vg_raw_get(&wait->kind);
    vg_wait_view view = {.kind = VG_WAIT_NONE};
    if (kind == VG_WAIT_NONE || kind >= VG_WAIT_KINDS)
        return view;
    view.kind = (vg_wait_kind)kind;
    view.on = vg_raw_get(&wait->on);
    view.where = vg_raw_get(&wait->where);
    view.age_ns = vg_raw_age(raw, vg_raw_get(&wait->since));
    return view;
}

/* pairs: since and state, VG_FILE_HISTORY times. Newest first, as long as they make sense: what was overwritten while it was
   copied is younger than what comes before it. */
unsigned vg_raw_history(const vg_raw *raw, uint64_t changes, const vg_cell *pairs, vg_change_view *history)
{
    unsigned count = 0;
    uint64_t newer = UINT64_MAX;
    while (count < VG_FILE_HISTORY && count < changes) {
        const size_t at = (size_t)((changes - 1 - count) % VG_FILE_HISTORY) * 2;
        const uint64_t since = vg_raw_get(&pairs[at]);
        const uint64_t state = vg_raw_get(&pairs[at + 1]);
        if (since == 0 || since > newer || state >= VG_FILE_STATES)
            break;
        history[count].state = (unsigned)state;
        history[count].age_ns = vg_raw_age(raw, since);
        newer = since;
        count++;
    }
    return count;
}

void vg_raw_hist(const vg_raw *raw, const vg_file_hist *from, vg_hist_view *into)
{
    into->tick_ns = raw->snapshot->tick_ns;
    into->sum_ns += vg_raw_ns(raw, vg_raw_get(&from->sum));
    const uint64_t longest = vg_raw_ns(raw, vg_raw_get(&from->longest));
    if (longest > into->longest_ns)
        into->longest_ns = longest;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        const uint64_t count = vg_raw_get(&from->buckets[i]);
        into->buckets[i] += count;
        into->count += count;
    }
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

uint64_t vg_hist_quantile(const vg_hist_view *hist, double q)
{
    if (hist->count == 0 || !(q >= 0))
        return 0;
    if (q > 1)
        q = 1;
    const double exact = q * (double)hist->count;
    double rank = (double)(uint64_t)exact;
    if (rank < exact || rank < 1)
        rank += 1;
    double seen = 0;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        seen += (double)hist->buckets[i];
        if (seen < rank)
            continue;
        const double low = (double)vg_hist_floor(i);
        const double width = (double)(vg_hist_floor(i + 1) - vg_hist_floor(i));
        const double ns = (width > 1 ? low + width / 2 : low) * hist->tick_ns;
        const uint64_t value = ns < 1.8e19 ? (uint64_t)ns : UINT64_MAX;
        return hist->longest_ns != 0 && value > hist->longest_ns ? hist->longest_ns : value;
    }
    return hist->longest_ns;
}

void vg_hist_add(vg_hist_view *into, const vg_hist_view *more)
{
    into->count += more->count;
    into->sum_ns += more->sum_ns;
    if (more->longest_ns > into->longest_ns)
        into->longest_ns = more->longest_ns;
    if (more->tick_ns != 0)
        into->tick_ns = more->tick_ns;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        into->buckets[i] += more->buckets[i];
}

void vg_hist_since(vg_hist_view *result, const vg_hist_view *now, const vg_hist_view *before)
{
    vg_hist_view since = {.tick_ns = now->tick_ns, .longest_ns = now->longest_ns};
    since.sum_ns = vg_less(now->sum_ns, before->sum_ns);
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        since.buckets[i] = vg_less(now->buckets[i], before->buckets[i]);
        since.count += since.buckets[i];
    }
    *result = since;
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
    case VG_BLOCK_RING:
        if (block->entries == reader->header.ring_events) {
            needed = sizeof(vg_file_thread) + block->entries * sizeof(vg_event);
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

/* Of which two copies are wanted. */
static bool is_counted(const vg_raw_block *block)
{
    return block->kind == VG_BLOCK_POOL || block->kind == VG_BLOCK_WORKERS;
}

/* Memory for a copy, which is there already: a copy that has to wait for pages takes longer than the file stays the same. */
static void *room_for(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory != NULL)
        memset(memory, 1, bytes);
    return memory;
}

static int make_room(vg_raw *raw)
{
    for (size_t i = 0; i < raw->count; i++) {
        vg_raw_block *block = &raw->blocks[i];
        const size_t bytes = wanted_bytes(raw->reader, block);
        const bool twice = is_counted(block);
        raw->copied += twice ? 2 * bytes : bytes;
        if (raw->copied > MOST_COPIED)
            return -EBADMSG;
        if (!vg_reader_holds(raw->reader, block->offset, bytes)) {
            block->kind = VG_BLOCK_FREE;
            continue;
        }
        block->memory = room_for(bytes);
        raw->before[i] = twice ? room_for(bytes) : NULL;
        if (block->memory == NULL || (twice && raw->before[i] == NULL))
            return -ENOMEM;
    }
    return 0;
}

/* Copy those that are counted, or the others. What cannot be read any more is left out. */
static void copy_blocks(vg_raw *raw, bool counted, bool before)
{
    for (size_t i = 0; i < raw->count; i++) {
        vg_raw_block *block = &raw->blocks[i];
        if (block->kind == VG_BLOCK_FREE || is_counted(block) != counted)
            continue;
        void *to = before ? raw->before[i] : block->memory;
        if (vg_reader_read(raw->reader, block->offset, to, wanted_bytes(raw->reader, block)) != 0)
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
        bool there = false;
        for (size_t k = 0; k < VG_FILE_BLOCKS && !there; k++)
            there = vg_raw_get(&directory[k].serial) == raw->blocks[i].serial &&
                    vg_raw_get(&directory[k].offset) == raw->blocks[i].offset;
        if (!there)
            raw->blocks[i].kind = VG_BLOCK_FREE;
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
    error = make_room(raw);
    if (error != 0)
        return error;
    copy_blocks(raw, true, true);
    copy_blocks(raw, true, false);
    copy_blocks(raw, false, false);
    directory = NULL;
    error = copy_directory(raw->reader, &directory);
    if (error == 0)
        drop_changed(raw, directory);
    free(directory);
    return error;
}

/* ---- the last sign of life --------------------------------------------------------------------------------------- */

static void seen(vg_raw *raw, uint64_t ticks)
{
    if (ticks > raw->last)
        raw->last = ticks;
}

static void seen_in_ring(vg_raw *raw, const vg_raw_block *block)
{
    const vg_file_thread *thread = block->memory;
    const uint64_t head = vg_raw_get(&thread->head);
    vg_event last;
    seen(raw, vg_raw_get(&thread->begun));
    seen(raw, vg_raw_get(&thread->ended));
    if (head != 0 &&
        vg_reader_read(raw->reader, block->offset + sizeof *thread + ((head - 1) & (block->entries - 1)) * sizeof last,
                       &last, sizeof last) == 0)
        seen(raw, last.ticks);
}

static void find_last(vg_raw *raw)
{
    const vg_file_header *header = &raw->reader->header;
    seen(raw, header->born_ticks);
    seen(raw, vg_raw_get(&header->mark_ticks));
    seen(raw, vg_raw_get(&header->watch_ticks));
    for (size_t i = 0; i < raw->count; i++) {
        const vg_raw_block *block = &raw->blocks[i];
        if (block->kind == VG_BLOCK_WORKERS) {
            const vg_file_worker *workers = block->memory;
            for (uint64_t w = 0; w < block->entries; w++) {
                seen(raw, vg_raw_get(&workers[w].state_since));
                seen(raw, vg_raw_get(&workers[w].task_since));
                seen(raw, vg_raw_get(&workers[w].called_at));
            }
        } else if (block->kind == VG_BLOCK_LOOP) {
            const vg_file_loop *loop = block->memory;
            seen(raw, vg_raw_get(&loop->state_since));
            seen(raw, vg_raw_get(&loop->phase_since));
            seen(raw, vg_raw_get(&loop->call_since));
        } else if (block->kind == VG_BLOCK_RING) {
            seen_in_ring(raw, block);
        }
    }
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static void show_thread(const vg_raw *raw, const vg_raw_block *block, vg_thread_view *view)
{
    const vg_file_thread *thread = block->memory;
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
    view->wait = vg_raw_wait(raw, &thread->wait);
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
        } else if (block->kind == VG_BLOCK_RING) {
            show_thread(raw, block, &snapshot->threads[snapshot->thread_count++]);
        }
    }
    return 0;
}

/* ---- verdicts and acts ------------------------------------------------------------------------------------------- */

static void show_verdict(const vg_raw *raw, const vg_file_verdict *from, vg_verdict_view *view)
{
    *view = (vg_verdict_view){.number = from->number,
                              .kind = from->kind,
                              .severity = from->severity,
                              .object = from->object,
                              .worker = from->worker,
                              .function = from->function,
                              .first_age_ns = vg_raw_age(raw, from->first_ticks),
                              .last_age_ns = vg_raw_age(raw, from->last_ticks),
                              .over = from->over_ticks != 0,
                              .over_age_ns = vg_raw_age(raw, from->over_ticks),
                              .repeats = from->repeats};
    vg_copy_lines(view->reason, sizeof view->reason, from->reason, sizeof from->reason);
    vg_copy_lines(view->evidence, sizeof view->evidence, from->evidence, sizeof from->evidence);
    vg_copy_lines(view->advice, sizeof view->advice, from->advice, sizeof from->advice);
}

static void show_act(const vg_raw *raw, const vg_file_act *from, vg_act_view *view)
{
    *view = (vg_act_view){.number = from->number,
                          .verdict = from->verdict,
                          .kind = from->kind,
                          .result = from->result,
                          .object = from->object,
                          .worker = from->worker,
                          .age_ns = vg_raw_age(raw, from->ticks)};
    vg_copy_text(view->text, sizeof view->text, from->text, sizeof from->text);
}

/* Was the entry whole when it was copied? It is copied twice, and nobody was writing to it in between. */
static bool whole(const vg_cell *first, const vg_cell *second)
{
    const uint64_t writes = vg_raw_get(first);
    return writes != 0 && writes % 2 == 0 && vg_raw_get(second) == writes;
}

static int newer_verdict_first(const void *a, const void *b)
{
    const uint64_t x = ((const vg_verdict_view *)a)->number;
    const uint64_t y = ((const vg_verdict_view *)b)->number;
    return (x < y) - (x > y);
}

static int newer_act_first(const void *a, const void *b)
{
    const uint64_t x = ((const vg_act_view *)a)->number;
    const uint64_t y = ((const vg_act_view *)b)->number;
    return (x < y) - (x > y);
}

static int show_verdicts(vg_raw *raw)
{
    vg_snapshot *snapshot = raw->snapshot;
    const vg_file_section *section = &raw->reader->header.sections[VG_SECTION_VERDICTS];
    int error = 0;
    vg_file_verdict *first = vg_reader_copy(raw->reader, section->offset, VG_FILE_VERDICTS * sizeof *first, &error);
    vg_file_verdict *second =
        error != 0 ? NULL : vg_reader_copy(raw->reader, section->offset, VG_FILE_VERDICTS * sizeof *second, &error);
    snapshot->verdicts = error != 0 ? NULL : calloc(VG_FILE_VERDICTS, sizeof *snapshot->verdicts);
    if (error == 0 && snapshot->verdicts == NULL)
        error = -ENOMEM;
    for (size_t i = 0; error == 0 && i < VG_FILE_VERDICTS; i++)
        if (whole(&first[i].writes, &second[i].writes))
            show_verdict(raw, &first[i], &snapshot->verdicts[snapshot->verdict_count++]);
    free(first);
    free(second);
    if (error == 0)
        qsort(snapshot->verdicts, snapshot->verdict_count, sizeof *snapshot->verdicts, newer_verdict_first);
    return error;
}

static int show_acts(vg_raw *raw)
{
    vg_snapshot *snapshot = raw->snapshot;
    const vg_file_section *section = &raw->reader->header.sections[VG_SECTION_ACTS];
    int error = 0;
    vg_file_act *first = vg_reader_copy(raw->reader, section->offset, VG_FILE_ACTS * sizeof *first, &error);
    vg_file_act *second =
        error != 0 ? NULL : vg_reader_copy(raw->reader, section->offset, VG_FILE_ACTS * sizeof *second, &error);
    snapshot->acts = error != 0 ? NULL : calloc(VG_FILE_ACTS, sizeof *snapshot->acts);
    if (error == 0 && snapshot->acts == NULL)
        error = -ENOMEM;
    for (size_t i = 0; error == 0 && i < VG_FILE_ACTS; i++)
        if (whole(&first[i].writes, &second[i].writes))
            show_act(raw, &first[i], &snapshot->acts[snapshot->act_count++]);
    free(first);
    free(second);
    if (error == 0)
        qsort(snapshot->acts, snapshot->act_count, sizeof *snapshot->acts, newer_act_first);
    return error;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void show_process(vg_raw *raw)
{
    const vg_file_header *header = &raw->reader->header;
    vg_snapshot *snapshot = raw->snapshot;
    const char state = vg_reader_process_state(header);
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
        error = show_verdicts(raw);
    if (error == 0)
        error = show_acts(raw);
    for (size_t i = 0; raw != NULL && i < raw->count; i++) {
        free(raw->blocks[i].memory);
        free(raw->before[i]);
    }
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
    free(snapshot->pools);
    free(snapshot->loops);
    free(snapshot->threads);
    free(snapshot->verdicts);
    free(snapshot->acts);
    free(snapshot);
}
