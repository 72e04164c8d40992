/* SPDX-License-Identifier: MIT */
/* runner.h - the thread that claims jobs and records their ends. */
#ifndef VG_JOBS_RUNNER_H
#define VG_JOBS_RUNNER_H

#include "struct.h"

/* A worker has ended the only run in flight: make a round in its place, if the runner sleeps. That saves the way to the
   runner's thread and back. False: the runner must be rung. */
bool vg_jobs_runner_help(vigil_jobs *jobs);
int vg_jobs_runner_start(vigil_jobs *jobs);
/* Claim no more. */
void vg_jobs_runner_stop_claiming(vigil_jobs *jobs);
/* Give back what has not started; after timeout_ns give back what runs. 0, or -ETIMEDOUT if something ran. */
int vg_jobs_runner_stop(vigil_jobs *jobs, int64_t timeout_ns);
/* Wait for the handlers that still run, and for the thread. */
void vg_jobs_runner_join(vigil_jobs *jobs);

#endif
