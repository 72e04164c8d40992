/* SPDX-License-Identifier: MIT */
/* sqlite_many.c - many jobs in one statement: by ranges of ids or by a list; completions without result and batch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite.h"

void vg_jobs_ids_begin(struct vg_jobs_conn *conn)
{
    conn->ids.count = 0;
}

int vg_jobs_ids_add(struct vg_jobs_conn *conn, uint64_t id)
{
    struct vg_jobs_ids *ids = &conn->ids;
    if (ids->count == ids->room) {
        size_t room = ids->room * 2 + 512;
        uint64_t *more = realloc(ids->list, room * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        ids->list = more;
        ids->room = room;
    }
    ids->list[ids->count++] = id;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* In order, for the ranges. Gives how many ranges there are. */
static size_t sort_ids(struct vg_jobs_ids *ids)
{
    bool sorted = true;
    for (size_t i = 1; i < ids->count && sorted; i++)
        sorted = ids->list[i - 1] < ids->list[i];
    if (!sorted)
        qsort(ids->list, ids->count, sizeof *ids->list, by_id);
    size_t ranges = ids->count > 0;
    for (size_t i = 1; i < ids->count; i++)
        ranges += ids->list[i] != ids->list[i - 1] + 1;
    return ranges;
}

static int write_ids(struct vg_jobs_ids *ids)
{
    if (ids->text_room < ids->count * 24 + 2) {
        char *more = realloc(ids->text, ids->count * 24 + 2);
        if (more == NULL)
            return -ENOMEM;
        ids->text = more;
        ids->text_room = ids->count * 24 + 2;
    }
    char *end = ids->text;
    for (size_t i = 0; i < ids->count; i++)
        end += sprintf(end, "%c%llu", i == 0 ? '[' : ',', (unsigned long long)ids->list[i]);
    *end++ = ']';
    return (int)(end - ids->text);
}

static int run_bound(struct vg_jobs_conn *conn, sqlite3_stmt *statement, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        (void)sqlite3_bind_int64(statement, 3 + i, values[i]);
    int error = vg_jobs_sqlite_run(conn, statement);
    return error != 0 ? error : sqlite3_changes(conn->db);
}

int vg_jobs_ids_run(struct vg_jobs_conn *conn, enum vg_jobs_sql range, enum vg_jobs_sql list, const int64_t *values,
                    int count)
{
    struct vg_jobs_ids *ids = &conn->ids;
    size_t ranges = sort_ids(ids);
    int total = 0;
    if (ranges > 1 && ranges * 4 > ids->count) {
        int length = write_ids(ids);
        sqlite3_stmt *statement = length < 0 ? NULL : vg_jobs_sqlite_get(conn, list);
        if (statement == NULL)
            return length < 0 ? length : -ENOTCONN;
        (void)sqlite3_bind_text(statement, 1, ids->text, length, SQLITE_STATIC);
        return run_bound(conn, statement, values, count);
    }
    for (size_t from = 0, to; from < ids->count; from = to) {
        to = from + 1;
        while (to < ids->count && ids->list[to] == ids->list[to - 1] + 1)
            to++;
        sqlite3_stmt *statement = vg_jobs_sqlite_get(conn, range);
        if (statement == NULL)
            return -ENOTCONN;
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)ids->list[from]);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)ids->list[to - 1]);
        int changed = run_bound(conn, statement, values, count);
        if (changed < 0)
            return changed;
        total += changed;
    }
    return total;
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
    int64_t values[] = {(int64_t)number, vg_jobs_sqlite_now(conn->site)};
    return vg_jobs_ids_run(conn, VG_SQL_COMPLETE_RANGE, VG_SQL_COMPLETE_LIST, values, 2);
}

static int delete_listed(struct vg_jobs_conn *conn, uint64_t number)
{
    int64_t values[] = {(int64_t)number};
    int deleted = vg_jobs_ids_run(conn, VG_SQL_DELETE_RANGE, VG_SQL_DELETE_LIST, values, 1);
    return deleted < 0 ? deleted : 0;
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
