/* SPDX-License-Identifier: MIT */
/* sqlite_lease.c - the SQLite engine's leases and house: beats, rescue, the log. */
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
    error = vg_jobs_sqlite_end(conn, error);
    return error != 0 && conn->bad_row ? -EBADMSG : error;
}

struct expired {
    uint64_t id, number, batch;
    int64_t crashes;
    bool cancelled;
};

/* One lease that ran out. */
static int rescue_row(struct vg_jobs_conn *conn, const struct expired *row)
{
    bool waits = !row->cancelled && row->crashes + 1 < VG_JOBS_CRASHES_DEAD;
    sqlite3_stmt *update = vg_jobs_sqlite_get(conn, waits ? VG_SQL_RESCUE : VG_SQL_RESCUE_NUMBER);
    if (update == NULL)
        return -ENOTCONN;
    vg_sql_bind_number(update, 1, row->id);
    vg_sql_bind_number(update, 2, row->number);
    int error = vg_jobs_sqlite_run(conn, update);
    if (error != 0 || waits)
        return error;
    struct vg_jobs_end end = {.id = row->id,
                              .number = row->number + 1,
                              .batch = row->batch,
                              .outcome = row->cancelled ? VG_JOBS_CANCEL : VG_JOBS_BURY,
                              .any_state = true,
                              .error = row->cancelled ? "cancelled; its process died"
                                                      : "its process died or was cut off three times"};
    int result = vg_jobs_sqlite_bury(conn, &end, row->cancelled ? VIGIL_JOBS_CANCELLED : VIGIL_JOBS_DEAD);
    return result < 0 ? result : 0;
}

/* A row that the database refuses to change is left as it is: 1. */
static int rescue_apart(struct vg_jobs_conn *conn, const struct expired *row)
{
    int error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_ROW_BEGIN));
    if (error != 0)
        return error;
    conn->bad_row = false;
    error = rescue_row(conn, row);
    bool bad = error != 0 && conn->bad_row && sqlite3_get_autocommit(conn->db) == 0;
    if (error != 0 && !bad)
        return error;
    if (bad)
        error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_ROW_UNDO));
    if (error == 0)
        error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_ROW_END));
    return error != 0 ? error : bad;
}

/* The next rows whose lease ran out, after the bad ones, which stay in front. Gives how many. */
static int list_expired(struct vg_jobs_conn *conn, int64_t now, unsigned bad, struct expired *rows, unsigned most)
{
    sqlite3_stmt *list = vg_jobs_sqlite_get(conn, VG_SQL_EXPIRED);
    if (list == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(list, 1, now);
    (void)sqlite3_bind_int64(list, 2, most);
    (void)sqlite3_bind_int64(list, 3, bad);
    int found = 0;
    while (sqlite3_step(list) == SQLITE_ROW)
        rows[found++] = (struct expired){.id = (uint64_t)sqlite3_column_int64(list, 0),
                                         .number = (uint64_t)sqlite3_column_int64(list, 1),
                                         .crashes = sqlite3_column_int64(list, 2),
                                         .batch = (uint64_t)sqlite3_column_int64(list, 3),
                                         .cancelled = sqlite3_column_int(list, 4) != 0};
    (void)sqlite3_reset(list);
    return found;
}

int vg_jobs_sqlite_rescue(struct vg_jobs_conn *conn, unsigned most, struct vg_jobs_bad *bad)
{
    enum {
        ROWS = 128
    };
    struct expired rows[ROWS];
    int error = vg_jobs_sqlite_begin(conn), found = 0;
    if (error != 0)
        return error;
    int64_t now = vg_jobs_sqlite_lease_now(conn->site);
    unsigned page = most < ROWS ? most : ROWS, rescued = 0;
    conn->released = false;
    do {
        found = list_expired(conn, now, bad->count, rows, page);
        error = found < 0 ? found : 0;
        for (int i = 0; i < found && error >= 0; i++) {
            error = rescue_apart(conn, &rows[i]);
            rescued += error == 0;
            if (error != 1)
                continue;
            if (bad->count++ > 0)
                continue;
            bad->id = rows[i].id;
            (void)snprintf(bad->why, sizeof bad->why, "%s", vigil_jobs_why());
        }
    } while (error >= 0 && found == (int)page && rescued == 0); /* nothing but bad ones: there may be others behind */
    error = vg_jobs_sqlite_end(conn, error < 0 ? error : 0);
    if (error != 0)
        return error;
    conn->swept = bad->count > 0 && found < (int)page ? now : 0;
    if (rescued > 0) {
        vg_jobs_beside_ended_add(conn->site->beside);
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    }
    return (int)rescued;
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
