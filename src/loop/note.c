/* SPDX-License-Identifier: MIT */
/*
 * note.c - the loop's part of the recorder: block, states, events.
 */
#include "note.h"

#include "record/batch.h"
#include "guard.h"
#include "base/clock.h"
#include "record/probes.h"

#include <string.h>

/* ---- the block --------------------------------------------------------------------------------------------------- */

int vg_loop_note_open(vigil_loop *loop)
{
    loop->level = (uint8_t)vg_record_hold(&loop->record_epoch);
    int error = vg_block_get(&loop->block, VG_BLOCK_LOOP, sizeof *loop->shared, 0, 1);
    if (error != 0) {
        vg_record_release(loop->record_epoch);
        return error;
    }
    loop->shared = loop->block.memory;
    /* The recorder is off: read the clock rarely, note nothing. */
    loop->interval = loop->level >= VIGIL_RECORD_COUNTERS ? 1 : UINT32_MAX;
    memcpy(loop->shared->name, loop->name, sizeof loop->shared->name);
    loop->shared->born_ticks = loop->tick_base.ticks;
    vg_cell_set(&loop->shared->state_since, loop->tick_base.ticks);
    vg_block_show(&loop->block);
    return 0;
}

void vg_loop_note_close(vigil_loop *loop)
{
    vg_block_put(&loop->block);
    vg_record_release(loop->record_epoch);
}

/* The child has a private copy of the block at the same address: move to its own recorder. */
int vg_loop_note_after_fork(vigil_loop *loop)
{
    vg_record_block before = loop->block;
    const uint32_t epoch = loop->record_epoch;
    const vg_file_loop *copy = before.memory;
    const uint8_t level = loop->level;
    if (epoch ==
        atomic_load_explicit(&vg_record_epoch, memory_order_relaxed)) /* the fork was not noticed, or moved before */
        return 0;
    int error = vg_loop_note_open(loop);
    if (error != 0) {
        loop->block = before;
        loop->record_epoch = epoch;
        loop->level = level;
        return error;
    }
    memcpy(loop->shared, copy, sizeof *copy);
    vg_block_put(&before);
    vg_record_release(epoch); /* of another epoch: nothing happens, but the books are balanced */
    return 0;
}

/* ---- the owner --------------------------------------------------------------------------------------------------- */

void vg_loop_note_state(vigil_loop *loop, vigil_loop_state state, uint64_t now)
{
    vg_file_loop *shared = loop->shared;
    if (loop->level < VIGIL_RECORD_COUNTERS ||
        atomic_load_explicit(&shared->state, memory_order_relaxed) == (uint64_t)state)
        return;
    vg_cell_set(&shared->state_since, now);
    vg_cell_set(&shared->state, (uint64_t)state);
    vg_history_put(shared->history, &shared->changes, (uint64_t)state, now);
}

static void introduce_owner(uint64_t owner, vg_thread_role role)
{
    if (vg_my_ring.thread == NULL ||
        atomic_load_explicit(&vg_my_ring.thread->role, memory_order_relaxed) == VG_ROLE_WORKER)
        return; /* a worker stays one, even if its task runs a loop */
    vg_cell_set(&vg_my_ring.thread->role, role);
    vg_cell_set(&vg_my_ring.thread->owner, owner);
}

void vg_loop_note_owner(vigil_loop *loop, int thread)
{
    vg_file_loop *shared = loop->shared;
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return;
    vg_cell_set(&shared->tid, (uint64_t)thread);
    if (loop->level != VIGIL_RECORD_EVENTS)
        return;
    /* relaxed: as in vg_event_put */
    if (vg_my_ring.epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed))
        vg_ring_attach(VG_ROLE_LOOP, loop->block.serial, 0);
    if (thread != 0)
        introduce_owner(loop->block.serial, VG_ROLE_LOOP);
    else
        introduce_owner(0, VG_ROLE_OTHER);
    vg_cell_set(&shared->thread, thread != 0 ? vg_my_ring.serial : 0);
}

/* Where this thread says what it waits for. Workers say so in their slot. */
static vg_file_wait *own_wait(void)
{
    vg_file_thread *thread = vg_my_ring.thread;
    return thread != NULL && atomic_load_explicit(&thread->role, memory_order_relaxed) == VG_ROLE_LOOP ? &thread->wait
                                                                                                       : NULL;
}

void vg_loop_note_sleeps(vigil_loop *loop, uint64_t now)
{
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return;
    vg_loop_note_sample(loop);
    vg_loop_note_state(loop, VIGIL_LOOP_SLEEPING, now);
    vg_file_wait *wait = loop->level == VIGIL_RECORD_EVENTS ? own_wait() : NULL;
    if (wait != NULL)
        vg_wait_begin(wait, VG_WAIT_EVENTS, loop->block.serial, 0, now);
    if (loop->level == VIGIL_RECORD_EVENTS)
        vg_ring_map_ahead();
}

void vg_loop_note_calls(vigil_loop *loop, uint64_t now)
{
    vg_file_loop *shared = loop->shared;
    const unsigned count = loop->unread;
    const uint64_t took = now > loop->last_end ? now - loop->last_end : 0;
    loop->unread = 0;
    if (loop->level < VIGIL_RECORD_COUNTERS ||
        loop->last_end == 0) /* outside the steps only the end of the loop calls */
        return;
    const vg_batch_share share = vg_batch_divide(took, count, &loop->usual);
    if (share.has_long)
        vg_hist_put(&shared->callback, share.long_run, 1);
    vg_hist_put(&shared->callback, loop->usual, share.short_runs);
    loop->interval = vg_batch_next(loop->interval, VG_BATCH_MOST_CALLS, took, count >= loop->interval);
    if (loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(now,
                     vg_event_what(count == 1 ? VG_EVENT_CALL : VG_EVENT_CALLS,
                                   (unsigned)atomic_load_explicit(&shared->phase, memory_order_relaxed),
                                   atomic_load_explicit(&shared->call_function, memory_order_relaxed)),
                     loop->block.serial << 32 | count, took & VG_EVENT_ADDRESS);
    loop->last_end = now;
    vg_cell_set(&shared->call_since, now);
}

int vigil_loop_shows(vigil_loop *loop, const void *what)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (what == NULL)
        return vg_why(-EINVAL, "what must not be NULL");
    if (loop->last_end == 0)
        return -ENOENT;
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return 0;
    /* What was shown before has ended; the callback goes on as `what`. */
    if (loop->shown != 0 && atomic_load_explicit(&loop->shared->call_function, memory_order_relaxed) == loop->shown)
        loop->unread++;
    if (loop->unread != 0)
        vg_loop_note_calls(loop, vg_ticks());
    loop->interval = 1; /* noted at its end, under its own name */
    loop->shown = (uintptr_t)what;
    vg_cell_set(&loop->shared->call_function, loop->shown);
    return 0;
}

void vg_loop_note_slept(vigil_loop *loop, uint64_t since)
{
    vg_file_loop *shared = loop->shared;
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return;
    const uint64_t now = loop->woke_at;
    const uint64_t called = atomic_load_explicit(&shared->called_at, memory_order_relaxed);
    const uint64_t latency = called > since && now > called ? now - called : 0;
    vg_loop_note_state(loop, VIGIL_LOOP_RUNNING, now);
    vg_hist_put(&shared->poll, now > since ? now - since : 0, 1);
    if (latency != 0)
        vg_hist_put(&shared->wake, latency, 1);
    vg_file_wait *wait = loop->level == VIGIL_RECORD_EVENTS ? own_wait() : NULL;
    if (wait != NULL)
        vg_wait_end(wait);
    if (loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_SLEEP, 0, 0), latency, now > since ? now - since : 0);
}

/* Histograms are in ticks. Until a tick is measured (instant.h) it counts as a nanosecond. */
static double ticks_per_ns(const vigil_loop *loop)
{
    return loop->instant.length != 0 ? 4294967296.0 / (double)loop->instant.length : 1.0;
}

static uint64_t whole_ticks(double ticks)
{
    return ticks < 9e18 ? (uint64_t)ticks : 0;
}

void vg_loop_note_late_all(vigil_loop *loop)
{
    vg_late *late = &loop->late;
    vg_file_hist *delay = &loop->shared->delay;
    if (late->count != 0) {
        vg_cell_add(&delay->buckets[late->bucket], late->count);
        vg_cell_add(&delay->sum, whole_ticks((double)late->sum * ticks_per_ns(loop)));
    }
    late->width = late->count = late->sum = 0;
}

void vg_loop_note_late_first(vigil_loop *loop, uint64_t ns)
{
    vg_late *late = &loop->late;
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return;
    vg_loop_note_late_all(loop);
    const double rate = ticks_per_ns(loop);
    const uint64_t ticks = whole_ticks((double)ns * rate);
    vg_hist_put(&loop->shared->delay, ticks, 1);
    if (loop->timers.batch_next == loop->timers.batch_count)
        return; /* the last one */
    late->bucket = vg_hist_bucket(ticks);
    const double least = (double)vg_hist_floor(late->bucket) / rate;
    late->from = least < (double)ns ? (uint64_t)least : ns;
    late->width = ns - late->from + 1;
}

/* ---- any thread -------------------------------------------------------------------------------------------------- */

void vg_loop_note_sample(vigil_loop *loop)
{
    vg_file_loop *shared = loop->shared;
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return;
    vg_cell_set(&shared->posts_taken, atomic_load_explicit(&loop->ingress.taken, memory_order_relaxed));
    vg_cell_set(&shared->posts_accepted, vg_ingress_accepted(&loop->ingress));
    vg_cell_set(&shared->keep, (uint64_t)atomic_load_explicit(&loop->keep, memory_order_relaxed));
    vg_cell_set(&shared->watches, atomic_load_explicit(&loop->watches.active, memory_order_relaxed));
    vg_cell_set(&shared->sampled_at, vg_ticks());
}

uint64_t vg_loop_note_wakes(vigil_loop *loop)
{
    VG_PROBE(loop_woken, loop->block.serial);
    if (loop->level < VIGIL_RECORD_COUNTERS)
        return 0;
    const uint64_t now = vg_ticks();
    vg_cell_set(&loop->shared->called_at, now);
    return now;
}

void vg_loop_note_woken(vigil_loop *loop, uint64_t when)
{
    if (loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(when, vg_event_what(VG_EVENT_WAKE, 0, 0), loop->block.serial << 32, 0);
}

void vg_loop_note_post(vigil_loop *loop, const vigil_post *post)
{
    if (loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_POST, 1, (uint64_t)(uintptr_t)post->run),
                     loop->block.serial << 32, (uint64_t)(uintptr_t)post);
}
