/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "subject.h"

#include "base/adopt.h"
#include "base/mutex.h"

#include <stdatomic.h>

#define VG_SUBJECT_SERIALS (UINT64_C(1) << 63) /* apart from the recorder's */

static struct {
    _Atomic uint32_t owner; /* whose list it is: adopt.h */
    vg_mutex lock;
    vg_subject *first;
    vg_subject *held;      /* the watchdog looks at it; under the lock */
    _Atomic uint32_t turn; /* moves when `held` does */
    uint64_t serials;
} subject_registry;

/* A forked child: nothing here is ours, and a lost thread may hold the lock. */
static void adopt_registry(void)
{
    uint32_t before;
    if (!vg_adopt_begin(&subject_registry.owner, &before))
        return;
    vg_mutex_init(&subject_registry.lock);
    subject_registry.first = NULL;
    subject_registry.held = NULL;
    vg_adopt_end(&subject_registry.owner);
}

void vg_subject_add(vg_subject *subject, const vg_subject_calls *calls, void *object, uint64_t serial)
{
    adopt_registry();
    subject->calls = calls;
    subject->object = object;
    vg_mutex_lock(&subject_registry.lock);
    subject->serial = serial != 0 ? serial : VG_SUBJECT_SERIALS + ++subject_registry.serials;
    subject->next = subject_registry.first;
    subject_registry.first = subject;
    vg_mutex_unlock(&subject_registry.lock);
    vg_subject_added();
}

void vg_subject_remove(vg_subject *subject)
{
    adopt_registry();
    vg_mutex_lock(&subject_registry.lock);
    for (vg_subject **at = &subject_registry.first; *at != NULL; at = &(*at)->next)
        if (*at == subject) {
            *at = subject->next;
            break;
        }
    while (subject_registry.held == subject) {
        uint32_t turn =
            atomic_load_explicit(&subject_registry.turn, memory_order_relaxed); /* it moves under the lock */
        vg_mutex_unlock(&subject_registry.lock);
        (void)vg_futex_wait(&subject_registry.turn, turn, VG_NO_DEADLINE);
        vg_mutex_lock(&subject_registry.lock);
    }
    vg_mutex_unlock(&subject_registry.lock);
}

vg_subject *vg_subject_next(vg_subject *before)
{
    adopt_registry();
    vg_mutex_lock(&subject_registry.lock);
    /* A removed subject knows its successor, which may have gone too: begin again. The caller tells by the serial
       what it has seen. */
    vg_subject *next = subject_registry.first;
    for (vg_subject *at = subject_registry.first; at != NULL && before != NULL; at = at->next)
        if (at == before) {
            next = at->next;
            break;
        }
    subject_registry.held = next;
    (void)atomic_fetch_add_explicit(&subject_registry.turn, 1, memory_order_relaxed); /* ordered by the lock */
    vg_mutex_unlock(&subject_registry.lock);
    if (before != NULL)
        (void)vg_futex_wake(&subject_registry.turn, VG_WAKE_ALL);
    return next;
}

vg_subject *vg_subject_hold(uint64_t serial)
{
    adopt_registry();
    vg_mutex_lock(&subject_registry.lock);
    vg_subject *at = subject_registry.first;
    while (at != NULL && at->serial != serial)
        at = at->next;
    subject_registry.held = at;
    vg_mutex_unlock(&subject_registry.lock);
    return at;
}

void vg_subject_let_go(void)
{
    vg_mutex_lock(&subject_registry.lock);
    subject_registry.held = NULL;
    (void)atomic_fetch_add_explicit(&subject_registry.turn, 1, memory_order_relaxed); /* ordered by the lock */
    vg_mutex_unlock(&subject_registry.lock);
    (void)vg_futex_wake(&subject_registry.turn, VG_WAKE_ALL);
}
