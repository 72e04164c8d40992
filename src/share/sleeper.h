/* SPDX-License-Identifier: MIT */
/*
 * sleeper.h - one wait, for a thread, a task or an asynchronous function (WAITS.md).
 *
 * Each object has a list of waiters under a small lock, its guard. An entry of the list belongs to a sleeper, which
 * lies on the waiter's stack or in its operation. A sleeper is claimed once: by a waker, by its timeout, or by its
 * cancel token. A waker first claims, then does what the waiter waits for, then ends the wait; so a waiter that was
 * claimed by a waker has what it waited for, and a waker never does it for one that has left.
 */
#ifndef VG_SHARE_SLEEPER_H
#define VG_SHARE_SLEEPER_H

#include "base/sleeper_words.h"
#include "base/mutex.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <vigil/cancel.h>
#include <vigil/sync.h>

/* vg_sleeper.word. The first four are a wait that goes on, the others how it ended. */
enum {
    VG_SLEEP_WAITING = 0,
    VG_SLEEP_ASLEEP = 1,         /* the same, and a wake needs the system */
    VG_SLEEP_CLAIMED = 2,        /* a waker works on it */
    VG_SLEEP_CLAIMED_ASLEEP = 3, /* the same, and a wake needs the system */
    VG_SLEEP_GIVEN = 4,          /* the waiter has what it waited for */
    VG_SLEEP_RETRY = 5,          /* the waiter looks again */
    VG_SLEEP_CLOSED = 6,         /* the channel was closed */
    VG_SLEEP_TIMED_OUT = 7,
    VG_SLEEP_CANCELLED = 8,
    VG_SLEEP_REJECTED = 9 /* the watchdog ended it: part of a circle */
};

typedef struct vg_sleeper vg_sleeper;

/* In the list of an object; all fields under its guard. */
typedef struct vg_entry {
    struct vg_entry *next;
    struct vg_entry *previous;
    vg_sleeper *sleeper;
    void *data;     /* of a channel: where the message is, or goes to */
    uint32_t index; /* of a select: which case */
    bool queued;
} vg_entry;

struct vg_sleeper {
    _Atomic uint32_t word; /* the futex; first, for readers from outside */
    uint32_t magic;        /* VG_SLEEPER_MAGIC */
    uint32_t kind;         /* VG_SHARE_* */
    uint32_t owner;        /* who will own the lock: a thread's number, or VG_OWNER_ASYNC and the loop's thread */
    void *object;          /* what it waits for */
    vg_entry entry;
    vg_entry second;    /* in a mutex: a condition's waiter is in both, one after the other */
    vigil_mutex *mutex; /* of a condition's waiter */
    uint64_t since;     /* ns: when it was first seen to be the first of its list; 0: not yet. Under the guard */
    uint64_t amount;    /* of a semaphore: units; of a rwlock: 1 for a writer; of a condition: 1 when signalled */
    uint32_t chosen;    /* of a channel: the index of the entry that was claimed */
    void (*notify)(vg_sleeper *sleeper); /* NULL: a thread sleeps on the word. Else called at the end, under no lock */
};

#define VG_FAIR_NS UINT64_C(250000) /* a waiter that is the first for so long gets the lock by hand */

/* The parameters of a wait that its user chose. */
typedef struct vg_sleep_how {
    uint64_t deadline_ns;
    vigil_cancel_token *token;
    const void *where;             /* return address of the public call */
    const _Atomic uint32_t *owner; /* the word with the holder's thread; NULL: it has none */
    unsigned yields;
} vg_sleep_how;

void vg_sleeper_init(vg_sleeper *sleeper, uint32_t kind, void *object);

/* Wait until the sleeper has ended, after `spins` looks and how->yields turns of others. Returns how it ended. The
   caller takes a sleeper that ended with anything but GIVEN, RETRY and CLOSED out of its lists. */
uint32_t vg_sleeper_wait(vg_sleeper *sleeper, const vg_sleep_how *how, unsigned spins);

/* What a wait that ended so answers to the user. */
int vg_sleeper_error(uint32_t end, vigil_cancel_token *token);

bool vg_sleeper_claim(vg_sleeper *sleeper);               /* false: it has left */
void vg_sleeper_unclaim(vg_sleeper *sleeper);             /* the claim was for nothing */
void vg_sleeper_end(vg_sleeper *sleeper, uint32_t end);   /* of a claimed one; the last touch of its memory */
bool vg_sleeper_leave(vg_sleeper *sleeper, uint32_t end); /* the waiter itself ends its wait; false: claimed or over */

/* ---- the list, under the guard ---- */

static inline void vg_guard_lock(vigil_waiters *waiters)
{
    vg_mutex *guard = (vg_mutex *)(void *)&waiters->vg_guard;
#ifndef VIGIL_CHECK
    /* Sections are short: look some times before sleeping. relaxed: vg_mutex_lock acquires */
    for (unsigned i = 0; i < 40 && atomic_load_explicit(&guard->state, memory_order_relaxed) != 0; i++)
        vg_spin_pause();
#endif
    vg_mutex_lock(guard);
}

static inline void vg_guard_unlock(vigil_waiters *waiters)
{
    vg_mutex_unlock((vg_mutex *)(void *)&waiters->vg_guard);
}

static inline vg_entry *vg_waiters_first(const vigil_waiters *waiters)
{
    return waiters->vg_first;
}

/* Has the first of a list been the first for VG_FAIR_NS? Its time begins with the first such question, so there is one
   hand-over per VG_FAIR_NS at most: a longer line must not turn every unlock into a hand-over. */
static inline bool vg_sleeper_is_due(vg_sleeper *first, uint64_t now_ns)
{
    if (first->since == 0 || first->since > now_ns)
        first->since = now_ns;
    return now_ns - first->since >= VG_FAIR_NS;
}

/* One unlock in some asks whether the first is due although another was woken: the woken one may have no processor. */
static inline bool vg_time_to_ask(void)
{
#ifdef VIGIL_CHECK
    return true;
#else
    static _Thread_local unsigned unlocks;
    return ++unlocks % 32 == 0;
#endif
}

void vg_waiters_push_back(vigil_waiters *waiters, vg_entry *entry);
void vg_waiters_push_front(vigil_waiters *waiters, vg_entry *entry);
void vg_waiters_remove(vigil_waiters *waiters, vg_entry *entry); /* it may be out already */
vg_entry *vg_waiters_claim_entry(vigil_waiters *waiters);
vg_sleeper *vg_waiters_claim(vigil_waiters *waiters); /* take out and claim the first that can be; NULL: none is left */
vg_entry *vg_waiters_claim_all(vigil_waiters *waiters); /* as a chain through next, in order */
void vg_entries_end(vg_entry *chain, uint32_t end);     /* end the sleepers of such a chain; no guard */

#endif
