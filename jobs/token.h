/* SPDX-License-Identifier: MIT */
/* token.h - telling a run to stop. vigil_jobs_token and vg_jobs_run_abort are here too. */
#ifndef VG_JOBS_TOKEN_H
#define VG_JOBS_TOKEN_H

#include "run.h"

/* Note that the run is to stop, and why; false: it was before. *source, if there is one, is the caller's to abort. */
bool vg_jobs_token_stop(struct vg_jobs_run *run, int status, vigil_cancel_source **source);

#endif
