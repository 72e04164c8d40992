/* SPDX-License-Identifier: MIT */
/*
 * fault.h - faults on purpose, for the tests of the watchdog and for the demo.
 *
 * They exist only in the library variant that is compiled with VIGIL_FAULTS (vigil-faults, never installed). In every other build
 * vg_fault is the constant false, and the compiler removes the places that ask.
 */
#ifndef VG_BASE_FAULT_H
#define VG_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vg_fault_kind {
    VG_FAULT_DROP_WAKE,     /* a publisher that should wake a worker forgets it */
    VG_FAULT_DROP_CALL,     /* a worker is chosen to be woken, and the call itself is lost */
    VG_FAULT_LOSE_TASK,     /* a task is taken from the shared queue and forgotten */
    VG_FAULT_FREEZE_WORKER, /* a worker stands still between taking a task and starting it */
    VG_FAULT_STARVE_CLASS,  /* nobody takes tasks of one class; the argument says which */
    VG_FAULT_DROP_POST,     /* a loop that sleeps is not woken for a post */
    VG_FAULT_KINDS
} vg_fault_kind;

#ifdef VIGIL_FAULTS

/* From now on the fault happens `times` times; negative: always, 0: never. The argument is the kind's own. Any thread. */
void vg_fault_inject(vg_fault_kind kind, int32_t times, uint32_t argument);

/* How often it has happened. */
uint64_t vg_fault_count(vg_fault_kind kind);

/* What was lost last, once; NULL: nothing. For whoever wants to put it back. */
void *vg_fault_lost(void);

/* Let those go that stand still. */
void vg_fault_thaw(void);

/* Whether it happens here and now. Counts. */
bool vg_fault(vg_fault_kind kind);
uint32_t vg_fault_argument(vg_fault_kind kind);

/* Stand still until vg_fault_thaw. */
void vg_fault_freeze(void);

/* This is what was lost. */
void vg_fault_lose(void *it);

#else

static inline bool vg_fault(vg_fault_kind kind)
{
    (void)kind;
    return false;
}

static inline uint32_t vg_fault_argument(vg_fault_kind kind)
{
    (void)kind;
    return 0;
}

static inline void vg_fault_freeze(void)
{
}

static inline void vg_fault_lose(void *it)
{
    (void)it;
}

#endif
#endif
