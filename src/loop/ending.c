/* SPDX-License-Identifier: MIT */
/*
 * ending.c - from Terminating to done.
 *
 *   E1  the door of the ingress closes, then Terminating
 *   E2  timers, children and watches are dropped; closed() callbacks are queued
 *   E3  graceful: signals, internal lane, posts, immediates, close queue and microtasks run until all are empty; the
 *       lane closes in the instant in which it is empty. Abort: cancel callbacks instead. closed() callbacks always
 *       run: they free. Later signals are absorbed until the loop is destroyed (SIGNALS.md)
 *   E4  Terminated; end hooks (pending promises are rejected; vigil_loop_at_end_add) and the microtasks that they queue
 *   E5  the poller closes; every call that could wake us has returned; the wake descriptor closes
 *   E6  done
 *
 * User code runs in E3 and E4 and may raise, so the progress is in the loop (end_step) and the body is entered again.
 * After E6 this thread does not touch the loop.
 */
#include "ending.h"
#include "at_end.h"
#include "children.h"
#include "clocks.h"
#include "guard.h"
#include "loop.h"
#include "micro.h"
#include "note.h"
#include "run.h"
#include "signals.h"
#include "sleep.h"
#include "tally.h"
#include "timer_api.h"
#include "turn.h"
#include "watch_owner.h"
#include "base/clock.h"
#include "base/futex.h"

#include "base/thread.h"

enum {
    GRACE_NS = 100000000 /* a shutdown whose time is up waits so long for the end */
};

/* Rounds of the drain in a row that found only internal posts of other threads. The second has run all that was in the
   lane when the end began; later posts came after it. */
enum {
    STREAM_ROUNDS = 2
};

enum {
    END_DROP,
    END_DRAIN,
    END_CANCEL,
    END_HOOKS,
    END_LEFTOVERS,
    END_OVER
};

static bool abort_wanted(vigil_loop *loop)
{
    uint32_t interrupt = atomic_load_explicit(&loop->interrupt, memory_order_relaxed);
    if ((interrupt & VG_ABORT) != 0)
        return true;
    uint64_t deadline = atomic_load_explicit(&loop->end_deadline, memory_order_relaxed);
    if (deadline == VG_NO_DEADLINE || vg_now_ns() < deadline)
        return false;
    (void)atomic_fetch_or_explicit(&loop->interrupt, VG_ABORT, memory_order_relaxed);
    return true;
}

bool vg_end_is_overdue(vigil_loop *loop)
{
    return vg_state(loop) >= VIGIL_LOOP_TERMINATING && abort_wanted(loop);
}

static void drop_sources(vigil_loop *loop)
{
    loop->step = VG_STEP_BEGIN;
    loop->step_begun = false;
    loop->poll_count = 0;
    loop->hook_at = NULL;
    vg_timers_drop(loop);
    vg_clocks_drop(loop);
    vg_signals_drop(loop);
    vg_children_drop(loop);
    vg_watch_drop_all(loop);
}

/* A post was accepted and is about to be published, or a closer is about to store what was accepted. */
static void await_producer(vigil_loop *loop)
{
    while (!vg_ingress_ready(&loop->ingress) && !vg_lane_ready(&loop->lane) && !vg_ingress_drained(&loop->ingress) &&
           !abort_wanted(loop))
        vg_thread_yield();
}

static void drain_queues(vigil_loop *loop)
{
    while (!abort_wanted(loop)) {
        (void)atomic_fetch_and_explicit(&loop->interrupt, ~(uint32_t)VG_STOP, memory_order_relaxed);
        vg_signals_drain(loop);
        if (!vg_drain_some(loop) && !vg_ingress_drained(&loop->ingress))
            await_producer(loop);
        else if (vg_ingress_drained(&loop->ingress) && !vg_loop_alive_inside(loop)) {
            vg_signals_drain(loop); /* for the last time, not for as long as they come */
            if (vg_loop_alive_inside(loop))
                continue;
            if (vg_lane_close_if_empty(&loop->lane)) {
                loop->end_step = END_HOOKS;
                return;
            }
            /* Only other threads still post, and they may never stop. What is in the lane runs, the next post is
               refused. An internal post of our own restarts the count. */
            if (++loop->stream_rounds >= STREAM_ROUNDS)
                loop->internal = vg_lane_take_and_close(&loop->lane);
        }
    }
    loop->end_step = END_CANCEL;
}

static void cancel_fifo(vigil_loop *loop, vg_fifo *queue)
{
    while (queue->first != NULL)
        vg_fifo_cancel(&loop->calls, vg_fifo_pop(queue));
}

static void cancel_queues(vigil_loop *loop)
{
    cancel_fifo(loop, &loop->immediates_now);
    cancel_fifo(loop, &loop->immediates);
    cancel_fifo(loop, &loop->closers_now);
    cancel_fifo(loop, &loop->closers);
    cancel_fifo(loop, &loop->ticks);
    cancel_fifo(loop, &loop->microtasks);
    for (;;) {
        if (loop->dead_now == NULL && atomic_load_explicit(&loop->watches.any_dead, memory_order_relaxed))
            vg_watch_bury(loop);
        if (loop->dead_now == NULL)
            break;
        vg_watch *watch = loop->dead_now;
        loop->dead_now = watch->next;
        vg_tally(&loop->shared->closes_run, 1);
        vg_watch_free_dead(loop, watch);
    }
}

static void cancel_all(vigil_loop *loop)
{
    loop->in_checkpoint = false;
    do {
        if (loop->internal == NULL)
            loop->internal = vg_lane_take(&loop->lane);
        while (loop->internal != NULL) {
            vigil_post *post = loop->internal;
            loop->internal = post->vg_next;
            vg_tally(&loop->shared->internal_cancelled, 1);
            vg_fifo_cancel(&loop->calls, post);
        }
        vg_taken post;
        while (vg_ingress_take(&loop->ingress, vg_ingress_end(&loop->ingress), &post)) {
            vg_tally(&loop->shared->posts_cancelled, 1);
            vg_call_fn cancel = vg_ingress_cancel(&loop->ingress);
            if (cancel != NULL)
                cancel(post.arg);
        }
        cancel_queues(loop);
        if (!vg_ingress_drained(&loop->ingress))
            vg_thread_yield(); /* accepted, and about to be published */
    } while (!vg_ingress_drained(&loop->ingress) || vg_loop_alive_queues(loop) || !vg_lane_close_if_empty(&loop->lane));
    loop->end_step = END_HOOKS;
}

/* End the room above; true: call again. If it does not exist by now, it never will. */
static bool end_upstairs(vigil_loop *loop)
{
    vg_upstairs *upstairs = NULL;
    /* acquire: what its creator wrote; pairs with the release in room.c, vg_room_of */
    if (atomic_compare_exchange_strong_explicit(&loop->upstairs, &upstairs, &vg_upstairs_none, memory_order_acquire,
                                                memory_order_acquire) ||
        upstairs == &vg_upstairs_none)
        return false;
    return upstairs->end(upstairs, loop);
}

static void run_or_cancel_microtasks(vigil_loop *loop)
{
    while (loop->ticks.count + loop->microtasks.count != 0 || (loop->upstairs_waits && !abort_wanted(loop))) {
        loop->microtasks_breached = false;
        if (!abort_wanted(loop)) {
            vg_checkpoint(loop);
            continue;
        }
        loop->ended = true;
        cancel_fifo(loop, &loop->ticks);
        cancel_fifo(loop, &loop->microtasks);
    }
}

static void run_hooks(vigil_loop *loop)
{
    uint32_t terminating = VIGIL_LOOP_TERMINATING;
    (void)atomic_compare_exchange_strong_explicit(&loop->state, &terminating, VIGIL_LOOP_TERMINATED,
                                                  memory_order_relaxed, memory_order_relaxed);
    while (loop->end_hooks != NULL) {
        vg_end_hook *hook = loop->end_hooks;
        loop->end_hooks = hook->next;
        hook->run(hook, loop);
    }
    for (vigil_at_end *it; (it = vg_at_end_take(loop)) != NULL;)
        it->run(it);
    bool more;
    do {
        loop->ended = abort_wanted(loop); /* then nothing new comes, and what is there is cancelled */
        more = end_upstairs(loop);
        run_or_cancel_microtasks(loop);
    } while (more);
    loop->ended = true;
    loop->end_step = END_LEFTOVERS;
}

static void end_body(vigil_loop *loop)
{
    if (loop->end_step == END_DROP) {
        drop_sources(loop);
        loop->end_step = END_DRAIN;
    }
    if (loop->end_step == END_DRAIN)
        drain_queues(loop);
    if (loop->end_step == END_CANCEL)
        cancel_all(loop);
    if (loop->end_step == END_HOOKS)
        run_hooks(loop);
    if (loop->end_step == END_LEFTOVERS) {
        cancel_queues(loop); /* what E4 queued too much */
        loop->end_step = END_OVER;
    }
}

void vg_loop_end(vigil_loop *loop)
{
    /* acquire: the closed door, and every post accepted before it; pairs with the release in close_the_door. The caller
       has seen Terminating by a relaxed load. The last reason to live went by a release too (post.c, vg_loop_unkeep);
       its thread is counted in `inflight`. Without this the drain may read an old word, find it drained and lose
       posts. */
    atomic_thread_fence(memory_order_acquire);
    vg_loop_note_state(loop, VIGIL_LOOP_TERMINATING, vg_ticks());
    vg_guarded(loop, end_body);
    vg_signals_leave(loop);
    vg_mutex_lock(&loop->watches.lock);
    loop->watches.closed = true; /* nobody opens the poller again behind our back */
    vg_poller_close(&loop->poller);
    vg_mutex_unlock(&loop->watches.lock);
    vg_ingress_quiesce(&loop->ingress);
    /* acquire: the last touch of each call in flight; pairs with the release in vg_inflight_end */
    while (atomic_load_explicit(&loop->inflight, memory_order_acquire) != 0)
        vg_thread_yield();
    vg_poller_close_wake(&loop->poller);
    vg_loop_note_state(loop, VIGIL_LOOP_TERMINATED, vg_ticks());
    vg_loop_note_sample(loop);
    vg_loop_note_owner(loop, 0);
    loop->over = true;
    /* release, twice: everything we did to the loop; pairs with the acquires in wait_done and claim_run */
    atomic_store_explicit(&loop->owner, 0, memory_order_release);
    atomic_store_explicit(&loop->done, VG_DONE, memory_order_release);
    (void)vg_futex_wake(&loop->done, VG_WAKE_ALL); /* by address alone: the loop may be freed */
}

/* ---- asking for the end ------------------------------------------------------------------------------------------ */

/* E1. */
static void close_the_door(vigil_loop *loop)
{
    vg_ingress_close(&loop->ingress);
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    do {
        if ((state & VG_STATE_MASK) >= VIGIL_LOOP_TERMINATING)
            return; /* not asleep; it polls its deadline */
        /* acq_rel: like W3 in sleep.c; and the caller's deadline and abort are visible with Terminating */
    } while (!atomic_compare_exchange_weak_explicit(&loop->state, &state, VIGIL_LOOP_TERMINATING, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if ((state & VG_STATE_MASK) != VIGIL_LOOP_SLEEPING)
        return;
    (void)atomic_fetch_add_explicit(&loop->shared->wakes_sent, 1, memory_order_relaxed);
    if ((state & VG_SLEEPS_IN_POLLER) != 0)
        vg_loop_poke(loop);
    else
        (void)vg_futex_wake(&loop->state, 1);
}

static void begin_end(vigil_loop *loop)
{
    if (vg_state(loop) == VIGIL_LOOP_TERMINATED)
        return;
    vg_inflight_begin(loop); /* the wake descriptor stays open until our wake is through */
    close_the_door(loop);
    vg_inflight_end(loop);
}

/* If nobody runs the loop, end it here. */
static bool end_it_ourselves(vigil_loop *loop)
{
    /* R2: Terminating is set before we claim ownership; pairs with R1 in run.c */
    atomic_thread_fence(memory_order_seq_cst);
    uintptr_t nobody = 0;
    /* acquire: what the last owner left; pairs with the release in run.c, give_back_run. A thread that fails to claim
       because of us sees Terminating: R2 releases it; pairs with the acquire in run.c, claim_run */
    if (!atomic_compare_exchange_strong_explicit(&loop->owner, &nobody, vg_self(), memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    if (loop->over) {                                                 /* somebody did, and gave the right back */
        atomic_store_explicit(&loop->owner, 0, memory_order_release); /* release: as everywhere */
        return false;
    }
    vg_loop_end(loop);
    return true;
}

/* take_over: end the loop here if the thread that was at it has left it (run.c, vg_loop_abandon). */
static int wait_done(vigil_loop *loop, uint64_t deadline, bool take_over)
{
    uint32_t tried = 0;
    for (;;) {
        /* acquire: everything the owner did; pairs with the release in vg_loop_end */
        const uint32_t seen = atomic_load_explicit(&loop->done, memory_order_acquire);
        if ((seen & VG_DONE) != 0)
            return 0;
        if (seen != tried) {
            tried = seen;
            if (take_over && end_it_ourselves(loop))
                return 0;
        } else if (vg_futex_wait(&loop->done, seen, deadline) != 0) {
            return -ETIMEDOUT;
        }
    }
}

int vigil_loop_shutdown(vigil_loop *loop, int64_t timeout_ns)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    uint64_t deadline = vg_deadline_after(timeout_ns);
    uint64_t before = atomic_load_explicit(&loop->end_deadline, memory_order_relaxed);
    while (deadline < before && !atomic_compare_exchange_weak_explicit(&loop->end_deadline, &before, deadline,
                                                                       memory_order_relaxed, memory_order_relaxed)) {
    }
    begin_end(loop);
    if (vg_inside(loop))
        return 0;
    if (end_it_ourselves(loop) || wait_done(loop, deadline, true) == 0)
        return 0;
    (void)atomic_fetch_or_explicit(&loop->interrupt, VG_ABORT, memory_order_relaxed);
    if (wait_done(loop, vg_deadline_after(GRACE_NS), true) == 0)
        return 0;
    return vg_why(-ETIMEDOUT, "a callback does not return; the loop ends when it does");
}

int vigil_loop_close(vigil_loop *loop, int64_t timeout_ns)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (vg_inside(loop))
        return vg_why(-EDEADLK,
                      "a callback cannot wait for its own end; call vigil_loop_shutdown(loop, 0), which does not wait");
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    (void)atomic_fetch_or_explicit(&loop->interrupt, VG_ABORT, memory_order_relaxed);
    begin_end(loop);
    if (end_it_ourselves(loop))
        return 0;
    if (wait_done(loop, deadline, true) == 0)
        return 0;
    return vg_why(-ETIMEDOUT, "a callback of the loop does not return; the loop ends when it does");
}

int vigil_loop_wait(vigil_loop *loop, int64_t timeout_ns)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (vg_inside(loop))
        return vg_why(-EDEADLK, "a callback cannot wait for the end of its own loop");
    return wait_done(loop, vg_deadline_after(timeout_ns), false);
}
