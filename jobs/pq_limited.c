/* SPDX-License-Identifier: MIT */
/* pq_limited.c - claims that are transactions of their own: kinds with a cap, a rate or tenants; quarantined jobs. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "pq.h"
#include "pq_array.h"

bool vg_pq_is_limited(const struct vg_jobs_kind_want *kind)
{
    return kind->cap != 0 || kind->rate != 0 || kind->fair;
}

int64_t vg_pq_version_of(const struct vg_jobs_kind_want *kind)
{
    return kind->version != 0 && kind->version < INT_MAX ? (int64_t)kind->version : INT_MAX;
}

void vg_pq_spend(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, int taken)
{
    struct vg_pq_call spend = {.count = 0};
    char rate[24];
    (void)snprintf(rate, sizeof rate, "%u", kind->rate);
    vg_pq_text_of(&spend, kind->name);
    vg_pq_text_of(&spend, rate);
    vg_pq_number(&spend, taken);
    (void)vg_pq_run(conn, VG_PQ_SPEND, &spend, NULL); /* if it fails a few more start in this second */
}

/* A kind with a cap or a rate: a transaction of its own, because the count must be taken under the lock. */
static int claim_limited(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count)
{
    struct vg_pq_array classes = {0};
    for (int i = 0; i < taker->class_count; i++)
        vg_pq_array_number(&classes, taker->classes[i]);
    if (vg_pq_array_text(&classes) == NULL)
        return -ENOMEM;
    const struct vg_jobs_kind_want *it = &taker->want->kinds[kind];
    struct vg_pq_call lock = {.count = 0}, claim = {.count = 0};
    char rate[24];
    vg_pq_text_of(&lock, it->name);
    vg_pq_number(&claim, taker->want->lease_ms);
    vg_pq_number(&claim, conn->worker);
    vg_pq_text_of(&claim, it->name);
    vg_pq_number(&claim, vg_pq_version_of(it));
    vg_pq_number(&claim, it->cap);
    (void)snprintf(rate, sizeof rate, "%u", it->rate);
    vg_pq_text_of(&claim, rate);
    vg_pq_number(&claim, count);
    vg_pq_text_of(&claim, classes.text);
    int error = vg_pq_send(conn, VG_PQ_LOCK_KIND, &lock);
    if (error == 0)
        error = vg_pq_send(conn, VG_PQ_CLAIM_LIMITED, &claim);
    free(classes.text);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true; /* a pipeline without its end */
        return error;
    }
    PQclear(vg_pq_next(conn));
    PGresult *result = vg_pq_next(conn);
    error = vg_pq_finish(conn, 0);
    int taken = error == 0 ? vg_pq_take_rows(conn, result, taker->want, false, taker->take, taker->arg) : 0;
    PQclear(result);
    if (error == 0 && taken > 0 && it->rate != 0)
        vg_pq_spend(conn, it, taken);
    return error != 0 ? error : taken;
}

/* Claim at most `count` jobs of a kind with a cap, a rate or tenants, from the taker's classes. Gives how many. */
int vg_pq_claim_kind(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count)
{
    return taker->want->kinds[kind].fair ? vg_pq_claim_fair(conn, taker, kind, count)
                                         : claim_limited(conn, taker, kind, count);
}

int vg_pq_claim_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg)
{
    struct vg_pq_array kinds = {0}, versions = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        vg_pq_array_string(&kinds, want->kinds[i].name);
        vg_pq_array_number(&versions, vg_pq_version_of(&want->kinds[i]));
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, want->lease_ms);
    vg_pq_number(&call, conn->worker);
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    PGresult *result = NULL;
    int taken = call.values[2] == NULL || call.values[3] == NULL
                    ? -ENOMEM
                    : vg_pq_run(conn, VG_PQ_CLAIM_QUARANTINE, &call, &result);
    if (taken == 0) {
        taken = vg_pq_take_rows(conn, result, want, true, take, arg);
        PQclear(result);
    }
    free(kinds.text);
    free(versions.text);
    return taken;
}

int vg_pq_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want)
{
    struct vg_pq_array kinds = {0}, versions = {0};
    for (unsigned i = 0; i < want->kind_count; i++) {
        vg_pq_array_string(&kinds, want->kinds[i].name);
        vg_pq_array_number(&versions, vg_pq_version_of(&want->kinds[i]));
    }
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, vg_pq_array_text(&kinds));
    vg_pq_text_of(&call, vg_pq_array_text(&versions));
    PGresult *result = NULL;
    int found =
        call.values[0] == NULL || call.values[1] == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_QUARANTINED, &call, &result);
    if (found == 0) {
        found = PQntuples(result) > 0;
        PQclear(result);
    }
    free(kinds.text);
    free(versions.text);
    return found;
}
