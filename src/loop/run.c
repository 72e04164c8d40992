/* SPDX-License-Identifier: MIT */
/*
 * run.c - who runs the loop, for how long, and what a raise inside a callback does.
 *
 * The right to run is the word `owner`. It goes from 0 to a thread by compare-exchange; the holder may touch the
 * owner's fields. A holder that sees Terminating also ends the loop. So a leaving thread gives the right back, then
 * looks at the state once more (R1), and a thread that sets Terminating does so first and then claims the right
 * (ending.c, R2). One of them sees the other.
 */
#include "run.h"
#include "ending.h"
#include "guard.h"
#include "look.h"
#include "micro.h"
#include "note.h"
#include "signals.h"
#include "sleep.h"
#include "tally.h"
#include "turn.h"
#include "base/clock.h"

#include "base/futex.h"
#include "base/raise.h"
#include "base/thread.h"

#include <pthread.h>

static void release_run(vigil_loop *loop)
{
    vg_signals_leave(loop);
    atomic_store_explicit(&loop->owner_thread, 0, memory_order_relaxed);
    vg_loop_note_owner(loop, 0);
    /* release: the owner's fields for the next one; pairs with the acquire in claim_run */
    atomic_store_explicit(&loop->owner, 0, memory_order_release);
}

/* ---- raise ------------------------------------------------------------------------------------------------------- */

/* Back from a raise: report it and finish the checkpoint. */
static void report_raise(vigil_loop *loop)
{
    bool again = loop->in_uncaught; /* it was the handler itself that raised */
    vigil_uncaught it = {.size = sizeof it,
                         .status = loop->raised_status,
                         .phase = loop->step < VG_STEPS ? vg_phase_of(loop->step) : VIGIL_PHASE_NONE,
                         .microtask = loop->in_checkpoint};
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    /* A recheck hook raises while Sleeping. A waker may be faster. */
    if ((state & VG_STATE_MASK) == VIGIL_LOOP_SLEEPING)
        (void)atomic_compare_exchange_strong_explicit(&loop->state, &state, VIGIL_LOOP_RUNNING, memory_order_relaxed,
                                                      memory_order_relaxed);
#ifndef VIGIL_CHECK
    const bool thread_ended = loop->thread_ended;
#endif
    loop->raised = loop->thread_ended = false;
    loop->in_uncaught = false;
    vg_loop_note_called(loop);
    vg_unfinished *unfinished = loop->unfinished;
    loop->unfinished = NULL;
    if (unfinished != NULL)
        unfinished->left(unfinished);
    vg_tally(&loop->shared->uncaught, 1);
    if (!again && loop->options.on_uncaught != NULL) {
        loop->in_uncaught = true;
        loop->options.on_uncaught(loop->options.user, &it);
        loop->in_uncaught = false;
    }
#ifndef VIGIL_CHECK
    if (loop->options.on_uncaught == NULL && thread_ended)
        vg_log(VG_LOG_CALLBACK,
               "a callback of the loop \"%s\" ended its thread (pthread_exit or cancellation). Set options.on_uncaught "
               "to hear of each.",
               loop->name);
    else if (loop->options.on_uncaught == NULL)
        vg_log(VG_LOG_CALLBACK,
               "a callback of the loop \"%s\" left by vigil_raise(%d) (%s). Set options.on_uncaught to hear of each.",
               loop->name, it.status, vigil_strerror(it.status));
#endif
    /* Finish a checkpoint in which a microtask raised, even its last one: else the next checkpoint would continue
       it. */
    if (loop->in_checkpoint)
        vg_checkpoint_slow(loop);
    else
        vg_checkpoint(loop);
}

void vg_loop_abandon(void *arg)
{
    vigil_loop *loop = arg;
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    loop->raised = loop->thread_ended = true;
    loop->raised_status = -ECANCELED;
    while ((state & VG_STATE_MASK) < VIGIL_LOOP_TERMINATING &&
           !atomic_compare_exchange_weak_explicit(&loop->state, &state, VIGIL_LOOP_AWAKE, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    vg_loop_note_state(loop, vg_state(loop), vg_ticks());
    if (loop->embedded)
        vg_loop_poke(loop);
    vg_inflight_begin(loop); /* the end waits for our last touch */
    release_run(loop);
    /* Somebody may wait for an end that we were at, or were to bring. release: the right that was given back, for who
       sees the count; pairs with the acquire in ending.c, wait_done */
    (void)atomic_fetch_add_explicit(&loop->done, VG_ABANDONED, memory_order_release);
    (void)vg_futex_wake(&loop->done, VG_WAKE_ALL);
    vg_inflight_end(loop);
}

void vg_guarded(vigil_loop *loop, void (*body)(vigil_loop *loop))
{
    vg_raise_frame frame;
    pthread_cleanup_push(vg_loop_abandon, loop);
    vg_raise_push(&frame);
    for (;;) {
        if (VG_RAISE_LAND(&frame) == 0) {
            if (loop->raised)
                report_raise(loop);
            body(loop);
            break;
        }
        loop->raised = true;
        loop->raised_status = frame.status;
    }
    vg_raise_pop(&frame);
    pthread_cleanup_pop(0);
}

void vg_emit(vigil_loop *loop, vigil_loop_event_kind kind, int fd, int error, uint64_t count, const char *text)
{
    if (loop->options.on_event == NULL)
        return;
    vigil_loop_event event = {
        .size = sizeof event, .kind = kind, .fd = fd, .error = error, .count = count, .text = text};
    /* A frame of its own: the caller must finish what it does. */
    vg_raise_frame frame;
    vg_report_frame report = {.loop = loop, .outer = vg_reports};
    vg_reports = &report;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        loop->options.on_event(loop->options.user, &event);
    vg_raise_pop(&frame);
    vg_reports = report.outer;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Nothing keeps the loop alive. Ask the user for the last time, then close the door unless somebody came through. After
   a raise we come here again and go on behind the question. */
static void try_to_end(vigil_loop *loop)
{
    if (loop->options.on_before_exit != NULL && !loop->asked) {
        loop->asked = true;
        loop->options.on_before_exit(loop->options.user);
    }
    loop->asked = false;
    vg_checkpoint(loop);
    if (vg_loop_alive(loop) || vg_interrupted(loop))
        return;
    if (!vg_ingress_close_if_drained(&loop->ingress)) {
        /* A place was given out and is about to be published. Wait here instead of asking the user again. */
        while (!vg_ingress_ready(&loop->ingress))
            vg_thread_yield();
        return;
    }
    uint32_t running = VIGIL_LOOP_RUNNING;
    (void)atomic_compare_exchange_strong_explicit(&loop->state, &running, VIGIL_LOOP_TERMINATING, memory_order_relaxed,
                                                  memory_order_relaxed);
}

static void drive_turns(vigil_loop *loop)
{
    for (;;) {
        if (loop->step == VG_STEPS) {
            loop->step = VG_STEP_BEGIN;
            if (loop->once && (loop->nowait || vg_once_is_over(loop)))
                return;
        }
        if (vg_state(loop) >= VIGIL_LOOP_TERMINATING || vg_interrupted(loop))
            return;
        if (loop->step == VG_STEP_BEGIN && !loop->step_begun && loop->ends_itself && !vg_loop_alive(loop)) {
            try_to_end(loop);
            continue;
        }
        loop->asked = false;
        vg_turn(loop);
    }
}

static bool claim_run(vigil_loop *loop, uintptr_t *holder)
{
    *holder = 0;
    /* acquire: what the last owner left; pairs with the release in give_back_run. On failure too: if the holder ends a
       loop that nobody ran, Terminating is seen; pairs with the release in ending.c, end_it_ourselves */
    return atomic_compare_exchange_strong_explicit(&loop->owner, holder, vg_self(), memory_order_acquire,
                                                   memory_order_acquire);
}

/* Running, from any state; false: ending or ended. */
static bool begin_running(vigil_loop *loop)
{
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    do {
        if ((state & VG_STATE_MASK) >= VIGIL_LOOP_TERMINATING)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&loop->state, &state, VIGIL_LOOP_RUNNING, memory_order_relaxed,
                                                    memory_order_relaxed)); /* relaxed: as in sleep.c, get_up */
    return true;
}

/* Stop owning the loop, which is not ended by us. */
static void give_back_run(vigil_loop *loop)
{
    uintptr_t holder;
    release_run(loop);
    /* R1: the right is given back before the state is read; pairs with R2 in ending.c */
    atomic_thread_fence(memory_order_seq_cst);
    if (vg_state(loop) == VIGIL_LOOP_TERMINATING && claim_run(loop, &holder))
        vg_loop_end(loop);
}

static int leave_run(vigil_loop *loop, vigil_run_mode mode)
{
    bool stopped =
        (atomic_fetch_and_explicit(&loop->interrupt, ~(uint32_t)VG_STOP, memory_order_relaxed) & VG_STOP) != 0;
    int result = mode == VIGIL_RUN ? stopped : vg_loop_alive(loop);
    uint32_t running = VIGIL_LOOP_RUNNING;
    const uint64_t now = vg_ticks();
    vg_tally(&loop->shared->work_ticks, now - loop->woke_at);
    vg_loop_note_state(loop, loop->embedded ? VIGIL_LOOP_SLEEPING : VIGIL_LOOP_AWAKE, now);
    vg_loop_note_sample(loop);
    if (loop->embedded)
        vg_loop_doze(loop);
    else
        (void)atomic_compare_exchange_strong_explicit(&loop->state, &running, VIGIL_LOOP_AWAKE, memory_order_relaxed,
                                                      memory_order_relaxed);
    give_back_run(loop);
    /* Not stopped, so vigil_loop_close interrupted us before it set Terminating, and ends the loop itself. 0 means
       ended. */
    return mode == VIGIL_RUN && result == 0 ? vigil_loop_wait(loop, VIGIL_FOREVER) : result;
}

int vigil_loop_run(vigil_loop *loop, vigil_run_mode mode)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if ((unsigned)mode > VIGIL_RUN_NOWAIT)
        return vg_why(-EINVAL, "mode is not VIGIL_RUN, VIGIL_RUN_ONCE or VIGIL_RUN_NOWAIT");
    uintptr_t holder;
    if (vg_inside(loop))
        return vg_why(-EDEADLK, "the loop is run by the callback's own caller; return to it instead");
    if (!claim_run(loop, &holder)) {
        if (vg_state(loop) >= VIGIL_LOOP_TERMINATING) /* another thread ends it, perhaps before it ever ran */
            return mode == VIGIL_RUN ? vigil_loop_wait(loop, VIGIL_FOREVER)
                                     : vg_why(-ESHUTDOWN, "the loop is ending; make a new one");
        return vg_why(-EBUSY, "another thread runs the loop");
    }
    /* K1: we are the owner before we look for reasons to live; pairs with K2 in post.c, vg_loop_settle */
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&loop->owner_thread, vg_thread_id(), memory_order_relaxed);
    vg_loop_note_owner(loop, vg_thread_id());
    vg_signals_enter(loop);
    bool ran = begin_running(loop);
    if (ran) {
        loop->woke_at = vg_ticks();
        vg_loop_note_state(loop, VIGIL_LOOP_RUNNING, loop->woke_at);
        vg_update_now(loop);
        loop->once = mode != VIGIL_RUN;
        loop->nowait = mode == VIGIL_RUN_NOWAIT;
        vg_once_begin(loop);
        loop->auto_exit = !loop->options.stay;
        loop->ends_itself = mode == VIGIL_RUN && !loop->options.stay;
        vg_guarded(loop, drive_turns);
    }
    vigil_loop_state state = vg_state(loop);
    if (state < VIGIL_LOOP_TERMINATING)
        return leave_run(loop, mode);
    if (!loop->over) { /* Terminating; or Terminated, and the thread that was at it has left it */
        if (ran)
            vg_tally(&loop->shared->work_ticks, vg_ticks() - loop->woke_at);
        vg_loop_end(loop);
        return 0;
    }
    vg_signals_leave(loop);
    vg_loop_note_owner(loop, 0);
    /* release: nothing changed, but the next claim pairs with it */
    atomic_store_explicit(&loop->owner, 0, memory_order_release);
    return mode == VIGIL_RUN ? 0 : vg_why(-ESHUTDOWN, "the loop has ended; make a new one");
}

int vigil_loop_pause(vigil_loop *loop)
{
    int rc = vg_guard_any(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    vg_inflight_begin(loop);
    (void)atomic_fetch_or_explicit(&loop->interrupt, VG_STOP, memory_order_relaxed);
    vg_loop_wake(loop);
    vg_inflight_end(loop);
    return 0;
}

/* ---- small questions --------------------------------------------------------------------------------------------- */

vigil_loop_state vigil_loop_state_get(const vigil_loop *loop)
{
    return vg_state(loop);
}

bool vigil_loop_is_owner(const vigil_loop *loop)
{
    return vg_is_owner(loop);
}

uint64_t vigil_loop_now(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->now, memory_order_relaxed);
}

uint64_t vigil_loop_now_update(vigil_loop *loop)
{
    if (vg_guard_any(loop) != 0 || !vg_is_owner(loop))
        return vg_now_ns();
    vg_update_now(loop);
    return vigil_loop_now(loop);
}
