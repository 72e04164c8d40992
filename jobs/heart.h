/* SPDX-License-Identifier: MIT */
/*
 * heart.h - the thread that extends leases. It runs no code of the user, so no handler can hold it up. Without runs in
 * flight it sleeps without a timeout.
 */
#ifndef VG_JOBS_HEART_H
#define VG_JOBS_HEART_H

#include "struct.h"

int vg_jobs_heart_start(vigil_jobs *jobs);
void vg_jobs_heart_stop(vigil_jobs *jobs);
/* Put these runs in flight, linked by next_end. */
void vg_jobs_heart_watch(vigil_jobs *jobs, struct vg_jobs_run *runs);
/* There is a first run, or a limit. */
void vg_jobs_heart_ring(vigil_jobs *jobs);
/* Beat at once: a job may have been cancelled. */
void vg_jobs_heart_ask(vigil_jobs *jobs);

#endif
