/* SPDX-License-Identifier: MIT */
/* verdict.h - what a run is doing, in words, for its beats and for its dead letter. */
#ifndef VG_JOBS_VERDICT_H
#define VG_JOBS_VERDICT_H

#include <stdint.h>

/* The watchdog's verdict about this thread, if one stands that was given since the run began, with the stack that goes
   with it; else how long it runs and what the system says of its thread. Allocated; NULL if there is nothing to say. */
char *vg_jobs_verdict(int thread, uint64_t began_ms, uint64_t now_ms);

#endif
