/* SPDX-License-Identifier: MIT */
/* pq_enqueue.c - the PostgreSQL engine's side of enqueueing: many plain jobs are one statement. */
#include <errno.h>
#include <stdlib.h>

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

/* The inserted row holds the key, so nobody else decides about its period. Gives 1, or 0 if the period of
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

enum {
    MANY_JOBS = 1024,     /* in one statement */
    MANY_BYTES = 8 << 20, /* of payload: a copy of it is in memory */
};

/* The end of the jobs that go into one statement. */
static size_t part_end(const struct vg_jobs_new *jobs, size_t from, size_t count)
{
    size_t to = from, bytes = 0;
    while (to < count && to - from < MANY_JOBS && (to == from || bytes + jobs[to].length <= MANY_BYTES))
        bytes += jobs[to++].length;
    return to;
}

static int send_part(struct vg_jobs_conn *conn, const struct vg_jobs_new *jobs, size_t count)
{
    enum {
        KIND,
        CLASS,
        DELAY,
        AT,
        ERRORS,
        LIMIT,
        VERSION,
        CONTENT_TYPE,
        PAYLOAD,
        TENANT,
        ARRAYS
    };
    struct vg_pq_array arrays[ARRAYS] = {0};
    for (const struct vg_jobs_new *job = jobs; job < jobs + count; job++) {
        vg_pq_array_string(&arrays[KIND], job->kind);
        vg_pq_array_number(&arrays[CLASS], job->priority);
        vg_pq_array_number(&arrays[DELAY], job->delay_ms);
        vg_pq_array_number(&arrays[AT], job->at_ms);
        vg_pq_array_number(&arrays[ERRORS], job->max_errors);
        vg_pq_array_number(&arrays[LIMIT], job->limit_ms);
        vg_pq_array_number(&arrays[VERSION], job->version);
        vg_pq_array_string(&arrays[CONTENT_TYPE], job->content_type);
        vg_pq_array_bytes(&arrays[PAYLOAD], job->payload != NULL ? job->payload : "", job->length);
        vg_pq_array_string(&arrays[TENANT], job->tenant);
    }
    struct vg_pq_call call = {.count = 0};
    bool whole = true;
    for (int i = 0; i < ARRAYS; i++) {
        if (i == PAYLOAD)
            vg_pq_bytes(&call, arrays[i].text, arrays[i].length);
        else
            vg_pq_text_of(&call, vg_pq_array_text(&arrays[i]));
        whole = whole && !arrays[i].failed;
    }
    int error = whole ? vg_pq_send(conn, VG_PQ_INSERT_MANY, &call) : vg_jobs_why(-ENOMEM, "no memory for the jobs");
    for (int i = 0; i < ARRAYS; i++)
        free(arrays[i].text);
    return error;
}

static int send_jobs(struct vg_jobs_conn *conn, const struct vg_jobs_new *jobs, size_t count)
{
    struct vg_pq_call call;
    int error = 0;
    if (count == 1) {
        fill_insert(&call, jobs, VIGIL_JOBS_WAITING);
        return vg_pq_send(conn, VG_PQ_INSERT, &call);
    }
    for (size_t from = 0, to; from < count && error == 0; from = to) {
        to = part_end(jobs, from, count);
        error = send_part(conn, jobs + from, to - from);
    }
    return error;
}

static void read_ids(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        PGresult *result = vg_pq_next(conn);
        to = part_end(jobs, from, count);
        for (size_t i = from; i < to; i++)
            jobs[i].id =
                i - from < (size_t)vg_pq_changed(result) ? (uint64_t)vg_pq_get_number(result, (int)(i - from), 0) : 0;
        PQclear(result);
    }
}

/* Without batches and keys nothing has to be asked in between: one pipeline. */
static int insert_in_pipeline(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    struct vg_pq_call call = {.count = 0};
    int error = vg_pq_connected(conn);
    if (error == 0)
        error = send_jobs(conn, jobs, count);
    if (error == 0) {
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
    read_ids(conn, jobs, count);
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
