/* SPDX-License-Identifier: MIT */
/* pq_schedule.c - schedules in PostgreSQL. */
#include <errno.h>
#include <stdlib.h>

#include "pq.h"
#include "pq_array.h"

int vg_pq_clock(struct vg_jobs_conn *conn, int64_t *now_ms)
{
    PGresult *result = NULL;
    int error = vg_pq_run(conn, VG_PQ_CLOCK, NULL, &result);
    if (error == 0)
        *now_ms = vg_pq_get_number(result, 0, 0);
    PQclear(result);
    return error;
}

int vg_pq_schedule_set(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule)
{
    const struct vg_jobs_new *job = &schedule->job;
    struct vg_pq_call call = {.count = 0};
    vg_pq_text_of(&call, schedule->name);
    vg_pq_text_of(&call, job->kind);
    vg_pq_number(&call, job->priority);
    vg_pq_text_of(&call, schedule->cron);
    vg_pq_text_of(&call, schedule->zone);
    vg_pq_number(&call, schedule->catch_up);
    vg_pq_number(&call, schedule->next_ms);
    vg_pq_number(&call, job->version);
    vg_pq_text_of(&call, job->content_type);
    vg_pq_number(&call, job->max_errors);
    vg_pq_number(&call, job->limit_ms);
    vg_pq_bytes(&call, job->payload != NULL ? job->payload : "", job->length);
    return vg_pq_run(conn, VG_PQ_SCHEDULE_SET, &call, NULL);
}

int vg_pq_schedule_remove(struct vg_jobs_conn *conn, const char *name)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_text_of(&call, name);
    int error = vg_pq_run(conn, VG_PQ_SCHEDULE_REMOVE, &call, &result);
    int removed = error == 0 ? PQntuples(result) : error;
    PQclear(result);
    return removed;
}

int vg_pq_schedule_look(struct vg_jobs_conn *conn, int64_t due_ms, vg_jobs_schedule_fn see, void *arg)
{
    struct vg_pq_call call = {.count = 0};
    PGresult *rows = NULL;
    vg_pq_number(&call, due_ms);
    int error = vg_pq_run(conn, VG_PQ_SCHEDULE_LOOK, &call, &rows);
    for (int i = 0; error == 0 && i < PQntuples(rows); i++) {
        struct vg_jobs_schedule schedule = {
            .name = vg_pq_get_text(rows, i, 0),
            .cron = vg_pq_get_text(rows, i, 3),
            .zone = vg_pq_get_text(rows, i, 4),
            .catch_up = vg_pq_get_int(rows, i, 5),
            .next_ms = vg_pq_get_number(rows, i, 6),
            .last_ms = vg_pq_get_number(rows, i, 7),
            .job = {.kind = vg_pq_get_text(rows, i, 1),
                    .priority = vg_pq_get_int(rows, i, 2),
                    .version = (unsigned)vg_pq_get_int(rows, i, 8),
                    .content_type = PQgetisnull(rows, i, 9) ? NULL : PQgetvalue(rows, i, 9),
                    .max_errors = (unsigned)vg_pq_get_int(rows, i, 10),
                    .limit_ms = vg_pq_get_number(rows, i, 11),
                    .payload = PQgetvalue(rows, i, 12),
                    .length = (size_t)PQgetlength(rows, i, 12)},
        };
        see(&schedule, arg);
    }
    PQclear(rows);
    return error;
}

/* The row in the table says what is enqueued: it may have been set anew since it was looked at. */
int vg_pq_schedule_fire(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                        const int64_t *times, size_t count)
{
    struct vg_pq_array list = {0};
    for (size_t i = 0; i < count; i++)
        vg_pq_array_number(&list, times[i]);
    struct vg_pq_call call = {.count = 0};
    PGresult *result = NULL;
    vg_pq_text_of(&call, schedule->name);
    vg_pq_number(&call, schedule->next_ms);
    vg_pq_number(&call, next_ms);
    vg_pq_text_of(&call, vg_pq_array_text(&list));
    vg_pq_number_or_null(&call, count > 0 ? times[count - 1] : 0);
    int error = call.values[3] == NULL ? -ENOMEM : vg_pq_run(conn, VG_PQ_SCHEDULE_FIRE, &call, &result);
    int moved = error == 0 ? PQntuples(result) : error;
    PQclear(result);
    free(list.text);
    return moved;
}
