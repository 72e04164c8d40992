/* SPDX-License-Identifier: MIT */
/* pq_lease.c - the PostgreSQL engine's leases and house: beats, counts, checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pq.h"
#include "pq_array.h"

static int leases_by_number(const void *a, const void *b)
{
    const struct vg_jobs_lease *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int id_and_lease(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = ((const struct vg_jobs_lease *)b)->id;
    return (x > y) - (x < y);
}

static size_t lease_group(const struct vg_jobs_lease *leases, size_t count, size_t from)
{
    size_t to = from;
    while (to < count && leases[to].number == leases[from].number)
        to++;
    return to;
}

static int send_leases(struct vg_jobs_conn *conn, const struct vg_jobs_lease *leases, size_t count, int64_t lease_ms)
{
    int error = 0;
    for (size_t from = 0, to; from < count && error == 0; from = to) {
        struct vg_pq_array ids = {0};
        to = lease_group(leases, count, from);
        for (size_t i = from; i < to; i++)
            vg_pq_array_number(&ids, (int64_t)leases[i].id);
        struct vg_pq_call call = {.count = 0};
        vg_pq_text_of(&call, vg_pq_array_text(&ids));
        vg_pq_number(&call, (int64_t)leases[from].number);
        vg_pq_number(&call, lease_ms);
        error = call.values[0] == NULL ? -ENOMEM : vg_pq_send(conn, VG_PQ_EXTEND, &call);
        free(ids.text);
    }
    return error;
}

static int send_saves(struct vg_jobs_conn *conn, const struct vg_jobs_lease *leases, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        const struct vg_jobs_lease *lease = &leases[i];
        if (lease->progress < 0 && lease->text == NULL && lease->checkpoint == NULL && lease->verdict == NULL)
            continue;
        char progress[32];
        struct vg_pq_call save = {.count = 0};
        (void)snprintf(progress, sizeof progress, "%.6f", lease->progress);
        vg_pq_number(&save, (int64_t)lease->id);
        vg_pq_number(&save, (int64_t)lease->number);
        vg_pq_text_of(&save, lease->progress >= 0 ? progress : NULL);
        vg_pq_text_of(&save, lease->text);
        vg_pq_bytes(&save, lease->checkpoint, lease->checkpoint_length);
        vg_pq_text_of(&save, lease->verdict);
        error = vg_pq_send(conn, VG_PQ_SAVE, &save);
    }
    return error;
}

int vg_pq_extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms)
{
    int error = vg_pq_connected(conn);
    if (error != 0)
        return error;
    qsort(leases, count, sizeof *leases, leases_by_number);
    error = send_leases(conn, leases, count, lease_ms);
    if (error == 0)
        error = send_saves(conn, leases, count);
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true;
        return error;
    }
    for (size_t from = 0, to; from < count; from = to) {
        PGresult *result = vg_pq_next(conn);
        to = lease_group(leases, count, from);
        for (size_t i = from; i < to; i++)
            leases[i].beat = VG_JOBS_BEAT_LOST;
        for (int r = 0; r < vg_pq_changed(result); r++) {
            uint64_t id = (uint64_t)vg_pq_get_number(result, r, 0);
            struct vg_jobs_lease *lease = bsearch(&id, leases + from, to - from, sizeof *leases, id_and_lease);
            if (lease != NULL)
                lease->beat = vg_pq_get_int(result, r, 1) != 0 ? VG_JOBS_BEAT_CANCEL : VG_JOBS_BEAT_OK;
        }
        PQclear(result);
    }
    error = vg_pq_finish(conn, 0);
    return error != 0 && conn->bad_row ? -EBADMSG : error;
}

int vg_pq_count(struct vg_jobs_conn *conn, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg)
{
    PGresult *rows = NULL;
    int error = vg_pq_run(conn, VG_PQ_TALLY, NULL, &rows);
    int count = error == 0 ? PQntuples(rows) : error;
    for (int i = 0; i < count; i++) {
        vigil_jobs_tally tally = VIGIL_JOBS_TALLY_INIT;
        tally.kind = vg_pq_get_text(rows, i, 0);
        tally.priority = (vigil_priority)vg_pq_get_int(rows, i, 1);
        tally.state = (vigil_jobs_state)vg_pq_get_int(rows, i, 2);
        tally.count = (uint64_t)vg_pq_get_number(rows, i, 3);
        tally.oldest_ms = (uint64_t)vg_pq_get_number(rows, i, 4);
        tally.paused = vg_pq_get_int(rows, i, 5) != 0;
        see(&tally, arg);
    }
    PQclear(rows);
    return count;
}

int vg_pq_check(struct vg_jobs_conn *conn, int64_t old_ms, vg_jobs_doubt_fn say, void *arg)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, old_ms);
    int error = vg_pq_run(conn, VG_PQ_CHECK, &call, &result);
    for (int i = 0; error == 0 && i < PQntuples(result); i++)
        say(arg, vg_pq_get_int(result, i, 0) == 0 ? VG_JOBS_DOUBT_LASTS : VG_JOBS_DOUBT_SLOW,
            vg_pq_get_text(result, i, 1));
    PQclear(result);
    return error;
}

int vg_pq_pinned(struct vg_jobs_conn *conn, int64_t older_ms, int64_t *age_ms, char *text, size_t room)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_number(&call, older_ms);
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_PINNED, &call, &result);
    *age_ms = 0;
    if (error == 0 && PQntuples(result) == 1) {
        *age_ms = vg_pq_get_number(result, 0, 0);
        (void)snprintf(text, room,
                       "%.60s has a transaction that is open for %lld s. Rows of ended jobs stay on the disk until it "
                       "ends.",
                       vg_pq_get_text(result, 0, 1), (long long)(*age_ms / 1000));
    }
    PQclear(result);
    return error;
}
