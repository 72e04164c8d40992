/* SPDX-License-Identifier: MIT */
/* The suite of the engines on PostgreSQL, in a schema that every test makes anew. */
#include "server.h"
#include "suite.h"
#include "suite_dead.h"
#include "suite_limits.h"
#include "suite_many.h"
#include "suite_spool.h"
#include "suite_wait.h"

#include <libpq-fe.h>

static struct server server;
static char where[256];
static unsigned number;

static void execute(const char *address, const char *sql)
{
    PGconn *connection = PQconnectdb(address);
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        print_error("%s: %s\n", sql, PQerrorMessage(connection));
        support_fail(sql, __FILE__, __LINE__);
    }
    PQclear(result);
    PQfinish(connection);
}

/* A schema is cheaper than a database. */
static const char *fresh_queue(void)
{
    char base[160], sql[64];
    server_where(&server, "postgres", base, sizeof base);
    (void)snprintf(sql, sizeof sql, "CREATE SCHEMA t%u", number);
    execute(base, sql);
    (void)snprintf(where, sizeof where, "%s&options=-csearch_path%%3Dt%u", base, number++);
    return where;
}

static void expire_leases(vigil_jobs *jobs)
{
    (void)jobs;
    execute(where, "UPDATE vigil_jobs SET lease = 0 WHERE state = 1; SELECT pg_notify('vigil_jobs', 't')");
}

static void make_due(vigil_jobs *jobs)
{
    (void)jobs;
    execute(where, "UPDATE vigil_jobs SET due = 0 WHERE state <> 1; UPDATE vigil_jobs_periods SET until = 0; "
                   "SELECT pg_notify('vigil_jobs', 't')");
}

/* The fire times come nearer: the clock is the server's. */
static void pass_days(vigil_jobs *jobs, int days)
{
    char sql[160];
    (void)jobs;
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE vigil_jobs_schedules SET next = next - %d * 86400000::bigint; SELECT pg_notify('vigil_jobs', 't')",
        days);
    execute(where, sql);
}

static void *begin_transaction(const char *address)
{
    PGconn *connection = PQconnectdb(address);
    PQclear(PQexec(connection, "BEGIN"));
    must_equal(PQtransactionStatus(connection), PQTRANS_INTRANS);
    return connection;
}

static void end_transaction(void *connection, bool commit)
{
    PQclear(PQexec(connection, commit ? "COMMIT" : "ROLLBACK"));
    PQfinish(connection);
}

static void run_sql(const char *address, const char *sql)
{
    execute(address, sql);
}

static const char *unsafe_queue(const char **word)
{
    *word = "fsync is off"; /* as the server of this test was started */
    return fresh_queue();
}

static void a_transaction_that_is_open_for_long_is_told(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct lines lines = {0};
    PGconn *connection = begin_transaction(where);
    PQclear(PQexec(connection, "CREATE TABLE x(y int)"));
    must(vigil_jobs_check(jobs, 1, keep_line, &lines) > 0);
    must(strstr(lines.text, "a transaction has been open") != NULL);
    end_transaction(connection, false);
    lines = (struct lines){0};
    must(vigil_jobs_check(jobs, 1, keep_line, &lines) >= 0);
    must(strstr(lines.text, "a transaction has been open") == NULL);
    vigil_jobs_close(jobs);
}

static void engine_goes_away(const char *address)
{
    (void)address;
    must_equal(server_stop(&server, "immediate"), 0);
}

static void engine_comes_back(const char *address)
{
    (void)address;
    must_equal(server_start(&server), 0);
}

static void a_role_without_the_right_to_make_tables_works(void **state)
{
    (void)state;
    vigil_jobs_close(open_queue(fresh_queue())); /* the owner makes the tables */
    char sql[400], as_worker[300];
    (void)snprintf(
        sql, sizeof sql,
        "CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA t%u TO worker; GRANT SELECT, INSERT, UPDATE, DELETE "
        "ON ALL TABLES IN SCHEMA t%u TO worker; GRANT USAGE ON ALL SEQUENCES IN SCHEMA t%u TO worker",
        number - 1, number - 1, number - 1);
    execute(where, sql);
    (void)snprintf(as_worker, sizeof as_worker, "%s&user=worker", where);
    vigil_jobs *jobs = open_queue(as_worker);
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "echo", "", NULL), VIGIL_JOBS_COMPLETED);
    vigil_jobs_close(jobs);
}

/* The server stops at once and comes back: nothing is lost, and what ran meanwhile is recorded. */
static void jobs_go_on_after_the_server_was_away(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct stage stage = {0};
    must_equal(vigil_jobs_handle(jobs, "slow", stay_once, &stage, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    uint64_t id = enqueue(jobs, "slow", "", NULL);
    tally_wait(&stage.entered, 1);
    must_equal(server_stop(&server, "immediate"), 0);
    must(vigil_jobs_enqueue(jobs, "slow", "", 0, NULL, NULL) == -ENOTCONN);
    event_set(&stage.out); /* its end has to wait */
    while (stats_of(jobs).outages == 0)
        yield();
    must_equal(server_start(&server), 0);
    must_end_as(jobs, id, VIGIL_JOBS_COMPLETED);
    must_equal(look_at(jobs, id).info.crashes, 0);
    must_end_as(jobs, enqueue(jobs, "slow", "", NULL), VIGIL_JOBS_COMPLETED);
    must_equal(account_of(jobs).completed, 2);
    vigil_jobs_close(jobs);
}

/* Its snapshot keeps the rows of ended jobs on the disk. */
static void an_old_foreign_transaction_is_told(void **state)
{
    (void)state;
    const char *address = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.alarm_ns = 1;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, address, &options));
    void *foreign = begin_transaction(address);
    PQclear(PQexec(foreign, "SELECT txid_current()"));
    must_equal(vigil_jobs_start(jobs), 0);
    while (stats_of(jobs).pinned_ms == 0)
        yield();
    end_transaction(foreign, true);
    vigil_jobs_close(jobs);
}

int main(void)
{
    if (!server_make(&server)) {
        print_message("left out: there is no PostgreSQL server (Debian: postgresql)\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        JOBS_SUITE,
        JOBS_SUITE_DEAD,
        JOBS_SUITE_LIMITS,
        JOBS_SUITE_MANY,
        JOBS_SUITE_WAIT,
        JOBS_SUITE_SPOOL,
        test(a_role_without_the_right_to_make_tables_works),
        test(a_transaction_that_is_open_for_long_is_told),
        test(jobs_go_on_after_the_server_was_away),
        test(an_old_foreign_transaction_is_told),
    };
    int failed = run_all(tests);
    server_remove(&server);
    return failed;
}
