/* SPDX-License-Identifier: MIT */
/* sqlite.c - site and connections of the SQLite engine: opening, clocks, turns, wakes. */
#include "sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "identity.h"
#include "why.h"

enum {
    BUSY_MS = 60000, /* a writer that holds the database longer is an error */
    BUSY_SHORT = 50, /* so many sleeps are short */
    BUSY_SHORT_US = 1000,
    BUSY_LONG_US = 10000,
};

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t vg_jobs_sqlite_now(struct vg_jobs_site *site)
{
    return clock_ms(CLOCK_REALTIME) + vg_jobs_beside_ahead_ms(site->beside);
}

int64_t vg_jobs_sqlite_lease_now(struct vg_jobs_site *site)
{
    return VG_SQL_LEASE_ZERO + clock_ms(CLOCK_BOOTTIME) + vg_jobs_beside_ahead_ms(site->beside);
}

int vg_jobs_sqlite_error(struct vg_jobs_conn *conn, const char *what)
{
    int code = sqlite3_errcode(conn->db) & 0xff;
    conn->bad_row = code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG;
    int error = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EIO : -ENOTCONN;
    return vg_jobs_why(error, "%s: %s: %s", conn->site->path, what, sqlite3_errmsg(conn->db));
}

sqlite3_stmt *vg_jobs_sqlite_get(struct vg_jobs_conn *conn, enum vg_jobs_sql which)
{
    sqlite3_stmt **statement = &conn->statements[which];
    if (*statement == NULL && sqlite3_prepare_v3(conn->db, vg_jobs_sqlite_text[which], -1, SQLITE_PREPARE_PERSISTENT,
                                                 statement, NULL) != SQLITE_OK) {
        (void)vg_jobs_sqlite_error(conn, vg_jobs_sqlite_text[which]);
        return NULL;
    }
    (void)sqlite3_reset(*statement);
    (void)sqlite3_clear_bindings(*statement);
    return *statement;
}

int vg_jobs_sqlite_run(struct vg_jobs_conn *conn, sqlite3_stmt *statement)
{
    if (statement == NULL)
        return -ENOTCONN;
    int result = sqlite3_step(statement);
    if (result == SQLITE_DONE || result == SQLITE_ROW) {
        (void)sqlite3_reset(statement);
        return 0;
    }
    int error = vg_jobs_sqlite_error(conn, "a statement failed");
    (void)sqlite3_reset(statement);
    return error;
}

static void wait_word(_Atomic uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void lock_writers(struct vg_jobs_site *site)
{
    uint32_t mine = atomic_fetch_add_explicit(&site->ticket, 1, memory_order_relaxed), now;
    /* acquire: pairs with the release in unlock_writers */
    while ((now = atomic_load_explicit(&site->serving, memory_order_acquire)) != mine)
        wait_word(&site->serving, now);
}

static void unlock_writers(struct vg_jobs_site *site)
{
    /* release: pairs with the acquire above. seq_cst so that the ticket that is read is not older than the next
       waiter's look */
    uint32_t now = atomic_fetch_add_explicit(&site->serving, 1, memory_order_seq_cst) + 1;
    if (atomic_load_explicit(&site->ticket, memory_order_seq_cst) != now)
        (void)syscall(SYS_futex, &site->serving, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int vg_jobs_sqlite_begin(struct vg_jobs_conn *conn)
{
    conn->bad_row = false;
    lock_writers(conn->site);
    conn->commits = vg_jobs_beside_turn_begin(conn->site->beside, conn->site->slot);
    int error = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_BEGIN));
    if (error != 0) {
        vg_jobs_beside_turn_end(conn->site->beside, conn->site->slot);
        unlock_writers(conn->site);
    }
    return error;
}

int vg_jobs_sqlite_end(struct vg_jobs_conn *conn, int error)
{
    if (error >= 0) {
        int result = vg_jobs_sqlite_run(conn, vg_jobs_sqlite_get(conn, VG_SQL_COMMIT));
        if (result != 0)
            error = result;
    }
    if (error < 0 && sqlite3_get_autocommit(conn->db) == 0) {
        sqlite3_stmt *rollback = vg_jobs_sqlite_get(conn, VG_SQL_ROLLBACK);
        if (rollback != NULL) {
            (void)sqlite3_step(rollback);
            (void)sqlite3_reset(rollback);
        }
    }
    vg_jobs_beside_turn_end(conn->site->beside, conn->site->slot);
    unlock_writers(conn->site);
    return error;
}

static int execute(struct vg_jobs_conn *conn, const char *sql)
{
    return sqlite3_exec(conn->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : vg_jobs_sqlite_error(conn, "it cannot be opened");
}

static void disconnect(struct vg_jobs_conn *conn)
{
    for (int i = 0; i < VG_SQL_COUNT; i++)
        (void)sqlite3_finalize(conn->statements[i]);
    (void)sqlite3_close_v2(conn->db);
    free(conn->ids.list);
    free(conn->ids.text);
    for (unsigned i = 0; i < conn->turn_count; i++)
        free(conn->turns[i]);
    free(conn->turns);
    free(conn);
}

/* Instead of SQLite's own, which sleeps longer each time and so loses against those who come later. A foreign writer
   is not counted: hence the short sleeps. */
static int when_busy(void *arg, int times)
{
    struct vg_jobs_conn *conn = arg;
    int64_t now = clock_ms(CLOCK_MONOTONIC);
    if (times == 0)
        conn->busy_since = now;
    if (now - conn->busy_since > BUSY_MS)
        return 0;
    conn->commits = vg_jobs_beside_turn_wait(conn->site->beside, conn->site->slot, conn->commits,
                                             times < BUSY_SHORT ? BUSY_SHORT_US : BUSY_LONG_US);
    return 1;
}

static int connect_to(struct vg_jobs_site *site, struct vg_jobs_conn **conn)
{
    struct vg_jobs_conn *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->site = site;
    int error = 0;
    if (sqlite3_open_v2(site->path, &it->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        error = vg_jobs_sqlite_error(it, "it cannot be opened");
    if (error == 0) {
        (void)sqlite3_busy_handler(it->db, when_busy, it);
        error = execute(it, "PRAGMA journal_mode = WAL");
    }
    if (error == 0)
        error = execute(it, site->users >= 0 ? "PRAGMA synchronous = OFF"
                            : site->fast     ? "PRAGMA synchronous = NORMAL"
                                             : "PRAGMA synchronous = FULL");
    /* The log has an index of its pages, in which entries of one page follow each other. Jobs write the same few pages
       again and again: in a long log each commit would go through thousands of entries. */
    if (error == 0)
        error = execute(it, "PRAGMA wal_autocheckpoint = 1000; PRAGMA cache_size = -16000");
    if (error != 0)
        disconnect(it);
    else
        *conn = it;
    return error;
}

/* After a boot all leases are void: they were measured by a clock that has started again. */
static int void_old_leases(struct vg_jobs_conn *conn)
{
    char sql[512];
    int64_t boot = (int64_t)vg_jobs_boot_hash();
    (void)snprintf(
        sql, sizeof sql,
        "UPDATE vigil_jobs SET lease = 0 WHERE state = 1 AND NOT EXISTS(SELECT 1 FROM vigil_jobs_meta WHERE name = "
        "'boot' AND value = %lld);"
        "INSERT INTO vigil_jobs_meta VALUES('boot', %lld) ON CONFLICT(name) DO UPDATE SET value = excluded.value;",
        (long long)boot, (long long)boot);
    return execute(conn, sql);
}

/* Columns that came later. Libraries without them do not name them. */
static int add_columns(struct vg_jobs_conn *conn)
{
    static const char *const columns[][2] = {{"vigil_jobs", "tenant"},
                                             {"vigil_jobs_ended", "tenant"},
                                             {"vigil_jobs", "verdict"},
                                             {"vigil_jobs_ended", "verdict"}};
    int error = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns && error == 0; i++)
        if (sqlite3_table_column_metadata(conn->db, NULL, columns[i][0], columns[i][1], NULL, NULL, NULL, NULL, NULL) !=
            SQLITE_OK) {
            char sql[96];
            (void)snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s TEXT", columns[i][0], columns[i][1]);
            error = execute(conn, sql);
        }
    return error;
}

static int make_tables(struct vg_jobs_conn *conn)
{
    char sql[96];
    int error = execute(conn, "BEGIN IMMEDIATE");
    if (error != 0)
        return error;
    error = execute(conn, vg_jobs_sqlite_schema);
    if (error == 0)
        error = add_columns(conn);
    if (error == 0)
        error = execute(conn, vg_jobs_sqlite_added);
    int64_t version = VG_JOBS_SCHEMA;
    if (error == 0) {
        sqlite3_stmt *meta = vg_jobs_sqlite_get(conn, VG_SQL_META);
        if (meta != NULL) {
            (void)sqlite3_bind_text(meta, 1, "schema", -1, SQLITE_STATIC);
            if (sqlite3_step(meta) == SQLITE_ROW)
                version = sqlite3_column_int64(meta, 0);
            (void)sqlite3_reset(meta);
        }
    }
    if (version > VG_JOBS_SCHEMA)
        error = vg_jobs_why(-EPROTO, "%s has tables of version %lld; this library knows %d", conn->site->path,
                            (long long)version, VG_JOBS_SCHEMA);
    if (error == 0) {
        (void)snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO vigil_jobs_meta VALUES('schema', %d)", VG_JOBS_SCHEMA);
        error = execute(conn, sql);
    }
    if (error == 0) /* numbers of workers have four bytes: see sqlite_sql.c */
        error = execute(conn, "INSERT INTO sqlite_sequence(name, seq) SELECT 'vigil_jobs_workers', 16777216 WHERE NOT "
                              "EXISTS(SELECT 1 FROM sqlite_sequence WHERE name = 'vigil_jobs_workers')");
    if (error == 0)
        error = void_old_leases(conn);
    int end = execute(conn, error == 0 ? "COMMIT" : "ROLLBACK");
    return error != 0 ? error : end;
}

static void remove_files(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-vigil"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[512];
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

/* A queue in memory: the first user starts it anew, the last one removes it. */
static int join_users(struct vg_jobs_site *site)
{
    char name[512];
    (void)snprintf(name, sizeof name, "%s-users", site->path);
    site->users = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (site->users < 0)
        return vg_jobs_why(-ENOTCONN, "%s cannot be made: %m", name);
    if (flock(site->users, LOCK_EX | LOCK_NB) == 0)
        remove_files(site->path);
    (void)flock(site->users, LOCK_SH);
    return 0;
}

static void site_close(struct vg_jobs_site *site)
{
    if (site->beside != NULL) {
        vg_jobs_beside_leave(site->beside, site->slot);
        vg_jobs_beside_close(site->beside);
    }
    if (site->users >= 0) {
        if (flock(site->users, LOCK_EX | LOCK_NB) == 0)
            remove_files(site->path);
        (void)close(site->users);
    }
    free(site->path);
    free(site);
}

static int site_open(struct vg_jobs_site **site, const char *where, const vigil_jobs_options *options)
{
    struct vg_jobs_site *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->slot = it->users = -1;
    it->fast = options->fast;
    bool memory = strncmp(where, "memory:", 7) == 0;
    int length = memory ? asprintf(&it->path, "/dev/shm/vigil-jobs-%u-%s", (unsigned)getuid(), where + 7)
                        : asprintf(&it->path, "%s", where);
    int error = length < 0 ? -ENOMEM : 0;
    if (length < 0)
        it->path = NULL;
    if (error == 0 && memory)
        error = join_users(it);
    if (error == 0) {
        char beside[512];
        (void)snprintf(beside, sizeof beside, "%s-vigil", it->path);
        error = vg_jobs_beside_open(&it->beside, beside);
        if (error != 0)
            error =
                vg_jobs_why(error == -EPROTO ? error : -ENOTCONN, "%s cannot be used: %s", beside, strerror(-error));
    }
    struct vg_jobs_conn *conn = NULL;
    if (error == 0)
        error = connect_to(it, &conn);
    if (error == 0)
        error = make_tables(conn);
    if (conn != NULL)
        disconnect(conn);
    if (error != 0)
        site_close(it);
    else
        *site = it;
    return error;
}

static unsigned wait_events(struct vg_jobs_conn *conn, int64_t timeout_ms)
{
    return vg_jobs_beside_wait(conn->site->beside, conn->site->slot, timeout_ms);
}

static void start_running(struct vg_jobs_site *site)
{
    if (site->slot < 0)
        site->slot = vg_jobs_beside_join(site->beside);
}

static void ring(struct vg_jobs_site *site)
{
    vg_jobs_beside_ring(site->beside, site->slot, VG_JOBS_EVENT_LOCAL);
}

static void ring_all(struct vg_jobs_site *site, unsigned events)
{
    vg_jobs_beside_ring_all(site->beside, events);
}

static uint32_t ended_count(struct vg_jobs_conn *conn)
{
    return vg_jobs_beside_ended(conn->site->beside);
}

static void ended_wait(struct vg_jobs_conn *conn, uint32_t seen, int64_t timeout_ms)
{
    vg_jobs_beside_ended_wait(conn->site->beside, seen, timeout_ms);
}

/* It counts as an end: those who wait elsewhere look once for nothing. */
static void ended_poke(struct vg_jobs_conn *conn)
{
    vg_jobs_beside_ended_add(conn->site->beside);
}

static int clock_advance(struct vg_jobs_site *site, int64_t by_ns)
{
    vg_jobs_beside_advance(site->beside, by_ns / 1000000);
    vg_jobs_beside_ring_all(site->beside, VG_JOBS_EVENT_WORK | VG_JOBS_EVENT_CLOCK);
    return 0;
}

const struct vg_jobs_engine vg_jobs_sqlite = {
    .name = "sqlite",
    .any_thread = true,
    .site_open = site_open,
    .site_close = site_close,
    .connect = connect_to,
    .disconnect = disconnect,
    .start_running = start_running,
    .enqueue = vg_jobs_sqlite_enqueue,
    .enqueue_within = vg_jobs_sqlite_enqueue_within,
    .enqueue_once = vg_jobs_sqlite_enqueue_once,
    .spool_number = vg_jobs_sqlite_spool_number,
    .waiting = vg_jobs_sqlite_waiting,
    .exchange = vg_jobs_sqlite_exchange,
    .quarantined = vg_jobs_sqlite_quarantined,
    .extend = vg_jobs_sqlite_extend,
    .rescue = vg_jobs_sqlite_rescue,
    .prune = vg_jobs_sqlite_prune,
    .pinned = vg_jobs_sqlite_pinned,
    .look = vg_jobs_sqlite_look,
    .cancel = vg_jobs_sqlite_cancel,
    .retry = vg_jobs_sqlite_retry,
    .edit = vg_jobs_sqlite_edit,
    .drop = vg_jobs_sqlite_drop,
    .pause = vg_jobs_sqlite_pause,
    .batch = vg_jobs_sqlite_batch,
    .batch_end = vg_jobs_sqlite_batch_end,
    .audit = vg_jobs_sqlite_audit,
    .count = vg_jobs_sqlite_count,
    .check = vg_jobs_sqlite_check,
    .now = vg_jobs_sqlite_clock,
    .schedule_set = vg_jobs_sqlite_schedule_set,
    .schedule_remove = vg_jobs_sqlite_schedule_remove,
    .schedule_look = vg_jobs_sqlite_schedule_look,
    .schedule_fire = vg_jobs_sqlite_schedule_fire,
    .wait = wait_events,
    .ring = ring,
    .ring_all = ring_all,
    .ended_count = ended_count,
    .ended_wait = ended_wait,
    .ended_poke = ended_poke,
    .gone = vg_jobs_sqlite_gone,
    .clock_advance = clock_advance,
};
