/* SPDX-License-Identifier: MIT */
/* sqlite_prune.c - ended jobs that are not kept: too old, or too many. In small steps, by one transaction each. */
#include <errno.h>
#include <time.h>

#include "sqlite.h"

enum {
    COUNT_EVERY_MS = 60000, /* completed jobs are counted by reading as many as are kept */
};

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

static int prune_state(struct vg_jobs_conn *conn, int state, int64_t before, uint64_t kept, unsigned most)
{
    int64_t ended = before - 1, id = INT64_MAX; /* the newest of those that go */
    if (kept != 0) {
        sqlite3_stmt *last = vg_jobs_sqlite_get(conn, VG_SQL_KEPT_LAST);
        if (last == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_int(last, 1, state);
        (void)sqlite3_bind_int64(last, 2, (sqlite3_int64)kept);
        if (sqlite3_step(last) == SQLITE_ROW &&
            sqlite3_column_int64(last, 0) > ended) { /* too many sooner than too old */
            ended = sqlite3_column_int64(last, 0);
            id = sqlite3_column_int64(last, 1);
        }
        (void)sqlite3_reset(last);
    }
    sqlite3_stmt *list = vg_jobs_sqlite_get(conn, VG_SQL_PRUNE_LIST);
    if (list == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int(list, 1, state);
    (void)sqlite3_bind_int64(list, 2, ended);
    (void)sqlite3_bind_int64(list, 3, id);
    (void)sqlite3_bind_int64(list, 4, most);
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
        if (sqlite3_column_int64(list, 1) >= before && conn->pruned_to > conn->prune_below)
            continue;
        error = prune_one(conn, conn->pruned_to);
        count++;
    }
    (void)sqlite3_reset(list);
    if (count == 0 || seen < most)
        conn->pruned_to = 0;
    return error != 0 ? error : count_pruned(conn, VIGIL_JOBS_COMPLETED, count);
}

/* Find where the completed jobs that are kept begin. Outside of a transaction: writers go on. */
static int count_completed(struct vg_jobs_conn *conn, uint64_t kept)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1000000;
    if (kept == 0 || now < conn->kept_at)
        return 0;
    sqlite3_stmt *last = vg_jobs_sqlite_get(conn, VG_SQL_KEPT_LAST_COMPLETED);
    if (last == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(last, 1, (sqlite3_int64)kept);
    int step = sqlite3_step(last);
    if (step == SQLITE_ROW)
        conn->prune_below = sqlite3_column_int64(last, 0);
    int error =
        step == SQLITE_ROW || step == SQLITE_DONE ? 0 : vg_jobs_sqlite_error(conn, "ended jobs cannot be counted");
    (void)sqlite3_reset(last);
    conn->kept_at = now + COUNT_EVERY_MS;
    return error;
}

int vg_jobs_sqlite_prune(struct vg_jobs_conn *conn, const struct vg_jobs_keep *keep, unsigned most)
{
    int error = count_completed(conn, keep->completed_most);
    if (error == 0)
        error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    int64_t now = vg_jobs_sqlite_now(conn->site);
    int total = prune_completed(conn, now - keep->completed_ms, most);
    for (int state = VIGIL_JOBS_DEAD; total >= 0 && state <= VIGIL_JOBS_CANCELLED; state++) {
        int count = prune_state(conn, state, now - keep->dead_ms, keep->dead_most, most);
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
        (void)sqlite3_bind_int64(workers, 1, now - keep->dead_ms);
        (void)sqlite3_bind_int64(workers, 2, conn->worker);
        error = vg_jobs_sqlite_run(conn, workers);
        if (error != 0)
            total = error;
    }
    return vg_jobs_sqlite_end(conn, total);
}
