/* SPDX-License-Identifier: MIT */
/*
 * blocked.c - a sleep for something that is not a task.
 */
#include "blocked.h"

#include "blocking.h"
#include "caps.h"
#include "waits.h"

#include <stddef.h>

static uint64_t shown_of(const vg_blocked_on *on)
{
    if (on->owner != NULL)
        return (uint64_t)(uintptr_t)on->owner;
    return on->shown != 0 ? on->shown : (uint64_t)(uintptr_t)on->object;
}

/* The slot of a thread that is no worker, if the recorder knows it; it is not introduced for a wait. */
static vg_waiting record_stranger(const vg_blocked_on *on)
{
    vg_waiting waiting = {.wait = NULL};
    if (vg_my_ring.thread == NULL ||
        vg_my_ring.epoch != atomic_load_explicit(&vg_record_epoch, memory_order_relaxed)) /* as in vg_event_put */
        return waiting;
    waiting.wait = &vg_my_ring.thread->wait;
    waiting.outer_kind = VG_WAIT_NONE;
    vg_wait_begin(waiting.wait, on->kind, shown_of(on), (uint64_t)(uintptr_t)on->where, vg_ticks());
    return waiting;
}

void vg_blocked_begin(vg_blocked *it, const vg_blocked_on *on)
{
    vg_worker *worker = vg_current_worker;
    it->worker = worker != NULL && worker->depth != 0 ? worker : NULL;
    it->number = 0;
    if (it->worker == NULL) {
        it->waiting = record_stranger(on);
        return;
    }
    vg_caps_suspend(worker, it->held); /* what it waits for may need the place */
    it->waiting = vg_trace_wait(worker->pool, worker, on->kind, shown_of(on), on->where);
    const vg_wait_what what = on->owner != NULL             ? VG_WAITS_LOCK
                              : on->kind == VG_WAIT_PROMISE ? VG_WAITS_PROMISE
                                                            : VG_WAITS_OTHER;
    it->number = vg_wait_note_begin(worker, what, on->object, NULL, on->deadline_ns, on->word);
    vg_wait_note_owner(worker, on->owner);
    (void)vigil_blocking_begin();
}

void vg_blocked_end(vg_blocked *it)
{
    vg_worker *worker = it->worker;
    if (worker == NULL) {
        if (it->waiting.wait != NULL)
            vg_wait_end(it->waiting.wait);
        return;
    }
    (void)vigil_blocking_end();
    vg_wait_note_end(worker);
    vg_trace_waited(worker->pool, &it->waiting);
    vg_caps_resume(worker, it->held);
}
