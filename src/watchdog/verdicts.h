/* SPDX-License-Identifier: MIT */
/*
 * verdicts.h - from findings to verdicts: seen twice, said once, repeated seldom, cleared when it is over.
 *
 *      a finding       seen again         repeat_ms later, or worse        not seen any more, twice
 *     ---------> SUSPECT ------> RAISED -------------------------> (said again) -------------------> cleared
 *                   | not seen again: a suspicion, counted and forgotten
 *
 * One that comes back within repeat_ms of its clearing is the same verdict: it is not said again unless it is worse.
 */
#ifndef VG_WATCHDOG_VERDICTS_H
#define VG_WATCHDOG_VERDICTS_H

#include "judge.h"

enum {
    VG_STANDING = 64 /* suspicions and verdicts at a time */
};

typedef enum vg_standing_state {
    VG_STANDING_FREE = 0,
    VG_STANDING_SUSPECT,
    VG_STANDING_RAISED,
    VG_STANDING_CLEARED /* remembered until repeat_ms are over */
} vg_standing_state;

typedef struct vg_standing {
    vg_standing_state state;
    vigil_stall stall;
    uint64_t serial, key;
    vigil_severity severity; /* the worst that was said */
    unsigned missed;         /* looks in a row that did not find it */
    bool seen;               /* in this look */
    uint64_t said_ns;        /* real; or when it was cleared */
    uint64_t number;
    unsigned lent; /* spares that stand in because of it */
    bool acted;    /* recovery has done what it could */
} vg_standing;

typedef struct vg_verdicts {
    vg_standing of[VG_STANDING];
    uint64_t suspicions;
} vg_verdicts;

/* What is to be done about a finding. */
typedef enum vg_step_to {
    VG_TO_NOTHING,
    VG_TO_RAISE,
    VG_TO_REPEAT
} vg_step_to;

/* A finding of this look; *standing is its entry (NULL: no room, nothing is said). */
vg_step_to vg_verdict_meet(vg_verdicts *all, const vg_finding *finding, uint64_t real, uint64_t repeat_ns,
                           vg_standing **standing);

/* After all findings of a look: the next entry that is over, or NULL. The caller says so; it counts as cleared from here on. */
vg_standing *vg_verdict_over(vg_verdicts *all, uint64_t real, uint64_t repeat_ns);
void vg_verdict_begin_look(vg_verdicts *all);

#endif
