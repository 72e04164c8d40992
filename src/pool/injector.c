/* SPDX-License-Identifier: MIT */
#include "injector.h"

#include "record/format_pool.h"
#include "record/record.h"

#include <errno.h>
#include <stddef.h>

static const uintptr_t INJECTOR_CLOSED = 1;

void vg_injector_init(vg_injector *injector)
{
    atomic_init(&injector->incoming, 0U);
    atomic_init(&injector->incoming_since, 0U);
    atomic_init(&injector->draining, 0U);
    atomic_init(&injector->pending, NULL);
    atomic_init(&injector->pending_count, 0U);
    atomic_init(&injector->pending_since, 0U);
    atomic_init(&injector->top, 0);
    atomic_init(&injector->bottom, 0);
    for (int i = 0; i < VG_RING_SIZE; i++) {
        atomic_init(&injector->ring[i].task, NULL);
        atomic_init(&injector->ring[i].stamp, 0U);
    }
}

int vg_injector_push(vg_injector *injector, vigil_task *newest, vigil_task *oldest, bool even_if_closed)
{
    uint64_t since = oldest->vg_stamp; /* read now: after the push the task is not ours */
    uintptr_t head = atomic_load_explicit(&injector->incoming, memory_order_relaxed);
    do {
        if ((head & INJECTOR_CLOSED) != 0 && !even_if_closed)
            return -ESHUTDOWN;
        oldest->vg_next = (vigil_task *)(head & ~INJECTOR_CLOSED);
        /* J1 release: the worker that takes the chain sees tasks and links; pairs with J2 */
    } while (!atomic_compare_exchange_weak_explicit(&injector->incoming, &head,
                                                    (uintptr_t)newest | (head & INJECTOR_CLOSED), memory_order_release,
                                                    memory_order_relaxed));
    if ((head & ~INJECTOR_CLOSED) == 0)
        atomic_store_explicit(&injector->incoming_since, since, memory_order_relaxed); /* statistics: may lag */
    return 0;
}

void vg_injector_close(vg_injector *injector)
{
    /* Relaxed: a refused push orders nothing; earlier pushes are taken through J2. */
    (void)atomic_fetch_or_explicit(&injector->incoming, INJECTOR_CLOSED, memory_order_relaxed);
}

static vigil_task *take_from_ring(vg_injector *injector)
{
    /* J5 acquire: top is never older than a refill that we may see; pairs with J4 through the holder's J6 */
    int64_t top = atomic_load_explicit(&injector->top, memory_order_acquire);
    for (;;) {
        /* J3 acquire: slots and tasks as the holder wrote them; pairs with J7 */
        int64_t bottom = atomic_load_explicit(&injector->bottom, memory_order_acquire);
        if (top >= bottom)
            return NULL;
        vigil_task *task = atomic_load_explicit(&injector->ring[top & (VG_RING_SIZE - 1)].task, memory_order_relaxed);
        /* J4 release: the slot has been read before the holder may refill it; pairs with J6. On failure acquire,
           as J5. */
        if (atomic_compare_exchange_weak_explicit(&injector->top, &top, top + 1, memory_order_release,
                                                  memory_order_acquire))
            return task;
    }
}

/* Everything in incoming, oldest first. Holder of draining only. */
static vigil_task *take_incoming(vg_injector *injector)
{
    /* J2 acquire: pairs with J1 of every task in the list (read-modify-writes continue a release sequence) */
    uintptr_t head = atomic_fetch_and_explicit(&injector->incoming, INJECTOR_CLOSED, memory_order_acquire);
    vigil_task *list = (vigil_task *)(head & ~INJECTOR_CLOSED);
    vigil_task *oldest_first = NULL;
    uint64_t count = 0;
    while (list != NULL) {
        vigil_task *next = list->vg_next;
        list->vg_next = oldest_first;
        oldest_first = list;
        list = next;
        count++;
    }
    uint64_t before = atomic_load_explicit(&injector->pending_count, memory_order_relaxed);
    atomic_store_explicit(&injector->pending_count, before + count, memory_order_relaxed);
    return oldest_first;
}

/* Move tasks from the list to the empty ring, as many as fit; returns the rest. Holder only. */
static vigil_task *fill_ring(vg_injector *injector, vigil_task *list)
{
    int64_t bottom = atomic_load_explicit(&injector->bottom, memory_order_relaxed);
    int64_t end = bottom + VG_RING_SIZE;
    while (list != NULL && bottom < end) {
        vigil_task *next = list->vg_next; /* read now: after J7 the task is not ours */
        vg_ring_slot *slot = &injector->ring[bottom & (VG_RING_SIZE - 1)];
        atomic_store_explicit(&slot->task, list, memory_order_relaxed);
        atomic_store_explicit(&slot->stamp, list->vg_stamp, memory_order_relaxed);
        list = next;
        bottom++;
    }
    /* J7 release: a worker that sees this bottom sees slots and tasks; pairs with J3 */
    atomic_store_explicit(&injector->bottom, bottom, memory_order_release);
    return list;
}

vigil_task *vg_injector_take(vg_injector *injector, bool *more)
{
    vigil_task *task = take_from_ring(injector);
    if (task != NULL)
        return task;
    if (atomic_load_explicit(&injector->pending, memory_order_relaxed) == NULL &&
        (atomic_load_explicit(&injector->incoming, memory_order_relaxed) & ~INJECTOR_CLOSED) == 0)
        return NULL;
    /* J10 acquire: pending, counts and ring as the last holder left them; pairs with J11 */
    if (atomic_exchange_explicit(&injector->draining, 1, memory_order_acquire) != 0)
        return NULL; /* the holder will announce them */
    /* The ring may have been refilled; it is older than anything else. */
    task = take_from_ring(injector);
    if (task == NULL) {
        /* J6: the ring is empty and only we fill it; the acquire in take_from_ring pairs with the last J4 */
        vigil_task *list = atomic_load_explicit(&injector->pending, memory_order_relaxed);
        if (list == NULL)
            list = take_incoming(injector);
        if (list != NULL) {
            task = list;
            uint64_t count = atomic_load_explicit(&injector->pending_count, memory_order_relaxed);
            int64_t before = atomic_load_explicit(&injector->bottom, memory_order_relaxed);
            list = fill_ring(injector, list->vg_next);
            int64_t moved = atomic_load_explicit(&injector->bottom, memory_order_relaxed) - before;
            atomic_store_explicit(&injector->pending_count, count - 1 - (uint64_t)moved, memory_order_relaxed);
            atomic_store_explicit(&injector->pending_since, list == NULL ? 0 : list->vg_stamp, memory_order_relaxed);
            atomic_store_explicit(&injector->pending, list, memory_order_relaxed);
        }
    }
    /* J11 release: pairs with J10. The caller's announcement orders this store before its look at the idle word,
       which wakes a worker that parked because it saw draining. */
    atomic_store_explicit(&injector->draining, 0, memory_order_release);
    *more = true;
    return task;
}

bool vg_injector_visible(vg_injector *injector)
{
    /* All relaxed: the caller's fence orders these loads against the publishers' pushes. */
    int64_t top = atomic_load_explicit(&injector->top, memory_order_relaxed);
    if (top < atomic_load_explicit(&injector->bottom, memory_order_relaxed))
        return true;
    if (atomic_load_explicit(&injector->draining, memory_order_relaxed) != 0)
        return false; /* the holder will announce what is there */
    return atomic_load_explicit(&injector->pending, memory_order_relaxed) != NULL ||
           (atomic_load_explicit(&injector->incoming, memory_order_relaxed) & ~INJECTOR_CLOSED) != 0;
}

/* Move incoming behind pending. Holder only. */
static void gather_incoming(vg_injector *injector)
{
    vigil_task *newer = take_incoming(injector);
    vigil_task *last = atomic_load_explicit(&injector->pending, memory_order_relaxed);
    if (last == NULL) {
        atomic_store_explicit(&injector->pending, newer, memory_order_relaxed);
        atomic_store_explicit(&injector->pending_since, newer == NULL ? 0 : newer->vg_stamp, memory_order_relaxed);
    } else {
        while (last->vg_next != NULL)
            last = last->vg_next;
        last->vg_next = newer;
    }
}

bool vg_injector_count(vg_injector *injector, uint64_t *count)
{
    if (atomic_exchange_explicit(&injector->draining, 1, memory_order_acquire) != 0) /* J10 */
        return false;
    gather_incoming(injector);
    int64_t top = atomic_load_explicit(&injector->top, memory_order_relaxed);
    int64_t bottom = atomic_load_explicit(&injector->bottom, memory_order_relaxed);
    *count = atomic_load_explicit(&injector->pending_count, memory_order_relaxed) +
             (bottom > top ? (uint64_t)(bottom - top) : 0);
    atomic_store_explicit(&injector->draining, 0, memory_order_release); /* J11 */
    return true;
}

bool vg_injector_sweep(vg_injector *injector, bool (*unwanted)(const vigil_task *task), vigil_task **swept)
{
    *swept = NULL;
    if (atomic_exchange_explicit(&injector->draining, 1, memory_order_acquire) != 0) /* J10 */
        return false;
    gather_incoming(injector);
    vigil_task *first = NULL, *last = NULL;
    uint64_t left = 0;
    vigil_task *next;
    for (vigil_task *task = atomic_load_explicit(&injector->pending, memory_order_relaxed); task != NULL; task = next) {
        next = task->vg_next;
        if (unwanted(task)) {
            task->vg_next = *swept;
            *swept = task;
            continue;
        }
        if (last != NULL)
            last->vg_next = task;
        else
            first = task;
        last = task;
        left++;
    }
    if (last != NULL)
        last->vg_next = NULL;
    atomic_store_explicit(&injector->pending_count, left, memory_order_relaxed);
    atomic_store_explicit(&injector->pending_since, first == NULL ? 0 : first->vg_stamp, memory_order_relaxed);
    atomic_store_explicit(&injector->pending, first, memory_order_relaxed);
    atomic_store_explicit(&injector->draining, 0, memory_order_release); /* J11 */
    return true;
}

uint64_t vg_injector_oldest(vg_injector *injector)
{
    int64_t top = atomic_load_explicit(&injector->top, memory_order_relaxed);
    if (top < atomic_load_explicit(&injector->bottom, memory_order_relaxed))
        return atomic_load_explicit(&injector->ring[top & (VG_RING_SIZE - 1)].stamp, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&injector->pending_since, memory_order_relaxed);
    if (since != 0)
        return since;
    if ((atomic_load_explicit(&injector->incoming, memory_order_relaxed) & ~INJECTOR_CLOSED) == 0)
        return 0;
    return atomic_load_explicit(&injector->incoming_since, memory_order_relaxed);
}
