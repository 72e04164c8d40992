/* SPDX-License-Identifier: MIT */
/* plain_sqlite.c - a plain SQLite table with BEGIN IMMEDIATE and synchronous=FULL. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plain.h"

static void execute(sqlite3 *db, const char *sql)
{
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
        (void)fprintf(stderr, "plain table: %s\n", error);
        exit(1);
    }
}

static void step(sqlite3_stmt *statement)
{
    (void)sqlite3_step(statement);
    (void)sqlite3_reset(statement);
}

static sqlite3 *open_table(const char *path, uint64_t count)
{
    char sql[256];
    sqlite3 *db;
    (void)unlink(path);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        exit(1);
    execute(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;"
                "CREATE TABLE q(id INTEGER PRIMARY KEY, state INT, run_at INT, payload BLOB);"
                "CREATE INDEX w ON q(run_at) WHERE state = 0");
    (void)snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %llu) INSERT INTO q(state, "
        "run_at, payload) SELECT 0, i, x'3132333435363738' FROM n",
        (unsigned long long)count);
    execute(db, sql);
    return db;
}

struct plain_result plain_sqlite(const char *where, uint64_t count, int batch)
{
    char path[512], sql[256];
    (void)snprintf(path, sizeof path, "%s-plain", where);
    sqlite3 *db = open_table(path, count);
    sqlite3_stmt *begin, *commit, *claim, *delete;
    (void)snprintf(sql, sizeof sql,
                   "UPDATE q SET state = 1 WHERE id IN (SELECT id FROM q WHERE state = 0 ORDER BY run_at LIMIT %d) "
                   "RETURNING id",
                   batch);
    (void)sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, NULL);
    (void)sqlite3_prepare_v2(db, "COMMIT", -1, &commit, NULL);
    (void)sqlite3_prepare_v2(db, sql, -1, &claim, NULL);
    (void)sqlite3_prepare_v2(db, "DELETE FROM q WHERE id = ?1", -1, &delete, NULL);
    struct plain_result result = {.cpu = bench_cpu_seconds()};
    uint64_t start = bench_now_ns();
    sqlite3_int64 ids[512];
    int held = 0;
    do {
        step(begin);
        for (int i = 0; i < held; i++) {
            (void)sqlite3_bind_int64(delete, 1, ids[i]);
            step(delete);
        }
        result.done += (uint64_t)held;
        held = 0;
        while (sqlite3_step(claim) == SQLITE_ROW)
            ids[held++] = sqlite3_column_int64(claim, 0);
        (void)sqlite3_reset(claim);
        step(commit);
    } while (held > 0);
    result.seconds = (double)(bench_now_ns() - start) / 1e9;
    result.cpu = bench_cpu_seconds() - result.cpu;
    (void)sqlite3_finalize(begin), (void)sqlite3_finalize(commit), (void)sqlite3_finalize(claim);
    (void)sqlite3_finalize(delete);
    (void)sqlite3_close(db);
    (void)unlink(path);
    return result;
}

void fill_sqlite(const char *where, uint64_t rows, bool ended)
{
    char sql[512];
    sqlite3 *db;
    if (sqlite3_open(where, &db) != SQLITE_OK)
        exit(1);
    (void)sqlite3_busy_timeout(db, 60000);
    (void)snprintf(
        sql, sizeof sql,
        "BEGIN IMMEDIATE; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %llu) INSERT INTO "
        "%s SELECT %s FROM n; INSERT INTO vigil_jobs_meta VALUES('enqueued', %llu) ON CONFLICT(name) DO UPDATE SET "
        "value = "
        "value + %llu; COMMIT",
        (unsigned long long)rows,
        ended ? "vigil_jobs_ended(id, kind, class, state, due, number, created, ended, errors, crashes, version)"
              : "vigil_jobs(kind, class, state, due, created, version, payload)",
        ended ? "-i, 'old', 2, 4, 0, 1, 0, strftime('%s', 'now') * 1000, 0, 0, 0" : "'nothing', 2, 0, 0, 0, 0, x''",
        (unsigned long long)rows, (unsigned long long)rows);
    execute(db, sql);
    (void)sqlite3_close(db);
}
