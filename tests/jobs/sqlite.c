/* SPDX-License-Identifier: MIT */
/* The suite of the engines on SQLite, in a file that every test makes anew. */
#include "suite.h"
#include "suite_bad.h"
#include "suite_dead.h"
#include "suite_ends.h"
#include "suite_limits.h"
#include "suite_many.h"
#include "suite_spool.h"
#include "suite_texts.h"
#include "suite_wait.h"

#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>

static char folder[64], where[128];
static unsigned number;

static const char *fresh_queue(void)
{
    if (folder[0] == '\0') {
        (void)snprintf(folder, sizeof folder, "/tmp/vigil-jobs-XXXXXX");
        must(mkdtemp(folder) != NULL);
    }
    (void)snprintf(where, sizeof where, "%s/%u.db", folder, number++);
    return where;
}

static void expire_leases(vigil_jobs *jobs)
{
    must_equal(vigil_jobs_clock_advance(jobs, 31 * SECOND), 0);
}

static void make_due(vigil_jobs *jobs)
{
    must_equal(vigil_jobs_clock_advance(jobs, 7200 * SECOND), 0);
}

static void pass_days(vigil_jobs *jobs, int days)
{
    must_equal(vigil_jobs_clock_advance(jobs, days * 86400 * SECOND), 0);
}

static void *begin_transaction(const char *path)
{
    sqlite3 *db = NULL;
    must_equal(sqlite3_open(path, &db), SQLITE_OK);
    must_equal(sqlite3_busy_timeout(db, 60000), SQLITE_OK);
    must_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void end_transaction(void *connection, bool commit)
{
    must_equal(sqlite3_exec(connection, commit ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    must_equal(sqlite3_close(connection), SQLITE_OK);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    must_equal(sqlite3_open(path, &db), SQLITE_OK);
    must_equal(sqlite3_busy_timeout(db, 60000), SQLITE_OK); /* the queue writes at the same time */
    must_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    must_equal(sqlite3_close(db), SQLITE_OK);
}

static void refuse_changes(const char *path, uint64_t id)
{
    run_sql_of(path,
               "CREATE TRIGGER refuse BEFORE UPDATE ON vigil_jobs WHEN OLD.id = %" PRIu64
               " BEGIN SELECT RAISE(ABORT, 'refused'); END",
               id);
}

static void allow_changes(const char *path)
{
    run_sql(path, "DROP TRIGGER refuse");
}

static const char *unsafe_queue(const char **word)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/dev/shm/vigil-unsafe-%d.db", (int)getpid());
    *word = "tmpfs";
    return path;
}

/* A reader keeps the log from being emptied. */
static void a_reader_that_holds_the_log_is_told(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    static char megabyte[1 << 20];
    vigil_jobs_item items[40];
    sqlite3 *db = NULL;
    struct lines lines = {0};
    must_equal(sqlite3_open(where, &db), SQLITE_OK);
    must_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM vigil_jobs", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 40; i++)
        items[i] = (vigil_jobs_item){.kind = "big", .payload = megabyte, .length = sizeof megabyte};
    must_equal(vigil_jobs_enqueue_many(jobs, items, 40), 40);
    must(vigil_jobs_check(jobs, 0, keep_line, &lines) > 0);
    must(strstr(lines.text, "a reader holds them") != NULL);
    must_equal(sqlite3_close(db), SQLITE_OK);
    vigil_jobs_close(jobs);
}

/* A file that cannot be written: a table is gone. */
static void engine_goes_away(const char *path)
{
    run_sql(path, "ALTER TABLE vigil_jobs_meta RENAME TO away");
}

static void engine_comes_back(const char *path)
{
    run_sql(path, "ALTER TABLE away RENAME TO vigil_jobs_meta");
}

static void a_queue_in_memory_goes_with_its_last_user(void **state)
{
    (void)state;
    char name[64];
    (void)snprintf(name, sizeof name, "memory:test-%d", (int)getpid());
    vigil_jobs *one = open_queue(name), *two = open_queue(name);
    (void)enqueue(one, "x", "", NULL);
    vigil_jobs_close(one);
    must_equal(account_of(two).enqueued, 1);
    vigil_jobs_close(two);
    one = open_queue(name);
    must_equal(account_of(one).enqueued, 0);
    vigil_jobs_close(one);
}

static void fill(const char *path, size_t most)
{
    static const char zeroes[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    must(fd >= 0);
    for (size_t written = 0; written < most && write(fd, zeroes, sizeof zeroes) > 0;)
        written += sizeof zeroes;
    (void)close(fd);
}

/* In a file system of its own, which gets full. */
static void use_a_full_disk(void *arg)
{
    char path[128];
    const char *place = arg;
    static char kilobytes[8192];
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", place, "tmpfs", 0, "size=1m") != 0)
        _exit(NO_NAMESPACE);
    (void)snprintf(path, sizeof path, "%s/filler", place);
    fill(path, 256 << 10);
    vigil_jobs *jobs = open_queue(where), *other = NULL;
    struct tally runs = {0};
    must_equal(vigil_jobs_handle(jobs, "big", echo, &runs, NULL), 0);
    unsigned there = 0;
    int error;
    while ((error = vigil_jobs_enqueue(jobs, "big", kilobytes, sizeof kilobytes, NULL, NULL)) == 0)
        there++;
    must_equal(error, -ENOTCONN);
    must(strstr(vigil_jobs_why(), "full") != NULL || strstr(vigil_jobs_why(), "I/O") != NULL);
    must(there > 0);
    fill(path, SIZE_MAX);
    (void)snprintf(path, sizeof path, "%s/other.db", place);
    must(vigil_jobs_open(&other, path, NULL) < 0); /* and no signal */
    must_equal(vigil_jobs_start(jobs), 0);
    while (stats_of(jobs).outages == 0)
        yield();
    must_equal(account_of(jobs).enqueued, there);
    (void)snprintf(path, sizeof path, "%s/filler", place);
    must_equal(truncate(path, 0), 0);
    tally_wait(&runs, there);
    while (account_of(jobs).completed < there)
        observe_for_ms(10);
    must_equal(account_of(jobs).enqueued, there);
    must_equal(tally_get(&runs), there);
    vigil_jobs_close(jobs);
    _exit(0);
}

static void a_full_disk_refuses_and_loses_nothing(void **state)
{
    (void)state;
    char place[100];
    (void)fresh_queue();
    (void)snprintf(place, sizeof place, "%s/disk", folder);
    must_equal(mkdir(place, 0700), 0);
    (void)snprintf(where, sizeof where, "%s/full.db", place);
    int status = in_child(use_a_full_disk, place);
    must(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE)
        skip();
    must_equal(WEXITSTATUS(status), 0);
}

/* An idle queue: no query, also with a rate, whose bucket fills meanwhile. */
static void an_idle_queue_is_silent(void **state)
{
    (void)state;
    vigil_jobs *jobs = open_queue(fresh_queue());
    vigil_jobs_kind limited = VIGIL_JOBS_KIND_INIT;
    limited.rate = 1000;
    must_equal(vigil_jobs_handle(jobs, "echo", echo, NULL, NULL), 0);
    must_equal(vigil_jobs_handle(jobs, "limited", echo, NULL, &limited), 0);
    must_equal(vigil_jobs_start(jobs), 0);
    must_end_as(jobs, enqueue(jobs, "echo", "", NULL), VIGIL_JOBS_COMPLETED);
    uint64_t exchanges;
    unsigned looks = 0;
    do { /* what the end of the job left to do may come late on a busy machine; what comes again and again never stops */
        must(looks++ < 100);
        exchanges = stats_of(jobs).exchanges;
        observe_for_ms(100);
    } while (stats_of(jobs).exchanges != exchanges);
    must_equal(stats_of(jobs).beats, 0);
    vigil_jobs_close(jobs);
}

static void remove_folder(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    if (folder[0] != '\0')
        must_equal(system(command), 0);
    (void)snprintf(command, sizeof command, "rm -f /dev/shm/vigil-unsafe-%d.db*", (int)getpid());
    must_equal(system(command), 0);
}

/* A reader keeps the log from starting anew. */
static void an_old_foreign_reader_is_told(void **state)
{
    (void)state;
    const char *address = fresh_queue();
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.alarm_ns = 1;
    vigil_jobs *jobs = NULL;
    must_work(vigil_jobs_open(&jobs, address, &options));
    sqlite3 *reader = NULL;
    must_equal(sqlite3_open(address, &reader), SQLITE_OK);
    must_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM vigil_jobs", NULL, NULL, NULL), SQLITE_OK);
    (void)enqueue(jobs, "nobody's", "", NULL);
    must_equal(vigil_jobs_start(jobs), 0);
    while (stats_of(jobs).pinned_ms == 0)
        yield();
    must_equal(sqlite3_close(reader), SQLITE_OK);
    vigil_jobs_close(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_refuses_and_loses_nothing), /* forks: before there are threads, and no watchdog */
        JOBS_SUITE,
        JOBS_SUITE_BAD,
        JOBS_SUITE_DEAD,
        JOBS_SUITE_ENDS,
        JOBS_SUITE_LIMITS,
        JOBS_SUITE_MANY,
        JOBS_SUITE_WAIT,
        JOBS_SUITE_SPOOL,
        JOBS_SUITE_TEXTS,
        test(a_queue_in_memory_goes_with_its_last_user),
        test(an_idle_queue_is_silent),
        test(an_old_foreign_reader_is_told),
        test(a_reader_that_holds_the_log_is_told),
    };
    int failed = run_all(tests);
    remove_folder();
    return failed;
}
