/* SPDX-License-Identifier: MIT */
/*
 * waits.c - who waits for whom, for the watchdog. README.md, "Waits", says why circles found this way are real. Waits
 * are noted only where a worker has nothing better to do, so fast paths pay nothing.
 */
#include "waits.h"

#include "job_struct.h"

#include <stddef.h>

/* Add to the first `count` of the holds. Returns how many they are then. */
static unsigned note_hold(vg_seat *seat, unsigned count, const void *object, bool *known)
{
    *known = false;
    for (unsigned i = 0; i < count && !*known; i++)
        *known = atomic_load_explicit(&seat->holds[i], memory_order_relaxed) == (uintptr_t)object;
    if (*known || count == VG_FACT_HOLDS)
        return count;
    atomic_store_explicit(&seat->holds[count], (uintptr_t)object, memory_order_relaxed);
    return count + 1;
}

/* What the wait below has noted, and what has come on top of it since. */
static unsigned note_holds(const vg_worker *worker, vg_seat *seat, unsigned count)
{
    bool known = false;
    for (const vg_job *job = worker->job; job != NULL && !known; job = job->outer)
        count = note_hold(seat, count, job, &known);
    const vigil_group *group = worker->group;
    for (unsigned i = 0; i < VG_NOTE_GROUPS && group != NULL; i++, group = group->vg_parent)
        count = note_hold(seat, count, group, &known);
    return count;
}

uint64_t vg_wait_note_begin(vg_worker *worker, vg_wait_what what, const void *object, const void *function,
                            uint64_t deadline_ns, const void *word)
{
    vg_seat *seat = &worker->seat;
    const uint64_t number = ++worker->waits;
    const uint32_t at = atomic_load_explicit(&seat->note_count, memory_order_relaxed); /* written by us alone */
    if (at < VG_WAIT_NOTES) {
        vg_wait_note *note = &seat->notes[at];
        const unsigned below = at == 0 ? 0 : atomic_load_explicit(&seat->notes[at - 1].holds, memory_order_relaxed);
        /* All relaxed: the watchdog believes a note only if its number is the same before, after, and at its next
           look. A torn note is at worst a missing or a short-lived arrow. */
        atomic_store_explicit(&note->number, 0, memory_order_relaxed);
        atomic_store_explicit(&note->what, (uint32_t)what, memory_order_relaxed);
        atomic_store_explicit(&note->limited, deadline_ns != VG_NO_DEADLINE, memory_order_relaxed);
        atomic_store_explicit(&note->holds, (uint16_t)note_holds(worker, seat, below), memory_order_relaxed);
        atomic_store_explicit(&note->since, vg_now_ns(), memory_order_relaxed);
        atomic_store_explicit(&note->object, (uintptr_t)object, memory_order_relaxed);
        atomic_store_explicit(&note->function, (uintptr_t)function, memory_order_relaxed);
        atomic_store_explicit(&note->word, (uintptr_t)word, memory_order_relaxed);
        atomic_store_explicit(&note->owner, 0, memory_order_relaxed);
        atomic_store_explicit(&note->number, number, memory_order_relaxed);
    }
    atomic_store_explicit(&seat->note_count, at + 1, memory_order_relaxed);
    return number;
}

void vg_wait_note_owner(vg_worker *worker, const void *word)
{
    const uint32_t count = atomic_load_explicit(&worker->seat.note_count, memory_order_relaxed);
    if (count <= VG_WAIT_NOTES) /* relaxed: as the rest of the note */
        atomic_store_explicit(&worker->seat.notes[count - 1].owner, (uintptr_t)word, memory_order_relaxed);
}

void vg_wait_note_end(vg_worker *worker)
{
    vg_seat *seat = &worker->seat;
    atomic_store_explicit(&seat->note_count, atomic_load_explicit(&seat->note_count, memory_order_relaxed) - 1,
                          memory_order_relaxed);
}
