/* SPDX-License-Identifier: MIT */
/* Tasks in the record; note.h says how. */
#include "note.h"

#include "record/batch.h"

void vg_note_time(vg_worker *worker, vg_file_hist *hist, uint64_t ticks, uint64_t times)
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

/* Note the unread tasks, which have ended now. */
static void trace_close_at(vg_worker *worker, uint64_t now, int status)
{
    const vg_file_worker *mine = worker->seat.counts;
    vg_file_pool_hists *hists = worker->hists;
    const unsigned class_ = worker->batch_class;
    const unsigned count = worker->unread;
    const uint64_t took = now > worker->last_end ? now - worker->last_end : 0;
    if (worker->batch_id != 0)
        vg_note_time(worker, &hists->wait[class_],
                     worker->last_end > worker->batch_id ? worker->last_end - worker->batch_id : 0, count);
    const vg_batch_share share = vg_batch_divide(took, count, &worker->usual);
    if (share.has_long)
        vg_note_time(worker, &hists->run[class_], share.long_run, 1);
    vg_note_time(worker, &hists->run[class_], worker->usual, share.short_runs);
    worker->interval = vg_batch_next(worker->interval, took, true);
    if (worker->level == VIGIL_WATCH_EVENTS) {
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
}

void vg_note_close(vg_worker *worker, int status)
{
    trace_close_at(worker, vg_ticks(), status);
}

void vg_note_pause_slow(vg_worker *worker)
{
    if (worker->unread != 0)
        trace_close_at(worker, vg_ticks(), 0);
    worker->last_end = 0;
    worker->batch_key = 0;
}

void vg_note_inner_end(vg_worker *worker, const vg_note *note, unsigned class_, int status)
{
    vg_file_worker *mine = worker->seat.counts;
    const uint64_t now = vg_ticks();
    const uint64_t took = now > note->began ? now - note->began : 0;
    if (note->id != 0)
        vg_note_time(worker, &worker->hists->wait[class_], note->began > note->id ? note->began - note->id : 0, 1);
    vg_note_time(worker, &worker->hists->run[class_], took, 1);
    if (worker->level == VIGIL_WATCH_EVENTS)
        vg_event_put(now, vg_event_what(VG_EVENT_RUN, class_, note->function), note->id,
                     trace_status_bits(status) | (took & VG_EVENT_ADDRESS));
    vg_cell_set(&mine->task_function, note->outer_function);
    vg_cell_set(&mine->task_since, note->outer_since);
    vg_cell_set(&mine->task_id, note->outer_id);
    vg_cell_set(&mine->task_job, note->outer_job);
}

/* The task below goes on afterwards, and is shown again. */
static void trace_inner_begin(vg_worker *worker, vg_note *note, uint64_t id, uint64_t function)
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

void vg_note_begin_slow(vg_worker *worker, vg_note *note, const vigil_task *task, void *function, uint64_t key)
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
