/* SPDX-License-Identifier: MIT */
/* sqlite_client.c - the SQLite engine's side of enqueueing, looking and steering. */
#include <errno.h>
#include <string.h>

#include "sqlite.h"
#include "why.h"

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

/* The first column of the first row of a statement with one number; `none` without a row. */
static int64_t number_of(struct vg_jobs_conn *conn, enum vg_jobs_sql which, uint64_t argument, int64_t none)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, which);
    if (statement == NULL)
        return none;
    vg_sql_bind_number(statement, 1, argument);
    int64_t result = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : none;
    (void)sqlite3_reset(statement);
    return result;
}

/* Run a statement with one number; gives how many rows it changed. */
static int change(struct vg_jobs_conn *conn, enum vg_jobs_sql which, uint64_t argument)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, which);
    if (statement == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(statement, 1, argument);
    int error = vg_jobs_sqlite_run(conn, statement);
    return error != 0 ? error : sqlite3_changes(conn->db);
}

/* Whether a job with this key was enqueued in its period. */
static int kept_by_period(struct vg_jobs_conn *conn, struct vg_jobs_new *job, int64_t now)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_PERIOD_HOLDER);
    if (statement == NULL)
        return -ENOTCONN;
    bind_text(statement, 1, job->key);
    (void)sqlite3_bind_int64(statement, 2, now);
    bool kept = sqlite3_step(statement) == SQLITE_ROW;
    if (kept) {
        job->id = 0;
        job->holder = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_reset(statement);
    return kept;
}

static int insert(struct vg_jobs_conn *conn, struct vg_jobs_new *job, int64_t now)
{
    int state = VIGIL_JOBS_WAITING;
    if (job->after != 0) {
        int64_t open = number_of(conn, VG_SQL_BATCH_OPEN, job->after, -1);
        if (open < 0)
            return vg_jobs_why(-ENOENT, "there is no batch %llu", (unsigned long long)job->after);
        if (open != 0)
            state = VIGIL_JOBS_HELD;
    }
    int kept = job->key != NULL ? kept_by_period(conn, job, now) : 0;
    if (kept != 0)
        return kept < 0 ? kept : 0;
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_INSERT);
    if (statement == NULL)
        return -ENOTCONN;
    bind_text(statement, 1, job->kind);
    (void)sqlite3_bind_int(statement, 2, job->priority);
    (void)sqlite3_bind_int(statement, 3, state);
    int64_t due = now + job->delay_ms;
    (void)sqlite3_bind_int64(statement, 4, due > job->at_ms && !job->at_exactly ? due : job->at_ms);
    (void)sqlite3_bind_int64(statement, 5, now);
    if (job->max_errors != 0)
        (void)sqlite3_bind_int64(statement, 6, job->max_errors);
    if (job->limit_ms != 0)
        (void)sqlite3_bind_int64(statement, 7, job->limit_ms);
    (void)sqlite3_bind_int64(statement, 8, job->version);
    bind_text(statement, 9, job->content_type);
    bind_text(statement, 10, job->key);
    if (job->unique == VIGIL_JOBS_UNTIL_START)
        (void)sqlite3_bind_int(statement, 11, 1);
    if (job->batch != 0)
        vg_sql_bind_number(statement, 12, job->batch);
    if (job->after != 0)
        vg_sql_bind_number(statement, 13, job->after);
    (void)sqlite3_bind_blob64(statement, 14, job->payload != NULL ? job->payload : "", job->length, SQLITE_STATIC);
    bind_text(statement, 15, job->tenant);
    int error = vg_jobs_sqlite_run(conn, statement);
    if (error != 0)
        return error;
    if (sqlite3_changes(conn->db) == 0) {
        sqlite3_stmt *holder = vg_jobs_sqlite_get(conn, VG_SQL_HOLDER);
        if (holder == NULL)
            return -ENOTCONN;
        bind_text(holder, 1, job->key);
        job->id = 0;
        job->holder = sqlite3_step(holder) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(holder, 0) : 0;
        (void)sqlite3_reset(holder);
        return 0;
    }
    job->id = (uint64_t)sqlite3_last_insert_rowid(conn->db);
    if (job->key != NULL && job->unique_ms != 0) {
        sqlite3_stmt *set = vg_jobs_sqlite_get(conn, VG_SQL_PERIOD_SET);
        if (set == NULL)
            return -ENOTCONN;
        bind_text(set, 1, job->key);
        (void)sqlite3_bind_int64(set, 2, now + job->unique_ms);
        vg_sql_bind_number(set, 3, job->id);
        error = vg_jobs_sqlite_run(conn, set);
        if (error != 0)
            return error;
    }
    if (job->batch != 0) {
        int joined = change(conn, VG_SQL_BATCH_JOIN, job->batch);
        if (joined <= 0)
            return joined < 0 ? joined
                              : vg_jobs_why(-ENOENT, "there is no open batch %llu", (unsigned long long)job->batch);
    }
    return 1;
}

int vg_jobs_sqlite_insert(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    int64_t now = vg_jobs_sqlite_now(conn->site);
    int total = 0;
    for (size_t i = 0; i < count; i++) {
        int result = insert(conn, &jobs[i], now);
        if (result < 0)
            return result;
        total += result;
    }
    if (total > 0) {
        int error = change(conn, VG_SQL_COUNT_ENQUEUED, (uint64_t)total);
        if (error < 0)
            return error;
    }
    return total;
}

int vg_jobs_sqlite_enqueue(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int total = vg_jobs_sqlite_end(conn, vg_jobs_sqlite_insert(conn, jobs, count));
    if (total > 0)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    return total;
}

int vg_jobs_sqlite_enqueue_once(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                                size_t count)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    sqlite3_stmt *move = vg_jobs_sqlite_get(conn, VG_SQL_SPOOL_MOVE);
    if (move != NULL) {
        bind_text(move, 1, spool);
        vg_sql_bind_number(move, 2, number);
    }
    int total = vg_jobs_sqlite_run(conn, move);
    if (total == 0)
        total = sqlite3_changes(conn->db) == 0 ? -EALREADY : vg_jobs_sqlite_insert(conn, jobs, count);
    total = vg_jobs_sqlite_end(conn, total);
    if (total > 0)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    return total;
}

int vg_jobs_sqlite_spool_number(struct vg_jobs_conn *conn, const char *spool, uint64_t *number)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_SPOOL_NUMBER);
    if (statement == NULL)
        return -ENOTCONN;
    bind_text(statement, 1, spool);
    int step = sqlite3_step(statement);
    *number = step == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    int error = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : vg_jobs_sqlite_error(conn, "it cannot be read");
    (void)sqlite3_reset(statement);
    return error;
}

int vg_jobs_sqlite_enqueue_within(struct vg_jobs_site *site, void *foreign, struct vg_jobs_new *jobs, size_t count)
{
    struct vg_jobs_conn conn = {.site = site, .db = foreign};
    if (sqlite3_get_autocommit(conn.db) != 0)
        return vg_jobs_why(-EINVAL, "the connection is not inside a transaction");
    int total = vg_jobs_sqlite_insert(&conn, jobs, count);
    for (int i = 0; i < VG_SQL_COUNT; i++)
        (void)sqlite3_finalize(conn.statements[i]);
    return total;
}

static const char *text_at(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

int vg_jobs_sqlite_look(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg)
{
    sqlite3_stmt *look = vg_jobs_sqlite_get(conn, VG_SQL_LOOK);
    if (look == NULL)
        return -ENOTCONN;
    /* One id is a range of one: the plan is the same. */
    vg_sql_bind_number(look, 1, filter->id != 0 ? filter->id - 1 : filter->above_id);
    vg_sql_bind_number(look, 2, filter->id != 0 ? filter->id : INT64_MAX);
    (void)sqlite3_bind_int64(look, 3, filter->states != 0 ? filter->states : 0x7f);
    bind_text(look, 4, filter->kind);
    (void)sqlite3_bind_int64(look, 5, filter->most != 0 ? filter->most : 100);
    int seen = 0, step;
    while ((step = sqlite3_step(look)) == SQLITE_ROW) {
        vigil_jobs_info info = VIGIL_JOBS_INFO_INIT;
        info.id = (uint64_t)sqlite3_column_int64(look, 0);
        info.number = (uint64_t)sqlite3_column_int64(look, 1);
        info.state = (vigil_jobs_state)sqlite3_column_int(look, 2);
        info.priority = (vigil_priority)sqlite3_column_int(look, 3);
        info.kind = text_at(look, 4);
        info.version = (unsigned)sqlite3_column_int(look, 5);
        info.errors = (unsigned)sqlite3_column_int(look, 6);
        info.crashes = (unsigned)sqlite3_column_int(look, 7);
        info.created_ms = sqlite3_column_int64(look, 8);
        info.due_ms = sqlite3_column_int64(look, 9);
        info.started_ms = sqlite3_column_int64(look, 10);
        info.ended_ms = sqlite3_column_int64(look, 11);
        info.progress = sqlite3_column_type(look, 12) == SQLITE_NULL ? -1 : sqlite3_column_double(look, 12);
        info.text = text_at(look, 13);
        info.error = text_at(look, 14);
        info.worker = text_at(look, 15);
        info.key = text_at(look, 16);
        info.payload = sqlite3_column_blob(look, 17);
        info.payload_size = (size_t)sqlite3_column_bytes(look, 17);
        info.result = sqlite3_column_blob(look, 18);
        info.result_size = (size_t)sqlite3_column_bytes(look, 18);
        info.batch = (uint64_t)sqlite3_column_int64(look, 19);
        info.tenant = text_at(look, 20);
        info.verdict = text_at(look, 21);
        if (see != NULL)
            see(&info, arg);
        seen++;
    }
    int error = step == SQLITE_DONE ? 0 : vg_jobs_sqlite_error(conn, "it cannot be read");
    (void)sqlite3_reset(look);
    return error != 0 ? error : seen;
}

/* The state of a job that has not ended, or negative; its number and batch. */
static int state_of(struct vg_jobs_conn *conn, uint64_t id, uint64_t *number, uint64_t *batch)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_STATE_OF);
    if (statement == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(statement, 1, id);
    int state = -ENOENT;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        state = sqlite3_column_int(statement, 0);
        *number = (uint64_t)sqlite3_column_int64(statement, 1);
        *batch = (uint64_t)sqlite3_column_int64(statement, 2);
    }
    (void)sqlite3_reset(statement);
    return state;
}

int vg_jobs_sqlite_cancel(struct vg_jobs_conn *conn, uint64_t id)
{
    struct vg_jobs_end end = {.id = id, .outcome = VG_JOBS_CANCEL, .any_state = true, .error = "cancelled"};
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    conn->released = false;
    int state = state_of(conn, id, &end.number, &end.batch), result;
    if (state == VIGIL_JOBS_RUNNING) {
        result = change(conn, VG_SQL_CANCEL_RUNNING, id);
    } else if (state >= 0) {
        result = vg_jobs_sqlite_bury(conn, &end, VIGIL_JOBS_CANCELLED);
        result = result < 0 ? result : 0;
    } else {
        result = number_of(conn, VG_SQL_ENDED_STATE_OF, id, -1) >= 0 ? -EALREADY : state;
    }
    result = vg_jobs_sqlite_end(conn, result);
    if (result == 0)
        vg_jobs_beside_ended_add(conn->site->beside);
    if (result == 1 || (result == 0 && conn->released))
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_CANCEL | VG_JOBS_EVENT_WORK);
    return result;
}

static int retry_ended(struct vg_jobs_conn *conn, uint64_t id)
{
    int64_t state = number_of(conn, VG_SQL_ENDED_STATE_OF, id, -1);
    if (state < 0 || state == VIGIL_JOBS_COMPLETED)
        return state < 0 ? -ENOENT : -EALREADY;
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_RETRY_ENDED);
    if (statement == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(statement, 1, id);
    (void)sqlite3_bind_int64(statement, 2, vg_jobs_sqlite_now(conn->site));
    int error = vg_jobs_sqlite_run(conn, statement);
    if (error != 0)
        return error;
    if (sqlite3_changes(conn->db) == 0)
        return vg_jobs_why(-EEXIST, "another job has taken its key");
    int gone = change(conn, VG_SQL_FORGET, id);
    return gone < 0 ? gone : 0;
}

int vg_jobs_sqlite_retry(struct vg_jobs_conn *conn, uint64_t id)
{
    uint64_t number = 0, batch = 0;
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int result, state = state_of(conn, id, &number, &batch);
    if (state == -ENOENT) {
        result = retry_ended(conn, id);
    } else if (state == VIGIL_JOBS_WAITING || state == VIGIL_JOBS_QUARANTINE) {
        sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_RETRY_WAITING);
        if (statement != NULL) {
            vg_sql_bind_number(statement, 1, id);
            (void)sqlite3_bind_int64(statement, 2, vg_jobs_sqlite_now(conn->site));
        }
        result = vg_jobs_sqlite_run(conn, statement);
    } else {
        result = state < 0 ? state : -EBUSY;
    }
    result = vg_jobs_sqlite_end(conn, result);
    if (result == 0)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    return result;
}

static int edit_in(struct vg_jobs_conn *conn, enum vg_jobs_sql which, uint64_t id, const void *payload, size_t length)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, which);
    if (statement == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(statement, 1, id);
    (void)sqlite3_bind_blob64(statement, 2, payload != NULL ? payload : "", length, SQLITE_STATIC);
    int error = vg_jobs_sqlite_run(conn, statement);
    return error != 0 ? error : sqlite3_changes(conn->db);
}

int vg_jobs_sqlite_edit(struct vg_jobs_conn *conn, uint64_t id, const void *payload, size_t length)
{
    uint64_t number = 0, batch = 0;
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int changed = edit_in(conn, VG_SQL_EDIT, id, payload, length);
    if (changed == 0)
        changed = edit_in(conn, VG_SQL_EDIT_ENDED, id, payload, length);
    if (changed == 0)
        changed = state_of(conn, id, &number, &batch) >= 0              ? -EBUSY
                  : number_of(conn, VG_SQL_ENDED_STATE_OF, id, -1) >= 0 ? -EALREADY
                                                                        : -ENOENT;
    changed = vg_jobs_sqlite_end(conn, changed);
    return changed < 0 ? changed : 0;
}

int vg_jobs_sqlite_drop(struct vg_jobs_conn *conn, uint64_t id)
{
    uint64_t number = 0, batch = 0;
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int64_t state = number_of(conn, VG_SQL_ENDED_STATE_OF, id, -1);
    if (state < 0)
        error = state_of(conn, id, &number, &batch) >= 0 ? -EBUSY : -ENOENT;
    else
        error = change(conn, VG_SQL_FORGET, id);
    sqlite3_stmt *count = error > 0 ? vg_jobs_sqlite_get(conn, VG_SQL_PRUNE_COUNT) : NULL; /* it stays in the account */
    if (count != NULL) {
        (void)sqlite3_bind_int64(count, 1, state);
        (void)sqlite3_bind_int(count, 2, 1);
        error = vg_jobs_sqlite_run(conn, count);
    }
    return vg_jobs_sqlite_end(conn, error);
}

int vg_jobs_sqlite_pause(struct vg_jobs_conn *conn, const char *kind, bool paused)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_PAUSE);
    if (statement != NULL) {
        bind_text(statement, 1, kind != NULL ? kind : "");
        (void)sqlite3_bind_int(statement, 2, paused);
    }
    error = vg_jobs_sqlite_end(conn, vg_jobs_sqlite_run(conn, statement));
    if (error == 0 && !paused)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    return error;
}

int vg_jobs_sqlite_waiting(struct vg_jobs_conn *conn, uint64_t most, uint64_t *waiting)
{
    int64_t found = number_of(conn, VG_SQL_WAITING, most, -1);
    if (found < 0)
        return vg_jobs_sqlite_error(conn, "it cannot be counted");
    *waiting = (uint64_t)found;
    return 0;
}

int vg_jobs_sqlite_gone(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *gone)
{
    uint64_t number, batch;
    for (size_t i = 0; i < count; i++) {
        int state = state_of(conn, ids[i], &number, &batch);
        if (state < 0 && state != -ENOENT)
            return state;
        gone[i] = state < 0;
    }
    return 0;
}

int vg_jobs_sqlite_batch(struct vg_jobs_conn *conn, uint64_t *batch)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_BATCH_NEW));
    *batch = (uint64_t)sqlite3_last_insert_rowid(conn->db);
    return vg_jobs_sqlite_end(conn, error);
}

int vg_jobs_sqlite_batch_end(struct vg_jobs_conn *conn, uint64_t batch)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int closed = change(conn, VG_SQL_BATCH_CLOSE, batch);
    if (closed == 0)
        closed = number_of(conn, VG_SQL_BATCH_OPEN, batch, -1) < 0 ? -ENOENT : -EALREADY;
    int released = closed > 0 ? change(conn, VG_SQL_BATCH_RELEASE, batch) : closed;
    int result = vg_jobs_sqlite_end(conn, released);
    if (result > 0)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    return result < 0 ? result : 0;
}

static uint64_t meta(struct vg_jobs_conn *conn, const char *name)
{
    sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, VG_SQL_META);
    if (statement == NULL)
        return 0;
    bind_text(statement, 1, name);
    uint64_t value = sqlite3_step(statement) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    return value;
}

int vg_jobs_sqlite_audit(struct vg_jobs_conn *conn, vigil_jobs_account *account)
{
    int error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_BEGIN_READ));
    if (error != 0)
        return error;
    account->enqueued = meta(conn, "enqueued");
    account->waiting = account->running = 0;
    sqlite3_stmt *live = vg_jobs_sqlite_get(conn, VG_SQL_AUDIT_LIVE);
    int step = SQLITE_ERROR;
    while (live != NULL && (step = sqlite3_step(live)) == SQLITE_ROW)
        *(sqlite3_column_int(live, 0) != 0 ? &account->running : &account->waiting) =
            (uint64_t)sqlite3_column_int64(live, 1);
    if (step != SQLITE_DONE)
        error = vg_jobs_sqlite_error(conn, "it cannot be counted");
    (void)sqlite3_reset(live);
    account->completed = meta(conn, "pruned4") + (uint64_t)number_of(conn, VG_SQL_AUDIT_ENDED, VIGIL_JOBS_COMPLETED, 0);
    account->dead = meta(conn, "pruned5") + (uint64_t)number_of(conn, VG_SQL_AUDIT_ENDED, VIGIL_JOBS_DEAD, 0);
    account->cancelled = meta(conn, "pruned6") + (uint64_t)number_of(conn, VG_SQL_AUDIT_ENDED, VIGIL_JOBS_CANCELLED, 0);
    int64_t now = vg_jobs_sqlite_now(conn->site);
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        int64_t oldest = number_of(conn, VG_SQL_AUDIT_OLDEST, (uint64_t)i, 0);
        account->oldest_ms[i] = oldest > 0 && oldest < now ? (uint64_t)(now - oldest) : 0;
    }
    int end = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_COMMIT));
    return error != 0 ? error : end;
}
