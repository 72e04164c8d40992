/* SPDX-License-Identifier: MIT */
/*
 * note.h - what the loop writes to the recorder (record/record.h), apart from counters.
 *
 * A look at the clock costs as much as a short callback. The loop reads it when a step begins and ends; in between,
 * short callbacks are noted together and long ones alone. The running callback is always named: one store.
 */
#ifndef VG_LOOP_NOTE_H
#define VG_LOOP_NOTE_H

#include "struct.h"
#include "base/clock.h"
#include "record/probes.h"

#include <vigil/record.h>

void vg_loop_note_calls(vigil_loop *loop, uint64_t now); /* note the unread ones, which have ended now */

/* Callbacks of a step are about to run. */
static inline void vg_loop_note_step(vigil_loop *loop, uint64_t now)
{
    loop->last_end = now;
    loop->unread = 0;
    vg_cell_set(&loop->shared->phase_since, now);
    vg_cell_set(&loop->shared->call_since, now);
}

static inline void vg_loop_note_step_end(vigil_loop *loop, uint64_t now)
{
    if (loop->unread != 0)
        vg_loop_note_calls(loop, now);
    loop->last_end = 0;
    vg_cell_set(&loop->shared->call_function, 0);
}

/* Around each callback. Its name stays until the next begins or the step ends. */
static inline void vg_loop_note_call(vigil_loop *loop, uintptr_t function)
{
    VG_PROBE(loop_call_begin, loop->block.serial, function, loop->step);
    vg_cell_set(&loop->shared->call_function, function);
}

static inline void vg_loop_note_called(vigil_loop *loop)
{
    VG_PROBE(loop_call_end, loop->block.serial, loop->step);
    if (++loop->unread >= loop->interval)
        vg_loop_note_calls(loop, vg_ticks());
}

/*
 * A timer fires that late. A batch of timers runs in the order of their deadlines, so each is at most as late as the
 * one before: those that follow in the same bucket of the histogram are counted, and added to it together.
 */
void vg_loop_note_late_first(vigil_loop *loop, uint64_t ns); /* of its bucket */
void vg_loop_note_late_all(vigil_loop *loop);                /* the batch ends or is left */

static inline void vg_loop_note_late(vigil_loop *loop, uint64_t ns)
{
    vg_late *late = &loop->late;
    if (ns - late->from < late->width) {
        late->count++;
        late->sum += ns;
    } else {
        vg_loop_note_late_first(loop, ns);
    }
}

/* What a queued post will call. */
static inline uintptr_t vg_fifo_function(const vigil_post *post)
{
    return post->run == NULL ? (uintptr_t)((const vg_call *)post)->fn : (uintptr_t)post->run;
}

/* note.c */
int vg_loop_note_open(vigil_loop *loop); /* takes what the loop needs of the recorder. 0; -ENOMEM */
void vg_loop_note_close(vigil_loop *loop);
int vg_loop_note_after_fork(vigil_loop *loop);         /* 0; -ENOMEM */
void vg_loop_note_owner(vigil_loop *loop, int thread); /* the calling thread runs the loop; 0: nobody does any more */
void vg_loop_note_state(vigil_loop *loop, vigil_loop_state state, uint64_t now);
void vg_loop_note_sample(vigil_loop *loop);                /* any thread: how much is queued, and the like */
void vg_loop_note_sleeps(vigil_loop *loop, uint64_t now);  /* it is about to block */
void vg_loop_note_slept(vigil_loop *loop, uint64_t since); /* it is back since woke_at */
uint64_t vg_loop_note_wakes(vigil_loop *loop);             /* any thread: it sleeps, and is about to be woken; when */
void vg_loop_note_woken(vigil_loop *loop, uint64_t when);  /* the same thread, then: the event, which the sleeper need
                                                              not wait for */
void vg_loop_note_post(vigil_loop *loop,
                       const vigil_post *post); /* any thread: about to be pushed to the internal lane */

#endif
