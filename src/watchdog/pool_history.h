/* SPDX-License-Identifier: MIT */
/*
 * pool_history.h - what the judges remember of a pool from earlier looks.
 */
#ifndef VG_WATCHDOG_POOL_HISTORY_H
#define VG_WATCHDOG_POOL_HISTORY_H

#include "record/facts.h"
#include "judge.h"
#include "lost.h"

typedef struct vg_worker_track {
    const void *self;
    uint64_t progress, changes, activity;
    vg_stay stay; /* since one of these changed */
} vg_worker_track;

/* A class that has waited for half of the limit: when that was noticed, and how long the pool's threads had run and
   waited for a CPU. */
typedef struct vg_starve_base {
    uint64_t at; /* look.now; 0: not yet */
    uint64_t ran_ns, delay_ns;
} vg_starve_base;

typedef struct vg_pool_history {
    uint64_t serial;
    const void *object;
    bool seen; /* in this look */
    bool any;  /* there was a look before */
    vg_pool_facts facts;
    vg_worker_track *tracks; /* parallel to facts.worker */
    size_t track_count, track_room;
    uint64_t all_started, all_ended, all_submitted; /* at the last look */
    uint64_t quiet_since;                           /* nothing was started or ended since */
    uint64_t stand_since;                           /* there was work to take, and nothing was started since; 0: not */
    uint64_t lost_wake_since;                       /* 0: not */
    uint64_t starve_since[VG_FACT_CLASSES], starve_started[VG_FACT_CLASSES], starve_others[VG_FACT_CLASSES];
    uint64_t starve_above[VG_FACT_CLASSES], starve_picks[VG_FACT_CLASSES];
    vg_starve_base starve_base[VG_FACT_CLASSES];
    uint64_t starve_until[VG_FACT_CLASSES]; /* by then what its share of time was in debt with must be paid */
    uint64_t age_debt_ns;                   /* of all workers, at the last look */
    uint64_t age_started;                   /* all_started when that changed */
    uint64_t audit_since;
    int64_t audit_lost;
    vg_lost lost; /* who that is */
    uint64_t lost_at;
    vg_growth growth;
    unsigned lent; /* spares that stand in by the watchdog's will */
    struct vg_drift *drift;
} vg_pool_history;

/* For how long worker i has done what it does. */
static inline uint64_t vg_stays(const vg_pool_history *history, size_t i, const vg_look *look)
{
    return look->now - history->tracks[i].stay.since;
}

/* Has there been work to take for long, and nothing was started? */
static inline bool vg_stands(const vg_pool_history *history, const vg_look *look)
{
    return history->stand_since != 0 && look->now - history->stand_since >= look->stuck_ns;
}

#endif
