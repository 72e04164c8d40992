/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - a word with the owner and three bits, and a list of waiters (WAITS.md).
 *
 * WAITERS: the list is not empty; it changes under the guard. WOKEN: one waiter was woken to look again and has not
 * done so; unlocking wakes nobody else. FAIR: the next unlock hands over to the first waiter.
 * Invariants: FAIR implies an owner. Without WOKEN, FAIR or an owner there are no WAITERS.
 *
 * The word is the last thing that an unlock touches: the next holder may free the mutex.
 */
#include "mutex.h"

#include "base/clock.h"
#include "base/my_thread.h"
#include "base/why.h"
#include "pool/blocked.h"

enum {
    MUTEX_FAIR = 1U << 28,
    MUTEX_WOKEN = 1U << 29,
    MUTEX_WAITERS = 1U << 30,
#ifdef VIGIL_CHECK
    MUTEX_SPINS = 0,
#else
    MUTEX_SPINS = 30,
#endif
};
#define MUTEX_OWNER (VG_OWNER_ASYNC | VG_OWNER_THREAD)

/* ---- locking ----------------------------------------------------------------------------------------------------- */

/* Take the mutex if nobody has it. clear: MUTEX_WOKEN, if the caller is the woken one. */
static bool mutex_take(vigil_mutex *mutex, uint32_t owner, uint32_t clear)
{
    _Atomic uint32_t *word = &mutex->vg_waiters.vg_word;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    while ((seen & MUTEX_OWNER) == 0) {
        /* M1 acquire: what the last holder did; pairs with M2 */
        if (atomic_compare_exchange_weak_explicit(word, &seen, (seen & ~clear) | owner, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

static bool mutex_spin(vigil_mutex *mutex, uint32_t owner, uint32_t clear)
{
    for (unsigned i = 0;; i++) {
        if (mutex_take(mutex, owner, clear))
            return true;
        /* relaxed: a hint. A fair mutex is handed over; spinning is futile. */
        if (i >= MUTEX_SPINS ||
            (atomic_load_explicit(&mutex->vg_waiters.vg_word, memory_order_relaxed) & MUTEX_FAIR) != 0)
            return false;
        vg_spin_pause();
    }
}

/* Take the mutex or join its list. True: taken. */
static bool mutex_queue(vigil_mutex *mutex, vg_sleeper *sleeper, bool woken)
{
    _Atomic uint32_t *word = &mutex->vg_waiters.vg_word;
    const uint64_t now = vg_now_ns();
    const uint32_t clear = woken ? MUTEX_WOKEN : 0;
    vg_guard_lock(&mutex->vg_waiters);
    const uint32_t fair = woken && vg_sleeper_is_due(sleeper, now) ? MUTEX_FAIR : 0;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    bool taken = false;
    do {
        taken = (seen & MUTEX_OWNER) == 0;
        /* M1 acquire: as above. Without an owner we take it, so WAITERS is set only where an unlock will see it. */
    } while (!atomic_compare_exchange_weak_explicit(word, &seen,
                                                    (seen & ~clear) | (taken ? sleeper->owner : MUTEX_WAITERS | fair),
                                                    memory_order_acquire, memory_order_relaxed));
    if (!taken && woken)
        vg_waiters_push_front(&mutex->vg_waiters, &sleeper->second);
    else if (!taken)
        vg_waiters_push_back(&mutex->vg_waiters, &sleeper->second);
    if (!taken)
        (void)vg_sleeper_is_due(vg_waiters_first(&mutex->vg_waiters)->sleeper, now); /* its time as the first begins */
    vg_guard_unlock(&mutex->vg_waiters);
    return taken;
}

void vg_share_lock_left(vigil_mutex *mutex, vg_sleeper *sleeper)
{
    vg_guard_lock(&mutex->vg_waiters);
    vg_waiters_remove(&mutex->vg_waiters, &sleeper->second);
    if (vg_waiters_first(&mutex->vg_waiters) == NULL) /* relaxed: unlock reads the same word */
        (void)atomic_fetch_and_explicit(&mutex->vg_waiters.vg_word, ~(MUTEX_WAITERS | MUTEX_FAIR),
                                        memory_order_relaxed);
    vg_guard_unlock(&mutex->vg_waiters);
}

static int mutex_wait(vigil_mutex *mutex, vg_sleeper *sleeper, bool woken, const vg_sleep_how *how)
{
    while (!mutex_spin(mutex, sleeper->owner, woken ? MUTEX_WOKEN : 0)) {
        atomic_store_explicit(&sleeper->word, VG_SLEEP_WAITING, memory_order_relaxed); /* the guard publishes it */
        if (mutex_queue(mutex, sleeper, woken))
            return 0;
        const uint32_t end = vg_sleeper_wait(sleeper, how, 0);
        if (end == VG_SLEEP_GIVEN)
            return 0;
        if (end != VG_SLEEP_RETRY) {
            vg_share_lock_left(mutex, sleeper);
            return vg_sleeper_error(end, how->token);
        }
        woken = true;
    }
    return 0;
}

static __attribute__((noinline)) int mutex_lock_slow(vigil_mutex *mutex, int64_t timeout_ns, vigil_cancel_token *token,
                                                     const void *where)
{
    const uint32_t self = vg_my_thread();
    /* relaxed: if it is us, we wrote it */
    if ((atomic_load_explicit(&mutex->vg_waiters.vg_word, memory_order_relaxed) & MUTEX_OWNER) == self)
        return vg_why(-EDEADLK, "the calling thread holds the mutex already");
    int error = 0;
    if (timeout_ns == 0) {
        if (!mutex_take(mutex, self, 0))
            return -ETIMEDOUT;
    } else {
        vg_sleeper sleeper;
        vg_sleeper_init(&sleeper, VG_SHARE_MUTEX, mutex);
        sleeper.owner = self;
        const vg_sleep_how how = {.deadline_ns = vg_deadline_after(timeout_ns),
                                  .token = token,
                                  .where = where,
                                  .owner = &mutex->vg_waiters.vg_word};
        error = mutex_wait(mutex, &sleeper, false, &how);
    }
    if (error == 0)
        vg_locks_held(1);
    return error;
}

static inline __attribute__((always_inline)) int mutex_lock(vigil_mutex *mutex, int64_t timeout_ns,
                                                            vigil_cancel_token *token, const void *where)
{
    if (mutex == NULL)
        return VG_WHY_NULL("mutex");
    const uint32_t self = vg_my_thread();
    uint32_t seen = 0;
    /* M1 acquire: what the last holder did; pairs with M2 */
    if (__builtin_expect(atomic_compare_exchange_strong_explicit(&mutex->vg_waiters.vg_word, &seen, self,
                                                                 memory_order_acquire, memory_order_relaxed),
                         1)) {
        vg_locks_held(1);
        return 0;
    }
    return mutex_lock_slow(mutex, timeout_ns, token, where);
}

int vigil_mutex_lock(vigil_mutex *mutex)
{
    return mutex_lock(mutex, VIGIL_FOREVER, NULL, __builtin_return_address(0));
}

int vigil_mutex_lock_timed(vigil_mutex *mutex, int64_t timeout_ns, vigil_cancel_token *token)
{
    return mutex_lock(mutex, timeout_ns, token, __builtin_return_address(0));
}

bool vg_share_lock_now(vigil_mutex *mutex, uint32_t owner)
{
    return mutex_take(mutex, owner, 0);
}

bool vg_share_lock_async(vigil_mutex *mutex, vg_sleeper *sleeper)
{
    return mutex_take(mutex, sleeper->owner, 0) || mutex_queue(mutex, sleeper, false);
}

/* ---- unlocking --------------------------------------------------------------------------------------------------- */

/* Hand over to the claimed sleeper, or free the mutex and let the sleeper look again. */
static void mutex_pass(vigil_mutex *mutex, vg_sleeper *sleeper, bool due)
{
    _Atomic uint32_t *word = &mutex->vg_waiters.vg_word;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    uint32_t next = 0;
    bool hand = false;
    do {
        hand = due || (seen & MUTEX_FAIR) != 0 || sleeper->notify != NULL;
        if (hand)
            next = (seen & ~(MUTEX_OWNER | MUTEX_FAIR)) | sleeper->owner;
        else
            next = (seen & ~MUTEX_OWNER) | MUTEX_WOKEN;
        /* M2 release: what we did as holder; pairs with M1 */
    } while (!atomic_compare_exchange_weak_explicit(word, &seen, next, memory_order_release, memory_order_relaxed));
    vg_sleeper_end(sleeper, hand ? VG_SLEEP_GIVEN : VG_SLEEP_RETRY);
}

/* Does the unlock concern nobody but newcomers: no waiter, or another was woken and the first is not due? Asks for the
   guard only if it must; *due is the answer, and with false the guard is held. */
static bool mutex_leave_alone(vigil_mutex *mutex, uint32_t seen, bool *due)
{
    const bool woken = (seen & MUTEX_FAIR) == 0 && (seen & (MUTEX_WOKEN | MUTEX_WAITERS)) != MUTEX_WAITERS;
    *due = false;
    if (woken && ((seen & MUTEX_WAITERS) == 0 || !vg_time_to_ask()))
        return true;
    vg_guard_lock(&mutex->vg_waiters);
    vg_entry *first = vg_waiters_first(&mutex->vg_waiters);
    *due = first != NULL && vg_sleeper_is_due(first->sleeper, vg_now_ns());
    if (!woken || *due)
        return false;
    vg_guard_unlock(&mutex->vg_waiters);
    return true;
}

static __attribute__((noinline)) int mutex_unlock_slow(vigil_mutex *mutex, uint32_t seen)
{
    _Atomic uint32_t *word = &mutex->vg_waiters.vg_word;
    for (;;) {
        bool due = false;
        if (mutex_leave_alone(mutex, seen, &due)) {
            /* M2 release: as above */
            if (atomic_compare_exchange_weak_explicit(word, &seen, seen & ~MUTEX_OWNER, memory_order_release,
                                                      memory_order_relaxed))
                return 0;
            continue;
        }
        vg_sleeper *sleeper = vg_waiters_claim(&mutex->vg_waiters);
        vg_entry *next = vg_waiters_first(&mutex->vg_waiters);
        if (next != NULL)
            (void)vg_sleeper_is_due(next->sleeper, vg_now_ns()); /* its time as the first begins */
        else                                                     /* relaxed: the word stays ours until M2 */
            (void)atomic_fetch_and_explicit(word, ~(MUTEX_WAITERS | (sleeper == NULL ? MUTEX_FAIR : 0U)),
                                            memory_order_relaxed);
        vg_guard_unlock(&mutex->vg_waiters);
        if (sleeper != NULL) {
            mutex_pass(mutex, sleeper, due);
            return 0;
        }
        seen = atomic_load_explicit(word, memory_order_relaxed);
    }
}

static inline __attribute__((always_inline)) int mutex_unlock(vigil_mutex *mutex)
{
    if (mutex == NULL)
        return VG_WHY_NULL("mutex");
    const uint32_t self = vg_my_thread();
    uint32_t seen = self;
    /* M2 release: what we did as holder; pairs with M1 */
    if (__builtin_expect(atomic_compare_exchange_strong_explicit(&mutex->vg_waiters.vg_word, &seen, 0,
                                                                 memory_order_release, memory_order_relaxed),
                         1)) {
        vg_locks_held(-1);
        return 0;
    }
    if ((seen & MUTEX_OWNER) == self)
        vg_locks_held(-1);
    else if ((seen & VG_OWNER_ASYNC) == 0)
        return vg_why(-EPERM, (seen & MUTEX_OWNER) == 0 ? "the mutex is not locked" : "another thread holds the mutex");
    return mutex_unlock_slow(mutex, seen);
}

int vigil_mutex_unlock(vigil_mutex *mutex)
{
    return mutex_unlock(mutex);
}

int vigil_mutex_unlock_slow(vigil_mutex *mutex)
{
    return mutex_unlock(mutex);
}

/* ---- for conditions ---------------------------------------------------------------------------------------------- */

void vg_share_requeue(vigil_mutex *mutex, vg_sleeper *sleeper)
{
    _Atomic uint32_t *word = &mutex->vg_waiters.vg_word;
    sleeper->since = 0;
    vg_guard_lock(&mutex->vg_waiters);
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    bool taken = false;
    do {
        taken = (seen & MUTEX_OWNER) == 0;
        /* M1 acquire: for the sleeper, who gets it with Z1 */
    } while (!atomic_compare_exchange_weak_explicit(word, &seen, seen | (taken ? sleeper->owner : MUTEX_WAITERS),
                                                    memory_order_acquire, memory_order_relaxed));
    if (!taken) {
        vg_waiters_push_back(&mutex->vg_waiters, &sleeper->second);
        vg_sleeper_unclaim(sleeper); /* it waits for the mutex from here on */
    }
    vg_guard_unlock(&mutex->vg_waiters);
    if (taken)
        vg_sleeper_end(sleeper, VG_SLEEP_GIVEN);
}

void vg_share_relock(vigil_mutex *mutex, vg_sleeper *sleeper, bool woken)
{
    if (!woken)
        vg_share_lock_left(mutex, sleeper);
    const vg_sleep_how how = {.deadline_ns = VG_NO_DEADLINE, .owner = &mutex->vg_waiters.vg_word};
    while (mutex_wait(mutex, sleeper, woken, &how) != 0) { /* rejected: the caller must have the mutex all the same */
    }
}
