/* SPDX-License-Identifier: MIT */
/* round.h - what the files of the runner share: a round sends ends, claims, and keeps house. */
#ifndef VG_JOBS_ROUND_H
#define VG_JOBS_ROUND_H

#include "struct.h"

#define VG_JOBS_AT_NEVER UINT64_MAX
enum {
    VG_JOBS_LONE_MS = 1000, /* how long the claiming stops at first, so that a quarantined job can run alone */
    VG_JOBS_HOLD_MS = 1000, /* a job that was claimed ahead and has not started after so long is given back */
};

/* Under the queue's round_lock: of the runner, or of a worker that helps. */
struct vg_jobs_round {
    vigil_jobs *jobs;
    struct vg_jobs_conn *conn;
    struct vg_jobs_run *ended; /* ends that are not recorded yet */
    struct vg_jobs_end **ends;
    size_t end_count, end_room;
    struct vg_jobs_run *taken; /* claimed in this round */
    unsigned lower_class, takes, first_kind;
    bool short_of_memory, look, quarantine, bad_schedule, bad_rows;
    uint64_t due_at; /* CLOCK_MONOTONIC, ms: when to look without being rung; VG_JOBS_AT_NEVER */
    unsigned failures;
    uint64_t prune_at, house_at; /* CLOCK_MONOTONIC, ms */
    bool prunes;                 /* there is more to prune */
    uint64_t lone_until;         /* nothing is claimed beside what runs, for a quarantined job; 0: as usual */
    uint64_t lone_ms;            /* for how long the next time */
    bool lone_ran;               /* one was claimed in this while, or there was none */
    uint64_t sleeps_until;       /* the same; VG_JOBS_AT_NEVER */
    uint64_t hold_at;            /* when to look for jobs that wait for a worker; VG_JOBS_AT_NEVER */
    unsigned returned;           /* runs in flight that will not start */
};

static inline void vg_jobs_count_up(_Atomic uint64_t *counter, uint64_t by)
{
    (void)atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

#endif
