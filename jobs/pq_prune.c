/* SPDX-License-Identifier: MIT */
/* pq_prune.c - ended jobs that are not kept: too old, or too many. In small steps. */
#include "pq.h"

enum {
    COUNT_EVERY_MS = 60000, /* completed jobs are counted by reading as many as are kept */
};

/* Find where the completed jobs that are kept begin. */
static int count_completed(struct vg_jobs_conn *conn, uint64_t kept)
{
    uint64_t now = vg_pq_now_ms();
    if (kept == 0 || now < conn->kept_at)
        return 0;
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, (int64_t)kept);
    int error = vg_pq_run(conn, VG_PQ_KEPT_LAST_COMPLETED, &call, &result);
    if (error == 0 && PQntuples(result) == 1)
        conn->prune_below = vg_pq_get_number(result, 0, 0);
    PQclear(result);
    conn->kept_at = now + COUNT_EVERY_MS;
    return error;
}

/* Low ids have ended first, nearly always: look at the next ones, and start anew when none of them goes. */
static int prune_completed(struct vg_jobs_conn *conn, int64_t completed_ms, unsigned most)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, conn->pruned_to != 0 ? conn->pruned_to : INT64_MIN);
    vg_pq_number(&call, completed_ms);
    vg_pq_number(&call, most);
    vg_pq_number(&call, conn->prune_below);
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_PRUNE_COMPLETED, &call, &result);
    int64_t count = 0;
    if (error == 0 && PQntuples(result) == 1) {
        count = vg_pq_get_number(result, 0, 0);
        conn->pruned_to = count > 0 && vg_pq_get_number(result, 0, 1) == most ? vg_pq_get_number(result, 0, 2) : 0;
    }
    PQclear(result);
    return error != 0 ? error : (int)count;
}

/* Dead or cancelled ones. */
static int prune_state(struct vg_jobs_conn *conn, int state, int64_t dead_ms, uint64_t kept, unsigned most)
{
    struct vg_pq_call last = {.count = 0}, prune = {.count = 0};
    PGresult *result = NULL;
    int64_t ended = INT64_MIN, id = 0; /* the newest of those that are too many */
    int error = 0, count = 0;
    if (kept != 0) {
        vg_pq_number(&last, state);
        vg_pq_number(&last, (int64_t)kept);
        error = vg_pq_run(conn, VG_PQ_KEPT_LAST, &last, &result);
        if (error == 0 && PQntuples(result) == 1) {
            ended = vg_pq_get_number(result, 0, 0);
            id = vg_pq_get_number(result, 0, 1);
        }
        PQclear(result);
        result = NULL;
    }
    vg_pq_number(&prune, state);
    vg_pq_number(&prune, dead_ms);
    vg_pq_number(&prune, most);
    vg_pq_number(&prune, ended);
    vg_pq_number(&prune, id);
    if (error == 0)
        error = vg_pq_run(conn, VG_PQ_PRUNE, &prune, &result);
    if (error == 0 && PQntuples(result) == 1)
        count = (int)vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return error != 0 ? error : count;
}

int vg_pq_prune(struct vg_jobs_conn *conn, const struct vg_jobs_keep *keep, unsigned most)
{
    int error = count_completed(conn, keep->completed_most);
    int total = error != 0 ? error : prune_completed(conn, keep->completed_ms, most);
    for (int state = VIGIL_JOBS_DEAD; state <= VIGIL_JOBS_CANCELLED && total >= 0; state++) {
        int count = prune_state(conn, state, keep->dead_ms, keep->dead_most, most);
        total = count < 0 ? count : total + count;
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, keep->dead_ms);
    if (total >= 0)
        error = vg_pq_run(conn, VG_PQ_PRUNE_WORKERS, &call, NULL);
    return error != 0 ? error : total;
}
