/* SPDX-License-Identifier: MIT */
/*
 * condition.c - waiters that a signal moves to the mutex. A waiter wakes up when it has the mutex, or can try to get
 * it: a broadcast wakes nobody beside a locked mutex. The word says whether the list has waiters; a signaller that
 * changed the condition under the mutex sees it.
 */
#include "condition.h"

#include "base/clock.h"
#include "base/my_thread.h"
#include "base/why.h"
#include "pool/blocked.h"

void vg_share_condition_join(vigil_condition *condition, vg_sleeper *sleeper)
{
    vigil_mutex *mutex = sleeper->mutex; /* a signal may come, and the sleeper go, before we are back */
    vg_guard_lock(&condition->vg_waiters);
    vg_waiters_push_back(&condition->vg_waiters, &sleeper->entry);
    /* relaxed: the mutex that we are about to unlock publishes it */
    atomic_store_explicit(&condition->vg_waiters.vg_word, 1, memory_order_relaxed);
    vg_guard_unlock(&condition->vg_waiters);
    (void)vigil_mutex_unlock(mutex);
}

bool vg_share_condition_left(vigil_condition *condition, vg_sleeper *sleeper)
{
    vg_guard_lock(&condition->vg_waiters);
    const bool signalled = sleeper->amount != 0; /* then it left while it waited for the mutex */
    vg_waiters_remove(&condition->vg_waiters, &sleeper->entry);
    if (vg_waiters_first(&condition->vg_waiters) == NULL)
        atomic_store_explicit(&condition->vg_waiters.vg_word, 0, memory_order_relaxed); /* under the guard */
    vg_guard_unlock(&condition->vg_waiters);
    return signalled;
}

int vigil_condition_wait(vigil_condition *condition, vigil_mutex *mutex, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (condition == NULL || mutex == NULL)
        return condition == NULL ? VG_WHY_NULL("condition") : VG_WHY_NULL("mutex");
    const uint32_t self = vg_my_thread();
    /* relaxed: if it is us, we wrote it */
    if ((atomic_load_explicit(&mutex->vg_waiters.vg_word, memory_order_relaxed) & (VG_OWNER_ASYNC | VG_OWNER_THREAD)) !=
        self)
        return vg_why(-EPERM, "the calling thread does not hold the mutex");
    if (timeout_ns == 0)
        return -ETIMEDOUT;
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_CONDITION, condition);
    sleeper.owner = self;
    sleeper.mutex = mutex;
    vg_share_condition_join(condition, &sleeper);
    const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
    bool signalled = true;
    if (end != VG_SLEEP_GIVEN && end != VG_SLEEP_RETRY)
        signalled = vg_share_condition_left(condition, &sleeper);
    if (end != VG_SLEEP_GIVEN)
        vg_share_relock(mutex, &sleeper, end == VG_SLEEP_RETRY);
    vg_locks_held(1);
    return signalled ? 0 : vg_sleeper_error(end, token);
}

/* The oldest waiter, which the signal is for; NULL: none. */
static vg_sleeper *condition_claim(vigil_condition *condition)
{
    vg_guard_lock(&condition->vg_waiters);
    vg_sleeper *sleeper = vg_waiters_claim(&condition->vg_waiters);
    if (sleeper != NULL)
        sleeper->amount = 1;
    if (vg_waiters_first(&condition->vg_waiters) == NULL)
        atomic_store_explicit(&condition->vg_waiters.vg_word, 0, memory_order_relaxed); /* under the guard */
    vg_guard_unlock(&condition->vg_waiters);
    return sleeper;
}

/* relaxed: a waiter that came before the change of the condition is seen through the mutex */
static bool condition_has_waiters(const vigil_condition *condition)
{
    return atomic_load_explicit(&condition->vg_waiters.vg_word, memory_order_relaxed) != 0;
}

int vigil_condition_signal(vigil_condition *condition)
{
    if (condition == NULL)
        return VG_WHY_NULL("condition");
    vg_sleeper *sleeper = condition_has_waiters(condition) ? condition_claim(condition) : NULL;
    if (sleeper == NULL)
        return 0;
    vg_share_requeue(sleeper->mutex, sleeper);
    return 1;
}

int vigil_condition_broadcast(vigil_condition *condition)
{
    if (condition == NULL)
        return VG_WHY_NULL("condition");
    if (!condition_has_waiters(condition))
        return 0;
    vg_guard_lock(&condition->vg_waiters);
    vg_entry *chain = vg_waiters_claim_all(&condition->vg_waiters);
    for (vg_entry *entry = chain; entry != NULL; entry = entry->next)
        entry->sleeper->amount = 1;
    atomic_store_explicit(&condition->vg_waiters.vg_word, 0, memory_order_relaxed); /* under the guard */
    vg_guard_unlock(&condition->vg_waiters);
    int count = 0;
    while (chain != NULL) {
        vg_sleeper *sleeper = chain->sleeper;
        chain = chain->next; /* the sleeper goes on, and its memory with it */
        vg_share_requeue(sleeper->mutex, sleeper);
        count++;
    }
    return count;
}
