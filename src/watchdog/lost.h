/* SPDX-License-Identifier: MIT */
/*
 * lost.h - which task was it?
 *
 * A task that is gone cannot be asked for its name, but the recorder may remember that it was submitted. As far back as
 * all rings reach, the submits of each function are counted against its runs; a function that was submitted more often
 * than it ran, while nothing is queued, is missing the difference. (A task that was submitted before and ran after that
 * moment can only hide a loss, not invent one.)
 */
#ifndef VG_WATCHDOG_LOST_H
#define VG_WATCHDOG_LOST_H

#include <stdint.h>

typedef struct vg_lost {
    uint64_t function;  /* 0: not known */
    uint64_t count;     /* of this function: submitted and not run */
    uint64_t submitted; /* the last such submit: ns ago */
    uint64_t by_thread; /* who submitted it last: thread id, 0 unknown */
    unsigned functions; /* how many functions miss some */
} vg_lost;

/* The watchdog's thread; reads the recorder's file. Tasks of one class of the pool with this serial. */
void vg_lost_find(uint64_t pool, unsigned class_, vg_lost *lost);

#endif
