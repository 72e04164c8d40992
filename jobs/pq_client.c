/* SPDX-License-Identifier: MIT */
/* pq_client.c - the PostgreSQL engine's side of looking and steering. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pq.h"
#include "pq_array.h"
#include "why.h"

int vg_pq_look(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg)
{
    struct vg_pq_call call = {.count = 0};
    /* One id is a range of one: the plan is the same. */
    vg_pq_number(&call, filter->id != 0 ? (int64_t)filter->id - 1 : (int64_t)filter->above_id);
    vg_pq_number(&call, filter->id != 0 ? (int64_t)filter->id : INT64_MAX);
    vg_pq_number(&call, filter->states != 0 ? filter->states : 0x7f);
    vg_pq_text_of(&call, filter->kind);
    vg_pq_number(&call, filter->most != 0 ? filter->most : 100);
    PGresult *rows = NULL;
    int error = vg_pq_run(conn, VG_PQ_LOOK, &call, &rows);
    if (error != 0)
        return error;
    int count = PQntuples(rows);
    for (int i = 0; i < count && see != NULL; i++) {
        vigil_jobs_info info = VIGIL_JOBS_INFO_INIT;
        info.id = (uint64_t)vg_pq_get_number(rows, i, 0);
        info.number = (uint64_t)vg_pq_get_number(rows, i, 1);
        info.state = (vigil_jobs_state)vg_pq_get_int(rows, i, 2);
        info.priority = (vigil_priority)vg_pq_get_int(rows, i, 3);
        info.kind = vg_pq_get_text(rows, i, 4);
        info.version = (unsigned)vg_pq_get_int(rows, i, 5);
        info.errors = (unsigned)vg_pq_get_int(rows, i, 6);
        info.crashes = (unsigned)vg_pq_get_int(rows, i, 7);
        info.created_ms = vg_pq_get_number(rows, i, 8);
        info.due_ms = vg_pq_get_number(rows, i, 9);
        info.started_ms = vg_pq_get_number(rows, i, 10);
        info.ended_ms = vg_pq_get_number(rows, i, 11);
        info.progress = -1;
        if (!PQgetisnull(rows, i, 12)) {
            int64_t bits = vg_pq_get_number(rows, i, 12);
            memcpy(&info.progress, &bits, sizeof info.progress);
        }
        info.text = vg_pq_get_text(rows, i, 13);
        info.error = vg_pq_get_text(rows, i, 14);
        info.worker = vg_pq_get_text(rows, i, 15);
        info.key = vg_pq_get_text(rows, i, 16);
        info.payload = PQgetvalue(rows, i, 17);
        info.payload_size = (size_t)PQgetlength(rows, i, 17);
        info.result = PQgetvalue(rows, i, 18);
        info.result_size = (size_t)PQgetlength(rows, i, 18);
        info.batch = (uint64_t)vg_pq_get_number(rows, i, 19);
        info.tenant = vg_pq_get_text(rows, i, 20);
        info.verdict = vg_pq_get_text(rows, i, 21);
        see(&info, arg);
    }
    PQclear(rows);
    return count;
}

/* Run a statement with the job's id; gives how many rows it gave, and the number in the first. */
static int with_id(struct vg_jobs_conn *conn, enum vg_pq_sql which, uint64_t id, int64_t *first)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, (int64_t)id);
    int error = vg_pq_run(conn, which, &call, &result);
    int rows = error == 0 ? PQntuples(result) : error;
    if (rows > 0 && first != NULL)
        *first = vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return rows;
}

int vg_pq_cancel(struct vg_jobs_conn *conn, uint64_t id)
{
    int64_t batch = 0, state = -1;
    for (int tries = 0; tries < 10; tries++) { /* it may change between the two questions */
        int rows = with_id(conn, VG_PQ_CANCEL_WAITING, id, &batch);
        if (rows > 0 && batch != 0)
            rows = with_id(conn, VG_PQ_BATCH_RELEASE, (uint64_t)batch, NULL) < 0 ? -ENOTCONN : rows;
        if (rows > 0) {
            (void)vg_pq_run(conn, VG_PQ_NOTIFY_ENDED, NULL, NULL);
            return 0;
        }
        if (rows == 0)
            rows = with_id(conn, VG_PQ_CANCEL_RUNNING, id, NULL);
        if (rows != 0)
            return rows > 0 ? 1 : rows;
        rows = with_id(conn, VG_PQ_STATE_OF, id, &state);
        if (rows <= 0)
            return rows < 0 ? rows : -ENOENT;
        if (state >= VIGIL_JOBS_COMPLETED)
            return -EALREADY;
    }
    return -EBUSY;
}

int vg_pq_retry(struct vg_jobs_conn *conn, uint64_t id)
{
    int64_t state = -1;
    int rows = with_id(conn, VG_PQ_RETRY_WAITING, id, NULL);
    if (rows == 0)
        rows = with_id(conn, VG_PQ_RETRY_ENDED, id, NULL);
    if (rows != 0)
        return rows > 0 ? 0 : rows;
    rows = with_id(conn, VG_PQ_STATE_OF, id, &state);
    if (rows <= 0)
        return rows < 0 ? rows : -ENOENT;
    if (state == VIGIL_JOBS_COMPLETED)
        return -EALREADY;
    return state > VIGIL_JOBS_COMPLETED ? vg_jobs_why(-EEXIST, "another job has taken its key") : -EBUSY;
}

/* Why a statement has found nothing to change. */
static int why_not(struct vg_jobs_conn *conn, uint64_t id)
{
    int64_t state = -1;
    int rows = with_id(conn, VG_PQ_STATE_OF, id, &state);
    if (rows <= 0)
        return rows < 0 ? rows : -ENOENT;
    return state >= VIGIL_JOBS_COMPLETED ? -EALREADY : -EBUSY;
}

int vg_pq_edit(struct vg_jobs_conn *conn, uint64_t id, const void *payload, size_t length)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, (int64_t)id);
    vg_pq_bytes(&call, payload != NULL ? payload : "", length);
    int error = vg_pq_run(conn, VG_PQ_EDIT, &call, &result);
    bool changed = error == 0 && PQntuples(result) > 0;
    PQclear(result);
    return error != 0 ? error : changed ? 0 : why_not(conn, id);
}

int vg_pq_drop(struct vg_jobs_conn *conn, uint64_t id)
{
    int rows = with_id(conn, VG_PQ_DROP, id, NULL);
    return rows < 0 ? rows : rows > 0 ? 0 : why_not(conn, id);
}

int vg_pq_pause(struct vg_jobs_conn *conn, const char *kind, bool paused)
{
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, kind != NULL ? kind : "");
    vg_pq_text_of(&call, paused ? "t" : "f");
    return vg_pq_run(conn, VG_PQ_PAUSE, &call, NULL);
}

int vg_pq_waiting(struct vg_jobs_conn *conn, uint64_t most, uint64_t *waiting)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, most < INT64_MAX ? (int64_t)most : INT64_MAX);
    int error = vg_pq_run(conn, VG_PQ_WAITING, &call, &result);
    if (error == 0)
        *waiting = (uint64_t)vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return error;
}

int vg_pq_gone(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *gone)
{
    struct vg_pq_array array = {0};
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    for (size_t i = 0; i < count; i++)
        vg_pq_array_number(&array, (int64_t)ids[i]);
    vg_pq_text_of(&call, vg_pq_array_text(&array));
    int error = call.values[0] == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_GONE, &call, &result);
    for (int i = 0; error == 0 && i < PQntuples(result); i++) {
        int64_t place = vg_pq_get_number(result, i, 0);
        if (place >= 0 && (size_t)place < count)
            gone[place] = true;
    }
    PQclear(result);
    free(array.text);
    return error;
}

int vg_pq_batch(struct vg_jobs_conn *conn, uint64_t *batch)
{
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_BATCH_NEW, NULL, &result);
    if (error == 0)
        *batch = (uint64_t)vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return error;
}

int vg_pq_batch_end(struct vg_jobs_conn *conn, uint64_t batch)
{
    int rows = with_id(conn, VG_PQ_BATCH_CLOSE, batch, NULL);
    if (rows == 0) {
        rows = with_id(conn, VG_PQ_BATCH_OPEN, batch, NULL);
        return rows < 0 ? rows : rows == 0 ? -ENOENT : -EALREADY;
    }
    if (rows > 0)
        rows = with_id(conn, VG_PQ_BATCH_RELEASE, batch, NULL);
    return rows < 0 ? rows : 0;
}

int vg_pq_audit(struct vg_jobs_conn *conn, vigil_jobs_account *account)
{
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_AUDIT, NULL, &result);
    if (error != 0)
        return error;
    uint64_t *fields[] = {&account->enqueued,  &account->waiting, &account->running,
                          &account->completed, &account->dead,    &account->cancelled};
    for (int i = 0; i < 6; i++)
        *fields[i] = (uint64_t)vg_pq_get_number(result, 0, i);
    for (int i = 0; i < VIGIL_PRIORITIES; i++)
        account->oldest_ms[i] = (uint64_t)vg_pq_get_number(result, 0, 6 + i);
    PQclear(result);
    return 0;
}
