/* SPDX-License-Identifier: MIT */
/* trace.h explains. */
#include "trace.h"

#include "record/batch.h"
#include "job.h"
#include "past.h"

#include <stddef.h>
#include <vigil/record.h>

void vg_trace_time(vg_worker *worker, vg_file_hist *hist, uint64_t ticks, uint64_t times)
{
    if (worker->hists_shared)
        vg_hist_put_shared(hist, ticks, times);
    else
        vg_hist_put(hist, ticks, times);
}

static uint64_t trace_status_bits(int status)
{
    if (status >= 0)
        return 0;
    const int64_t error = -(int64_t)status;
    return (uint64_t)(error < 0xffff ? error : 0xffff) << 48;
}

/* Record the unread tasks, which end now. */
static void trace_close_at(vg_worker *worker, uint64_t now, int status)
{
    const vg_file_worker *mine = worker->seat.counts;
    vg_file_pool_hists *hists = worker->hists;
    const unsigned class_ = worker->batch_class;
    const unsigned count = worker->unread;
    const uint64_t took = now > worker->last_end ? now - worker->last_end : 0;
    if (worker->batch_id != 0) {
        const uint64_t waited = worker->last_end > worker->batch_id ? worker->last_end - worker->batch_id : 0;
        vg_trace_time(worker, &hists->wait[class_], waited, count);
        vg_past_waited(worker, class_, waited, count);
    }
    const vg_batch_share share = vg_batch_divide(took, count, &worker->usual);
    if (share.has_long)
        vg_trace_time(worker, &hists->run[class_], share.long_run, 1);
    vg_trace_time(worker, &hists->run[class_], worker->usual, share.short_runs);
    worker->interval = vg_batch_next(worker->interval, VG_BATCH_MOST, took, true);
    if (worker->level == VIGIL_RECORD_EVENTS) {
        const uint64_t function = vg_peek(&mine->task_function);
        if (count == 1 || status < 0)
            vg_event_put(now, vg_event_what(VG_EVENT_RUN, class_, function), vg_peek(&mine->task_id),
                         trace_status_bits(status) | (took & VG_EVENT_ADDRESS));
        else
            vg_event_put(now, vg_event_what(VG_EVENT_RUNS, class_, function), count, took & VG_EVENT_ADDRESS);
    }
    worker->unread = 0;
    worker->last_end = now;
    worker->batch_key = 0;
    vg_past_look(worker, now);
}

void vg_trace_close(vg_worker *worker, int status)
{
    trace_close_at(worker, vg_ticks(), status);
}

void vg_trace_pause_slow(vg_worker *worker)
{
    if (worker->unread != 0)
        trace_close_at(worker, vg_ticks(), 0);
    worker->last_end = 0;
    worker->batch_key = 0;
}

void vg_trace_inner_end(vg_worker *worker, const vg_trace_frame *note, unsigned class_, int status)
{
    vg_file_worker *mine = worker->seat.counts;
    const uint64_t now = vg_ticks();
    const uint64_t took = now > note->began ? now - note->began : 0;
    if (note->id != 0) {
        const uint64_t waited = note->began > note->id ? note->began - note->id : 0;
        vg_trace_time(worker, &worker->hists->wait[class_], waited, 1);
        vg_past_waited(worker, class_, waited, 1);
    }
    vg_trace_time(worker, &worker->hists->run[class_], took, 1);
    if (worker->level == VIGIL_RECORD_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_RUN, class_, note->function), note->id,
                     trace_status_bits(status) | (took & VG_EVENT_ADDRESS));
    vg_cell_set(&mine->task_function, note->outer_function);
    vg_cell_set(&mine->task_since, note->outer_since);
    vg_cell_set(&mine->task_id, note->outer_id);
    vg_cell_set(&mine->task_job, note->outer_job);
}

/* The outer task is shown again afterwards. */
static void trace_inner_begin(vg_worker *worker, vg_trace_frame *note, uint64_t id, uint64_t function)
{
    vg_file_worker *mine = worker->seat.counts;
    note->began = vg_ticks();
    note->id = id;
    note->function = function;
    note->outer_function = vg_peek(&mine->task_function);
    note->outer_since = vg_peek(&mine->task_since);
    note->outer_id = vg_peek(&mine->task_id);
    note->outer_job = vg_peek(&mine->task_job);
    vg_cell_set(&mine->task_since, note->began);
}

void vg_trace_begin_slow(vg_worker *worker, vg_trace_frame *note, const vigil_task *task, void *function, uint64_t key)
{
    vg_file_worker *mine = worker->seat.counts;
    const uint64_t id = (task->vg_flags & VG_FLAG_STAMPED) != 0 ? task->vg_stamp : 0;
    const unsigned class_ = task->vg_class;
    if (worker->depth > 1) {
        trace_inner_begin(worker, note, id, (uint64_t)(uintptr_t)function);
    } else {
        if (worker->unread != 0 && (key == 0 || worker->batch_class != class_))
            trace_close_at(worker, vg_ticks(), 0);
        else if (worker->last_end == 0)
            worker->last_end = vg_ticks();
        if (worker->unread == 0) {
            worker->batch_class = class_;
            worker->batch_id = id;
            vg_cell_set(&mine->task_since, worker->last_end);
        }
        worker->batch_key = key;
    }
    vg_cell_set(&mine->task_function, (uint64_t)(uintptr_t)function);
    vg_cell_set(&mine->task_id, id);
    vg_cell_set(&mine->task_job, task->vg_kind == VG_KIND_JOB ? vg_job_id(task) : 0);
}

void vg_trace_steal(vg_worker *thief, unsigned class_, unsigned victim)
{
    VG_PROBE(steal, thief->pool->block.serial, thief->seat.index, victim);
    if (thief->level == VIGIL_RECORD_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_STEAL, class_, 0), (uint64_t)victim << 32 | 1U, 0);
}

void vg_trace_wake(const vigil_pool *pool, unsigned index, uint64_t at)
{
    VG_PROBE(wake, pool->block.serial, index);
    if (pool->level == VIGIL_RECORD_EVENTS)
        vg_event_put(at, vg_event_what(VG_EVENT_WAKE, 0, 0), pool->block.serial << 32 | index, 0);
}

void vg_trace_map_ahead(const vigil_pool *pool)
{
    if (pool->level == VIGIL_RECORD_EVENTS)
        vg_ring_map_ahead();
}

void vg_trace_parked(vg_worker *worker, uint64_t since)
{
    vg_file_worker *mine = worker->seat.counts;
    if (worker->level < VIGIL_RECORD_COUNTERS)
        return;
    const uint64_t now = vg_peek(&mine->state_since);
    const uint64_t called = atomic_load_explicit(&worker->seat.called_at, memory_order_relaxed); /* seen with P2 */
    uint64_t latency = 0;
    vg_cell_set(&mine->called_at, called);
    if (called > since && now > called) { /* it was woken from this sleep */
        latency = now - called;
        vg_trace_time(worker, &worker->hists->wake, latency, 1);
    }
    if (worker->level == VIGIL_RECORD_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_PARK, 0, 0), latency, now > since ? now - since : 0);
}

vg_waiting vg_trace_wait(vigil_pool *pool, const vg_worker *worker, vg_wait_kind kind, uint64_t on, const void *where)
{
    vg_waiting waiting = {.wait = NULL};
    if (pool->level < VIGIL_RECORD_COUNTERS)
        return waiting;
    if (worker != NULL) {
        waiting.wait = &worker->seat.counts->wait;
    } else if (vg_current_worker != NULL) {
        waiting.wait = &vg_current_worker->seat.counts->wait; /* of another pool */
    } else if (pool->level == VIGIL_RECORD_EVENTS) {
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
    if (pool->level == VIGIL_RECORD_EVENTS) {
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
