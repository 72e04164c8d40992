/* SPDX-License-Identifier: MIT */
/*
 * vigil-bench-jobs WHERE [COUNT]: what a queue of vigil/jobs.h does on that engine, with empty handlers. Prints one line per figure.
 *
 *   enqueue       jobs per second, one by one and by 256
 *   run           claim to complete, jobs per second: as it batches by itself, and with one job in flight
 *   latency       from enqueue to the start of the handler, idle queue, in microseconds
 *
 * The plain table (SQLite alone) is the bar: one transaction that deletes what was claimed and claims as many again.
 */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <vigil/jobs.h>

static _Atomic uint64_t ran, started_ns;

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, vigil_jobs_why());
    exit(1);
}

static int nothing(vigil_jobs_run *run, void *arg)
{
    (void)run, (void)arg;
    atomic_store_explicit(&started_ns, now_ns(), memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&ran, 1, memory_order_release);
    return 0;
}

static vigil_jobs *open_queue(const char *where, unsigned workers, bool single)
{
    vigil_jobs *jobs;
    vigil_jobs_options options = VIGIL_JOBS_OPTIONS_INIT;
    options.workers = workers;
    options.no_prefetch = single;
    if (vigil_jobs_open(&jobs, where, &options) != 0)
        fail("open");
    if (vigil_jobs_handle(jobs, "nothing", nothing, NULL, NULL) != 0)
        fail("handle");
    return jobs;
}

static void say(const char *name, uint64_t count, double seconds, double cpu)
{
    printf("%-28s %10.0f /s   %7.3f CPU ms per 1000\n", name, (double)count / seconds, cpu * 1e6 / (double)count);
    (void)fflush(stdout);
}

static void enqueue_many(vigil_jobs *jobs, uint64_t count)
{
    vigil_jobs_item items[256];
    for (int i = 0; i < 256; i++)
        items[i] = (vigil_jobs_item){.kind = "nothing", .payload = "12345678", .length = 8};
    for (uint64_t left = count; left > 0;) {
        uint64_t some = left < 256 ? left : 256;
        if (vigil_jobs_enqueue_many(jobs, items, some) < 0)
            fail("enqueue");
        left -= some;
    }
}

static void run_all(const char *name, const char *where, uint64_t count, unsigned workers, bool single)
{
    vigil_jobs *jobs = open_queue(where, workers, single);
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    if (vigil_jobs_audit(jobs, &account) != 0)
        fail("audit");
    if (account.waiting < count)
        enqueue_many(jobs, count - account.waiting);
    uint64_t before = atomic_load_explicit(&ran, memory_order_relaxed), start = now_ns();
    double cpu = cpu_seconds();
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    vigil_jobs_stats stats = VIGIL_JOBS_STATS_INIT;
    struct timespec pause = {.tv_nsec = 1000000};
    do {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        (void)vigil_jobs_stats_get(jobs, &stats);
    } while (stats.completed < count);
    say(name, count, (double)(now_ns() - start) / 1e9, cpu_seconds() - cpu);
    printf("%28s %10.1f jobs per transaction\n", "", (double)count / (double)stats.exchanges);
    if (atomic_load_explicit(&ran, memory_order_relaxed) - before != count)
        fail("a job ran twice");
    vigil_jobs_close(jobs);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void latency(const char *where)
{
    enum {
        TIMES = 300
    };
    static uint64_t times[TIMES];
    vigil_jobs *jobs = open_queue(where, 1, false);
    if (vigil_jobs_start(jobs) != 0)
        fail("start");
    for (int i = 0; i < TIMES; i++) {
        struct timespec pause = {.tv_nsec = 3000000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        uint64_t before = atomic_load_explicit(&ran, memory_order_relaxed), start = now_ns();
        if (vigil_jobs_enqueue(jobs, "nothing", NULL, 0, NULL, NULL) != 0)
            fail("enqueue");
        while (atomic_load_explicit(&ran, memory_order_acquire) == before)
            (void)usleep(20);
        times[i] = atomic_load_explicit(&started_ns, memory_order_relaxed) - start;
    }
    qsort(times, TIMES, sizeof *times, by_size);
    printf("%-28s p50 %.0f us, p99 %.0f us\n", "enqueue to start, idle", (double)times[TIMES / 2] / 1e3,
           (double)times[TIMES * 99 / 100] / 1e3);
    vigil_jobs_close(jobs);
}

/* The plain table: what nobody can do faster with the same durability. */
static void plain(const char *where, uint64_t count, int batch)
{
    char path[512], sql[256], name[64];
    (void)snprintf(path, sizeof path, "%s-plain", where);
    (void)unlink(path);
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK)
        exit(1);
    (void)sqlite3_exec(db,
                       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000;"
                       "CREATE TABLE q(id INTEGER PRIMARY KEY, state INT, run_at INT, payload BLOB);"
                       "CREATE INDEX w ON q(run_at) WHERE state = 0; BEGIN",
                       NULL, NULL, NULL);
    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %llu) INSERT INTO "
                   "q(state, run_at, payload) "
                   "SELECT 0, i, x'3132333435363738' FROM n; COMMIT",
                   (unsigned long long)count);
    (void)sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_stmt *begin, *commit, *claim, *delete;
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE q SET state = 1 WHERE id IN (SELECT id FROM q WHERE state = 0 ORDER BY run_at LIMIT %d) RETURNING id",
        batch);
    (void)sqlite3_prepare_v2(db, "BEGIN IMMEDIATE", -1, &begin, NULL);
    (void)sqlite3_prepare_v2(db, "COMMIT", -1, &commit, NULL);
    (void)sqlite3_prepare_v2(db, sql, -1, &claim, NULL);
    (void)sqlite3_prepare_v2(db, "DELETE FROM q WHERE id = ?1", -1, &delete, NULL);
    uint64_t start = now_ns(), done = 0;
    double cpu = cpu_seconds();
    sqlite3_int64 ids[512];
    int held = 0;
    do {
        (void)sqlite3_step(begin), (void)sqlite3_reset(begin);
        for (int i = 0; i < held; i++) {
            (void)sqlite3_bind_int64(delete, 1, ids[i]);
            (void)sqlite3_step(delete), (void)sqlite3_reset(delete);
        }
        done += (uint64_t)held;
        held = 0;
        while (sqlite3_step(claim) == SQLITE_ROW)
            ids[held++] = sqlite3_column_int64(claim, 0);
        (void)sqlite3_reset(claim);
        (void)sqlite3_step(commit), (void)sqlite3_reset(commit);
    } while (held > 0);
    (void)snprintf(name, sizeof name, "plain table, batch %d", batch);
    say(name, done, (double)(now_ns() - start) / 1e9, cpu_seconds() - cpu);
    (void)sqlite3_finalize(begin), (void)sqlite3_finalize(commit), (void)sqlite3_finalize(claim),
        (void)sqlite3_finalize(delete);
    (void)sqlite3_close(db);
    (void)unlink(path);
}

int main(int count, char **words)
{
    if (count < 2) {
        (void)fprintf(stderr, "usage: vigil-bench-jobs WHERE [COUNT]\n");
        return 2;
    }
    uint64_t jobs = count > 2 ? strtoull(words[2], NULL, 10) : 100000;
    const char *where = words[1];
    vigil_jobs *queue = open_queue(where, 1, true);
    uint64_t start = now_ns(), singles = jobs / 50 + 1;
    double cpu = cpu_seconds();
    for (uint64_t i = 0; i < singles; i++)
        if (vigil_jobs_enqueue(queue, "nothing", "12345678", 8, NULL, NULL) != 0)
            fail("enqueue");
    say("enqueue, one by one", singles, (double)(now_ns() - start) / 1e9, cpu_seconds() - cpu);
    start = now_ns(), cpu = cpu_seconds();
    enqueue_many(queue, jobs - singles);
    say("enqueue, by 256", jobs - singles, (double)(now_ns() - start) / 1e9, cpu_seconds() - cpu);
    vigil_jobs_close(queue);
    run_all("run, batches", where, jobs, 2, false); /* with those from above */
    run_all("run, one in flight", where, jobs / 20 + 1, 1, true);
    latency(where);
    if (strstr(where, "://") == NULL) {
        plain(where, jobs, 256);
        plain(where, jobs / 20 + 1, 1);
    }
    return 0;
}
