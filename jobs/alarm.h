/* SPDX-License-Identifier: MIT */
/* alarm.h - a line on stderr for what somebody outside of the queue should mend. VIGIL_LOG=off keeps it away. */
#ifndef VG_JOBS_ALARM_H
#define VG_JOBS_ALARM_H

#include "struct.h"

/* Ask the engine for an old transaction that keeps it from reusing space, and tell: the age goes to the statistics, and
   the first look that finds one prints a line. 0, or a negative errno. */
int vg_jobs_alarm_look(vigil_jobs *jobs, struct vg_jobs_conn *conn);
/* Tell of rows that cannot be rescued: their number goes to the statistics, and the first find prints a line. */
void vg_jobs_alarm_bad(vigil_jobs *jobs, const struct vg_jobs_bad *bad);
/* Tell of an end that the engine refuses to record, for the reason in vigil_jobs_why. */
void vg_jobs_alarm_end(const struct vg_jobs_end *end);

#endif
