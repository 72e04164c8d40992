/* SPDX-License-Identifier: MIT */
/* round_ends.h - the ends of runs, from the stack until the engine has recorded them. */
#ifndef VG_JOBS_ROUND_ENDS_H
#define VG_JOBS_ROUND_ENDS_H

#include "round.h"

/* Take what the workers have pushed. */
void vg_jobs_ends_collect(struct vg_jobs_round *round);
/* Wait for more ends if that is worth a moment. */
void vg_jobs_ends_gather(struct vg_jobs_round *round);
/* Fill round->ends. Gives how many, or -ENOMEM. */
int vg_jobs_ends_list(struct vg_jobs_round *round);
/* The engine refuses one of the listed ends: record each by itself, drop those that are refused again, and land. Their
   leases run out. 0, or a negative errno: then they are still here. */
int vg_jobs_ends_record_apart(struct vg_jobs_round *round, size_t count);
/* The engine has recorded or refused these ends: the runs are over. */
void vg_jobs_ends_land(struct vg_jobs_round *round);
/* Give back what handlers still hold, or what will not start. */
int vg_jobs_ends_give_back(struct vg_jobs_round *round, bool running);
/* Give back what has waited too long for a worker. */
int vg_jobs_ends_give_back_held(struct vg_jobs_round *round);

#endif
