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
    VG_STANDING = 64, /* suspicions and verdicts at a time */
    VG_LOG = 64       /* verdicts that are remembered */
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

/* watchdog.c: in the child of a fork, forget what was the parent's. Every public call begins with it. */
void vg_watchdog_adopt(void);

/* log.c: what was said, for vigil_watchdog_verdicts. The watchdog's thread writes, anybody reads. */
void vg_log_verdict(const vigil_verdict *verdict);
uint64_t vg_log_number(void); /* the next verdict's */
void vg_log_after_fork(void);
bool vg_log_find(uint64_t number, vigil_verdict *verdict);

/* verdict_file.c: the same in the recorder's file. begin and end enclose a look; the serial is the object's in the file. */
void vg_verdict_file_begin(uint64_t interval_ns);
void vg_verdict_file_end(void);
void vg_verdict_file_stop(void);
void vg_verdict_file_write(const vigil_verdict *verdict, uint64_t serial);
void vg_verdict_file_act(uint32_t kind, int result, uint64_t number, uint64_t serial, int worker, const char *text);

/* show.c: into verdict.stacks. */
void vg_show_stacks(vg_finding *finding);

/* recover.c: do what the options allow about a finding, and say it in verdict->action. Returns the number of acts. */
unsigned vg_recover(const vigil_watchdog_options *options, vg_finding *finding, vg_standing *standing);
/* The finding is still there: what may have come too early to be noticed is done once more, without a word. */
void vg_recover_again(const vigil_watchdog_options *options, const vg_finding *finding, const vg_standing *standing);
void vg_recover_end(vg_standing *standing); /* take back what was lent */

#endif
