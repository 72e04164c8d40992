/* SPDX-License-Identifier: MIT */
/*
 * shared_counts.c - semaphore, once, latch and barrier as promises.
 */
#include "shared.h"

#include "base/my_thread.h"
#include "base/why.h"
#include "share/latch.h"
#include "share/once.h"
#include "share/semaphore.h"

#include <vigil/sync.h>

/* ---- semaphore --------------------------------------------------------------------------------------------------- */

static int units_attempt(vg_shared *wait)
{
    return vg_share_acquire_now(wait->sleeper.object, wait->sleeper.amount) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
}

static int units_join(vg_shared *wait, bool again)
{
    (void)again;
    return vg_share_acquire_async(wait->sleeper.object, &wait->sleeper) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
}

static void units_left(vg_shared *wait)
{
    vg_share_acquire_left(wait->sleeper.object, &wait->sleeper);
}

static void units_undo(vg_shared *wait)
{
    (void)vigil_semaphore_post(wait->sleeper.object, wait->sleeper.amount);
}

static const vg_shared_kind units_kind = {
    .attempt = units_attempt, .join = units_join, .left = units_left, .undo = units_undo};

int vigil_promise_acquire(vigil_loop *loop, vigil_semaphore *semaphore, uint64_t units, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    if (semaphore == NULL)
        return VG_WHY_NULL("semaphore");
    if (units > semaphore->vg_limit)
        return vg_why(-EINVAL, "units is more than the limit of the semaphore");
    vg_shared with = {.kind = &units_kind,
                      .sleeper = {.kind = VG_SHARE_SEMAPHORE, .object = semaphore, .amount = units}};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

/* ---- latch ------------------------------------------------------------------------------------------------------- */

static int latch_attempt(vg_shared *wait)
{
    return vg_share_latch_join(wait->sleeper.object, NULL) ? VG_CHANNEL_WAIT : VG_CHANNEL_DONE;
}

static int latch_join(vg_shared *wait, bool again)
{
    (void)again;
    return vg_share_latch_join(wait->sleeper.object, &wait->sleeper) ? VG_CHANNEL_WAIT : VG_CHANNEL_DONE;
}

static void latch_left(vg_shared *wait)
{
    vg_share_latch_left(wait->sleeper.object, &wait->sleeper);
}

static const vg_shared_kind latch_kind = {.attempt = latch_attempt, .join = latch_join, .left = latch_left};

int vigil_promise_latch(vigil_loop *loop, vigil_latch *latch, vigil_cancel_token *token, vigil_promise **promise)
{
    if (latch == NULL)
        return VG_WHY_NULL("latch");
    vg_shared with = {.kind = &latch_kind, .sleeper = {.kind = VG_SHARE_LATCH, .object = latch}};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

/* ---- barrier ----------------------------------------------------------------------------------------------------- */

static int barrier_join(vg_shared *wait, bool again)
{
    (void)again;
    atomic_store_explicit(&wait->sleeper.word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
    if (!vg_share_barrier_join(wait->sleeper.object, &wait->sleeper))
        return VG_CHANNEL_WAIT;
    wait->number = 1; /* the last */
    return VG_CHANNEL_DONE;
}

static void barrier_left(vg_shared *wait)
{
    vg_share_barrier_left(wait->sleeper.object, &wait->sleeper);
}

static const vg_shared_kind barrier_kind = {.join = barrier_join, .left = barrier_left, .counts = true};

int vigil_promise_barrier(vigil_loop *loop, vigil_barrier *barrier, vigil_cancel_token *token, vigil_promise **promise)
{
    if (barrier == NULL)
        return VG_WHY_NULL("barrier");
    vg_shared with = {.kind = &barrier_kind, .sleeper = {.kind = VG_SHARE_BARRIER, .object = barrier}};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

/* ---- once -------------------------------------------------------------------------------------------------------- */

static int once_join(vg_shared *wait, bool again)
{
    (void)again;
    const vg_once_state state = vg_share_once_join(wait->sleeper.object, wait->sleeper.owner, &wait->sleeper);
    wait->number = state == VG_ONCE_MINE;
    return state == VG_ONCE_BUSY ? VG_CHANNEL_WAIT : VG_CHANNEL_DONE;
}

static void once_left(vg_shared *wait)
{
    vg_share_once_left(wait->sleeper.object, &wait->sleeper);
}

static void once_undo(vg_shared *wait)
{
    vg_share_once_next(wait->sleeper.object);
}

static const vg_shared_kind once_kind = {.join = once_join, .left = once_left, .undo = once_undo, .counts = true};

int vg_promise_once_enter(vigil_loop *loop, vigil_once *once, vigil_cancel_token *token, vigil_promise **promise)
{
    vg_shared with = {.kind = &once_kind, .sleeper = {.kind = VG_SHARE_ONCE, .object = once}};
    return vg_shared_begin(loop, &with, token, NULL, promise);
}
