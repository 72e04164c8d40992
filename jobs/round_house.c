/* SPDX-License-Identifier: MIT */
/* round_house.c - what a round does now and then for all processes: rescue, quarantine, schedules, pruning. */
#include "round_house.h"

#include "alarm.h"
#include "schedule.h"

enum {
    RESCUES = 100, /* at a time: after an outage the jobs come back in steps */
    PRUNES = 1000,
    PRUNE_EVERY_MS = 60000,
    PRUNE_AGAIN_MS = 50, /* while there is more */
};

/* Under load there is always ordinary work, and nothing ever runs alone. So the claiming stops for a while when a
   quarantined job is due, and such jobs go first, one after the other, when nothing is left in flight. If runs are
   longer than the while, it is longer the next time, up to a lease. */
static int look_for_quarantined(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    struct vg_jobs_want want = {.kinds = jobs->kinds, .kind_count = jobs->handler_count};
    if (round->lone_until != 0 || round->quarantine)
        return 0;
    int waits = jobs->engine->quarantined(round->conn, &want);
    uint64_t most = (uint64_t)jobs->options.lease_ns / 1000000;
    if (round->lone_ms == 0)
        round->lone_ms = VG_JOBS_LONE_MS;
    if (round->lone_ms > most)
        round->lone_ms = most;
    if (waits > 0) {
        round->lone_until = vg_jobs_now_ms() + round->lone_ms;
        round->lone_ran = false;
    }
    return waits;
}

/* Leases of others that ran out, schedules that fire, and what is old. */
int vg_jobs_house_keep(struct vg_jobs_round *round)
{
    vigil_jobs *jobs = round->jobs;
    struct vg_jobs_bad bad = {.count = 0};
    int rescued = jobs->engine->rescue(round->conn, RESCUES, &bad);
    if (rescued < 0)
        return rescued;
    vg_jobs_alarm_bad(jobs, &bad);
    round->bad_rows = bad.count > 0;
    vg_jobs_count_up(&jobs->rescued, (uint64_t)rescued);
    int waits = look_for_quarantined(round);
    if (waits < 0)
        return waits;
    int fired = vg_jobs_schedules_fire(jobs, round->conn, &round->bad_schedule);
    if (fired < 0)
        return fired;
    uint64_t now = vg_jobs_now_ms();
    if (now < round->prune_at)
        return 0;
    int looked = vg_jobs_alarm_look(jobs, round->conn);
    if (looked < 0)
        return looked;
    struct vg_jobs_keep keep = {.completed_ms = jobs->options.keep_completed_ns / 1000000,
                                .dead_ms = jobs->options.keep_dead_ns / 1000000,
                                .completed_most = jobs->options.keep_completed_most,
                                .dead_most = jobs->options.keep_dead_most};
    int pruned = jobs->engine->prune(round->conn, &keep, PRUNES);
    if (pruned < 0)
        return pruned;
    round->prunes = pruned >= PRUNES;
    round->prune_at = now + (round->prunes ? PRUNE_AGAIN_MS : PRUNE_EVERY_MS);
    return 0;
}
