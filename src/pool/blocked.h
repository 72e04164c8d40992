/* SPDX-License-Identifier: MIT */
/*
 * blocked.h - a sleep of any thread for something that is not a task: a lock, a channel, a promise. WAITING.md says
 * when a wait may sleep at all.
 *
 * Usage, around the loop that waits on a futex word:
 *
 *     vg_blocked it;
 *     vg_blocked_begin(&it, &(vg_blocked_on){.kind = VG_WAIT_LOCK, .object = mutex, .word = &mutex->state,
 *                                            .owner = &mutex->owner, .deadline_ns = deadline});
 *     while (not yet && !vg_blocked_rejected(&it))
 *         in_time = vg_futex_wait(&mutex->state, seen, deadline) == 0;
 *     vg_blocked_end(&it);
 */
#ifndef VG_POOL_BLOCKED_H
#define VG_POOL_BLOCKED_H

#include "base/my_thread.h"
#include "trace.h"

/* What the caller waits for. */
typedef struct vg_blocked_on {
    vg_wait_kind kind;  /* shown by the recorder */
    const void *object; /* names it; the watchdog compares addresses and follows none. A promise: its loop's serial */
    uint64_t shown;     /* what the recorder shows instead of the address; 0: the address, of the owner's word if any */
    const void *where;  /* return address of the public call, or NULL */
    const _Atomic uint32_t *word;  /* the futex word, which a rejection wakes; NULL: not rejectable */
    const _Atomic uint32_t *owner; /* the thread id (vg_thread_id) of the one that holds it; NULL: it has no owner */
    uint64_t deadline_ns;          /* VG_NO_DEADLINE: none */
} vg_blocked_on;

typedef struct vg_blocked {
    vg_worker *worker; /* NULL: the caller is not inside a task */
    uint64_t number;   /* of the wait */
    vg_waiting waiting;
    unsigned held[VG_CLASSES]; /* places of capped classes, given up while it waits */
} vg_blocked;

/*
 * The caller is about to sleep. Inside a task the worker counts as blocked: a spare takes its place if work is queued,
 * and the watchdog sees what it waits for. Elsewhere it is recorded only. Any thread; does not block. May start a
 * spare: hold no lock that a task could want.
 */
void vg_blocked_begin(vg_blocked *it, const vg_blocked_on *on);
void vg_blocked_end(vg_blocked *it); /* on the same thread */

/* Has the watchdog ended this wait because it is part of a circle? Then give up with -EDEADLK. */
static inline bool vg_blocked_rejected(const vg_blocked *it)
{
    /* relaxed: the watchdog wakes the word afterwards, which orders it */
    return it->worker != NULL &&
           __builtin_expect(atomic_load_explicit(&it->worker->seat.rejected, memory_order_relaxed) == it->number, 0);
}

#endif
