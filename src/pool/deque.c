/* SPDX-License-Identifier: MIT */
#include "deque.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(vigil_task *) no_slot; /* stands in for the slots of a deque without an array; never written */

void vg_deque_init(vg_deque_owner *owner)
{
    vg_deque *deque = &owner->deque;
    atomic_init(&deque->top, 0);
    atomic_init(&deque->open, 0);
    atomic_init(&deque->active, 0);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->array, NULL);
    owner->array = NULL;
    owner->slots = &no_slot;
    owner->mask = 0;
    owner->full_at = 0;
}

void vg_deque_destroy(vg_deque *deque)
{
    vg_deque_array *array = atomic_load_explicit(&deque->array, memory_order_relaxed);
    while (array != NULL) {
        vg_deque_array *older = array->older;
        free(array);
        array = older;
    }
}

int vg_deque_grow(vg_deque_owner *owner)
{
    vg_deque *deque = &owner->deque;
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    /* D6 acquire: thieves that moved top have read their slots, which may be written again; pairs with D7 */
    int64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
    vg_deque_array *old = owner->array;
    if (old != NULL && bottom - top <= old->mask) {
        owner->full_at = top + old->mask + 1;
        return 0;
    }
    int64_t size = old == NULL ? VG_DEQUE_FIRST_SIZE : 2 * (old->mask + 1);
    /* Empty slots are zero: vg_forks_take_back reads a slot that was never used. */
    vg_deque_array *array = calloc(1, sizeof *array + (size_t)size * sizeof array->slots[0]);
    if (array == NULL)
        return -ENOMEM;
    array->mask = size - 1;
    array->older = old;
    for (int64_t i = top; old != NULL && i < bottom; i++) {
        vigil_task *task = atomic_load_explicit(&old->slots[i & old->mask], memory_order_relaxed);
        atomic_store_explicit(&array->slots[i & array->mask], task, memory_order_relaxed);
    }
    /* D8 release: a thief that sees the array sees mask and copied slots; pairs with D9 */
    atomic_store_explicit(&deque->array, array, memory_order_release);
    owner->array = array;
    owner->slots = array->slots;
    owner->mask = array->mask;
    owner->full_at = top + size;
    return 0;
}

vigil_task *vg_deque_pop_open(vg_deque_owner *owner, int64_t bottom)
{
    vg_deque *deque = &owner->deque;
    vigil_task *task = NULL;
    int64_t after = bottom + 1;
    if (atomic_load_explicit(&deque->top, memory_order_relaxed) <= bottom) { /* else it is gone: top only grows */
        /* D10 full fence: bottom is lowered before top is read; pairs with the thief's D5 and D11. One of the two sees
           the other. */
        atomic_thread_fence(memory_order_seq_cst);
        int64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
        task = atomic_load_explicit(&owner->slots[bottom & owner->mask], memory_order_relaxed);
        if (top < bottom)
            return task;
        const int64_t open = atomic_load_explicit(&deque->open, memory_order_relaxed);
        /* The last one: the thread that moves top has it. Relaxed: the owner wrote the task; D10 orders the race. */
        if (top == bottom && atomic_compare_exchange_strong_explicit(&deque->top, &top, open, memory_order_relaxed,
                                                                     memory_order_relaxed))
            after = open;
        else
            task = NULL;
    }
    /* top is at least this by now, so a thief that reads this finds nothing or fails at top. release: an audit with an
       older top reads the slot and its array, as with D1; pairs with D4 in vg_deque_tasks */
    atomic_store_explicit(&deque->bottom, after, memory_order_release);
    return task;
}

/* Raise to at least `least`. */
static void raise_open(_Atomic int64_t *index, int64_t least, memory_order order)
{
    int64_t seen = atomic_load_explicit(index, memory_order_relaxed);
    while (seen < least && !atomic_compare_exchange_weak_explicit(index, &seen, least, order, memory_order_relaxed)) {
    }
}

vg_steal_result vg_deque_steal(vg_deque *deque, vg_fence_mode fences, vigil_task **task)
{
    const int64_t size = vg_deque_size(deque);
    if (size == 0)
        return VG_STEAL_EMPTY; /* saves the fence; the idle protocol covers a task that this overlooks */
    int64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    /* D12 acquire: the fence that came before; pairs with D13 */
    if (top < atomic_load_explicit(&deque->active, memory_order_acquire)) {
        /* D11 full fence: top is read before bottom; pairs with the owner's D10 */
        atomic_thread_fence(memory_order_seq_cst);
    } else {
        const int64_t open = top + (size + VG_DEQUE_SHARE - 1) / VG_DEQUE_SHARE;
        raise_open(&deque->open, open, memory_order_relaxed);
        /* D5 heavy fence: open is raised before bottom is read; pairs with the owner's D3. And top is read before
           bottom; pairs with D10. */
        vg_fence_heavy(fences);
        /* D13 release: a thread that sees it comes after the fence; pairs with D12 */
        raise_open(&deque->active, open, memory_order_release);
    }
    /* D4 acquire: pairs with D1 and D2 */
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_acquire);
    if (top >= bottom)
        return VG_STEAL_EMPTY;
    /* D9 acquire: pairs with D8. An outgrown array still holds this slot. */
    vg_deque_array *array = atomic_load_explicit(&deque->array, memory_order_acquire);
    vigil_task *found = atomic_load_explicit(&array->slots[top & array->mask], memory_order_relaxed);
    /* D7 release: the slot has been read before it may be written again; pairs with D6. No acquire: the task's
       contents came with D4. */
    if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1, memory_order_release,
                                                 memory_order_relaxed))
        return VG_STEAL_LOST;
    *task = found;
    return VG_STEAL_WON;
}

int64_t vg_deque_tasks(vg_deque *deque)
{
    int64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_acquire);       /* D4: with it comes the array */
    vg_deque_array *array = atomic_load_explicit(&deque->array, memory_order_acquire); /* D9 */
    int64_t tasks = 0;
    for (int64_t i = top; i < bottom; i++)
        if (!vg_deque_is_join(atomic_load_explicit(&array->slots[i & array->mask], memory_order_relaxed)))
            tasks++;
    return tasks;
}
