/* SPDX-License-Identifier: MIT */
/*
 * micro.c - ticks and microtasks: they run right after the callback that queued them.
 *
 * A checkpoint runs all ticks, then all microtasks and those that they add, and again while there are ticks: the
 * order of Node. It ends when both queues are empty or the budget is used up. When both are empty, the room above may
 * add to them (unhandled rejections).
 *
 * A microtask may raise; then the checkpoint is entered again. So its progress is in the loop, not in locals.
 */
#include "micro.h"
#include "ending.h"
#include "guard.h"
#include "note.h"
#include "run.h"
#include "sleep.h"
#include "tally.h"

#include <stddef.h>

enum {
    FLOOD = 100000
};

/* The budget is used up. True: go on all the same. */
static bool exhausted(vigil_loop *loop)
{
    if (vg_end_is_overdue(loop))
        return false;
    if (loop->options.microtasks == VIGIL_MICROTASK_EXHAUSTIVE) {
        loop->microtask_given += FLOOD;
        loop->microtask_left = FLOOD;
        vg_emit(loop, VIGIL_LOOP_MICROTASK_FLOOD, -1, 0, loop->microtask_given - FLOOD,
                "one checkpoint has run a great many microtasks and goes on; nothing else runs on the loop");
        return true;
    }
    loop->microtasks_breached = true;
    vg_tally(&loop->shared->microtask_breaches, 1);
    vg_emit(loop, VIGIL_LOOP_MICROTASK_BREACH, -1, 0, loop->ticks.count + loop->microtasks.count,
            "a checkpoint ran its whole budget of microtasks and more are queued; they wait for the next turn. Does a "
            "microtask queue itself again?");
    return false;
}

static bool end_is_aborted(const vigil_loop *loop)
{
    return (atomic_load_explicit(&loop->interrupt, memory_order_relaxed) & VG_ABORT) != 0;
}

/* Run the queue until it is empty; false: the checkpoint is over. */
static inline bool run_queue(vigil_loop *loop, vg_fifo *queue, uint64_t one_tick)
{
    while (queue->first != NULL) {
        if (end_is_aborted(loop) || (loop->microtask_left == 0 && !exhausted(loop)))
            return false;
        loop->microtask_left--;
        loop->microtask_ticks += one_tick;
        vigil_post *post = vg_fifo_pop(queue);
        vg_loop_note_call(loop, vg_fifo_function(post));
        vg_fifo_run(&loop->calls, post);
        vg_loop_note_called(loop);
    }
    return true;
}

void vg_checkpoint_slow(vigil_loop *loop)
{
    if (loop->microtasks_breached)
        return;
    if (!loop->in_checkpoint) { /* else a microtask raised, and this is the same checkpoint */
        loop->in_checkpoint = true;
        loop->in_microtasks = false;
        loop->microtask_given =
            loop->options.microtasks == VIGIL_MICROTASK_EXHAUSTIVE ? FLOOD : loop->options.microtask_budget;
        loop->microtask_left = loop->microtask_given;
        loop->microtask_ticks = 0;
    }
    for (;;) {
        if (!loop->in_microtasks && !run_queue(loop, &loop->ticks, 1))
            break;
        loop->in_microtasks = true;
        if (!run_queue(loop, &loop->microtasks, 0))
            break;
        loop->in_microtasks = false;
        if (loop->ticks.first != NULL)
            continue;
        if (!loop->upstairs_waits)
            break;
        loop->upstairs_waits = false;
        /* relaxed: the owner itself set upstairs_waits and has seen it */
        vg_upstairs *upstairs = atomic_load_explicit(&loop->upstairs, memory_order_relaxed);
        upstairs->checkpoint(upstairs, loop);
    }
    loop->in_checkpoint = false;
    vg_tally(&loop->shared->ticks_run, loop->microtask_ticks);
    vg_tally(&loop->shared->microtasks_run, loop->microtask_given - loop->microtask_left - loop->microtask_ticks);
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

/* May the owner queue something? Also while the loop drains. */
static inline int guard_queue(vigil_loop *loop)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    return loop->ended ? vg_why(-ESHUTDOWN, "the loop has ended; make a new one") : 0;
}

/* The queue is named by its offset: the loop may be NULL until the guard has looked. */
static inline vg_fifo *queue_at(vigil_loop *loop, size_t place)
{
    return (vg_fifo *)(void *)((char *)loop + place);
}

static inline int queue_call(vigil_loop *loop, size_t place, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    int rc = guard_queue(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL)
        return vg_why(-EINVAL, "fn is NULL");
    vg_call *call = vg_call_new(&loop->calls);
    if (call == NULL)
        return vg_why(-ENOMEM, "no memory to queue another call");
    call->fn = fn;
    call->cancel = cancel;
    call->arg = arg;
    vg_fifo_push(queue_at(loop, place), &call->post);
    vg_loop_stir(loop);
    return 0;
}

static inline int queue_post(vigil_loop *loop, size_t place, vigil_post *post)
{
    int rc = guard_queue(loop);
    if (rc != 0)
        return rc;
    if (post == NULL || post->run == NULL)
        return vg_why(-EINVAL, "post or post->run is NULL; set it up with vigil_post_init");
    if (!vg_post_claim(post))
        return vg_why(-EBUSY, "the post is queued already");
    vg_fifo_push(queue_at(loop, place), post);
    vg_loop_stir(loop);
    return 0;
}

int vigil_loop_tick_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    return queue_call(loop, offsetof(vigil_loop, ticks), fn, cancel, arg);
}

int vigil_loop_microtask_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    return queue_call(loop, offsetof(vigil_loop, microtasks), fn, cancel, arg);
}

int vigil_loop_tick(vigil_loop *loop, vigil_post *post)
{
    return queue_post(loop, offsetof(vigil_loop, ticks), post);
}

int vigil_loop_microtask(vigil_loop *loop, vigil_post *post)
{
    return queue_post(loop, offsetof(vigil_loop, microtasks), post);
}

int vigil_loop_immediate_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    return queue_call(loop, offsetof(vigil_loop, immediates), fn, cancel, arg);
}

int vigil_loop_immediate(vigil_loop *loop, vigil_post *post)
{
    return queue_post(loop, offsetof(vigil_loop, immediates), post);
}

int vigil_loop_defer_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    return queue_call(loop, offsetof(vigil_loop, closers), fn, cancel, arg);
}
