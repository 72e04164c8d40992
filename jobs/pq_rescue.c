/* SPDX-License-Identifier: MIT */
/*
 * pq_rescue.c - leases that ran out.
 *
 * All of them are one transaction. If the server refuses to change one of the rows, each gets a transaction of its own.
 * Those that are refused again are left out of the next sweeps, until the next full one: somebody may have mended them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pq.h"
#include "pq_array.h"

/* Leases are set to times that lie ahead, and a transaction that sets one takes less than RESCUE_MARGIN_MS, nearly
   always. So what is older than the last sweep and this margin is not read again but now and then: while a foreign
   snapshot is open there are dead entries, one for each claim. */
enum {
    RESCUE_MARGIN_MS = 10000,
    RESCUE_FULL_MS = 60000,
    RESCUE_FULL_SHARE = 20, /* a full sweep may take one part in so many of the time */
};

char *vg_pq_bad_ids(const struct vg_jobs_conn *conn)
{
    struct vg_pq_array ids = {0};
    for (unsigned i = 0; i < conn->bad_count; i++)
        vg_pq_array_number(&ids, conn->bad[i]);
    if (vg_pq_array_text(&ids) != NULL)
        return ids.text;
    free(ids.text);
    return NULL;
}

/* What a sweep has found. */
struct sweep {
    int found;
    bool all; /* there are no more */
    int64_t now;
};

/* Rescue from `low` on; only this one, if it is not 0. */
static int sweep_once(struct vg_jobs_conn *conn, unsigned most, int64_t low, int64_t only, struct sweep *sweep)
{
    int error = vg_pq_connected(conn);
    if (error != 0)
        return error;
    char *bad = vg_pq_bad_ids(conn);
    if (bad == NULL)
        return -ENOMEM;
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, most);
    vg_pq_number(&call, low);
    vg_pq_text_of(&call, bad);
    vg_pq_number_or_null(&call, only);
    error = vg_pq_send(conn, VG_PQ_RESCUE, &call);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_RESCUE_DEAD, &call);
    free(bad);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_CLOCK, NULL);
    if (error == 0) /* also of a batch whose last job was cancelled by a process that died then */
        error = vg_pq_send(conn, VG_PQ_BATCH_RELEASE_ALL, NULL);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_NOTIFY_ENDED, NULL);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true;
        return error;
    }
    *sweep = (struct sweep){.all = true};
    for (int i = 0; i < 2; i++) {
        PGresult *result = vg_pq_next(conn);
        int some = vg_pq_changed(result);
        sweep->found += some;
        sweep->all = sweep->all && some < (int)most;
        PQclear(result);
    }
    PGresult *clock = vg_pq_next(conn);
    sweep->now = vg_pq_changed(clock) == 1 ? vg_pq_get_number(clock, 0, 0) : 0;
    PQclear(clock);
    return vg_pq_finish(conn, 0);
}

static void leave_out(struct vg_jobs_conn *conn, int64_t id)
{
    if (conn->bad_count == 0)
        (void)snprintf(conn->bad_why, sizeof conn->bad_why, "%s", vigil_jobs_why());
    if (conn->bad_count < sizeof conn->bad / sizeof *conn->bad)
        conn->bad[conn->bad_count++] = id;
}

/* Each row by itself. */
static int sweep_apart(struct vg_jobs_conn *conn, unsigned most, int64_t low, struct sweep *sweep)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *rows = NULL;
    char *bad = vg_pq_bad_ids(conn);
    vg_pq_number(&call, most);
    vg_pq_number(&call, low);
    vg_pq_text_of(&call, bad);
    int error = bad == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_EXPIRED, &call, &rows);
    free(bad);
    int count = error == 0 ? PQntuples(rows) : 0, found = 0;
    for (int i = 0; i < count && error == 0; i++) {
        int64_t id = vg_pq_get_number(rows, i, 0);
        error = sweep_once(conn, 1, low, id, sweep);
        if (error != 0 && conn->bad_row) {
            leave_out(conn, id);
            error = 0;
        } else if (error == 0) {
            found += sweep->found;
        }
    }
    PQclear(rows);
    *sweep = (struct sweep){.found = found}; /* the next sweep says whether there are more, and when it was */
    return error;
}

int vg_pq_rescue(struct vg_jobs_conn *conn, unsigned most, struct vg_jobs_bad *bad)
{
    uint64_t began = vg_pq_now_ms();
    bool changed = atomic_exchange_explicit(&conn->rescue_all, false, memory_order_relaxed);
    bool full = changed || began >= conn->rescue_full_at;
    int64_t low = full ? 0 : conn->rescue_low;
    struct sweep sweep;
    if (full)
        conn->bad_count = 0;
    int error = sweep_once(conn, most, low, 0, &sweep);
    if (error != 0 && conn->bad_row)
        error = sweep_apart(conn, most, low, &sweep);
    if (error != 0)
        return error;
    if (sweep.all && sweep.now > RESCUE_MARGIN_MS)
        conn->rescue_low = sweep.now - RESCUE_MARGIN_MS;
    if (full && (sweep.all || conn->bad_count > 0)) { /* also if bad rows remain: not anew with each round */
        uint64_t rest = (vg_pq_now_ms() - began) * RESCUE_FULL_SHARE;
        conn->rescue_full_at = vg_pq_now_ms() + (rest > RESCUE_FULL_MS ? rest : RESCUE_FULL_MS);
    }
    conn->lease_low = conn->rescue_low; /* the next look starts here: another process may have a shorter period */
    if (conn->bad_count > 0) {
        bad->count = conn->bad_count;
        bad->id = (uint64_t)conn->bad[0];
        (void)snprintf(bad->why, sizeof bad->why, "%s", conn->bad_why);
    }
    return sweep.found;
}
