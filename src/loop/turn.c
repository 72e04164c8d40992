/* SPDX-License-Identifier: MIT */
/*
 * turn.c - one turn of the loop, step by step. docs/loop.md has the same numbers.
 *
 * A step takes a snapshot of its source, then runs callbacks until the snapshot is used up. It can be left between
 * two callbacks and entered again, because its progress is in the loop and not on the stack. So vigil_raise may jump
 * out of a callback, and vigil_loop_pause takes effect after the running callback.
 */
#include "turn.h"
#include "guard.h"
#include "hooks.h"
#include "look.h"
#include "micro.h"
#include "note.h"
#include "post.h"
#include "run.h"
#include "signals.h"
#include "sleep.h"
#include "tally.h"
#include "timer_api.h"
#include "watch_owner.h"

#include "base/clock.h"

enum {
    CALLS_KEPT = 128 * 1024 /* bytes of calls that stay for the next burst */
};

void vg_update_now(vigil_loop *loop)
{
    atomic_store_explicit(&loop->now, vg_now_ns(), memory_order_relaxed);
}

vigil_loop_phase vg_phase_of(vg_step step)
{
    static const uint8_t phases[VG_STEPS] = {
        [VG_STEP_INTERNAL] = VIGIL_PHASE_INTERNAL,
        [VG_STEP_POSTS] = VIGIL_PHASE_POSTS,
        [VG_STEP_TIMERS] = VIGIL_PHASE_TIMERS,
        [VG_STEP_PREPARE] = VIGIL_PHASE_PREPARE,
        [VG_STEP_IO] = VIGIL_PHASE_IO,
        [VG_STEP_CHECK] = VIGIL_PHASE_CHECK,
        [VG_STEP_IMMEDIATES] = VIGIL_PHASE_IMMEDIATES,
        [VG_STEP_CLOSE] = VIGIL_PHASE_CLOSE,
    };
    return (vigil_loop_phase)phases[step];
}

/* 1. The time, and microtasks left over by the last turn's budget. */
static void step_begin(vigil_loop *loop, bool first)
{
    if (first) {
        if (vg_heap_size(&loop->timers.heap) != 0)
            vg_update_now(loop); /* else the time of the last poll is good enough */
        vg_tally(&loop->shared->turns, 1);
        loop->microtasks_breached = false;
        loop->prepare_deadline = VG_NO_DEADLINE;
    }
    if (vg_checkpoint_due(loop)) {
        vg_loop_note_step(loop, vg_ticks());
        vg_checkpoint(loop);
        vg_loop_note_step_end(loop, vg_ticks());
    }
}

/* 2. The internal lane: all that is there. */
static void step_internal(vigil_loop *loop, bool first)
{
    if (first && loop->internal == NULL)
        loop->internal = vg_lane_take(&loop->lane);
    while (loop->internal != NULL && !vg_interrupted(loop)) {
        vigil_post *post = loop->internal;
        loop->internal = post->vg_next;
        vg_tally(&loop->shared->internal_run, 1);
        vg_loop_note_call(loop, vg_fifo_function(post));
        vg_fifo_run(&loop->calls, post);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
}

static void report_pressure(vigil_loop *loop)
{
    uint32_t pressure = atomic_load_explicit(&loop->pressure, memory_order_relaxed);
    if (pressure == 0)
        return;
    uint64_t waiting = atomic_load_explicit(&loop->ingress.waiting, memory_order_relaxed);
    if (pressure == 1) {
        atomic_store_explicit(&loop->pressure, 2, memory_order_relaxed);
        vg_emit(loop, VIGIL_LOOP_PRESSURE_ON, -1, -EAGAIN, waiting,
                "max_posts were waiting and a post was refused; producers are faster than the loop");
    } else if (waiting <= loop->options.max_posts / 2) {
        atomic_store_explicit(&loop->pressure, 0, memory_order_relaxed);
        vg_emit(loop, VIGIL_LOOP_PRESSURE_OFF, -1, 0, waiting, "half of max_posts has been worked off; post again");
    }
}

/* 3. Posts accepted before the step began, at most the budget. */
static void step_posts(vigil_loop *loop, bool first)
{
    if (first) {
        loop->posts_end = vg_ingress_end(&loop->ingress);
        loop->posts_until =
            atomic_load_explicit(&loop->ingress.taken, memory_order_relaxed) + loop->options.post_budget;
        report_pressure(loop);
    }
    vg_taken post;
    while (atomic_load_explicit(&loop->ingress.taken, memory_order_relaxed) != loop->posts_until &&
           !vg_interrupted(loop) && vg_ingress_take(&loop->ingress, loop->posts_end, &post)) {
        vg_loop_note_call(loop, vg_post_function(post.run, post.arg));
        post.run(post.arg);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
    if (!vg_interrupted(loop))
        report_pressure(loop);
}

/* 4. Timers that are due at the loop's time. */
static void step_timers(vigil_loop *loop, bool first)
{
    if (first)
        vg_timers_collect(&loop->timers, atomic_load_explicit(&loop->now, memory_order_relaxed));
    vg_timers_run(loop);
}

static uint64_t once_calls(const vigil_loop *loop)
{
    return vg_loop_callbacks(loop) - loop->own_calls;
}

static uint64_t hook_calls(const vigil_loop *loop)
{
    return vg_tally_read(&loop->shared->prepares_run) + vg_tally_read(&loop->shared->checks_run);
}

void vg_once_begin(vigil_loop *loop)
{
    loop->once_before = once_calls(loop);
    loop->once_hooks = hook_calls(loop);
}

bool vg_once_is_over(const vigil_loop *loop)
{
    return once_calls(loop) != loop->once_before || (loop->auto_exit && !vg_loop_alive(loop));
}

/* VIGIL_RUN_ONCE: something has run that the caller may have waited for. Hooks run in every turn, and bound the sleep
   themselves. */
static bool once_has_run(const vigil_loop *loop)
{
    return loop->once && once_calls(loop) - loop->once_before != hook_calls(loop) - loop->once_hooks;
}

/* Return what a burst has left behind: timers, and calls when none is queued. */
static void give_memory_back(vigil_loop *loop)
{
    vg_timers_give_back(&loop->timers);
    const size_t queued = loop->ticks.count + loop->microtasks.count + loop->immediates.count +
                          loop->immediates_now.count + loop->closers.count + loop->closers_now.count;
    if (queued == 0 && atomic_load_explicit(&loop->calls.bytes, memory_order_relaxed) > CALLS_KEPT)
        vg_call_store_destroy(&loop->calls);
}

/* 6. Sleep if nothing prevents it; look at the descriptors in any case. */
static void step_poll(vigil_loop *loop, bool first)
{
    if (!first)
        return; /* a recheck hook raised */
    uint64_t deadline = vg_timers_next(&loop->timers);
    if (loop->prepare_deadline < deadline)
        deadline = loop->prepare_deadline;
    bool glance = loop->nowait || once_has_run(loop) || vg_loop_pending(loop) ||
                  deadline <= atomic_load_explicit(&loop->now, memory_order_relaxed) || vg_loop_stream(loop, deadline);
    if (!glance || loop->nowait)
        give_memory_back(loop);
    if (glance)
        vg_loop_glance(loop);
    else
        vg_loop_sleep(loop, deadline);
    if (glance)
        vg_update_now(loop);
}

/* 7. Descriptors, signals, children. */
static void step_io(vigil_loop *loop, bool first)
{
    if (first && loop->poll_count != 0)
        vg_watch_collect(loop);
    vg_signals_resume(loop);
    vg_watch_run(loop);
}

/* 9. Immediates that were asked for before the step began. */
static void step_immediates(vigil_loop *loop, bool first)
{
    if (first)
        vg_fifo_append(&loop->immediates_now, &loop->immediates);
    while (loop->immediates_now.first != NULL && !vg_interrupted(loop)) {
        vg_tally(&loop->shared->immediates_run, 1);
        vigil_post *post = vg_fifo_pop(&loop->immediates_now);
        vg_loop_note_call(loop, vg_fifo_function(post));
        vg_fifo_run(&loop->calls, post);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
}

/* 10. Watches that are over, then deferred calls. */
static void step_closing(vigil_loop *loop, bool first)
{
    if (first) {
        if (atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed))
            vg_watch_bury(loop);
        vg_fifo_append(&loop->closers_now, &loop->closers);
        if (loop->hooks_dead)
            vg_hooks_sweep(loop);
    }
    while (loop->dead_now != NULL && !vg_interrupted(loop)) {
        vg_watch *watch = loop->dead_now;
        loop->dead_now = watch->next;
        vg_tally(&loop->shared->closes_run, 1);
        vg_watch_free_dead(loop, watch);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
    while (loop->closers_now.first != NULL && !vg_interrupted(loop)) {
        vg_tally(&loop->shared->closes_run, 1);
        vigil_post *post = vg_fifo_pop(&loop->closers_now);
        vg_loop_note_call(loop, vg_fifo_function(post));
        vg_fifo_run(&loop->calls, post);
        vg_loop_note_called(loop);
        vg_checkpoint(loop);
    }
}

static void step_prepare(vigil_loop *loop, bool first)
{
    if (first)
        loop->hooks_last = loop->hooks_added;
    vg_hooks_prepare(loop);
}

static void step_check(vigil_loop *loop, bool first)
{
    if (first)
        loop->hooks_last = loop->hooks_added;
    vg_hooks_check(loop);
}

typedef void (*step_fn)(vigil_loop *loop, bool first);

static const step_fn turn_steps[VG_STEPS] = {
    [VG_STEP_BEGIN] = step_begin,   [VG_STEP_INTERNAL] = step_internal, [VG_STEP_POSTS] = step_posts,
    [VG_STEP_TIMERS] = step_timers, [VG_STEP_PREPARE] = step_prepare,   [VG_STEP_POLL] = step_poll,
    [VG_STEP_IO] = step_io,         [VG_STEP_CHECK] = step_check,       [VG_STEP_IMMEDIATES] = step_immediates,
    [VG_STEP_CLOSE] = step_closing,
};

static bool step_has_work(const vigil_loop *loop, vg_step step)
{
    switch (step) {
    case VG_STEP_INTERNAL:
        return loop->internal != NULL || vg_lane_ready(&loop->lane);
    case VG_STEP_POSTS:
        return vg_ingress_ready(&loop->ingress) || atomic_load_explicit(&loop->pressure, memory_order_relaxed) != 0;
    case VG_STEP_TIMERS: {
        const vg_heap_entry *top = vg_heap_peek(&loop->timers.heap);
        return loop->timers.running != 0 || loop->timers.batch_next < loop->timers.batch_count ||
               (top != NULL && top->key <= atomic_load_explicit(&loop->now, memory_order_relaxed));
    }
    case VG_STEP_PREPARE:
    case VG_STEP_CHECK:
        return loop->hooks != NULL;
    case VG_STEP_IO:
        return loop->poll_count != 0 || loop->watches.ready != NULL || vg_signals_pending(loop);
    case VG_STEP_IMMEDIATES:
        return loop->immediates.count + loop->immediates_now.count != 0;
    case VG_STEP_CLOSE:
        return loop->closers.count + loop->closers_now.count != 0 || loop->dead_now != NULL || loop->hooks_dead ||
               atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed);
    default:
        return true;
    }
}

/* Run one step; true: to its end, not interrupted. */
static bool one_step(vigil_loop *loop)
{
    vg_step step = loop->step;
    if (!loop->step_begun && !step_has_work(loop, step))
        return true;
    bool timed = vg_phase_of(step) != VIGIL_PHASE_NONE;
    bool first = !loop->step_begun;
    loop->step_begun = true;
    if (timed && first) {
        loop->step_ticks = vg_ticks();
        vg_loop_note_step(loop, loop->step_ticks);
    }
    atomic_store_explicit(&loop->shared->phase, vg_phase_of(step), memory_order_relaxed);
    turn_steps[step](loop, first);
    if (step != VG_STEP_BEGIN && step != VG_STEP_POLL && vg_interrupted(loop))
        return false;
    if (timed) {
        const uint64_t now = vg_ticks();
        vg_tally(&loop->shared->phase_ticks[vg_phase_of(step)], now - loop->step_ticks);
        vg_loop_note_step_end(loop, now);
    }
    atomic_store_explicit(&loop->shared->phase, VIGIL_PHASE_NONE, memory_order_relaxed);
    return true;
}

void vg_turn(vigil_loop *loop)
{
    while (loop->step < VG_STEPS) {
        if (!one_step(loop))
            return;
        loop->step_begun = false;
        loop->step++;
    }
}

/* The steps that go on while the loop drains. True: something was there. */
bool vg_drain_some(vigil_loop *loop)
{
    static const vg_step draining[] = {VG_STEP_BEGIN, VG_STEP_INTERNAL, VG_STEP_POSTS, VG_STEP_IMMEDIATES,
                                       VG_STEP_CLOSE};
    bool any = false;
    for (size_t i = 0; i < sizeof draining / sizeof draining[0]; i++) {
        vg_step step = draining[i];
        if (loop->step > step && loop->step_begun)
            continue; /* a callback has raised: go on where it was */
        any = any || (step != VG_STEP_BEGIN && step_has_work(loop, step)) ||
              loop->ticks.count + loop->microtasks.count != 0;
        loop->step = step;
        if (!one_step(loop))
            return true;
        loop->step_begun = false;
    }
    loop->step = VG_STEP_BEGIN;
    return any;
}
