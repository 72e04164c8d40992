/* SPDX-License-Identifier: MIT */
/* spins.h - threads that run in a loop which changes nothing. */
#ifndef VG_DOCTOR_SPINS_H
#define VG_DOCTOR_SPINS_H

#include "exam.h"

/* Sample the threads that have used their processor during the looks, and set `spins` of those that change nothing.
   Their registers are kept for the stacks. */
void vg_spins_sample(vg_exam *exam);

/* Sample these threads, at most eight. It takes some seconds at most, whatever the threads do; what could not be seen
   becomes a note. */
void vg_spins_sample_these(vg_exam *exam, const unsigned *threads, unsigned count);

#endif
