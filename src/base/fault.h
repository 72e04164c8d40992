/* SPDX-License-Identifier: MIT */
/*
 * fault.h - deliberate faults, for the watchdog's tests and the demo. Only in builds with VIGIL_FAULTS; elsewhere
 * vg_fault is the constant false.
 */
#ifndef VG_BASE_FAULT_H
#define VG_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vg_fault_kind {
    VG_FAULT_DROP_WAKE,     /* a publisher does not wake a worker */
    VG_FAULT_DROP_CALL,     /* a worker is chosen, and its wake is lost */
    VG_FAULT_LOSE_TASK,     /* a task is taken from the shared queue and dropped */
    VG_FAULT_FREEZE_WORKER, /* a worker stalls between taking and starting a task */
    VG_FAULT_STARVE_CLASS,  /* nobody takes tasks of the class in the argument */
    VG_FAULT_DROP_POST,     /* a sleeping loop is not woken for a post */
    VG_FAULT_KINDS
} vg_fault_kind;

#ifdef VIGIL_FAULTS

/* The fault happens `times` times; negative: always. Any thread. */
void vg_fault_inject(vg_fault_kind kind, int32_t times, uint32_t argument);

/* How often it has happened. */
uint64_t vg_fault_count(vg_fault_kind kind);

/* The task lost last, once; NULL: none. */
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
