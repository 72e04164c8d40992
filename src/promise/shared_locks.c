/* SPDX-License-Identifier: MIT */
/*
 * shared_locks.c - mutex, rwlock and condition as promises.
 */
#include "shared.h"

#include "base/my_thread.h"
#include "base/why.h"
#include "share/condition.h"
#include "share/mutex.h"
#include "share/rwlock.h"

#include <vigil/sync.h>

static uint32_t async_owner(void)
{
    return VG_OWNER_ASYNC | vg_my_thread();
}

/* ---- mutex ------------------------------------------------------------------------------------------------------- */

static int lock_attempt(vg_shared *wait)
{
    return vg_share_lock_now(wait->sleeper.object, async_owner()) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
}

static int lock_join(vg_shared *wait, bool again)
{
    (void)again;
    return vg_share_lock_async(wait->sleeper.object, &wait->sleeper) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
}

static void lock_left(vg_shared *wait)
{
    vg_share_lock_left(wait->sleeper.object, &wait->sleeper);
}

static void lock_undo(vg_shared *wait)
{
    (void)vigil_mutex_unlock(wait->sleeper.object);
}

static const vg_shared_kind lock_kind = {
    .attempt = lock_attempt, .join = lock_join, .left = lock_left, .undo = lock_undo};

int vigil_promise_lock(vigil_loop *loop, vigil_mutex *mutex, vigil_cancel_token *token, vigil_promise **promise)
{
    if (mutex == NULL)
        return VG_WHY_NULL("mutex");
    vg_shared with = {.kind = &lock_kind, .sleeper = {.kind = VG_SHARE_MUTEX, .object = mutex}};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

/* ---- rwlock ------------------------------------------------------------------------------------------------------ */

static int rwlock_attempt(vg_shared *wait)
{
    return vg_share_rwlock_now(wait->sleeper.object, wait->sleeper.amount != 0, async_owner()) ? VG_CHANNEL_DONE
                                                                                               : VG_CHANNEL_WAIT;
}

static int rwlock_join(vg_shared *wait, bool again)
{
    (void)again;
    vg_share_rwlock_async(wait->sleeper.object, &wait->sleeper);
    return VG_CHANNEL_WAIT; /* if it was to be had, the waker was ourselves */
}

static void rwlock_left(vg_shared *wait)
{
    vg_share_rwlock_left(wait->sleeper.object, &wait->sleeper);
}

static void rwlock_undo(vg_shared *wait)
{
    (void)vigil_rwlock_unlock(wait->sleeper.object);
}

static const vg_shared_kind rwlock_kind = {
    .attempt = rwlock_attempt, .join = rwlock_join, .left = rwlock_left, .undo = rwlock_undo};

static int promise_rwlock(vigil_loop *loop, vigil_rwlock *lock, bool write, vigil_cancel_token *token,
                          const void *created, vigil_promise **promise)
{
    if (lock == NULL)
        return VG_WHY_NULL("lock");
    vg_shared with = {.kind = &rwlock_kind, .sleeper = {.kind = VG_SHARE_RWLOCK, .object = lock, .amount = write}};
    return vg_shared_begin(loop, &with, token, created, promise);
}

int vigil_promise_read_lock(vigil_loop *loop, vigil_rwlock *lock, vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_rwlock(loop, lock, false, token, __builtin_return_address(0), promise);
}

int vigil_promise_write_lock(vigil_loop *loop, vigil_rwlock *lock, vigil_cancel_token *token, vigil_promise **promise)
{
    return promise_rwlock(loop, lock, true, token, __builtin_return_address(0), promise);
}

/* ---- condition --------------------------------------------------------------------------------------------------- */

static int condition_join(vg_shared *wait, bool again)
{
    (void)again; /* a mutex is always handed to it: it never looks again */
    vg_share_condition_join(wait->sleeper.object, &wait->sleeper);
    return VG_CHANNEL_WAIT;
}

/* The loop ends. A signal that it had is for another. */
static void condition_left(vg_shared *wait)
{
    const bool signalled = !wait->relocks && vg_share_condition_left(wait->sleeper.object, &wait->sleeper);
    vg_share_lock_left(wait->sleeper.mutex, &wait->sleeper);
    if (signalled)
        (void)vigil_condition_signal(wait->sleeper.object);
}

static void condition_undo(vg_shared *wait)
{
    if (!wait->relocks)
        (void)vigil_condition_signal(wait->sleeper.object);
    (void)vigil_mutex_unlock(wait->sleeper.mutex);
}

/* Its token was aborted: it ends when it has the mutex again. */
static bool condition_abandon(vg_shared *wait)
{
    vg_sleeper *sleeper = &wait->sleeper;
    vg_op *op = wait->op;
    if (!wait->relocks) {
        wait->relocks = true;
        wait->answer = vg_share_condition_left(sleeper->object, sleeper) ? 0 : vigil_cancel_status(op->token);
    }
    vg_share_lock_left(sleeper->mutex, sleeper);
    atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
    if (vg_share_lock_async(sleeper->mutex, sleeper))
        vg_op_finish(op, wait->answer == 0 ? vigil_value_none() : vigil_value_error(wait->answer));
    return true;
}

static const vg_shared_kind condition_kind = {
    .join = condition_join, .left = condition_left, .undo = condition_undo, .abandon = condition_abandon};

int vigil_promise_condition(vigil_loop *loop, vigil_condition *condition, vigil_mutex *mutex, vigil_cancel_token *token,
                            vigil_promise **promise)
{
    if (condition == NULL || mutex == NULL)
        return condition == NULL ? VG_WHY_NULL("condition") : VG_WHY_NULL("mutex");
    /* relaxed: the holder has acquired it */
    if ((atomic_load_explicit(&mutex->vg_waiters.vg_word, memory_order_relaxed) & VG_OWNER_ASYNC) == 0)
        return vg_why(-EPERM, "no asynchronous function holds the mutex");
    vg_shared with = {.kind = &condition_kind,
                      .sleeper = {.kind = VG_SHARE_CONDITION, .object = condition, .mutex = mutex}};
    return vg_shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}
