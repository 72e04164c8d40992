/* SPDX-License-Identifier: MIT */
/* pq_client.c - the PostgreSQL engine's side of enqueueing, looking and steering. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pq.h"
#include "pq_array.h"
#include "why.h"

static void fill_insert(struct vg_pq_call *call, const struct vg_jobs_new *job, int state)
{
    call->count = 0;
    vg_pq_text_of(call, job->kind);
    vg_pq_number(call, job->priority);
    vg_pq_number(call, state);
    vg_pq_number(call, job->delay_ms);
    vg_pq_number_or_null(call, job->max_errors);
    vg_pq_number_or_null(call, job->limit_ms);
    vg_pq_number(call, job->version);
    vg_pq_text_of(call, job->content_type);
    vg_pq_text_of(call, job->key);
    vg_pq_text_of(call, job->unique == VIGIL_JOBS_UNTIL_START ? "t" : NULL);
    vg_pq_number_or_null(call, (int64_t)job->batch);
    vg_pq_number_or_null(call, (int64_t)job->after);
    vg_pq_bytes(call, job->payload != NULL ? job->payload : "", job->length);
    vg_pq_number(call, job->at_ms);
    vg_pq_text_of(call, job->tenant);
}

/* The same statements on this engine's connection, in a pipeline, or on the caller's, one by one. */
struct inserter {
    struct vg_jobs_conn *conn;
    PGconn *foreign;
};

static int call_foreign(PGconn *pg, enum vg_pq_sql which, const struct vg_pq_call *call, PGresult **result)
{
    *result = PQexecParams(pg, vg_pq_text[which], call->count, NULL, call->values, call->lengths, call->formats, 1);
    ExecStatusType status = PQresultStatus(*result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return 0;
    bool away = PQstatus(pg) != CONNECTION_OK || vg_pq_passes(*result);
    return vg_jobs_why(away ? -ENOTCONN : -EIO, "PostgreSQL: %.180s", PQerrorMessage(pg));
}

static int call_one(const struct inserter *in, enum vg_pq_sql which, const struct vg_pq_call *call, PGresult **result)
{
    return in->foreign != NULL ? call_foreign(in->foreign, which, call, result)
                               : vg_pq_run(in->conn, which, call, result);
}

/* The inserted row holds the key, so nobody else decides about its period meanwhile. Gives 1, or 0 if the period of
   another job is not over: then the row is gone again. */
static int keep_period(const struct inserter *in, struct vg_jobs_new *job)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    int error = 0, rows = 0;
    vg_pq_text_of(&call, job->key);
    if (job->unique_ms != 0) {
        vg_pq_number(&call, job->unique_ms);
        vg_pq_number(&call, (int64_t)job->id);
        error = call_one(in, VG_PQ_PERIOD_SET, &call, &result);
        rows = error == 0 ? PQntuples(result) : 0;
        PQclear(result);
        result = NULL;
        if (error != 0 || rows == 1)
            return error != 0 ? error : 1;
        call.count = 1;
    }
    error = call_one(in, VG_PQ_PERIOD_HOLDER, &call, &result);
    rows = error == 0 ? PQntuples(result) : 0;
    job->holder = rows > 0 ? (uint64_t)vg_pq_get_number(result, 0, 0) : 0;
    PQclear(result);
    result = NULL;
    if (error != 0 || rows == 0)
        return error != 0 ? error : 1;
    call.count = 0;
    vg_pq_number(&call, (int64_t)job->id);
    error = call_one(in, VG_PQ_UNINSERT, &call, &result);
    PQclear(result);
    job->id = 0;
    return error;
}

/* Jobs of batches, and on foreign connections: one statement after the other. The caller has a transaction. */
static int insert_one(const struct inserter *in, struct vg_jobs_new *job)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    int state = VIGIL_JOBS_WAITING;
    int error = 0;
    if (job->after != 0) {
        vg_pq_number(&call, (int64_t)job->after);
        error = call_one(in, VG_PQ_BATCH_OPEN, &call, &result);
        if (error == 0 && PQntuples(result) == 0)
            error = vg_jobs_why(-ENOENT, "there is no batch %llu", (unsigned long long)job->after);
        else if (error == 0 && vg_pq_get_int(result, 0, 0) != 0)
            state = VIGIL_JOBS_HELD;
        PQclear(result);
        result = NULL;
    }
    if (error == 0 && job->batch != 0) {
        call.count = 0;
        vg_pq_number(&call, (int64_t)job->batch);
        error = call_one(in, VG_PQ_BATCH_JOIN, &call, &result);
        if (error == 0 && PQntuples(result) == 0)
            error = vg_jobs_why(-ENOENT, "there is no open batch %llu", (unsigned long long)job->batch);
        PQclear(result);
        result = NULL;
    }
    if (error != 0)
        return error;
    fill_insert(&call, job, state);
    error = call_one(in, VG_PQ_INSERT, &call, &result);
    int inserted = error == 0 ? PQntuples(result) : 0;
    job->id = inserted == 1 ? (uint64_t)vg_pq_get_number(result, 0, 0) : 0;
    PQclear(result);
    result = NULL;
    if (error == 0 && inserted == 1 && job->key != NULL) {
        inserted = keep_period(in, job);
        error = inserted < 0 ? inserted : 0;
    } else if (error == 0 && inserted == 0) {
        call.count = 0;
        vg_pq_text_of(&call, job->key);
        error = call_one(in, VG_PQ_HOLDER, &call, &result);
        job->holder = error == 0 && PQntuples(result) == 1 ? (uint64_t)vg_pq_get_number(result, 0, 0) : 0;
        PQclear(result);
    }
    if (error == 0 && inserted == 0 && job->batch != 0)
        error = vg_jobs_why(-EEXIST, "a job of a batch has a key that is taken");
    return error != 0 ? error : inserted;
}

static int count_and_notify(const struct inserter *in, int total)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_number(&call, total);
    int error = call_one(in, VG_PQ_COUNT_ENQUEUED, &call, &result);
    PQclear(result);
    result = NULL;
    if (error == 0) {
        call.count = 0;
        vg_pq_text_of(&call, "w");
        error = call_one(in, VG_PQ_NOTIFY, &call, &result);
        PQclear(result);
    }
    return error;
}

static int insert_in_transaction(const struct inserter *in, struct vg_jobs_new *jobs, size_t count)
{
    int total = 0;
    for (size_t i = 0; i < count; i++) {
        int result = insert_one(in, &jobs[i]);
        if (result < 0)
            return result;
        total += result;
    }
    int error = total > 0 ? count_and_notify(in, total) : 0;
    return error != 0 ? error : total;
}

/* Without batches and keys nothing has to be asked in between: one pipeline. */
static int insert_in_pipeline(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    struct vg_pq_call call;
    int error = vg_pq_connected(conn);
    for (size_t i = 0; i < count && error == 0; i++) {
        fill_insert(&call, &jobs[i], VIGIL_JOBS_WAITING);
        error = vg_pq_send(conn, VG_PQ_INSERT, &call);
    }
    if (error == 0) {
        call.count = 0;
        vg_pq_number(&call, (int64_t)count);
        error = vg_pq_send(conn, VG_PQ_COUNT_ENQUEUED, &call);
    }
    if (error == 0) {
        call.count = 0;
        vg_pq_text_of(&call, "w");
        error = vg_pq_send(conn, VG_PQ_NOTIFY, &call);
    }
    if (error == 0)
        error = vg_pq_sync(conn);
    if (error != 0) {
        conn->broken = true;
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        PGresult *result = vg_pq_next(conn);
        jobs[i].id = vg_pq_changed(result) == 1 ? (uint64_t)vg_pq_get_number(result, 0, 0) : 0;
        PQclear(result);
    }
    error = vg_pq_finish(conn, 0);
    return error != 0 ? error : (int)count;
}

static int move_spool(const struct inserter *in, const char *spool, uint64_t number)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_text_of(&call, spool);
    vg_pq_number(&call, (int64_t)number);
    int error = call_one(in, VG_PQ_SPOOL_MOVE, &call, &result);
    bool moved = error == 0 && PQntuples(result) == 1;
    PQclear(result);
    return error != 0 ? error : moved ? 0 : -EALREADY;
}

/* Plain statements between BEGIN and COMMIT; with a spool, if its number is lower. */
static int insert_one_by_one(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                             size_t count)
{
    int error = vg_pq_connected(conn);
    if (error != 0)
        return error;
    if (PQexitPipelineMode(conn->pg) == 0)
        return vg_pq_error(conn, NULL);
    /* A second connection style on the same wire: plain statements between BEGIN and COMMIT, on the loop. */
    struct inserter in = {.conn = conn, .foreign = conn->pg};
    (void)PQsetnonblocking(conn->pg, 0);
    error = vg_pq_execute(conn, "BEGIN");
    if (error == 0 && spool != NULL)
        error = move_spool(&in, spool, number);
    int total = error != 0 ? error : insert_in_transaction(&in, jobs, count);
    int end = vg_pq_execute(conn, total >= 0 ? "COMMIT" : "ROLLBACK");
    (void)PQsetnonblocking(conn->pg, 1);
    if (PQenterPipelineMode(conn->pg) == 0)
        conn->broken = true;
    return total < 0 || end == 0 ? total : end;
}

int vg_pq_enqueue(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    bool plain = true;
    for (size_t i = 0; i < count; i++)
        plain = plain && jobs[i].key == NULL && jobs[i].batch == 0 && jobs[i].after == 0;
    return plain ? insert_in_pipeline(conn, jobs, count) : insert_one_by_one(conn, NULL, 0, jobs, count);
}

int vg_pq_enqueue_once(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                       size_t count)
{
    return insert_one_by_one(conn, spool, number, jobs, count);
}

int vg_pq_spool_number(struct vg_jobs_conn *conn, const char *spool, uint64_t *number)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_text_of(&call, spool);
    int error = vg_pq_run(conn, VG_PQ_SPOOL_NUMBER, &call, &result);
    *number = error == 0 && PQntuples(result) == 1 ? (uint64_t)vg_pq_get_number(result, 0, 0) : 0;
    PQclear(result);
    return error;
}

int vg_pq_enqueue_within(struct vg_jobs_site *site, void *foreign, struct vg_jobs_new *jobs, size_t count)
{
    (void)site;
    if (PQtransactionStatus(foreign) != PQTRANS_INTRANS)
        return vg_jobs_why(-EINVAL, "the connection is not inside a transaction");
    struct inserter in = {.foreign = foreign};
    return insert_in_transaction(&in, jobs, count);
}

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
