/* SPDX-License-Identifier: MIT */
/* The suite of the engines on PostgreSQL, in a schema that every test makes anew. */
#include "server.h"
#include "suite.h"
#include "suite_bad.h"
#include "suite_dead.h"
#include "suite_ends.h"
#include "suite_limits.h"
#include "suite_many.h"
#include "suite_spool.h"
#include "suite_texts.h"
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

static void refuse_changes(const char *address, uint64_t id)
{
    run_sql_of(address,
               "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; "
               "END'; CREATE TRIGGER refuse BEFORE UPDATE ON vigil_jobs FOR EACH ROW WHEN (OLD.id = %" PRIu64
               ") EXECUTE FUNCTION refuse()",
               id);
}

static void allow_changes(const char *address)
{
    execute(address, "DROP TRIGGER refuse ON vigil_jobs; DROP FUNCTION refuse()");
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

/* End the connections whose last statement recorded completions alone. Gives how many. */
static int cut_mates(void)
{
    PGconn *connection = PQconnectdb(where);
    PGresult *result = PQexec(connection, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "
                                          "'client backend' AND query LIKE 'WITH gone AS (DELETE%'");
    must_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    int cut = PQntuples(result);
    PQclear(result);
    PQfinish(connection);
    return cut;
}

static int count_run(vigil_jobs_run *run, void *arg)
{
    (void)run;
    tally_add(arg, 1);
    return 0;
}

/* Large numbers of ends go over a connection of their own. It is cut while they are in flight, and while it is idle. */
static void many_ends_survive_the_cut_of_their_connection(void **state)
{
    (void)state;
    enum {
        MANY = 2000
    };
    vigil_jobs *jobs = open_queue(fresh_queue());
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(jobs, "quick", count_run, &runs, NULL), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    vigil_jobs_item items[MANY];
    for (int i = 0; i < MANY; i++)
        items[i] = (vigil_jobs_item){.kind = "quick"};
    unsigned total = 0;
    for (int cut = 0; cut < 5;) {
        must_equal(vigil_jobs_enqueue_many(jobs, items, MANY), MANY);
        total += MANY;
        tally_wait(&runs, total - MANY / 2);
        cut += cut_mates();
        while (account_of(jobs).completed < total)
            yield();
        cut += cut_mates();
    }
    must_equal(tally_get(&runs), total); /* each ran once, and is completed once */
    must_equal(account_of(jobs).completed, total);
    must_equal(account_of(jobs).running, 0);
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

static int number_of(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    must_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    int number_read = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return number_read;
}

/* The end has looked for those who wait, found nobody, and is kept from its commit by the trigger. The wait begins then,
   and looks at the job in vain. The slow poll is an hour, and so is the pause between two rescues, which tell too. */
static void a_wait_that_begins_before_the_commit_of_the_end_is_told(void **state)
{
    (void)state;
    const char *address = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.poll_ns = 3600000000000;
    options.lease_ns = 3 * 3600000000000;
    vigil_jobs *runs = NULL, *waits = NULL;
    struct stage stage = {0};
    event_set(&stage.out);
    must_work(vigil_jobs_open(&runs, address, &options));
    must_work(vigil_jobs_open(&waits, address, &options));
    execute(address, "CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM "
                     "pg_advisory_xact_lock(7); RETURN NEW; END'; CREATE TRIGGER stay BEFORE INSERT ON "
                     "vigil_jobs_ended FOR EACH ROW EXECUTE FUNCTION stay()");
    PGconn *gate = PQconnectdb(address);
    PQclear(PQexec(gate, "SELECT pg_advisory_lock(7)"));
    must_equal(vigil_jobs_handle(runs, "plain", stay, &stage, NULL), 0); /* no result: it ends with others */
    must_equal(vigil_jobs_start(runs), 0);
    uint64_t id = enqueue(runs, "plain", "", NULL);
    while (number_of(gate, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == 0)
        yield();
    vigil_loop *loop = NULL;
    vigil_promise *promise = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_promise_jobs(waits, loop, id, NULL, &promise), 0);
    while (number_of(gate, "SELECT count(*) FROM pg_stat_activity a JOIN vigil_jobs_waiters w ON w.backend = a.pid "
                           "WHERE a.state = 'idle' AND a.query LIKE '%WITH ORDINALITY%'") == 0)
        yield();
    PQclear(PQexec(gate, "SELECT pg_advisory_unlock(7)"));
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(info_of(promise)->state, VIGIL_JOBS_COMPLETED);
    vigil_promise_unref(promise);
    PQfinish(gate);
    vigil_jobs_close(waits);
    vigil_jobs_close(runs);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* A row of one who waits goes when its connection has gone, not before. */
static void those_who_wait_for_long_stay_known(void **state)
{
    (void)state;
    const char *address = fresh_queue();
    vigil_jobs *jobs = open_queue(address);
    PGconn *look = PQconnectdb(address);
    uint64_t id = enqueue(jobs, "nobody", "", NULL);
    vigil_loop *loop = NULL;
    vigil_promise *promise = NULL;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_promise_jobs(jobs, loop, id, NULL, &promise), 0);
    must_equal(vigil_promise_mark_handled(promise), 0);
    while (number_of(look, "SELECT count(*) FROM vigil_jobs_waiters") == 0)
        yield();
    PQclear(PQexec(look, "UPDATE vigil_jobs_waiters SET since = 0"));
    PQclear(PQexec(look, "INSERT INTO vigil_jobs_waiters VALUES(0, -1)"));
    must_equal(vigil_jobs_start(jobs), 0); /* it prunes when it starts */
    while (number_of(look, "SELECT count(*) FROM vigil_jobs_waiters WHERE backend = -1") > 0)
        yield();
    must_equal(number_of(look, "SELECT count(*) FROM vigil_jobs_waiters"), 1);
    PQfinish(look);
    vigil_jobs_close(jobs);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    if (!server_make(&server)) {
        print_message("left out: there is no PostgreSQL server (Debian: postgresql)\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        JOBS_SUITE,
        JOBS_SUITE_BAD,
        JOBS_SUITE_DEAD,
        JOBS_SUITE_ENDS,
        JOBS_SUITE_LIMITS,
        JOBS_SUITE_MANY,
        JOBS_SUITE_WAIT,
        JOBS_SUITE_SPOOL,
        JOBS_SUITE_TEXTS,
        test(a_role_without_the_right_to_make_tables_works),
        test(a_transaction_that_is_open_for_long_is_told),
        test(jobs_go_on_after_the_server_was_away),
        test(many_ends_survive_the_cut_of_their_connection),
        test(an_old_foreign_transaction_is_told),
        test(a_wait_that_begins_before_the_commit_of_the_end_is_told),
        test(those_who_wait_for_long_stay_known),
    };
    int failed = run_all(tests);
    server_remove(&server);
    return failed;
}
