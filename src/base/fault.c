/* SPDX-License-Identifier: MIT */
#include "fault.h"

#ifdef VIGIL_FAULTS

#include "futex.h"

#include <stdatomic.h>
#include <stddef.h>

typedef struct fault_entry {
    _Atomic int32_t left; /* negative: always */
    _Atomic uint32_t argument;
    _Atomic uint64_t happened;
} fault_entry;

static fault_entry fault_table[VG_FAULT_KINDS];
static _Atomic uint32_t fault_thaws;
static _Atomic(void *) fault_lost_task;

void vg_fault_inject(vg_fault_kind kind, int32_t times, uint32_t argument)
{
    atomic_store_explicit(&fault_table[kind].argument, argument, memory_order_relaxed);
    /* release: the argument is there before the fault; pairs with the acquire in vg_fault */
    atomic_store_explicit(&fault_table[kind].left, times, memory_order_release);
}

uint64_t vg_fault_count(vg_fault_kind kind)
{
    return atomic_load_explicit(&fault_table[kind].happened, memory_order_relaxed);
}

bool vg_fault(vg_fault_kind kind)
{
    fault_entry *it = &fault_table[kind];
    int32_t left =
        atomic_load_explicit(&it->left, memory_order_acquire); /* pairs with the release in vg_fault_inject */
    do {
        if (left == 0)
            return false;
    } while (left > 0 && !atomic_compare_exchange_weak_explicit(&it->left, &left, left - 1, memory_order_acquire,
                                                                memory_order_acquire)); /* as above */
    (void)atomic_fetch_add_explicit(&it->happened, 1, memory_order_relaxed);
    return true;
}

uint32_t vg_fault_argument(vg_fault_kind kind)
{
    return atomic_load_explicit(&fault_table[kind].argument, memory_order_relaxed);
}

void vg_fault_lose(void *it)
{
    /* release: the task is whole for a thread that puts it back; pairs with the acquire below */
    atomic_store_explicit(&fault_lost_task, it, memory_order_release);
}

void *vg_fault_lost(void)
{
    return atomic_exchange_explicit(&fault_lost_task, NULL, memory_order_acquire); /* pairs with the release above */
}

void vg_fault_freeze(void)
{
    const uint32_t before = atomic_load_explicit(&fault_thaws, memory_order_relaxed);
    while (atomic_load_explicit(&fault_thaws, memory_order_relaxed) == before)
        (void)vg_futex_wait(&fault_thaws, before, VG_NO_DEADLINE);
}

void vg_fault_thaw(void)
{
    (void)atomic_fetch_add_explicit(&fault_thaws, 1, memory_order_relaxed);
    (void)vg_futex_wake(&fault_thaws, VG_WAKE_ALL);
}

#endif
