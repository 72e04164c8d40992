/* SPDX-License-Identifier: MIT */
/* sqlite_many.c - many completions in one statement: those without result and batch, grouped by their number. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite.h"

void vg_jobs_ids_begin(struct vg_jobs_conn *conn)
{
    conn->ids.length = 0;
}

int vg_jobs_ids_add(struct vg_jobs_conn *conn, uint64_t id)
{
    struct vg_jobs_ids *ids = &conn->ids;
    if (ids->room - ids->length < 24) {
        size_t room = ids->room * 2 + 4096;
        char *more = realloc(ids->text, room);
        if (more == NULL)
            return -ENOMEM;
        ids->text = more;
        ids->room = room;
    }
    int added = snprintf(ids->text + ids->length, 24, "%c%llu", ids->length == 0 ? '[' : ',', (unsigned long long)id);
    ids->length += (size_t)added;
    return 0;
}

void vg_jobs_ids_bind(struct vg_jobs_conn *conn, sqlite3_stmt *statement)
{
    conn->ids.text[conn->ids.length] = ']'; /* in place of the zero */
    (void)sqlite3_bind_text(statement, 1, conn->ids.text, (int)conn->ids.length + 1, SQLITE_STATIC);
}

static bool is_plain(const struct vg_jobs_end *end)
{
    return end->outcome == VG_JOBS_COMPLETE && end->result == NULL && end->batch == 0;
}

/* Some numbers are old: ask for each, before the rows are deleted. */
static int ask_each(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, const bool *chosen, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i])
            continue;
        sqlite3_stmt *mine = vg_jobs_sqlite_get(conn, VG_SQL_IS_MINE);
        if (mine == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_int64(mine, 1, (sqlite3_int64)ends[i]->id);
        (void)sqlite3_bind_int64(mine, 2, (sqlite3_int64)ends[i]->number);
        ends[i]->accepted = sqlite3_step(mine) == SQLITE_ROW;
        (void)sqlite3_reset(mine);
    }
    return 0;
}

/* Move the listed jobs, which have this number. Gives how many there were. */
static int move_listed(struct vg_jobs_conn *conn, uint64_t number)
{
    sqlite3_stmt *complete = vg_jobs_sqlite_get(conn, VG_SQL_COMPLETE_MANY);
    if (complete == NULL)
        return -ENOTCONN;
    vg_jobs_ids_bind(conn, complete);
    (void)sqlite3_bind_int64(complete, 2, (sqlite3_int64)number);
    (void)sqlite3_bind_int64(complete, 3, vg_jobs_sqlite_now(conn->site));
    int error = vg_jobs_sqlite_run(conn, complete);
    return error != 0 ? error : sqlite3_changes(conn->db);
}

static int delete_listed(struct vg_jobs_conn *conn, uint64_t number)
{
    sqlite3_stmt *delete = vg_jobs_sqlite_get(conn, VG_SQL_DELETE_MANY);
    if (delete == NULL)
        return -ENOTCONN;
    vg_jobs_ids_bind(conn, delete);
    (void)sqlite3_bind_int64(delete, 2, (sqlite3_int64)number);
    return vg_jobs_sqlite_run(conn, delete);
}

int vg_jobs_sqlite_complete_many(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, bool *done)
{
    /* The number of the first is nearly always that of all; the others are recorded one by one. */
    uint64_t number = 0;
    size_t listed = 0;
    vg_jobs_ids_begin(conn);
    for (size_t i = 0; i < count; i++) {
        done[i] = is_plain(ends[i]) && (listed == 0 || ends[i]->number == number);
        if (!done[i])
            continue;
        number = ends[i]->number;
        ends[i]->accepted = true;
        listed++;
        if (vg_jobs_ids_add(conn, ends[i]->id) != 0)
            return -ENOMEM;
    }
    if (listed == 0)
        return 0;
    int moved = move_listed(conn, number);
    int error = moved < 0 ? moved : 0;
    if (error == 0 && (size_t)moved != listed)
        error = ask_each(conn, ends, done, count);
    return error != 0 ? error : delete_listed(conn, number);
}
