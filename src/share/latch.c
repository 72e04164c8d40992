/* SPDX-License-Identifier: MIT */
/*
 * latch.c - latch and barrier. The count of a latch comes to zero under the guard, and a waiter that sees zero passes
 * through the guard: so it may free the latch.
 */
#include "latch.h"

#include "base/clock.h"
#include "base/why.h"

/* ---- latch ------------------------------------------------------------------------------------------------------- */

int vigil_latch_init(vigil_latch *latch, uint64_t count)
{
    if (latch == NULL)
        return VG_WHY_NULL("latch");
    *latch = (vigil_latch){.vg_waiters = VG_WAITERS_INIT};
    atomic_init(&latch->vg_count, count);
    return 0;
}

int vigil_latch_down(vigil_latch *latch, uint64_t by)
{
    if (latch == NULL)
        return VG_WHY_NULL("latch");
    uint64_t seen = atomic_load_explicit(&latch->vg_count, memory_order_relaxed);
    while (seen > by) {
        /* L1 release: what we did before; pairs with L2. Each step carries on what the others published. */
        if (atomic_compare_exchange_weak_explicit(&latch->vg_count, &seen, seen - by, memory_order_release,
                                                  memory_order_relaxed))
            return 0;
    }
    vg_guard_lock(&latch->vg_waiters);
    seen = atomic_load_explicit(&latch->vg_count, memory_order_relaxed);
    bool refused = false;
    do {
        refused = seen < by;
        /* L1 release: as above. acquire: what the others did, for the waiters, who get it with Z1 */
    } while (!refused && !atomic_compare_exchange_weak_explicit(&latch->vg_count, &seen, seen - by,
                                                                memory_order_acq_rel, memory_order_relaxed));
    vg_entry *all = !refused && seen == by ? vg_waiters_claim_all(&latch->vg_waiters) : NULL;
    vg_guard_unlock(&latch->vg_waiters);
    vg_entries_end(all, VG_SLEEP_GIVEN);
    return refused ? vg_why(-EINVAL, "by is more than the count of the latch") : 0;
}

bool vg_share_latch_join(vigil_latch *latch, vg_sleeper *sleeper)
{
    vg_guard_lock(&latch->vg_waiters);
    /* L2 acquire: what was done before each step down; pairs with L1 */
    const bool open = atomic_load_explicit(&latch->vg_count, memory_order_acquire) == 0;
    if (!open && sleeper != NULL)
        vg_waiters_push_back(&latch->vg_waiters, &sleeper->entry);
    vg_guard_unlock(&latch->vg_waiters);
    return !open;
}

void vg_share_latch_left(vigil_latch *latch, vg_sleeper *sleeper)
{
    vg_guard_lock(&latch->vg_waiters);
    vg_waiters_remove(&latch->vg_waiters, &sleeper->entry);
    vg_guard_unlock(&latch->vg_waiters);
}

int vigil_latch_wait(vigil_latch *latch, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (latch == NULL)
        return VG_WHY_NULL("latch");
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_LATCH, latch);
    const bool waits = vg_share_latch_join(latch, timeout_ns != 0 ? &sleeper : NULL);
    if (!waits || timeout_ns == 0)
        return waits ? -ETIMEDOUT : 0;
    const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
    if (end == VG_SLEEP_GIVEN)
        return 0;
    vg_share_latch_left(latch, &sleeper);
    return vg_sleeper_error(end, token);
}

/* ---- barrier ----------------------------------------------------------------------------------------------------- */

int vigil_barrier_init(vigil_barrier *barrier, unsigned parties)
{
    if (barrier == NULL)
        return VG_WHY_NULL("barrier");
    if (parties == 0)
        return vg_why(-EINVAL, "parties is 0; somebody must arrive");
    *barrier = (vigil_barrier){.vg_waiters = VG_WAITERS_INIT, .vg_parties = parties};
    return 0;
}

bool vg_share_barrier_join(vigil_barrier *barrier, vg_sleeper *sleeper)
{
    vg_entry *round = NULL;
    bool last = false;
    vg_guard_lock(&barrier->vg_waiters);
    if (barrier->vg_arrived + 1 >= barrier->vg_parties) {
        round = vg_waiters_claim_all(&barrier->vg_waiters);
        uint32_t claimed = 0;
        for (vg_entry *entry = round; entry != NULL; entry = entry->next)
            claimed++;
        last = claimed + 1 == barrier->vg_parties;
        barrier->vg_arrived = 0; /* if some have left in the meantime, the others arrive again */
    }
    if (!last && sleeper != NULL) {
        barrier->vg_arrived++;
        vg_waiters_push_back(&barrier->vg_waiters, &sleeper->entry);
    }
    vg_guard_unlock(&barrier->vg_waiters);
    vg_entries_end(round, last ? VG_SLEEP_GIVEN : VG_SLEEP_RETRY);
    return last;
}

void vg_share_barrier_left(vigil_barrier *barrier, vg_sleeper *sleeper)
{
    vg_guard_lock(&barrier->vg_waiters);
    if (sleeper->entry.queued) { /* else the thread that took us out has counted us out */
        vg_waiters_remove(&barrier->vg_waiters, &sleeper->entry);
        barrier->vg_arrived--;
    }
    vg_guard_unlock(&barrier->vg_waiters);
}

int vigil_barrier_wait(vigil_barrier *barrier, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (barrier == NULL)
        return VG_WHY_NULL("barrier");
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_BARRIER, barrier);
    uint32_t end = VG_SLEEP_RETRY;
    while (end == VG_SLEEP_RETRY) {
        atomic_store_explicit(&sleeper.word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
        if (vg_share_barrier_join(barrier, timeout_ns != 0 ? &sleeper : NULL))
            return 1;
        if (timeout_ns == 0)
            return -ETIMEDOUT;
        end = vg_sleeper_wait(&sleeper, &how, 0);
    }
    if (end == VG_SLEEP_GIVEN)
        return 0;
    vg_share_barrier_left(barrier, &sleeper);
    return vg_sleeper_error(end, token);
}
