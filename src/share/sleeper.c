/* SPDX-License-Identifier: MIT */
#include "sleeper.h"

#include "base/container.h"
#include "base/futex.h"
#include "pool/blocked.h"

#include <errno.h>

void vg_sleeper_init(vg_sleeper *sleeper, uint32_t kind, void *object)
{
    atomic_init(&sleeper->word, (uint32_t)VG_SLEEP_WAITING);
    sleeper->magic = VG_SLEEPER_MAGIC;
    sleeper->kind = kind;
    sleeper->owner = 0;
    sleeper->object = object;
    sleeper->entry = (vg_entry){.sleeper = sleeper};
    sleeper->second = (vg_entry){.sleeper = sleeper};
    sleeper->mutex = NULL;
    sleeper->since = 0;
    sleeper->amount = 0;
    sleeper->notify = NULL;
}

/* ---- claims and ends --------------------------------------------------------------------------------------------- */

bool vg_sleeper_claim(vg_sleeper *sleeper)
{
    uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_relaxed);
    while (seen <= VG_SLEEP_ASLEEP) {
        /* relaxed: the guard published the sleeper; the end publishes what was done for it */
        if (atomic_compare_exchange_weak_explicit(&sleeper->word, &seen, seen + 2, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

void vg_sleeper_unclaim(vg_sleeper *sleeper)
{
    uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_relaxed);
    /* CLAIMED may become CLAIMED_ASLEEP at the same time. relaxed: nothing was done. A sleeper whose deadline passed
       while it was claimed sleeps on the claimed word without one: wake it, so that it looks at the time again. */
    while (!atomic_compare_exchange_weak_explicit(&sleeper->word, &seen, seen - 2, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    if (seen == VG_SLEEP_CLAIMED_ASLEEP)
        (void)vg_futex_wake(&sleeper->word, 1);
}

void vg_sleeper_end(vg_sleeper *sleeper, uint32_t end)
{
    void (*const notify)(vg_sleeper *) = sleeper->notify;
    /* Z1 release: what was done for the waiter; pairs with Z2 */
    const uint32_t before = atomic_exchange_explicit(&sleeper->word, end, memory_order_release);
    if (notify != NULL)
        notify(sleeper);
    else if (before == VG_SLEEP_CLAIMED_ASLEEP)
        (void)vg_futex_wake(&sleeper->word, 1);
}

bool vg_sleeper_leave(vg_sleeper *sleeper, uint32_t end)
{
    uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_relaxed);
    while (seen <= VG_SLEEP_ASLEEP) {
        /* relaxed: the waiter takes the guard before it leaves */
        if (atomic_compare_exchange_weak_explicit(&sleeper->word, &seen, end, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static uint32_t sleep_until_ended(vg_sleeper *sleeper, uint64_t deadline_ns, const vg_blocked *blocked)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_acquire); /* Z2: pairs with Z1 */
        if (seen >= VG_SLEEP_GIVEN)
            return seen;
        if (seen == VG_SLEEP_WAITING || seen == VG_SLEEP_CLAIMED) {
            /* relaxed: a waker reads the word itself */
            if (!atomic_compare_exchange_weak_explicit(&sleeper->word, &seen, seen + 1, memory_order_relaxed,
                                                       memory_order_relaxed))
                continue;
            seen++;
        }
        /* A claimed sleeper waits for its waker, who is in the middle of it: the time no longer counts. */
        if (vg_futex_wait(&sleeper->word, seen, seen == VG_SLEEP_ASLEEP ? deadline_ns : VG_NO_DEADLINE) == -ETIMEDOUT)
            (void)vg_sleeper_leave(sleeper, VG_SLEEP_TIMED_OUT);
        else if (vg_blocked_rejected(blocked))
            (void)vg_sleeper_leave(sleeper, VG_SLEEP_REJECTED);
    }
}

typedef struct sleeper_cancel {
    vigil_cancel_handler handler;
    vg_sleeper *sleeper;
} sleeper_cancel;

static void cancel_sleeper(vigil_cancel_handler *handler, int status)
{
    (void)status;
    vg_sleeper *sleeper = vg_container_of(handler, sleeper_cancel, handler)->sleeper;
    /* The waiter removes the handler before it returns, so the sleeper stays until we are done. */
    if (vg_sleeper_leave(sleeper, VG_SLEEP_CANCELLED))
        (void)vg_futex_wake(&sleeper->word, 1);
}

uint32_t vg_sleeper_wait(vg_sleeper *sleeper, const vg_sleep_how *how, unsigned spins)
{
#ifndef VIGIL_CHECK
    for (unsigned i = 0; i < spins; i++) {
        const uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_acquire); /* Z2: pairs with Z1 */
        if (seen >= VG_SLEEP_GIVEN)
            return seen;
        vg_spin_pause();
    }
    for (unsigned i = 0; i < how->yields; i++) {
        const uint32_t seen = atomic_load_explicit(&sleeper->word, memory_order_acquire); /* Z2: pairs with Z1 */
        if (seen >= VG_SLEEP_GIVEN)
            return seen;
        vg_thread_yield();
    }
#else
    (void)spins;
#endif
    sleeper_cancel cancel = {.handler = {.fn = cancel_sleeper}, .sleeper = sleeper};
    bool armed = false;
    if (how->token != NULL) {
        armed = vigil_cancel_add(how->token, &cancel.handler) == 0;
        if (!armed)
            (void)vg_sleeper_leave(sleeper, VG_SLEEP_CANCELLED);
    }
    static const vg_wait_kind kinds[] = {[VG_SHARE_MUTEX] = VG_WAIT_LOCK,       [VG_SHARE_RWLOCK] = VG_WAIT_LOCK,
                                         [VG_SHARE_CONDITION] = VG_WAIT_SIGNAL, [VG_SHARE_SEMAPHORE] = VG_WAIT_SIGNAL,
                                         [VG_SHARE_ONCE] = VG_WAIT_SIGNAL,      [VG_SHARE_LATCH] = VG_WAIT_SIGNAL,
                                         [VG_SHARE_BARRIER] = VG_WAIT_SIGNAL,   [VG_SHARE_CHANNEL] = VG_WAIT_CHANNEL,
                                         [VG_SHARE_RATE] = VG_WAIT_SIGNAL};
    vg_blocked blocked;
    vg_blocked_begin(&blocked, &(vg_blocked_on){.kind = kinds[sleeper->kind],
                                                .object = sleeper->object,
                                                .where = how->where,
                                                .word = &sleeper->word,
                                                .owner = how->owner,
                                                .deadline_ns = how->deadline_ns});
    const uint32_t end = sleep_until_ended(sleeper, how->deadline_ns, &blocked);
    vg_blocked_end(&blocked);
    if (armed)
        (void)vigil_cancel_remove(how->token, &cancel.handler);
    return end;
}

int vg_sleeper_error(uint32_t end, vigil_cancel_token *token)
{
    switch (end) {
    case VG_SLEEP_TIMED_OUT:
        return -ETIMEDOUT;
    case VG_SLEEP_CANCELLED: {
        const int status = vigil_cancel_status(token);
        return status != 0 ? status : -ECANCELED;
    }
    case VG_SLEEP_CLOSED:
        return -EPIPE;
    case VG_SLEEP_REJECTED:
        return -EDEADLK;
    default:
        return 0;
    }
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

void vg_waiters_push_back(vigil_waiters *waiters, vg_entry *entry)
{
    vg_entry *last = waiters->vg_last;
    entry->next = NULL;
    entry->previous = last;
    if (last != NULL)
        last->next = entry;
    else
        waiters->vg_first = entry;
    waiters->vg_last = entry;
    entry->queued = true;
}

void vg_waiters_push_front(vigil_waiters *waiters, vg_entry *entry)
{
    vg_entry *first = waiters->vg_first;
    entry->next = first;
    entry->previous = NULL;
    if (first != NULL)
        first->previous = entry;
    else
        waiters->vg_last = entry;
    waiters->vg_first = entry;
    entry->queued = true;
}

void vg_waiters_remove(vigil_waiters *waiters, vg_entry *entry)
{
    if (!entry->queued)
        return;
    if (entry->previous != NULL)
        entry->previous->next = entry->next;
    else
        waiters->vg_first = entry->next;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
    else
        waiters->vg_last = entry->previous;
    entry->queued = false;
}

vg_entry *vg_waiters_claim_entry(vigil_waiters *waiters)
{
    for (vg_entry *entry; (entry = waiters->vg_first) != NULL;) {
        vg_waiters_remove(waiters, entry);
        if (vg_sleeper_claim(entry->sleeper))
            return entry;
    }
    return NULL;
}

vg_sleeper *vg_waiters_claim(vigil_waiters *waiters)
{
    const vg_entry *entry = vg_waiters_claim_entry(waiters);
    return entry != NULL ? entry->sleeper : NULL;
}

vg_entry *vg_waiters_claim_all(vigil_waiters *waiters)
{
    vg_entry *chain = NULL;
    vg_entry **end = &chain;
    for (vg_entry *entry; (entry = waiters->vg_first) != NULL;) {
        vg_waiters_remove(waiters, entry);
        if (vg_sleeper_claim(entry->sleeper)) {
            *end = entry;
            end = &entry->next;
        }
    }
    *end = NULL;
    return chain;
}

void vg_entries_end(vg_entry *chain, uint32_t end)
{
    while (chain != NULL) {
        vg_entry *next = chain->next; /* the end is the last touch */
        vg_sleeper_end(chain->sleeper, end);
        chain = next;
    }
}
