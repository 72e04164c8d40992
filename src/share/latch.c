/* SPDX-License-Identifier: MIT */
/*
 * latch.c - latch and barrier. The count of a latch comes to zero under the guard, and a waiter that sees zero passes
 * through the guard: so it may free the latch.
 */
#include "sleeper.h"

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

int vigil_latch_wait(vigil_latch *latch, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (latch == NULL)
        return VG_WHY_NULL("latch");
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_LATCH, latch);
    vg_guard_lock(&latch->vg_waiters);
    /* L2 acquire: what was done before each step down; pairs with L1 */
    const bool open = atomic_load_explicit(&latch->vg_count, memory_order_acquire) == 0;
    if (!open && timeout_ns != 0)
        vg_waiters_push_back(&latch->vg_waiters, &sleeper.entry);
    vg_guard_unlock(&latch->vg_waiters);
    if (open || timeout_ns == 0)
        return open ? 0 : -ETIMEDOUT;
    const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
    if (end == VG_SLEEP_GIVEN)
        return 0;
    vg_guard_lock(&latch->vg_waiters);
    vg_waiters_remove(&latch->vg_waiters, &sleeper.entry);
    vg_guard_unlock(&latch->vg_waiters);
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

/* Under the guard, all but one have arrived: claim them for the end of the round. NULL and false: some of them have
   left, and nobody is claimed. */
static bool barrier_claim_round(vigil_barrier *barrier, vg_entry **chain)
{
    *chain = vg_waiters_claim_all(&barrier->vg_waiters);
    uint32_t claimed = 0;
    for (vg_entry *entry = *chain; entry != NULL; entry = entry->next)
        claimed++;
    if (claimed + 1 == barrier->vg_parties)
        return true;
    barrier->vg_arrived = claimed;
    for (vg_entry *entry = *chain, *next = NULL; entry != NULL; entry = next) {
        next = entry->next;
        vg_waiters_push_back(&barrier->vg_waiters, entry);
        vg_sleeper_unclaim(entry->sleeper);
    }
    *chain = NULL;
    return false;
}

int vigil_barrier_wait(vigil_barrier *barrier, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (barrier == NULL)
        return VG_WHY_NULL("barrier");
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_BARRIER, barrier);
    vg_entry *round = NULL;
    vg_guard_lock(&barrier->vg_waiters);
    const bool last = barrier->vg_arrived + 1 >= barrier->vg_parties && barrier_claim_round(barrier, &round);
    if (last) {
        barrier->vg_arrived = 0;
    } else if (timeout_ns != 0) {
        barrier->vg_arrived++;
        vg_waiters_push_back(&barrier->vg_waiters, &sleeper.entry);
    }
    vg_guard_unlock(&barrier->vg_waiters);
    vg_entries_end(round, VG_SLEEP_GIVEN);
    if (last || timeout_ns == 0)
        return last ? 1 : -ETIMEDOUT;
    const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
    if (end == VG_SLEEP_GIVEN)
        return 0;
    vg_guard_lock(&barrier->vg_waiters);
    if (sleeper.entry.queued) { /* else whoever took us out has counted us out */
        vg_waiters_remove(&barrier->vg_waiters, &sleeper.entry);
        barrier->vg_arrived--;
    }
    vg_guard_unlock(&barrier->vg_waiters);
    return vg_sleeper_error(end, token);
}
