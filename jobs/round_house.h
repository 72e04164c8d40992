/* SPDX-License-Identifier: MIT */
/* round_house.h - what a round does for all: rescue, schedules, pruning. */
#ifndef VG_JOBS_ROUND_HOUSE_H
#define VG_JOBS_ROUND_HOUSE_H

#include "round.h"

/* Leases of others that ran out, schedules that fire, and what is old. */
int vg_jobs_house_keep(struct vg_jobs_round *round);

#endif
