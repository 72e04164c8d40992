/* SPDX-License-Identifier: MIT */
/*
 * semaphore.c - a word with the units and three bits, and a list of waiters; the bits are those of mutex.c.
 *
 * Invariant, whenever the guard is free: if the first waiter could have its units, then WOKEN is set, and the woken
 * waiter looks after the list when it has looked for itself. With FAIR newcomers wait in the list, and units go to the
 * waiters by hand, in order: so a large request is served although small ones keep coming.
 */
#include "semaphore.h"

#include "base/clock.h"
#include "base/why.h"

#define SEMAPHORE_FAIR    (UINT64_C(1) << 61)
#define SEMAPHORE_WOKEN   (UINT64_C(1) << 62)
#define SEMAPHORE_WAITERS (UINT64_C(1) << 63)
#define SEMAPHORE_UNITS   (SEMAPHORE_FAIR - 1)

enum {
#ifdef VIGIL_CHECK
    SEMAPHORE_SPINS = 0,
#else
    SEMAPHORE_SPINS = 30,
#endif
};

/* ---- the list, under the guard ----------------------------------------------------------------------------------- */

/* Take units if there are enough. */
static bool semaphore_take_units(vigil_semaphore *semaphore, uint64_t units)
{
    uint64_t seen = atomic_load_explicit(&semaphore->vg_count, memory_order_relaxed);
    while ((seen & SEMAPHORE_UNITS) >= units) {
        /* U1 acquire: what was done before the units came; pairs with U2. A granted waiter gets it with Z1. */
        if (atomic_compare_exchange_weak_explicit(&semaphore->vg_count, &seen, seen - units, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

/* Keep the invariant, and leave the guard. A waiter that is due, and one that cannot look again by itself, gets its
   units by hand; another is woken to compete for them. */
static void semaphore_look(vigil_semaphore *semaphore)
{
    _Atomic uint64_t *count =
        &semaphore->vg_count; /* all flags relaxed: they change under the guard, or by the woken */
    const uint64_t now = vg_now_ns();
    vg_entry *granted = NULL;
    vg_entry **end = &granted;
    vg_sleeper *woken = NULL;
    vg_entry *first = NULL;
    bool fair = false;
    while ((first = vg_waiters_first(&semaphore->vg_waiters)) != NULL && woken == NULL) {
        vg_sleeper *sleeper = first->sleeper;
        fair = vg_sleeper_is_due(sleeper, now);
        if (fair || sleeper->notify != NULL) {
            if (!semaphore_take_units(semaphore, sleeper->amount))
                break;
            vg_waiters_remove(&semaphore->vg_waiters, first);
            if (vg_sleeper_claim(sleeper)) {
                *end = first;
                end = &first->next;
            } else { /* it left: the units are for others */
                (void)atomic_fetch_add_explicit(count, sleeper->amount, memory_order_relaxed);
            }
        } else {
            const uint64_t seen = atomic_load_explicit(count, memory_order_relaxed);
            if ((seen & SEMAPHORE_WOKEN) != 0 || (seen & SEMAPHORE_UNITS) < sleeper->amount)
                break;
            vg_waiters_remove(&semaphore->vg_waiters, first);
            if (vg_sleeper_claim(sleeper)) {
                (void)atomic_fetch_or_explicit(count, SEMAPHORE_WOKEN, memory_order_relaxed);
                woken = sleeper;
            }
        }
    }
    *end = NULL;
    if (first == NULL)
        (void)atomic_fetch_and_explicit(count, ~(SEMAPHORE_WAITERS | SEMAPHORE_FAIR), memory_order_relaxed);
    else if (fair && woken == NULL)
        (void)atomic_fetch_or_explicit(count, SEMAPHORE_FAIR, memory_order_relaxed);
    else
        (void)atomic_fetch_and_explicit(count, ~SEMAPHORE_FAIR, memory_order_relaxed);
    vg_guard_unlock(&semaphore->vg_waiters);
    vg_entries_end(granted, VG_SLEEP_GIVEN);
    if (woken != NULL)
        vg_sleeper_end(woken, VG_SLEEP_RETRY);
}

/* ---- acquiring --------------------------------------------------------------------------------------------------- */

/* Take the units if newcomers may. clear: SEMAPHORE_WOKEN, if the caller is the woken one. *seen: the word before. */
static bool semaphore_take(vigil_semaphore *semaphore, uint64_t units, uint64_t clear, uint64_t *seen)
{
    *seen = atomic_load_explicit(&semaphore->vg_count, memory_order_relaxed);
    while ((*seen & SEMAPHORE_FAIR) == 0 && (*seen & SEMAPHORE_UNITS) >= units) {
        /* U1 acquire: what was done before the units came; pairs with U2 */
        if (atomic_compare_exchange_weak_explicit(&semaphore->vg_count, seen, (*seen - units) & ~clear,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    }
    return false;
}

/* Take the units or join the list. True: taken. */
static bool semaphore_queue(vigil_semaphore *semaphore, vg_sleeper *sleeper, bool woken)
{
    const uint64_t clear = woken ? SEMAPHORE_WOKEN : 0;
    vg_guard_lock(&semaphore->vg_waiters);
    uint64_t seen = atomic_load_explicit(&semaphore->vg_count, memory_order_relaxed);
    bool taken = false;
    do {
        taken = (seen & SEMAPHORE_FAIR) == 0 && (seen & SEMAPHORE_UNITS) >= sleeper->amount;
        /* U1 acquire: as above. We join only where a post sees WAITERS with the units that it adds. */
    } while (!atomic_compare_exchange_weak_explicit(
        &semaphore->vg_count, &seen, taken ? (seen - sleeper->amount) & ~clear : (seen & ~clear) | SEMAPHORE_WAITERS,
        memory_order_acquire, memory_order_relaxed));
    if (!taken && woken)
        vg_waiters_push_front(&semaphore->vg_waiters, &sleeper->entry);
    else if (!taken)
        vg_waiters_push_back(&semaphore->vg_waiters, &sleeper->entry);
    semaphore_look(semaphore);
    return taken;
}

void vg_share_acquire_left(vigil_semaphore *semaphore, vg_sleeper *sleeper)
{
    vg_guard_lock(&semaphore->vg_waiters);
    vg_waiters_remove(&semaphore->vg_waiters, &sleeper->entry);
    semaphore_look(semaphore);
}

static int semaphore_wait(vigil_semaphore *semaphore, vg_sleeper *sleeper, const vg_sleep_how *how)
{
    bool woken = false;
    for (;;) {
        uint64_t seen = 0;
        for (unsigned i = 0; i <= SEMAPHORE_SPINS; i++) {
            if (semaphore_take(semaphore, sleeper->amount, woken ? SEMAPHORE_WOKEN : 0, &seen)) {
                if (woken && (seen & SEMAPHORE_WAITERS) != 0) { /* the next waiter is ours to wake */
                    vg_guard_lock(&semaphore->vg_waiters);
                    semaphore_look(semaphore);
                }
                return 0;
            }
            if ((seen & SEMAPHORE_FAIR) != 0)
                break;
            if (i < SEMAPHORE_SPINS)
                vg_spin_pause();
        }
        atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
        if (semaphore_queue(semaphore, sleeper, woken))
            return 0;
        const uint32_t end_of_wait = vg_sleeper_wait(sleeper, how, 0);
        if (end_of_wait == VG_SLEEP_GIVEN)
            return 0;
        if (end_of_wait != VG_SLEEP_RETRY) {
            vg_share_acquire_left(semaphore, sleeper);
            return vg_sleeper_error(end_of_wait, how->token);
        }
        woken = true;
    }
}

bool vg_share_acquire_now(vigil_semaphore *semaphore, uint64_t units)
{
    uint64_t seen = 0;
    return semaphore_take(semaphore, units, 0, &seen);
}

bool vg_share_acquire_async(vigil_semaphore *semaphore, vg_sleeper *sleeper)
{
    uint64_t seen = 0;
    return semaphore_take(semaphore, sleeper->amount, 0, &seen) || semaphore_queue(semaphore, sleeper, false);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

int vigil_semaphore_init(vigil_semaphore *semaphore, uint64_t units, uint64_t limit)
{
    if (semaphore == NULL)
        return VG_WHY_NULL("semaphore");
    if (limit == 0)
        limit = VIGIL_SEMAPHORE_MOST;
    if (limit > VIGIL_SEMAPHORE_MOST || units > limit)
        return vg_why(-EINVAL, limit > VIGIL_SEMAPHORE_MOST ? "limit is more than VIGIL_SEMAPHORE_MOST"
                                                            : "units is more than the limit");
    *semaphore = (vigil_semaphore){.vg_limit = limit};
    atomic_init(&semaphore->vg_count, units);
    return 0;
}

int vigil_semaphore_acquire(vigil_semaphore *semaphore, uint64_t units, int64_t timeout_ns, vigil_cancel_token *token)
{
    if (semaphore == NULL)
        return VG_WHY_NULL("semaphore");
    uint64_t seen = 0;
    if (__builtin_expect(semaphore_take(semaphore, units, 0, &seen), 1))
        return 0;
    if (units > semaphore->vg_limit)
        return vg_why(-EINVAL, "units is more than the limit of the semaphore");
    if (timeout_ns == 0)
        return -ETIMEDOUT;
    vg_sleeper sleeper;
    vg_sleeper_init(&sleeper, VG_SHARE_SEMAPHORE, semaphore);
    sleeper.amount = units;
    const vg_sleep_how how = {
        .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = __builtin_return_address(0)};
    return semaphore_wait(semaphore, &sleeper, &how);
}

int vigil_semaphore_post(vigil_semaphore *semaphore, uint64_t units)
{
    if (semaphore == NULL)
        return VG_WHY_NULL("semaphore");
    uint64_t seen = atomic_load_explicit(&semaphore->vg_count, memory_order_relaxed);
    do {
        if (units > semaphore->vg_limit || (seen & SEMAPHORE_UNITS) > semaphore->vg_limit - units)
            return -EOVERFLOW;
        /* U2 release: what was done before the post; pairs with U1 */
    } while (!atomic_compare_exchange_weak_explicit(&semaphore->vg_count, &seen, seen + units, memory_order_release,
                                                    memory_order_relaxed));
    if (__builtin_expect((seen & SEMAPHORE_WAITERS) != 0, 0) &&
        ((seen & (SEMAPHORE_WOKEN | SEMAPHORE_FAIR)) != SEMAPHORE_WOKEN || vg_time_to_ask())) {
        vg_guard_lock(&semaphore->vg_waiters);
        semaphore_look(semaphore);
    }
    return 0;
}

uint64_t vigil_semaphore_units(const vigil_semaphore *semaphore)
{
    /* relaxed: a number that may be old already */
    return semaphore == NULL ? 0 : atomic_load_explicit(&semaphore->vg_count, memory_order_relaxed) & SEMAPHORE_UNITS;
}
