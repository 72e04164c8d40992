/* SPDX-License-Identifier: MIT */
/* sqlite_run.c - the SQLite engine's side of running: ends and claims in one transaction. */
#include <errno.h>
#include <limits.h>

#include "identity.h"
#include "sqlite.h"

int vg_jobs_sqlite_batch_left(struct vg_jobs_conn *conn, uint64_t batch)
{
    sqlite3_stmt *leave = vg_jobs_sqlite_get(conn, VG_SQL_BATCH_LEAVE);
    if (leave == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(leave, 1, batch);
    int error = vg_jobs_sqlite_run(conn, leave);
    sqlite3_stmt *release = error == 0 ? vg_jobs_sqlite_get(conn, VG_SQL_BATCH_RELEASE) : NULL;
    if (release == NULL)
        return error != 0 ? error : -ENOTCONN;
    vg_sql_bind_number(release, 1, batch);
    error = vg_jobs_sqlite_run(conn, release);
    if (error == 0 && sqlite3_changes(conn->db) > 0)
        conn->released = true;
    return error;
}

int vg_jobs_sqlite_bury(struct vg_jobs_conn *conn, const struct vg_jobs_end *end, int state)
{
    sqlite3_stmt *keep = vg_jobs_sqlite_get(conn, VG_SQL_END_KEEP);
    if (keep == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(keep, 1, end->id);
    vg_sql_bind_number(keep, 2, end->number);
    (void)sqlite3_bind_int(keep, 3, state);
    (void)sqlite3_bind_int64(keep, 4, vg_jobs_sqlite_now(conn->site));
    (void)sqlite3_bind_text(keep, 5, end->error, -1, SQLITE_STATIC);
    vg_sql_bind_bytes(keep, 6, end->result, end->result_length);
    (void)sqlite3_bind_int(keep, 7, end->any_state);
    (void)sqlite3_bind_int(keep, 8, end->outcome == VG_JOBS_BURY && !end->any_state);
    if (end->outcome != VG_JOBS_COMPLETE)
        (void)sqlite3_bind_text(keep, 9, end->verdict, -1, SQLITE_STATIC);
    int error = vg_jobs_sqlite_run(conn, keep);
    if (error != 0 || sqlite3_changes(conn->db) == 0)
        return error;
    sqlite3_stmt *delete = vg_jobs_sqlite_get(conn, VG_SQL_END_DELETE);
    if (delete == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(delete, 1, end->id);
    error = vg_jobs_sqlite_run(conn, delete);
    if (error == 0 && end->batch != 0)
        error = vg_jobs_sqlite_batch_left(conn, end->batch);
    return error != 0 ? error : 1;
}

/* The job does not wait again: its number is old, or somebody has asked for its cancellation, which this run has not
   heard of or has not heeded. */
static int cancel_instead(struct vg_jobs_conn *conn, struct vg_jobs_end *end)
{
    struct vg_jobs_end cancelled = *end;
    cancelled.outcome = VG_JOBS_CANCEL;
    if (cancelled.error == NULL)
        cancelled.error = "cancelled";
    int result = vg_jobs_sqlite_bury(conn, &cancelled, VIGIL_JOBS_CANCELLED);
    if (result == 1)
        end->outcome = VG_JOBS_CANCEL;
    return result;
}

static int record_end(struct vg_jobs_conn *conn, struct vg_jobs_end *end)
{
    int result;
    sqlite3_stmt *update;
    end->accepted = false;
    switch (end->outcome) {
    case VG_JOBS_COMPLETE:
        result = vg_jobs_sqlite_bury(conn, end, VIGIL_JOBS_COMPLETED);
        break;
    case VG_JOBS_BURY:
        result = vg_jobs_sqlite_bury(conn, end, VIGIL_JOBS_DEAD);
        break;
    case VG_JOBS_CANCEL:
        result = vg_jobs_sqlite_bury(conn, end, VIGIL_JOBS_CANCELLED);
        break;
    case VG_JOBS_AGAIN:
    case VG_JOBS_GIVE_BACK:
    default:
        update = vg_jobs_sqlite_get(conn, end->outcome == VG_JOBS_AGAIN ? VG_SQL_AGAIN : VG_SQL_GIVE_BACK);
        if (update == NULL)
            return -ENOTCONN;
        vg_sql_bind_number(update, 1, end->id);
        vg_sql_bind_number(update, 2, end->number);
        if (end->outcome == VG_JOBS_AGAIN) {
            (void)sqlite3_bind_int64(update, 3, vg_jobs_sqlite_now(conn->site) + end->delay_ms);
            (void)sqlite3_bind_text(update, 4, end->error, -1, SQLITE_STATIC);
            (void)sqlite3_bind_text(update, 6, end->verdict, -1, SQLITE_STATIC);
        }
        vg_sql_bind_bytes(update, end->outcome == VG_JOBS_AGAIN ? 5 : 3, end->checkpoint, end->checkpoint_length);
        result = vg_jobs_sqlite_run(conn, update);
        if (result == 0)
            result = sqlite3_changes(conn->db);
        if (result == 1)
            conn->released = true;
        else if (result == 0)
            result = cancel_instead(conn, end);
        break;
    }
    end->accepted = result == 1;
    return result < 0 ? result : 0;
}

static int record_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count)
{
    enum {
        AT_ONCE = 1024
    };
    bool done[AT_ONCE];
    int error = 0;
    for (size_t from = 0; from < count && error == 0; from += AT_ONCE) {
        size_t some = count - from < AT_ONCE ? count - from : AT_ONCE;
        error = vg_jobs_sqlite_complete_many(conn, ends + from, some, done);
        for (size_t i = 0; i < some && error == 0; i++)
            if (!done[i])
                error = record_end(conn, ends[from + i]);
    }
    return error;
}

/* How many jobs of the kind may start now. Negative: error. */
static int64_t allowance(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, unsigned wanted, int64_t now,
                         double *tokens)
{
    int64_t allowed = wanted;
    sqlite3_stmt *state = vg_jobs_sqlite_get(conn, VG_SQL_KIND_STATE);
    if (state == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(state, 1, kind->name, -1, SQLITE_STATIC);
    double left = kind->rate;
    int step;
    while ((step = sqlite3_step(state)) == SQLITE_ROW) {
        if (sqlite3_column_int(state, 1) != 0)
            allowed = 0;
        if (sqlite3_column_bytes(state, 0) > 0 && sqlite3_column_type(state, 2) != SQLITE_NULL) {
            /* A bucket that holds one second's worth. A clock that went back gives nothing. */
            int64_t passed = now - sqlite3_column_int64(state, 3);
            left = sqlite3_column_double(state, 2) + (double)(passed > 0 ? passed : 0) * kind->rate / 1000;
            if (left > kind->rate)
                left = kind->rate;
        }
    }
    (void)sqlite3_reset(state);
    if (step != SQLITE_DONE)
        return vg_jobs_sqlite_error(conn, "the kinds cannot be read");
    if (kind->cap != 0 && allowed > 0) {
        sqlite3_stmt *running = vg_jobs_sqlite_get(conn, VG_SQL_KIND_RUNNING);
        if (running == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_text(running, 1, kind->name, -1, SQLITE_STATIC);
        int64_t now_running = sqlite3_step(running) == SQLITE_ROW ? sqlite3_column_int64(running, 0) : kind->cap;
        (void)sqlite3_reset(running);
        if (now_running + allowed > kind->cap)
            allowed = now_running < kind->cap ? kind->cap - now_running : 0;
    }
    if (kind->rate != 0 && (double)allowed > left)
        allowed = left >= 1 ? (int64_t)left : 0;
    *tokens = left;
    return allowed;
}

static int spend(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, double tokens, int64_t now)
{
    sqlite3_stmt *update = vg_jobs_sqlite_get(conn, VG_SQL_KIND_TOKENS);
    if (update == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(update, 1, kind->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(update, 2, tokens);
    (void)sqlite3_bind_int64(update, 3, now);
    return vg_jobs_sqlite_run(conn, update);
}

static int free_key(struct vg_jobs_conn *conn, uint64_t id)
{
    sqlite3_stmt *update = vg_jobs_sqlite_get(conn, VG_SQL_CLAIM_KEY);
    if (update == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(update, 1, id);
    return vg_jobs_sqlite_run(conn, update);
}

/* Nobody else writes inside the transaction: the listed rows are as the peek has seen them. */
static int claim_listed(struct vg_jobs_conn *conn, int64_t lease, int64_t now)
{
    int64_t values[] = {lease, conn->worker, now};
    int claimed = vg_jobs_ids_run(conn, VG_SQL_CLAIM_RANGE, VG_SQL_CLAIM_LIST, values, 3);
    return claimed < 0 ? claimed : 0;
}

int vg_jobs_sqlite_take_rows(struct vg_jobs_conn *conn, sqlite3_stmt *peek, const struct vg_jobs_turn *turn,
                             bool quarantined)
{
    int64_t lease = vg_jobs_sqlite_lease_now(conn->site) + turn->want->lease_ms;
    int taken = 0, step = SQLITE_DONE, error = 0;
    vg_jobs_ids_begin(conn);
    while (error == 0 && (step = sqlite3_step(peek)) == SQLITE_ROW) {
        struct vg_jobs_row row = {
            .id = (uint64_t)sqlite3_column_int64(peek, 0),
            .number = (uint64_t)sqlite3_column_int64(peek, 1),
            .batch = (uint64_t)sqlite3_column_int64(peek, 2),
            .kind = turn->kind,
            .priority = sqlite3_column_int(peek, 3),
            .version = (unsigned)sqlite3_column_int(peek, 4),
            .errors = (unsigned)sqlite3_column_int(peek, 5),
            .crashes = (unsigned)sqlite3_column_int(peek, 6),
            .max_errors = (unsigned)sqlite3_column_int(peek, 7),
            .limit_ms = sqlite3_column_int64(peek, 8),
            .content_type = (const char *)sqlite3_column_text(peek, 9),
            .payload = sqlite3_column_blob(peek, 10),
            .length = (size_t)sqlite3_column_bytes(peek, 10),
            .checkpoint = sqlite3_column_blob(peek, 11),
            .checkpoint_length = (size_t)sqlite3_column_bytes(peek, 11),
            .quarantined = quarantined,
        };
        bool until_start = sqlite3_column_int(peek, 12) != 0;
        turn->take(turn->arg, &row);
        error = vg_jobs_ids_add(conn, row.id);
        if (error == 0 && until_start)
            error = free_key(conn, row.id);
        taken++;
    }
    if (error == 0 && step != SQLITE_DONE)
        error = vg_jobs_sqlite_error(conn, "jobs cannot be claimed");
    (void)sqlite3_reset(peek);
    if (error == 0 && taken > 0)
        error = claim_listed(conn, lease, turn->now);
    return error != 0 ? error : taken;
}

static int claim_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, int64_t now,
                             vg_jobs_take_fn take, void *arg)
{
    int taken = 0;
    for (unsigned i = 0; i < want->kind_count && taken == 0; i++) {
        double tokens;
        int64_t allowed = allowance(conn, &want->kinds[i], 1, now, &tokens);
        if (allowed <= 0) {
            if (allowed < 0)
                return (int)allowed;
            continue;
        }
        sqlite3_stmt *peek = vg_jobs_sqlite_get(conn, VG_SQL_PEEK_QUARANTINE);
        if (peek == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_text(peek, 1, want->kinds[i].name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(peek, 2, now);
        (void)sqlite3_bind_int64(peek, 3, want->kinds[i].version != 0 ? want->kinds[i].version : UINT_MAX);
        struct vg_jobs_turn turn = {.want = want, .kind = i, .now = now, .take = take, .arg = arg};
        taken = vg_jobs_sqlite_take_rows(conn, peek, &turn, true);
    }
    return taken;
}

static int claim_oldest(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, unsigned most)
{
    const struct vg_jobs_kind_want *kind = &turn->want->kinds[turn->kind];
    sqlite3_stmt *peek = vg_jobs_sqlite_get(conn, VG_SQL_PEEK);
    if (peek == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(peek, 1, kind->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(peek, 2, turn->class);
    (void)sqlite3_bind_int64(peek, 3, turn->now);
    (void)sqlite3_bind_int64(peek, 4, kind->version != 0 ? kind->version : UINT_MAX);
    (void)sqlite3_bind_int64(peek, 5, most);
    return vg_jobs_sqlite_take_rows(conn, peek, turn, false);
}

static int claim(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, int64_t now, vg_jobs_take_fn take,
                 void *arg)
{
    unsigned left = want->count;
    if (want->alone && want->quarantine_first) {
        int taken = claim_quarantined(conn, want, now, take, arg);
        if (taken != 0)
            return taken;
    }
    int64_t allowed[want->kind_count + 1];
    double tokens[want->kind_count + 1];
    for (unsigned i = 0; i < want->kind_count; i++) {
        allowed[i] = allowance(conn, &want->kinds[i], want->count, now, &tokens[i]);
        if (allowed[i] < 0)
            return (int)allowed[i];
    }
    for (int c = 0; c < VIGIL_PRIORITIES; c++)
        for (unsigned n = 0; n < want->kind_count && left > 0; n++) {
            unsigned kind = (want->first_kind + n) % want->kind_count;
            if (allowed[kind] == 0)
                continue;
            struct vg_jobs_turn turn = {
                .want = want, .kind = kind, .class = want->classes[c], .now = now, .take = take, .arg = arg};
            unsigned most = allowed[kind] < left ? (unsigned)allowed[kind] : left;
            int taken =
                want->kinds[kind].fair ? vg_jobs_sqlite_claim_fair(conn, &turn, most) : claim_oldest(conn, &turn, most);
            if (taken < 0)
                return taken;
            left -= (unsigned)taken;
            allowed[kind] -= taken;
            if (taken > 0 && want->kinds[kind].rate != 0) {
                tokens[kind] -= taken;
                int error = spend(conn, &want->kinds[kind], tokens[kind], now);
                if (error != 0)
                    return error;
            }
        }
    /* Otherwise ordinary work goes first: a quarantined job has the process for itself when there is none. */
    if (left == want->count && want->alone)
        return claim_quarantined(conn, want, now, take, arg);
    return (int)(want->count - left);
}

static int64_t earliest(int64_t best, int64_t candidate)
{
    if (candidate < 0)
        candidate = 0;
    return best < 0 || candidate < best ? candidate : best;
}

/* Whether a due job of the kind was left by the claim: its bucket fills with time. Ends ring when a cap was the
   reason. */
static int waits_for_rate(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, int64_t now)
{
    sqlite3_stmt *waits = vg_jobs_sqlite_get(conn, VG_SQL_RATE_WAITS);
    if (waits == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(waits, 1, kind->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(waits, 2, now);
    (void)sqlite3_bind_int64(waits, 3, kind->version != 0 ? kind->version : UINT_MAX);
    int found = sqlite3_step(waits) == SQLITE_ROW;
    (void)sqlite3_reset(waits);
    return found;
}

/* When to look again if nobody rings. The time is that of the claim: a job that came due since then was not seen by
   it. */
static int find_next(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, int64_t now, int64_t *due)
{
    for (unsigned i = 0; i < want->kind_count; i++) {
        for (int c = 0; c < VIGIL_PRIORITIES; c++) {
            sqlite3_stmt *next = vg_jobs_sqlite_get(conn, VG_SQL_NEXT_DUE);
            if (next == NULL)
                return -ENOTCONN;
            (void)sqlite3_bind_text(next, 1, want->kinds[i].name, -1, SQLITE_STATIC);
            (void)sqlite3_bind_int(next, 2, c);
            (void)sqlite3_bind_int64(next, 3, now);
            if (sqlite3_step(next) == SQLITE_ROW && sqlite3_column_type(next, 0) != SQLITE_NULL)
                *due = earliest(*due, sqlite3_column_int64(next, 0) - now);
            (void)sqlite3_reset(next);
        }
        unsigned rate = want->kinds[i].tenant_rate != 0 ? want->kinds[i].tenant_rate : want->kinds[i].rate;
        int waits = rate != 0 ? waits_for_rate(conn, &want->kinds[i], now) : 0;
        if (waits < 0)
            return waits;
        if (waits > 0)
            *due = earliest(*due, 1000 / rate + 1);
    }
    if (want->alone) { /* otherwise the end of the last run makes the runner look */
        sqlite3_stmt *next = vg_jobs_sqlite_get(conn, VG_SQL_NEXT_QUARANTINED);
        if (next == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_int64(next, 1, now);
        if (sqlite3_step(next) == SQLITE_ROW && sqlite3_column_type(next, 0) != SQLITE_NULL)
            *due = earliest(*due, sqlite3_column_int64(next, 0) - now);
        (void)sqlite3_reset(next);
    }
    sqlite3_stmt *fires = vg_jobs_sqlite_get(conn, VG_SQL_NEXT_SCHEDULE);
    if (fires == NULL)
        return -ENOTCONN;
    if (sqlite3_step(fires) == SQLITE_ROW && sqlite3_column_type(fires, 0) != SQLITE_NULL)
        *due = earliest(*due, sqlite3_column_int64(fires, 0) - now);
    (void)sqlite3_reset(fires);
    sqlite3_stmt *next = vg_jobs_sqlite_get(conn, VG_SQL_NEXT_LEASE);
    if (next == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(next, 1, conn->swept);
    if (sqlite3_step(next) == SQLITE_ROW && sqlite3_column_type(next, 0) != SQLITE_NULL)
        *due = earliest(*due, sqlite3_column_int64(next, 0) - vg_jobs_sqlite_lease_now(conn->site) + 1);
    (void)sqlite3_reset(next);
    return 0;
}

int vg_jobs_sqlite_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want)
{
    int found = 0;
    for (unsigned i = 0; i < want->kind_count && found == 0; i++) {
        sqlite3_stmt *look = vg_jobs_sqlite_get(conn, VG_SQL_QUARANTINED);
        if (look == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_text(look, 1, want->kinds[i].name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(look, 2, vg_jobs_sqlite_now(conn->site));
        (void)sqlite3_bind_int64(look, 3, want->kinds[i].version != 0 ? want->kinds[i].version : UINT_MAX);
        int step = sqlite3_step(look);
        found = step == SQLITE_ROW    ? 1
                : step == SQLITE_DONE ? 0
                                      : vg_jobs_sqlite_error(conn, "quarantined jobs cannot be read");
        (void)sqlite3_reset(look);
    }
    return found;
}

static int register_worker(struct vg_jobs_conn *conn)
{
    char identity[96], name[96];
    vg_jobs_identity(identity, sizeof identity, name, sizeof name);
    sqlite3_stmt *insert = vg_jobs_sqlite_get(conn, VG_SQL_WORKER);
    if (insert == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(insert, 2, identity, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(insert, 3, vg_jobs_sqlite_now(conn->site));
    int error = vg_jobs_sqlite_run(conn, insert);
    conn->worker = sqlite3_last_insert_rowid(conn->db);
    return error;
}

int vg_jobs_sqlite_exchange(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                            const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next)
{
    *next = (struct vg_jobs_next){.due_ms = -1};
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    bool new_worker = conn->worker == 0;
    bool ended = false;
    conn->released = false;
    if (new_worker)
        error = register_worker(conn);
    if (error == 0)
        error = record_ends(conn, ends, end_count);
    for (size_t i = 0; i < end_count && error == 0; i++) {
        /* Another process may have left a job of this kind because of the cap. */
        conn->released = conn->released || (ends[i]->capped && ends[i]->accepted);
        ended = ended || ends[i]->outcome <= VG_JOBS_CANCEL;
    }
    if (error == 0 && want->count > 0) {
        int64_t now = vg_jobs_sqlite_now(conn->site);
        int claimed = claim(conn, want, now, take, arg);
        error = claimed < 0 ? claimed : 0;
        next->claimed = claimed < 0 ? 0 : (unsigned)claimed;
        if (error == 0 && next->claimed < want->count)
            error = find_next(conn, want, now, &next->due_ms);
    }
    error = vg_jobs_sqlite_end(conn, error);
    if (error != 0) {
        if (new_worker)
            conn->worker = 0;
        return conn->bad_row ? -EBADMSG : error;
    }
    if (ended)
        vg_jobs_beside_ended_add(conn->site->beside);
    /* Others may take what waits again. And when this process starts to run jobs, those of others that sleep learn
       whose leases they watch; its own runner knows, or is told by the worker that has done its work. */
    if (conn->released)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    else if (next->claimed > 0 && want->alone)
        vg_jobs_beside_ring_others(conn->site->beside, conn->site->slot, VG_JOBS_EVENT_WORK);
    return 0;
}
