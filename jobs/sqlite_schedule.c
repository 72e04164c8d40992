/* SPDX-License-Identifier: MIT */
/* sqlite_schedule.c - schedules in SQLite. */
#include <errno.h>
#include <stdlib.h>

#include "sqlite.h"

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

int vg_jobs_sqlite_clock(struct vg_jobs_conn *conn, int64_t *now_ms)
{
    *now_ms = vg_jobs_sqlite_now(conn->site);
    return 0;
}

int vg_jobs_sqlite_schedule_set(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    const struct vg_jobs_new *job = &schedule->job;
    sqlite3_stmt *set = vg_jobs_sqlite_get(conn, VG_SQL_SCHEDULE_SET);
    if (set == NULL)
        return vg_jobs_sqlite_end(conn, -ENOTCONN);
    bind_text(set, 1, schedule->name);
    bind_text(set, 2, job->kind);
    (void)sqlite3_bind_int(set, 3, job->priority);
    bind_text(set, 4, schedule->cron);
    bind_text(set, 5, schedule->zone);
    (void)sqlite3_bind_int(set, 6, schedule->catch_up);
    (void)sqlite3_bind_int64(set, 7, schedule->next_ms);
    (void)sqlite3_bind_int64(set, 8, job->version);
    bind_text(set, 9, job->content_type);
    (void)sqlite3_bind_int64(set, 10, job->max_errors);
    (void)sqlite3_bind_int64(set, 11, job->limit_ms);
    (void)sqlite3_bind_blob64(set, 12, job->payload != NULL ? job->payload : "", job->length, SQLITE_STATIC);
    return vg_jobs_sqlite_end(conn, vg_jobs_sqlite_run(conn, set));
}

int vg_jobs_sqlite_schedule_remove(struct vg_jobs_conn *conn, const char *name)
{
    int error = vg_jobs_sqlite_begin(conn);
    if (error != 0)
        return error;
    sqlite3_stmt *remove = vg_jobs_sqlite_get(conn, VG_SQL_SCHEDULE_REMOVE);
    if (remove == NULL)
        return vg_jobs_sqlite_end(conn, -ENOTCONN);
    bind_text(remove, 1, name);
    error = vg_jobs_sqlite_run(conn, remove);
    return vg_jobs_sqlite_end(conn, error != 0 ? error : sqlite3_changes(conn->db));
}

int vg_jobs_sqlite_schedule_look(struct vg_jobs_conn *conn, int64_t due_ms, vg_jobs_schedule_fn see, void *arg)
{
    sqlite3_stmt *look = vg_jobs_sqlite_get(conn, VG_SQL_SCHEDULE_LOOK);
    if (look == NULL)
        return -ENOTCONN;
    (void)sqlite3_bind_int64(look, 1, due_ms);
    int step;
    while ((step = sqlite3_step(look)) == SQLITE_ROW) {
        struct vg_jobs_schedule schedule = {
            .name = (const char *)sqlite3_column_text(look, 0),
            .cron = (const char *)sqlite3_column_text(look, 3),
            .zone = (const char *)sqlite3_column_text(look, 4),
            .catch_up = sqlite3_column_int(look, 5),
            .next_ms = sqlite3_column_int64(look, 6),
            .last_ms = sqlite3_column_int64(look, 7),
            .job = {.kind = (const char *)sqlite3_column_text(look, 1),
                    .priority = sqlite3_column_int(look, 2),
                    .version = (unsigned)sqlite3_column_int64(look, 8),
                    .content_type = (const char *)sqlite3_column_text(look, 9),
                    .max_errors = (unsigned)sqlite3_column_int64(look, 10),
                    .limit_ms = sqlite3_column_int64(look, 11),
                    .payload = sqlite3_column_blob(look, 12),
                    .length = (size_t)sqlite3_column_bytes(look, 12)},
        };
        see(&schedule, arg);
    }
    int error = step == SQLITE_DONE ? 0 : vg_jobs_sqlite_error(conn, "the schedules cannot be read");
    (void)sqlite3_reset(look);
    return error;
}

static int move_on(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                   const int64_t *times, size_t count)
{
    sqlite3_stmt *move = vg_jobs_sqlite_get(conn, VG_SQL_SCHEDULE_MOVE);
    if (move == NULL)
        return -ENOTCONN;
    bind_text(move, 1, schedule->name);
    (void)sqlite3_bind_int64(move, 2, schedule->next_ms);
    (void)sqlite3_bind_int64(move, 3, next_ms);
    if (count > 0)
        (void)sqlite3_bind_int64(move, 4, times[count - 1]);
    int error = vg_jobs_sqlite_run(conn, move);
    return error != 0 ? error : sqlite3_changes(conn->db);
}

int vg_jobs_sqlite_schedule_fire(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                                 const int64_t *times, size_t count)
{
    struct vg_jobs_new *jobs = calloc(count + 1, sizeof *jobs);
    if (jobs == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        jobs[i] = schedule->job;
        jobs[i].at_ms = times[i];
        jobs[i].at_exactly = true;
    }
    int error = vg_jobs_sqlite_begin(conn);
    if (error == 0) {
        int moved = move_on(conn, schedule, next_ms, times, count);
        if (moved > 0 && count > 0)
            error = vg_jobs_sqlite_insert(conn, jobs, count);
        error = vg_jobs_sqlite_end(conn, moved <= 0 ? moved : error < 0 ? error : moved);
    }
    if (error > 0 && count > 0)
        vg_jobs_beside_ring_all(conn->site->beside, VG_JOBS_EVENT_WORK);
    free(jobs);
    return error;
}
