/* SPDX-License-Identifier: MIT */
/*
 * verdicts.h - from findings to verdicts.
 *
 *      a finding       found again          repeat_ms later, or worse         missing in two looks
 *     ---------> SUSPECT ------> RAISED -----------------------------> REPEATED -----------------> CLEARED
 *                   | missing: a suspicion, counted and forgotten         <------------------------/
 *                                                                        found again: RAISED at once
 *
 * RAISED and CLEARED alternate, and each is reported. A finding that returns within repeat_ms of its clearing keeps its
 * number, needs no confirmation, and is one more raise: a stall that comes and goes stands whenever it stands.
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
    vigil_severity severity; /* the worst since it was raised */
    unsigned missed;         /* looks in a row that did not find it */
    bool seen;               /* in this look */
    uint64_t said_ns;        /* real; or when it was cleared */
    uint64_t number;
    uint64_t times; /* it was raised */
    unsigned lent;  /* spares that stand in because of it */
    bool acted;     /* recovery has done what it could */
} vg_standing;

typedef struct vg_verdicts {
    vg_standing of[VG_STANDING];
    uint64_t suspicions;
} vg_verdicts;

/* What to do about a finding. */
typedef enum vg_step_to {
    VG_TO_NOTHING,
    VG_TO_RAISE,
    VG_TO_REPEAT,
    VG_TO_REFRESH /* it stands: update the text silently */
} vg_step_to;

void vg_verdict_begin_look(vg_verdicts *all);
/* A finding of this look; *standing is its entry (NULL: no room, nothing is reported). */
vg_step_to vg_verdict_meet(vg_verdicts *all, const vg_finding *finding, uint64_t real, uint64_t repeat_ns,
                           vg_standing **standing);
/* After all findings of a look: the next entry that is over, or NULL. The caller reports it; it is cleared from here
   on. */
vg_standing *vg_verdict_over(vg_verdicts *all, uint64_t real, uint64_t repeat_ns);
/* How many stand now. */
uint64_t vg_verdict_standing(const vg_verdicts *all);

#endif
