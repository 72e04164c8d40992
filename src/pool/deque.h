/* SPDX-License-Identifier: MIT */
/*
 * deque.h - the work-stealing deque (Chase and Lev 2005, ordered after Le, Pop, Cohen and Zappa Nardelli 2013).
 * README.md, "File by file".
 *
 * Entries below `open` are those that thieves may take. The owner takes newer ones without a fence, and for the others
 * plays by the rules of Chase and Lev, with a full fence. A thief that finds no open entry opens half of the deque,
 * with one heavy fence: after it the owner has seen `open`, or the thief sees what the owner has taken. Then `active`
 * follows, and thieves take what is below it with full fences alone. So a heavy fence, which is a system call that
 * interrupts every running thread, is paid once for many steals. When the owner takes the last entry, top and bottom
 * skip what is left open: what it pushes next is its own again.
 */
#ifndef VG_POOL_DEQUE_H
#define VG_POOL_DEQUE_H

#include "base/fence.h"

#include <stdalign.h>
#include <stdint.h>

#include <vigil/pool.h>

#ifdef VIGIL_CHECK
#define VG_DEQUE_FIRST_SIZE 2
#define VG_DEQUE_SHARE      1
#else
#define VG_DEQUE_FIRST_SIZE 256
#define VG_DEQUE_SHARE      2 /* a thief opens one part of so many */
#endif

typedef struct vg_deque_array {
    int64_t mask;
    struct vg_deque_array *older;
    _Atomic(vigil_task *) slots[];
} vg_deque_array;

/* For every thread. */
typedef struct vg_deque {
    alignas(64) _Atomic int64_t top; /* at most open */
    _Atomic int64_t open;            /* only grows, as the next */
    _Atomic int64_t active;          /* at most open: a heavy fence came after open had reached it */
    alignas(64) _Atomic int64_t bottom;
    _Atomic(vg_deque_array *) array; /* NULL until the first push */
} vg_deque;

/* For the owner alone. */
typedef struct vg_deque_owner {
    vg_deque deque;
    _Atomic(vigil_task *) *slots; /* of `array`; an empty one without it */
    int64_t mask;                 /* likewise */
    int64_t full_at;              /* a push at this index must read top again; at most top + size */
    vg_deque_array *array;        /* the newest, as in the deque */
} vg_deque_owner;

typedef enum vg_steal_result {
    VG_STEAL_EMPTY,
    VG_STEAL_LOST, /* another thief was faster: the deque may hold more */
    VG_STEAL_WON,
} vg_steal_result;

/* ---- owner ---- */

void vg_deque_init(vg_deque_owner *owner);
void vg_deque_destroy(vg_deque *deque);

/* Make room for at least one more, perhaps only by reading top again; -ENOMEM. */
int vg_deque_grow(vg_deque_owner *owner);

/* false: no room (see vg_deque_grow), nothing pushed. The caller announces the task (idle.h). */
static inline bool vg_deque_push(vg_deque_owner *owner, vigil_task *task)
{
    vg_deque *deque = &owner->deque;
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed); /* own writes only */
    if (__builtin_expect(bottom >= owner->full_at, 0))
        return false;
    atomic_store_explicit(&owner->slots[bottom & owner->mask], task, memory_order_relaxed);
    /* D1 release: a thief that sees this bottom sees slot and task; pairs with D4 */
    atomic_store_explicit(&deque->bottom, bottom + 1, memory_order_release);
    return true;
}

/* The rest of vg_deque_pop for an entry that thieves may take. */
vigil_task *vg_deque_pop_open(vg_deque_owner *owner, int64_t bottom);

/* The newest task, or NULL. */
static inline vigil_task *vg_deque_pop(vg_deque_owner *owner, vg_fence_mode fences)
{
    vg_deque *deque = &owner->deque;
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1; /* own writes only */
    /* D2 release: a thief that reads this bottom may read the older slots, as with D1 */
    atomic_store_explicit(&deque->bottom, bottom, memory_order_release);
    /* D3 light fence: bottom is lowered before open is read; pairs with the thief's D5. One of the two sees the
       other. */
    vg_fence_light(fences);
    if (__builtin_expect(bottom >= atomic_load_explicit(&deque->open, memory_order_relaxed), 1))
        return atomic_load_explicit(&owner->slots[bottom & owner->mask], memory_order_relaxed);
    return vg_deque_pop_open(owner, bottom);
}

/* ---- any thread ---- */

vg_steal_result vg_deque_steal(vg_deque *deque, vg_fence_mode fences, vigil_task **task);

/* Seeming size; exact only while nothing moves. */
static inline int64_t vg_deque_size(vg_deque *deque)
{
    int64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    return bottom > top ? bottom - top : 0;
}

/* A join's entry (join.c): the address of its frame, with the lowest bit set. It is no task yet. */
static inline bool vg_deque_is_join(const vigil_task *entry)
{
    return ((uintptr_t)entry & 1) != 0;
}

/* Of the seeming size: tasks. */
int64_t vg_deque_tasks(vg_deque *deque);

#endif
