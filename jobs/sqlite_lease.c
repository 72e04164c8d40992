/* SPDX-License-Identifier: MIT */
/* sqlite_lease.c - the SQLite engine's leases and house: beats, rescue, pruning. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "sqlite.h"

int vg_jobs_sqlite_extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int64_t until = vg_jobs_sqlite_lease_now(conn->site) + lease_ms;
    for (size_t i = 0; i < count && error == 0; i++) {
        struct vg_jobs_lease *lease = &leases[i];
        sqlite3_stmt *extend = vg_jobs_sqlite_get(conn, VG_SQL_EXTEND);
        if (extend == NULL) {
            error = -ENOTCONN;
            break;
        }
        vg_sql_bind_number(extend, 1, lease->id);
        vg_sql_bind_number(extend, 2, lease->number);
        (void)sqlite3_bind_int64(extend, 3, until);
        int step = sqlite3_step(extend);
        lease->beat = step != SQLITE_ROW                   ? VG_JOBS_BEAT_LOST
                      : sqlite3_column_int(extend, 0) != 0 ? VG_JOBS_BEAT_CANCEL
                                                           : VG_JOBS_BEAT_OK;
        (void)sqlite3_reset(extend);
        if (step != SQLITE_ROW && step != SQLITE_DONE)
            error = vg_jobs_sqlite_error(conn, "leases cannot be extended");
        if (error == 0 &&
            (lease->progress >= 0 || lease->text != NULL || lease->checkpoint != NULL || lease->verdict != NULL)) {
            sqlite3_stmt *save = vg_jobs_sqlite_get(conn, VG_SQL_SAVE);
            if (save == NULL) {
                error = -ENOTCONN;
                break;
            }
            vg_sql_bind_number(save, 1, lease->id);
            vg_sql_bind_number(save, 2, lease->number);
            if (lease->progress >= 0)
                (void)sqlite3_bind_double(save, 3, lease->progress);
            (void)sqlite3_bind_text(save, 4, lease->text, -1, SQLITE_STATIC);
            vg_sql_bind_bytes(save, 5, lease->checkpoint, lease->checkpoint_length);
            (void)sqlite3_bind_text(save, 6, lease->verdict, -1, SQLITE_STATIC);
            error = vg_jobs_sqlite_run(conn, save);
        }
    }
    return vg_jobs_sqlite_end(conn, error);
}

/* One lease that ran out. Each row stands for itself: a bad one is buried and does not hold up the sweep. */
static int rescue_row(struct vg_jobs_conn *conn, uint64_t id, uint64_t number, int64_t crashes, uint64_t batch,
                      bool cancelled)
{
    sqlite3_stmt *update;
    if (!cancelled && crashes + 1 < VG_JOBS_CRASHES_DEAD) {
        update = vg_jobs_sqlite_get(conn, VG_SQL_RESCUE);
    } else {
        update = vg_jobs_sqlite_get(conn, VG_SQL_RESCUE_NUMBER);
    }
    if (update == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(update, 1, id);
    vg_sql_bind_number(update, 2, number);
    int error = vg_jobs_sqlite_run(conn, update);
    if (error != 0 || (!cancelled && crashes + 1 < VG_JOBS_CRASHES_DEAD))
        return error;
    struct vg_jobs_end end = {.id = id,
                              .number = number + 1,
                              .batch = batch,
                              .outcome = cancelled ? VG_JOBS_CANCEL : VG_JOBS_BURY,
                              .any_state = true,
                              .error = cancelled ? "cancelled; its process died"
                                                 : "its process died or was cut off three times"};
    int result = vg_jobs_sqlite_bury(conn, &end, cancelled ? VIGIL_JOBS_CANCELLED : VIGIL_JOBS_DEAD);
    return result < 0 ? result : 0;
}

int vg_jobs_sqlite_rescue(struct vg_jobs_conn *conn, unsigned most)
{
    enum {
        ROWS = 128
    };
    struct {
        uint64_t id, number, batch;
        int64_t crashes;
        bool cancelled;
    } rows[ROWS];
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    conn->released = false;
    int found = 0;
    sqlite3_stmt *expired = vg_jobs_sqlite_get(conn, VG_SQL_EXPIRED);
    if (expired == NULL)
        return vg_jobs_sqlite_end(conn, -ENOTCONN);
    (void)sqlite3_bind_int64(expired, 1, vg_jobs_sqlite_lease_now(conn->site));
    (void)sqlite3_bind_int64(expired, 2, most < ROWS ? most : ROWS);
    while (sqlite3_step(expired) == SQLITE_ROW) {
        rows[found].id = (uint64_t)sqlite3_column_int64(expired, 0);
        rows[found].number = (uint64_t)sqlite3_column_int64(expired, 1);
        rows[found].crashes = sqlite3_column_int64(expired, 2);
        rows[found].batch = (uint64_t)sqlite3_column_int64(expired, 3);
        rows[found++].cancelled = sqlite3_column_int(expired, 4) != 0;
    }
    (void)sqlite3_reset(expired);
    for (int i = 0; i < found && error == 0; i++)
        error = rescue_row(conn, rows[i].id, rows[i].number, rows[i].crashes, rows[i].batch, rows[i].cancelled);
    error = vg_jobs_sqlite_end(conn, error);
    if (error == 0 && found > 0) {
        vg_jobs_beside_ended_add(conn->site->beside);
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    }
    return error != 0 ? error : found;
}

static int count_pruned(struct vg_jobs_conn *conn, int state, int count)
{
    sqlite3_stmt *add = count > 0 ? vg_jobs_sqlite_get(conn, VG_SQL_PRUNE_COUNT) : NULL;
    if (add == NULL)
        return count > 0 ? -ENOTCONN : count;
    (void)sqlite3_bind_int(add, 1, state);
    (void)sqlite3_bind_int(add, 2, count);
    int error = vg_jobs_sqlite_run(conn, add);
    return error != 0 ? error : count;
}

static int prune_one(struct vg_jobs_conn *conn, int64_t id)
{
    sqlite3_stmt *prune = vg_jobs_sqlite_get(conn, VG_SQL_PRUNE);
    if (prune == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(prune, 1, id);
    return vg_jobs_sqlite_run(conn, prune);
}

static int prune_state(struct vg_jobs_conn *conn, int state, int64_t before, unsigned most)
{
    sqlite3_stmt *list = vg_jobs_sqlite_get(conn, VG_SQL_PRUNE_LIST);
    if (list == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int(list, 1, state);
    (void)sqlite3_bind_int64(list, 2, before);
    (void)sqlite3_bind_int64(list, 3, most);
    int count = 0, error = 0;
    while (error == 0 && sqlite3_step(list) == SQLITE_ROW) {
        error = prune_one(conn, sqlite3_column_int64(list, 0));
        count++;
    }
    (void)sqlite3_reset(list);
    return error != 0 ? error : count_pruned(conn, state, count);
}

/* Low ids have ended first, nearly always: look at the next ones, and start anew when none of them is old. */
static int prune_completed(struct vg_jobs_conn *conn, int64_t before, unsigned most)
{
    sqlite3_stmt *list = vg_jobs_sqlite_get(conn, VG_SQL_PRUNE_COMPLETED);
    if (list == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(list, 1, conn->pruned_to != 0 ? conn->pruned_to : INT64_MIN);
    (void)sqlite3_bind_int64(list, 2, most);
    int count = 0, error = 0;
    unsigned seen = 0;
    for (; error == 0 && sqlite3_step(list) == SQLITE_ROW; seen++) {
        conn->pruned_to = sqlite3_column_int64(list, 0);
        if (sqlite3_column_int64(list, 1) >= before)
            continue;
        error = prune_one(conn, conn->pruned_to);
        count++;
    }
    (void)sqlite3_reset(list);
    if (count == 0 || seen < most)
        conn->pruned_to = 0;
    return error != 0 ? error : count_pruned(conn, VIGIL_JOBS_COMPLETED, count);
}

int vg_jobs_sqlite_prune(struct vg_jobs_conn *conn, int64_t completed_ms, int64_t dead_ms, unsigned most)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int64_t now = vg_jobs_sqlite_now(conn->site);
    int total = prune_completed(conn, now - completed_ms, most);
    for (int state = VIGIL_JOBS_DEAD; total >= 0 && state <= VIGIL_JOBS_CANCELLED; state++) {
        int count = prune_state(conn, state, now - dead_ms, most);
        total = count < 0 ? count : total + count;
    }
    static const enum vg_jobs_sql passed[] = {VG_SQL_PERIODS_PRUNE, VG_SQL_TENANTS_PRUNE};
    for (size_t i = 0; i < sizeof passed / sizeof *passed && total >= 0; i++) {
        sqlite3_stmt *remove = vg_jobs_sqlite_get(conn, passed[i]);
        if (remove != NULL)
            (void)sqlite3_bind_int64(remove, 1, now);
        error = vg_jobs_sqlite_run(conn, remove);
        if (error != 0)
            total = error;
    }
    sqlite3_stmt *workers = total >= 0 ? vg_jobs_sqlite_get(conn, VG_SQL_WORKERS_PRUNE) : NULL;
    if (workers != NULL) {
        (void)sqlite3_bind_int64(workers, 1, now - dead_ms);
        (void)sqlite3_bind_int64(workers, 2, conn->worker);
        error = vg_jobs_sqlite_run(conn, workers);
        if (error != 0)
            total = error;
    }
    return vg_jobs_sqlite_end(conn, total);
}

/* A reader that stays in its transaction keeps the log from starting anew: it grows with every commit. */
int vg_jobs_sqlite_pinned(struct vg_jobs_conn *conn, int64_t older_ms, int64_t *age_ms, char *text, size_t room)
{
    int frames = 0, done = 0;
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1000000;
    int result = sqlite3_wal_checkpoint_v2(conn->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &done);
    *age_ms = 0;
    if (result != SQLITE_OK && result != SQLITE_BUSY)
        return vg_jobs_sqlite_error(conn, "the log cannot be emptied");
    if (result == SQLITE_BUSY) /* another process is at it */
        return 0;
    if (frames == done)
        conn->log_behind = 0;
    else if (conn->log_behind == 0)
        conn->log_behind = now;
    if (conn->log_behind == 0 || now - conn->log_behind < older_ms)
        return 0;
    *age_ms = now - conn->log_behind + 1;
    (void)snprintf(text, room,
                   "a reader of %.120s has a transaction that is open for %lld s. The log beside the database grows "
                   "until it ends.",
                   conn->site->path, (long long)(*age_ms / 1000));
    return 0;
}
