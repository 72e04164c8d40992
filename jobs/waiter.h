/* SPDX-License-Identifier: MIT */
/* waiter.h - the thread that settles the promises of vigil_promise_jobs. It starts with the first of them. */
#ifndef VG_JOBS_WAITER_H
#define VG_JOBS_WAITER_H

#include "struct.h"

/* End the thread; promises that are still pending are rejected with -ESHUTDOWN. */
void vg_jobs_waiter_stop(vigil_jobs *jobs);

#endif
