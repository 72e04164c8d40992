/* SPDX-License-Identifier: MIT */
/* why.h - the sentence behind vigil_jobs_why, one per thread. */
#ifndef VG_JOBS_WHY_H
#define VG_JOBS_WHY_H

#include <vigil/base.h>

/* Keep the sentence and return the error. */
VIGIL_PRINTF(2, 3) int vg_jobs_why(int error, const char *format, ...);

#endif
