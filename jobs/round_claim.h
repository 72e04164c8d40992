/* SPDX-License-Identifier: MIT */
/* round_claim.h - how much a round claims, and what becomes of it. */
#ifndef VG_JOBS_ROUND_CLAIM_H
#define VG_JOBS_ROUND_CLAIM_H

#include "round.h"

/* How many jobs may be claimed now: so many are in flight at most. */
unsigned vg_jobs_claim_places(const struct vg_jobs_round *round);
/* The most for one claim. While the engine claims one half of what may be in flight, the workers run the other. */
unsigned vg_jobs_claim_most(const struct vg_jobs_round *round);
/* Only what the ends leave is in flight. */
bool vg_jobs_claim_alone(const struct vg_jobs_round *round);
/* The classes in the order of asking. */
void vg_jobs_claim_order(struct vg_jobs_round *round, int classes[VIGIL_PRIORITIES]);
/* The engine hands over a claimed row; arg is the round. */
void vg_jobs_claim_take(void *arg, const struct vg_jobs_row *row);
/* The claim failed: forget what was taken. */
void vg_jobs_claim_drop(struct vg_jobs_round *round);
/* Put the claimed runs in flight, oldest first, and hand them to the pool. */
void vg_jobs_claim_launch(struct vg_jobs_round *round);

#endif
