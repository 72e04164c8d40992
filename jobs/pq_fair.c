/* SPDX-License-Identifier: MIT */
/* pq_fair.c - claims of kinds whose tenants take turns; VG_PQ_CLAIM_FAIR says how. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pq.h"

/* One claim from one class: a transaction under the lock of the kind. Gives how many. */
static int claim_once(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, int class,
                      unsigned count)
{
    const struct vg_jobs_kind_want *it = &taker->want->kinds[kind];
    struct vg_pq_call lock = {.count = 0}, claim = {.count = 0};
    vg_pq_text_of(&lock, it->name);
    vg_pq_number(&claim, taker->want->lease_ms);
    vg_pq_number(&claim, conn->worker);
    vg_pq_text_of(&claim, it->name);
    vg_pq_number(&claim, vg_pq_version_of(it));
    vg_pq_number(&claim, it->cap);
    vg_pq_number(&claim, it->rate);
    vg_pq_number(&claim, count);
    vg_pq_number(&claim, class);
    vg_pq_text_of(&claim, conn->turns[kind] != NULL ? conn->turns[kind] : "");
    vg_pq_number(&claim, it->tenant_cap);
    vg_pq_number(&claim, it->tenant_rate);
    int error = vg_pq_send(conn, VG_PQ_LOCK_KIND, &lock);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_CLAIM_FAIR, &claim);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true;
        return error;
    }
    PQclear(vg_pq_next(conn));
    PGresult *result = vg_pq_next(conn);
    error = vg_pq_finish(conn, 0);
    int rows = error == 0 ? vg_pq_changed(result) : 0;
    for (int i = 0; i < rows; i++) /* they come in the order of the turns */
        vg_pq_take_row(conn, result, i, kind, false, taker->take, taker->arg);
    if (rows > 0) {
        char *last = strdup(vg_pq_get_text(result, rows - 1, 14));
        if (last != NULL) { /* otherwise the ring begins where it did before */
            free(conn->turns[kind]);
            conn->turns[kind] = last;
        }
        if (it->rate != 0)
            vg_pq_spend(conn, it, rows);
    }
    PQclear(result);
    return error != 0 ? error : rows;
}

int vg_pq_claim_fair(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count)
{
    if (conn->turns == NULL) {
        conn->turns = calloc(taker->want->kind_count, sizeof *conn->turns);
        if (conn->turns == NULL)
            return -ENOMEM;
        conn->turn_count = taker->want->kind_count;
    }
    unsigned left = count;
    for (int c = 0; c < taker->class_count && left > 0; c++) {
        int taken;
        do {
            taken = claim_once(conn, taker, kind, taker->classes[c], left);
            if (taken < 0)
                return left < count ? (int)(count - left) : taken; /* what was claimed is the caller's */
            left -= (unsigned)taken;
        } while (taken > 0 && left > 0);
    }
    return (int)(count - left);
}
