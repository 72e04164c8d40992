/* SPDX-License-Identifier: MIT */
/*
 * run.c - a task that has left its queue runs or is discarded. README.md, "File by file".
 */
#include "run.h"

#include "base/my_thread.h"
#include "forked.h"

#include "bound.h"
#include "call.h"
#include "counter.h"
#include "group.h"
#include "guarded.h"
#include "job.h"
#include "moving.h"
#include "own.h"
#include "quiescence.h"
#include "trace.h"
#include "worker.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <vigil/record.h>

__attribute__((noinline)) void vg_mark_raised(void)
{
    if (vg_current_worker != NULL) /* else: in the child of a task */
        vg_current_worker->raised = true;
}

static __attribute__((noinline)) int run_job_guarded(vigil_task *task)
{
    const vg_job_work work = vg_job_work_of(task);
    return vg_call_guarded(work.fn, work.arg);
}

_Thread_local vg_cancelling *vg_cancelling_top;

static __attribute__((noinline)) void cancel_and_land(vigil_pool *pool, vigil_task *task)
{
    vg_cancelling here = {.pool = pool, .outer = vg_cancelling_top};
    vg_raise_frame frame;
    vg_cancelling_top = &here;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        if (task->vg_kind == VG_KIND_CALL)
            vg_pool_call_cancel(pool, task);
        else if (task->vg_kind == VG_KIND_JOB)
            vg_job_cancel(task);
        else
            task->cancel(task);
    }
    vg_raise_pop(&frame);
    vg_cancelling_top = here.outer;
}

static void cancel_guarded(vigil_pool *pool, vigil_task *task)
{
    vg_worker *worker = vg_worker_of(pool);
    /* for the audit: the task is in no queue, and the callback may submit another one */
    const bool held = worker != NULL && vg_handling_hold(worker);
    cancel_and_land(pool, task);
    if (held)
        vg_handling_go_on(worker);
}

/* on_failure may leave by vigil_raise: that ends the hook alone. */
static __attribute__((noinline)) void report_guarded(const vigil_pool *pool, const vigil_failure *failure)
{
    vg_raise_frame frame;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        pool->on_failure(pool->user, failure);
    vg_raise_pop(&frame);
}

void *vg_task_function(const vigil_task *task)
{
    switch (task->vg_kind) {
    case VG_KIND_CALL:
        return vg_pool_call_function(task);
    case VG_KIND_JOB:
        return vg_job_function(task);
    default:
        return (void *)(uintptr_t)task->run;
    }
}

void vg_task_failed(vg_worker *worker, unsigned class_, int status, void *function)
{
    vigil_pool *pool = worker->pool;
    const bool raised = worker->raised;
    worker->raised = false;
#ifndef VIGIL_CHECK
    const bool thread_ended = worker->thread_ended;
    worker->thread_ended = false;
#endif
    if (worker->depth == 0)
        vigil_self.vg_locks = 0; /* a task that raised has left its locks locked */
    if (pool->on_failure != NULL) {
        vigil_failure failure = {
            .size = sizeof failure,
            .status = status,
            .raised = raised,
            .priority = (vigil_priority)class_,
            .worker = worker->seat.index,
            .function = function,
        };
        report_guarded(pool, &failure);
    } else {
#ifndef VIGIL_CHECK
        char name[96], how[128];
        (void)snprintf(how, sizeof how, "%s %d (%s)", raised ? "raised" : "returned", status, vigil_strerror(status));
        vg_log(VG_LOG_TASK,
               "a task failed: %s %s on worker %u of the pool \"%s\". Set options.on_failure to hear of each.",
               vg_log_function(function, name, sizeof name),
               thread_ended ? "ended its thread (pthread_exit or cancellation)" : how, worker->seat.index, pool->name);
#endif
    }
    vg_count_release(&worker->seat.counts->of[class_].failed, 1);
}

bool vg_drop_husk(vigil_pool *pool, vigil_task *task)
{
    if (task->vg_kind != VG_KIND_JOB || !vg_job_is_husk(task))
        return false;
    if ((task->vg_flags & VG_FLAG_COUNTED) != 0)
        vg_room_release(pool);
    vg_job_husk(pool, task);
    return true;
}

/* Settle what the queue knew of the task. false: it was the husk of a job. The flags are only read: a waiter may
   have claimed the job and read them too. */
static bool take_from_queue(vigil_pool *pool, vigil_task *task)
{
    if ((task->vg_flags & VG_FLAG_COUNTED) != 0)
        vg_room_release(pool);
    if (task->vg_kind == VG_KIND_JOB && !vg_job_claim(task)) {
        vg_job_husk(pool, task);
        return false;
    }
    return true;
}

/* `as`: the class of what it spawns; counters keep the class of its submit. */
static inline __attribute__((always_inline)) void run_claimed_as(vg_worker *worker, vigil_task *task, unsigned as)
{
    vigil_group *group = task->vg_group;
    const unsigned class_ = task->vg_class;
    vg_file_worker *counts = worker->seat.counts;
    vg_count_release(&counts->of[class_].started, 1);
    vg_handled_and_counted(worker);
    vg_worker_state(worker, VIGIL_WORKER_RUNNING);

    vg_own_queue *const outer_queue = worker->queue;
    vigil_group *const outer_group = worker->group;
    const unsigned outer_blocking = worker->blocking;
    vg_worker_spawns_to(worker, &worker->queues[as]);
    worker->group = group;
    worker->depth++;
    if (group != NULL && group->vg_owner != worker) /* stolen: show the waiter where its descendants are */
        atomic_store_explicit(&group->vg_thief, worker->seat.index + 1, memory_order_relaxed);
    const uint8_t kind = task->vg_kind;
    void *function = kind == VG_KIND_PLAIN ? (void *)(uintptr_t)task->run : vg_task_function(task);
    const bool exact = group != NULL || (kind == VG_KIND_JOB && !vg_job_is_alone(task));
    vg_trace_frame note;
    if (__builtin_expect(worker->level >= VIGIL_RECORD_COUNTERS, 1))
        vg_trace_begin(worker, &note, task, function, exact);
    VG_PROBE(run, function, class_, task);
    int status;
    if (__builtin_expect(kind == VG_KIND_JOB, 0)) {
        status = run_job_guarded(task);
    } else {
        /* relaxed: the function itself decides when the task may be submitted again */
        atomic_store_explicit(&task->vg_state, VG_TASK_FREE, memory_order_relaxed);
        status = vg_run_guarded(task);
    }
    if (__builtin_expect(vg_current_worker != worker, 0))
        vg_forked_end(status); /* before anything is written that the parent has, too */
    worker->depth--;
    VG_PROBE(done, function, class_, status);
    if (__builtin_expect(worker->level >= VIGIL_RECORD_COUNTERS, 1))
        vg_trace_end(worker, &note, class_, status, !exact && status >= 0);
    if (__builtin_expect(worker->queue->joins_left != VG_JOINS_COUNTED, 0))
        vg_joins_count(worker->queue);
    vg_worker_spawns_to(worker, outer_queue);
    worker->group = outer_group;
    while (__builtin_expect(worker->blocking > outer_blocking, 0))
        (void)vigil_blocking_end(); /* left by vigil_raise, or forgotten */

    if (__builtin_expect(status < 0, 0))
        vg_task_failed(worker, class_, status, function);
    else
        vg_count_release(&counts->of[class_].completed, 1);
    if (group != NULL) {
        if (__builtin_expect(kind == VG_KIND_JOB, 0))
            vg_job_finish(worker->pool, task, status, false); /* a member's; the group comes last */
        vg_group_finish(worker->pool, worker, group, status);
    } else if (kind == VG_KIND_JOB)
        vg_job_finish(worker->pool, task, status, false);
}

void vg_run_claimed(vg_worker *worker, vigil_task *task)
{
    run_claimed_as(worker, task, task->vg_class);
}

void vg_run_awaited(vg_worker *worker, vigil_task *task)
{
    const unsigned mine = worker->queue->class_;
    run_claimed_as(worker, task, task->vg_class < mine ? task->vg_class : mine);
}

static void count_cancelled(vigil_pool *pool, unsigned class_)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL)
        vg_count_release(&worker->seat.counts->of[class_].cancelled, 1);
    else /* release, as vg_count_release */
        (void)atomic_fetch_add_explicit(&vg_stripe_of_caller(pool)->counts->cancelled[class_], 1, memory_order_release);
}

void vg_discard_claimed(vigil_pool *pool, vigil_task *task)
{
    vigil_group *group = task->vg_group;
    const unsigned class_ = task->vg_class;
    const uint8_t kind = task->vg_kind;
    if (pool->level == VIGIL_RECORD_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_CANCEL, class_, (uint64_t)(uintptr_t)vg_task_function(task)),
                     /* a job may be cancelled while another thread moves its entry and writes the stamp */
                     kind != VG_KIND_JOB && (task->vg_flags & VG_FLAG_STAMPED) != 0 ? task->vg_stamp : 0,
                     (uint64_t)(uintptr_t)task);
    if (kind != VG_KIND_JOB)
        atomic_store_explicit(&task->vg_state, VG_TASK_FREE, memory_order_relaxed); /* as in vg_run_claimed */
    if (task->cancel != NULL || kind == VG_KIND_JOB)
        cancel_guarded(pool, task);
    count_cancelled(pool, class_);
    if (kind == VG_KIND_JOB)
        vg_job_finish(pool, task, -ECANCELED, true);
    if (group != NULL)
        vg_group_finish(pool, vg_worker_of(pool), group, -ECANCELED);
    /* F full fence: the end is counted before waiters are looked for; pairs with G and N in quiescence.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_quiescence_ended(pool);
}

static void discard_taken(vigil_pool *pool, vigil_task *task)
{
    const uint8_t kind = task->vg_kind;
    vg_discard_claimed(pool, task);
    if (kind == VG_KIND_JOB)
        vg_job_leave_queue(pool, task);
}

void vg_discard(vigil_pool *pool, vigil_task *task)
{
    if (take_from_queue(pool, task))
        discard_taken(pool, task);
}

bool vg_must_discard(const vigil_pool *pool, const vigil_task *task)
{
    /* relaxed: a task that misses either has begun before */
    return atomic_load_explicit(&pool->phase, memory_order_relaxed) == VG_DISCARDING ||
           (task->vg_group != NULL && vg_group_is_cancelled(task->vg_group));
}

void vg_run(vg_worker *worker, vigil_task *task)
{
    if (__builtin_expect(task->vg_kind == VG_KIND_JOB || (task->vg_flags & VG_FLAG_COUNTED) != 0, 0) &&
        !take_from_queue(worker->pool, task)) {
        vg_handling(worker, 0);
        return;
    }
    if (__builtin_expect(vg_must_discard(worker->pool, task), 0)) {
        discard_taken(worker->pool, task);
        vg_handling(worker, 0);
        return;
    }
    const uint8_t kind = task->vg_kind;
    vg_run_claimed(worker, task);
    if (__builtin_expect(kind == VG_KIND_JOB, 0))
        vg_job_leave_queue(worker->pool, task);
}
