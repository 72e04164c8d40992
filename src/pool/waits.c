/* SPDX-License-Identifier: MIT */
/*
 * waits.c - who waits for whom, for those who look from outside.
 *
 * Tasks on one worker are stacked: one that waits helps with others meanwhile, and they lie on top of it. Nothing on a stack
 * can end before the innermost wait has ended, if it lies below that. So each wait is noted with what it waits for, with the jobs
 * that the worker is running at that moment, and with the groups of the tasks that it is running. The watchdog draws an arrow from
 * worker to worker: "my innermost wait is for something that your innermost wait holds up". A circle of arrows never ends by
 * itself, whatever else the workers do on top.
 *
 * Notes are made only where a worker has run out of better things to do, so the fast ways of group and join pay nothing. That
 * leaves no gap: what a fast way runs on top of itself is the group's own child on the same stack, and its chain of
 * parents is part of the note.
 */
#include "waits.h"

#include "job.h"

#include <stddef.h>

uint64_t vg_wait_note_begin(vg_worker *worker, vg_wait_what what, const void *object, const void *function,
                            uint64_t deadline_ns, const void *word)
{
    vg_seat *seat = &worker->seat;
    const uint64_t number = ++worker->waits;
    const uint32_t at = atomic_load_explicit(&seat->note_count, memory_order_relaxed); /* written by us alone */
    if (at < VG_WAIT_NOTES) {
        vg_wait_note *note = &seat->notes[at];
        uintptr_t jobs[VG_NOTE_JOBS];
        const unsigned count = vg_job_chain(worker, jobs, VG_NOTE_JOBS);
        const vigil_group *group = worker->group;
        /* Relaxed throughout: the watchdog believes a note only if it reads the same number before and after, and again at its
           next look; in between lie ages. A torn one is at worst no arrow, or one that is gone at the second look. */
        atomic_store_explicit(&note->number, 0, memory_order_relaxed);
        atomic_store_explicit(&note->what, (uint32_t)what, memory_order_relaxed);
        atomic_store_explicit(&note->limited, deadline_ns != VG_NO_DEADLINE, memory_order_relaxed);
        atomic_store_explicit(&note->since, vg_now_ns(), memory_order_relaxed);
        atomic_store_explicit(&note->object, (uintptr_t)object, memory_order_relaxed);
        atomic_store_explicit(&note->function, (uintptr_t)function, memory_order_relaxed);
        atomic_store_explicit(&note->word, (uintptr_t)word, memory_order_relaxed);
        for (unsigned i = 0; i < VG_NOTE_JOBS; i++)
            atomic_store_explicit(&note->jobs[i], i < count ? jobs[i] : 0, memory_order_relaxed);
        for (unsigned i = 0; i < VG_NOTE_GROUPS; i++) {
            atomic_store_explicit(&note->groups[i], (uintptr_t)group, memory_order_relaxed);
            group = group != NULL ? group->vg_parent : NULL;
        }
        atomic_store_explicit(&note->number, number, memory_order_relaxed);
    }
    atomic_store_explicit(&seat->note_count, at + 1, memory_order_relaxed);
    return number;
}

void vg_wait_note_end(vg_worker *worker)
{
    vg_seat *seat = &worker->seat;
    atomic_store_explicit(&seat->note_count, atomic_load_explicit(&seat->note_count, memory_order_relaxed) - 1,
                          memory_order_relaxed);
}
