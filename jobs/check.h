/* SPDX-License-Identifier: MIT */
/* check.h - whether the engine's settings keep what the queue promises. */
#ifndef VG_JOBS_CHECK_H
#define VG_JOBS_CHECK_H

#include "struct.h"

/* At the opening: say what does not hold; -ENOTSUP with must_last. */
int vg_jobs_check_open(vigil_jobs *jobs);

#endif
