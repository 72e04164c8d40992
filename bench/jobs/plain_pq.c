/* SPDX-License-Identifier: MIT */
/* plain_pq.c - a plain PostgreSQL table with SKIP LOCKED: deletion and claim in one pipeline and one transaction. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

static void stop(PGconn *pg, const char *what)
{
    (void)fprintf(stderr, "plain table: %s: %s\n", what, PQerrorMessage(pg));
    exit(1);
}

static PGconn *connect_to(const char *where)
{
    PGconn *pg = PQconnectdb(where);
    if (PQstatus(pg) != CONNECTION_OK)
        stop(pg, "connect");
    PQclear(PQexec(pg, "SET client_min_messages = warning"));
    return pg;
}

static void execute(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        stop(pg, sql);
    PQclear(result);
}

static PGresult *next(PGconn *pg)
{
    PGresult *result = PQgetResult(pg);
    return result != NULL ? result : PQgetResult(pg);
}

/* Claimed ids as an array, for the deletion. Gives how many. */
static int list_ids(const PGresult *rows, char *list)
{
    int count = PQntuples(rows);
    char *end = list;
    *end++ = '{';
    for (int i = 0; i < count; i++)
        end += sprintf(end, "%s%s", i > 0 ? "," : "", PQgetvalue(rows, i, 0));
    (void)strcpy(end, "}");
    return count;
}

struct plain_result plain_pq(const char *where, uint64_t count, int batch)
{
    static char list[512 * 21];
    char sql[512];
    PGconn *pg = connect_to(where);
    execute(pg, "DROP TABLE IF EXISTS bench_plain");
    execute(pg, "CREATE TABLE bench_plain(id bigserial PRIMARY KEY, attempt int NOT NULL DEFAULT 0, state int NOT NULL "
                "DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), payload bytea)");
    execute(pg, "CREATE INDEX ON bench_plain(run_at, id) WHERE state = 0");
    (void)snprintf(sql, sizeof sql, "INSERT INTO bench_plain(payload) SELECT '12345678' FROM generate_series(1, %llu)",
                   (unsigned long long)count);
    execute(pg, sql);
    execute(pg, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off");
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE bench_plain SET state = 1, attempt = attempt + 1 WHERE id = ANY(ARRAY(SELECT id FROM bench_plain "
        "WHERE state = 0 AND run_at <= now() ORDER BY run_at, id LIMIT %d FOR UPDATE SKIP LOCKED)) RETURNING id, "
        "attempt, payload",
        batch);
    PQclear(PQprepare(pg, "claim", sql, 0, NULL));
    PQclear(PQprepare(pg, "end", "DELETE FROM bench_plain WHERE id = ANY($1::bigint[]) AND attempt = 1", 0, NULL));
    if (PQenterPipelineMode(pg) == 0)
        stop(pg, "pipeline");
    struct plain_result result = {.cpu = bench_cpu_seconds()};
    uint64_t start = bench_now_ns();
    int held = 0;
    do {
        const char *values[] = {list};
        if (held > 0)
            (void)PQsendQueryPrepared(pg, "end", 1, values, NULL, NULL, 0);
        (void)PQsendQueryPrepared(pg, "claim", 0, NULL, NULL, NULL, 0);
        (void)PQpipelineSync(pg);
        if (held > 0)
            PQclear(next(pg));
        result.done += (uint64_t)held;
        PGresult *rows = next(pg);
        if (PQresultStatus(rows) != PGRES_TUPLES_OK)
            stop(pg, "claim");
        held = list_ids(rows, list);
        PQclear(rows);
        PQclear(next(pg)); /* the sync */
    } while (held > 0);
    result.seconds = (double)(bench_now_ns() - start) / 1e9;
    result.cpu = bench_cpu_seconds() - result.cpu;
    (void)PQexitPipelineMode(pg);
    execute(pg, "DROP TABLE bench_plain");
    PQfinish(pg);
    return result;
}

void fill_pq(const char *where, uint64_t rows, bool ended)
{
    char sql[512];
    PGconn *pg = connect_to(where);
    (void)snprintf(
        sql, sizeof sql,
        "INSERT INTO %s SELECT %s FROM generate_series(1, %llu) i; INSERT INTO vigil_jobs_counts VALUES(%llu)",
        ended ? "vigil_jobs_ended(id, kind, class, state, due, number, created, ended, errors, crashes, version)"
              : "vigil_jobs(kind, class, state, due, created, version, payload)",
        ended ? "-i, 'old', 2, 4, 0, 1, 0, extract(epoch from now()) * 1000, 0, 0, 0" : "'nothing', 2, 0, 0, 0, 0, ''",
        (unsigned long long)rows, (unsigned long long)rows);
    execute(pg, sql);
    PQfinish(pg);
}

void *foreign_begin(const char *where)
{
    PGconn *pg = connect_to(where);
    execute(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    execute(pg, "SELECT count(*) FROM pg_class");
    return pg;
}

void foreign_end(void *connection)
{
    execute(connection, "COMMIT");
    PQfinish(connection);
}
