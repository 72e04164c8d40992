/* SPDX-License-Identifier: MIT */
/*
 * rwlock.c - a word with the number of readers and two bits, and a list of waiters. With WAITERS nobody overtakes: the
 * lock goes to the first waiters by hand, to one writer or to all readers in front.
 */
#include "rwlock.h"

#include "base/clock.h"
#include "base/my_thread.h"
#include "base/why.h"
#include "pool/blocked.h"

enum {
    RWLOCK_WRITER = 1U << 29,
    RWLOCK_WAITERS = 1U << 30,
    RWLOCK_READERS = RWLOCK_WRITER - 1,
#ifdef VIGIL_CHECK
    RWLOCK_SPINS = 0,
#else
    RWLOCK_SPINS = 30,
#endif
};

/* Take the lock if it can be had at once. */
static bool rwlock_take(vigil_rwlock *lock, bool write, uint32_t thread)
{
    _Atomic uint32_t *word = &lock->vg_waiters.vg_word;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    while (write ? seen == 0 : (seen & (RWLOCK_WRITER | RWLOCK_WAITERS)) == 0) {
        /* R1 acquire: what the last writer and readers did; pairs with R2 */
        if (atomic_compare_exchange_weak_explicit(word, &seen, write ? RWLOCK_WRITER : seen + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            if (write) /* relaxed: for our own check, and for readers from outside */
                atomic_store_explicit(&lock->vg_owner, thread, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* Under the guard, which it leaves: give the lock to the waiters in front that can have it. */
static void rwlock_grant(vigil_rwlock *lock)
{
    _Atomic uint32_t *word = &lock->vg_waiters.vg_word;
    vg_entry *granted = NULL;
    vg_entry **end = &granted;
    vg_entry *first = NULL;
    while ((first = vg_waiters_first(&lock->vg_waiters)) != NULL) {
        vg_sleeper *sleeper = first->sleeper;
        const bool write = sleeper->amount != 0;
        /* R1 acquire: for the waiter, who gets it with Z1. With WAITERS the word only falls. */
        const uint32_t seen = atomic_load_explicit(word, memory_order_acquire) & ~(uint32_t)RWLOCK_WAITERS;
        if (write ? seen != 0 : (seen & RWLOCK_WRITER) != 0)
            break;
        vg_waiters_remove(&lock->vg_waiters, first);
        if (!vg_sleeper_claim(sleeper))
            continue;
        /* relaxed: nobody acquires from it, the waiter has Z1 */
        (void)atomic_fetch_add_explicit(word, write ? RWLOCK_WRITER : 1U, memory_order_relaxed);
        if (write)
            atomic_store_explicit(&lock->vg_owner, sleeper->owner, memory_order_relaxed);
        *end = first;
        end = &first->next;
    }
    *end = NULL;
    if (first == NULL) /* relaxed: under the guard */
        (void)atomic_fetch_and_explicit(word, ~(uint32_t)RWLOCK_WAITERS, memory_order_relaxed);
    vg_guard_unlock(&lock->vg_waiters);
    vg_entries_end(granted, VG_SLEEP_GIVEN);
}

/* Join the list, and take the lock if it can be had. */
static void rwlock_queue(vigil_rwlock *lock, vg_sleeper *sleeper)
{
    vg_guard_lock(&lock->vg_waiters);
    /* From now on nobody takes it past the list; a thread that leaves it later sees the bit. relaxed: same word. */
    (void)atomic_fetch_or_explicit(&lock->vg_waiters.vg_word, RWLOCK_WAITERS, memory_order_relaxed);
    vg_waiters_push_back(&lock->vg_waiters, &sleeper->entry);
    rwlock_grant(lock); /* it may have been left before */
}

void vg_share_rwlock_left(vigil_rwlock *lock, vg_sleeper *sleeper)
{
    vg_guard_lock(&lock->vg_waiters);
    vg_waiters_remove(&lock->vg_waiters, &sleeper->entry);
    rwlock_grant(lock); /* readers behind a writer that left */
}

bool vg_share_rwlock_now(vigil_rwlock *lock, bool write, uint32_t owner)
{
    return rwlock_take(lock, write, owner);
}

void vg_share_rwlock_async(vigil_rwlock *lock, vg_sleeper *sleeper)
{
    rwlock_queue(lock, sleeper);
}

static int rwlock_lock(vigil_rwlock *lock, bool write, int64_t timeout_ns, vigil_cancel_token *token, const void *where)
{
    const uint32_t self = vg_my_thread();
    int error = 0;
    if (!rwlock_take(lock, write, self)) {
        /* relaxed: if it is us, we wrote it */
        if (atomic_load_explicit(&lock->vg_owner, memory_order_relaxed) == self)
            return vg_why(-EDEADLK, "the calling thread holds the rwlock as writer");
        if (timeout_ns == 0)
            return -ETIMEDOUT;
        bool taken = false;
        for (unsigned i = 0; i < RWLOCK_SPINS && !taken; i++) {
            vg_spin_pause();
            taken = rwlock_take(lock, write, self);
        }
        if (!taken) {
            vg_sleeper sleeper;
            vg_sleeper_init(&sleeper, VG_SHARE_RWLOCK, lock);
            sleeper.owner = self;
            sleeper.amount = write;
            rwlock_queue(lock, &sleeper);
            const vg_sleep_how how = {
                .deadline_ns = vg_deadline_after(timeout_ns), .token = token, .where = where, .owner = &lock->vg_owner};
            const uint32_t end = vg_sleeper_wait(&sleeper, &how, 0);
            if (end != VG_SLEEP_GIVEN) {
                vg_share_rwlock_left(lock, &sleeper);
                error = vg_sleeper_error(end, token);
            }
        }
    }
    if (error == 0)
        vg_locks_held(1);
    return error;
}

int vigil_rwlock_read(vigil_rwlock *lock, int64_t timeout_ns, vigil_cancel_token *token)
{
    return lock == NULL ? VG_WHY_NULL("lock")
                        : rwlock_lock(lock, false, timeout_ns, token, __builtin_return_address(0));
}

int vigil_rwlock_write(vigil_rwlock *lock, int64_t timeout_ns, vigil_cancel_token *token)
{
    return lock == NULL ? VG_WHY_NULL("lock") : rwlock_lock(lock, true, timeout_ns, token, __builtin_return_address(0));
}

int vigil_rwlock_unlock(vigil_rwlock *lock)
{
    if (lock == NULL)
        return VG_WHY_NULL("lock");
    _Atomic uint32_t *word = &lock->vg_waiters.vg_word;
    const uint32_t self = vg_my_thread();
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);
    const bool write = (seen & RWLOCK_WRITER) != 0;
    /* relaxed: if it is us, we wrote it */
    const uint32_t owner = write ? atomic_load_explicit(&lock->vg_owner, memory_order_relaxed) : 0;
    if (write && owner != self && (owner & VG_OWNER_ASYNC) == 0)
        return vg_why(-EPERM, "another thread holds the rwlock as writer");
    if (!write && (seen & RWLOCK_READERS) == 0)
        return vg_why(-EPERM, "the rwlock is not locked");
    if (write)
        atomic_store_explicit(&lock->vg_owner, 0, memory_order_relaxed);
    if ((owner & VG_OWNER_ASYNC) == 0)
        vg_locks_held(-1);
    const uint32_t mine = write ? RWLOCK_WRITER : 1U;
    /* R2 release: what we did; pairs with R1 */
    const uint32_t left = atomic_fetch_sub_explicit(word, mine, memory_order_release) - mine;
    if (left == RWLOCK_WAITERS) {
        vg_guard_lock(&lock->vg_waiters);
        rwlock_grant(lock);
    }
    return 0;
}
