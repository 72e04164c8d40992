/* SPDX-License-Identifier: MIT */
/*
 * schedule.h - schedules: which fire times have passed, and what is enqueued for them.
 *
 * There is no leader. Every runner computes the fire times that have passed, and the engine moves the schedule on only
 * if it is still where the runner found it, in the transaction that enqueues. So each fire time has one job, and none
 * is missed.
 */
#ifndef VG_JOBS_SCHEDULE_H
#define VG_JOBS_SCHEDULE_H

#include "struct.h"

/* Enqueue what is due. Gives how many schedules this process has moved on; negative: the engine is away. *bad: some
   pattern or zone is not understood here. */
int vg_jobs_schedules_fire(vigil_jobs *jobs, struct vg_jobs_conn *conn, bool *bad);

#endif
