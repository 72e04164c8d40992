/* SPDX-License-Identifier: MIT */
/* run.h - the life of one run on this side: made at the claim, run on a worker, handed back with its end. */
#ifndef VG_JOBS_RUN_H
#define VG_JOBS_RUN_H

#include "struct.h"

/* Make a run of a claimed row; NULL without memory. */
struct vg_jobs_run *vg_jobs_run_create(vigil_jobs *jobs, const struct vg_jobs_row *row);
void vg_jobs_run_free(struct vg_jobs_run *run);

/* Hand the run to the pool. */
int vg_jobs_run_submit(struct vg_jobs_run *run);
/* Ask the handler to stop. */
void vg_jobs_run_abort(struct vg_jobs_run *run, int status, const char *text);
/* Push the run on the stack of ends, and wake the runner or, if the caller may do its work, help. The caller loses the
   run. */
void vg_jobs_run_push(struct vg_jobs_run *run, bool may_help);

#endif
