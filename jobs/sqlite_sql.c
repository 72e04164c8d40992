/* SPDX-License-Identifier: MIT */
/*
 * sqlite_sql.c - every statement of the SQLite engine.
 *
 * vigil_jobs has the jobs that wait or run; vigil_jobs_ended those that have ended. So the claim never sees an ended
 * job, however many are kept. States are those of vigil_jobs_state. number is the fencing number: every change of
 * hands raises it. What concerns many jobs is one statement for a range of ids, or with their ids as a JSON array if
 * they are scattered: a statement for each row costs more than twice as much. Times are milliseconds: due, created,
 * started and ended since 1970; lease since the boot, plus VG_SQL_LEASE_ZERO.
 *
 * A new row has numbers of the same width in lease, worker and started as a running one. So the first claim writes over
 * it in its place; a row that grew would split its page. What is in them says nothing while number is 0.
 */
#include "sqlite.h"

const char *const vg_jobs_sqlite_schema =
    "CREATE TABLE IF NOT EXISTS vigil_jobs_meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, class INTEGER NOT NULL, state INTEGER NOT NULL,"
    " due INTEGER NOT NULL, number INTEGER NOT NULL DEFAULT 0, lease INTEGER, worker INTEGER, created INTEGER NOT NULL,"
    " started INTEGER, errors INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, max_errors INTEGER,"
    " limit_ms INTEGER, version INTEGER NOT NULL, content_type TEXT, ukey TEXT, ustart INTEGER, batch INTEGER,"
    " after_batch INTEGER, cancel INTEGER NOT NULL DEFAULT 0, progress REAL, text TEXT, error TEXT, checkpoint BLOB,"
    " payload BLOB);"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_due ON vigil_jobs(kind, class, due) WHERE state = 0;"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_lease ON vigil_jobs(lease, kind) WHERE state = 1;"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_quarantine ON vigil_jobs(due) WHERE state = 3;"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_held ON vigil_jobs(after_batch) WHERE state = 2;"
    "CREATE UNIQUE INDEX IF NOT EXISTS vigil_jobs_key ON vigil_jobs(ukey) WHERE ukey IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_ended("
    " id INTEGER PRIMARY KEY, kind TEXT NOT NULL, class INTEGER NOT NULL, state INTEGER NOT NULL, due INTEGER NOT NULL,"
    " number INTEGER NOT NULL, worker INTEGER, created INTEGER NOT NULL, started INTEGER, ended INTEGER NOT NULL,"
    " errors INTEGER NOT NULL, crashes INTEGER NOT NULL, max_errors INTEGER, limit_ms INTEGER, version INTEGER NOT "
    "NULL,"
    " content_type TEXT, ukey TEXT, ustart INTEGER, batch INTEGER, text TEXT, error TEXT, payload BLOB, result BLOB);"
    /* Completed jobs are pruned by id, from a cursor on: an index for them would cost at each completion. */
    "DROP INDEX IF EXISTS vigil_jobs_ended_at;"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_failed_at ON vigil_jobs_ended(state, ended) WHERE state > 4;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_kinds(kind TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0,"
    " tokens REAL, stamp INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_batches(id INTEGER PRIMARY KEY AUTOINCREMENT, open INTEGER NOT NULL DEFAULT "
    "0,"
    " closed INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_schedules(name TEXT PRIMARY KEY, kind TEXT NOT NULL, class INTEGER NOT NULL,"
    " cron TEXT NOT NULL, zone TEXT NOT NULL, catch_up INTEGER NOT NULL, next INTEGER NOT NULL, last INTEGER, version "
    "INTEGER"
    " NOT NULL, content_type TEXT, max_errors INTEGER, limit_ms INTEGER, payload BLOB) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_workers(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
    " identity TEXT NOT NULL, started INTEGER NOT NULL);"
    /* Keys that are kept for a time, and the buckets of tenants with a rate. */
    "CREATE TABLE IF NOT EXISTS vigil_jobs_periods(ukey TEXT PRIMARY KEY, until INTEGER NOT NULL, job INTEGER NOT "
    "NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_tenants(kind TEXT NOT NULL, tenant TEXT NOT NULL, tokens REAL NOT NULL,"
    " stamp INTEGER NOT NULL, PRIMARY KEY(kind, tenant)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS vigil_jobs_spools(spool TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;";

const char *const vg_jobs_sqlite_added =
    "CREATE INDEX IF NOT EXISTS vigil_jobs_tenant ON vigil_jobs(kind, class, tenant, due) WHERE state = 0 AND tenant "
    "IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS vigil_jobs_tenant_runs ON vigil_jobs(kind, tenant) WHERE state = 1 AND tenant IS NOT "
    "NULL;";

#define ENDED_COLUMNS                                                                                               \
    "id, kind, class, state, due, number, worker, created, started, ended, errors, crashes, max_errors, limit_ms, " \
    "version, content_type, ukey, ustart, batch, text, error, payload, result, tenant, verdict"

/* OR ROLLBACK: no savepoint for the statement. */
#define CLAIM_MANY                                                                                                    \
    "UPDATE OR ROLLBACK vigil_jobs NOT INDEXED SET state = 1, number = number + 1, lease = ?3, worker = ?4, started " \
    "= "                                                                                                              \
    "?5, cancel = 0"
/* Completions without result and batch that have one number. */
#define COMPLETE_MANY                                                                                         \
    "INSERT OR ROLLBACK INTO vigil_jobs_ended(" ENDED_COLUMNS                                                 \
    ") SELECT j.id, kind, class, 4, due, number, worker, created, started, ?4, errors, crashes, max_errors, " \
    "limit_ms, version, content_type, ukey, ustart, batch, text, error, NULL, NULL, tenant, verdict FROM "

const char *const vg_jobs_sqlite_text[VG_SQL_COUNT] = {
    [VG_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [VG_SQL_BEGIN_READ] = "BEGIN",
    [VG_SQL_COMMIT] = "COMMIT",
    [VG_SQL_ROLLBACK] = "ROLLBACK",
    [VG_SQL_ROW_BEGIN] = "SAVEPOINT row",
    [VG_SQL_ROW_END] = "RELEASE row",
    [VG_SQL_ROW_UNDO] = "ROLLBACK TO row",
    [VG_SQL_INSERT] =
        "INSERT INTO vigil_jobs(kind, class, state, due, created, max_errors, limit_ms, version, content_type, "
        "ukey, ustart, batch, after_batch, payload, lease, worker, started, tenant) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, "
        "?8, ?9, "
        "?10, ?11, ?12, ?13, ?14, 1099511627776, 16777216, ?5, ?15) ON CONFLICT DO NOTHING",
    [VG_SQL_COUNT_ENQUEUED] = "INSERT INTO vigil_jobs_meta VALUES('enqueued', ?1) "
                              "ON CONFLICT(name) DO UPDATE SET value = value + ?1",
    [VG_SQL_HOLDER] = "SELECT id FROM vigil_jobs WHERE ukey = ?1",
    [VG_SQL_PERIOD_HOLDER] = "SELECT job FROM vigil_jobs_periods WHERE ukey = ?1 AND until > ?2",
    [VG_SQL_PERIOD_SET] = "INSERT INTO vigil_jobs_periods(ukey, until, job) VALUES(?1, ?2, ?3) ON CONFLICT(ukey) DO "
                          "UPDATE SET until = ?2, job = ?3",
    [VG_SQL_PERIODS_PRUNE] = "DELETE FROM vigil_jobs_periods WHERE until <= ?1",
    /* The three partial indexes; each is counted no further than the bound. */
    [VG_SQL_WAITING] = "SELECT (SELECT count(*) FROM (SELECT 1 FROM vigil_jobs WHERE state = 0 LIMIT ?1)) + "
                       "(SELECT count(*) FROM (SELECT 1 FROM vigil_jobs WHERE state = 2 LIMIT ?1)) + "
                       "(SELECT count(*) FROM (SELECT 1 FROM vigil_jobs WHERE state = 3 LIMIT ?1))",
    [VG_SQL_SPOOL_MOVE] = "INSERT INTO vigil_jobs_spools VALUES(?1, ?2) ON CONFLICT(spool) DO UPDATE SET number = ?2 "
                          "WHERE number < ?2",
    [VG_SQL_SPOOL_NUMBER] = "SELECT number FROM vigil_jobs_spools WHERE spool = ?1",
    [VG_SQL_BATCH_NEW] = "INSERT INTO vigil_jobs_batches DEFAULT VALUES",
    [VG_SQL_BATCH_JOIN] = "UPDATE vigil_jobs_batches SET open = open + 1 WHERE id = ?1 AND NOT closed",
    [VG_SQL_BATCH_OPEN] = "SELECT NOT closed OR open > 0 FROM vigil_jobs_batches WHERE id = ?1",
    [VG_SQL_BATCH_LEAVE] = "UPDATE vigil_jobs_batches SET open = open - 1 WHERE id = ?1",
    [VG_SQL_BATCH_CLOSE] = "UPDATE vigil_jobs_batches SET closed = 1 WHERE id = ?1 AND NOT closed",
    [VG_SQL_BATCH_RELEASE] = "UPDATE vigil_jobs SET state = 0 WHERE state = 2 AND after_batch = ?1 AND EXISTS"
                             "(SELECT 1 FROM vigil_jobs_batches WHERE id = ?1 AND closed AND open = 0)",
    /* the claim: look by kind and class, then one conditional update each */
    [VG_SQL_PEEK] =
        "SELECT id, number + 1, batch, class, version, errors, crashes, max_errors, limit_ms, content_type, payload, "
        "checkpoint, ustart FROM vigil_jobs WHERE state = 0 AND kind = ?1 AND class = ?2 AND due <= ?3 AND "
        "version <= ?4 ORDER BY due, id LIMIT ?5",
    [VG_SQL_PEEK_QUARANTINE] =
        "SELECT id, number + 1, batch, class, version, errors, crashes, max_errors, limit_ms, content_type, "
        "payload, checkpoint, ustart FROM vigil_jobs WHERE state = 3 AND kind = ?1 AND due <= ?2 AND "
        "version <= ?3 ORDER BY due, id LIMIT 1",
    /* tenants: the next one after a name that has a due job, then its jobs */
    [VG_SQL_NEXT_TENANT] = "SELECT tenant FROM vigil_jobs WHERE state = 0 AND tenant IS NOT NULL AND kind = ?1 AND "
                           "class = ?2 AND tenant > ?3 ORDER BY tenant LIMIT 1",
    [VG_SQL_PEEK_TENANT] =
        "SELECT id, number + 1, batch, class, version, errors, crashes, max_errors, limit_ms, content_type, payload, "
        "checkpoint, ustart FROM vigil_jobs WHERE state = 0 AND tenant IS NOT NULL AND kind = ?1 AND class = ?2 AND "
        "tenant = ?6 AND due <= ?3 AND version <= ?4 ORDER BY due, id LIMIT ?5",
    [VG_SQL_PEEK_NOBODY] =
        "SELECT id, number + 1, batch, class, version, errors, crashes, max_errors, limit_ms, content_type, payload, "
        "checkpoint, ustart FROM vigil_jobs WHERE state = 0 AND tenant IS NULL AND kind = ?1 AND class = ?2 AND "
        "due <= ?3 AND version <= ?4 ORDER BY due, id LIMIT ?5",
    [VG_SQL_TENANT_RUNNING] = "SELECT count(*) FROM vigil_jobs WHERE state = 1 AND kind = ?1 AND tenant = ?2",
    [VG_SQL_TENANT_TOKENS] = "SELECT tokens, stamp FROM vigil_jobs_tenants WHERE kind = ?1 AND tenant = ?2",
    [VG_SQL_TENANT_SPEND] = "INSERT INTO vigil_jobs_tenants VALUES(?1, ?2, ?3, ?4) ON CONFLICT(kind, tenant) DO UPDATE "
                            "SET tokens = ?3, stamp = ?4",
    /* A bucket that nobody has touched for a second is full. */
    [VG_SQL_TENANTS_PRUNE] = "DELETE FROM vigil_jobs_tenants WHERE stamp < ?1 - 1000",
    [VG_SQL_CLAIM_RANGE] = CLAIM_MANY " WHERE id BETWEEN ?1 AND ?2",
    [VG_SQL_CLAIM_LIST] = CLAIM_MANY " WHERE id IN (SELECT value FROM json_each(?1))",
    [VG_SQL_CLAIM_KEY] = "UPDATE vigil_jobs SET ukey = NULL WHERE id = ?1 AND ustart = 1",
    [VG_SQL_WORKER] = "INSERT INTO vigil_jobs_workers(name, identity, started) VALUES(?1, ?2, ?3)",
    [VG_SQL_WORKERS_PRUNE] = "DELETE FROM vigil_jobs_workers WHERE started < ?1 AND id <> ?2",
    /* Not IN ('', ?1): for a list SQLite makes a table of its own at each call, a fifth of the cost of a single job. */
    [VG_SQL_KIND_STATE] =
        "SELECT kind, paused, tokens, stamp FROM vigil_jobs_kinds WHERE kind = '' UNION ALL SELECT kind, paused, "
        "tokens, stamp FROM vigil_jobs_kinds WHERE kind = ?1",
    [VG_SQL_KIND_TOKENS] =
        "INSERT INTO vigil_jobs_kinds(kind, tokens, stamp) VALUES(?1, ?2, ?3) ON CONFLICT(kind) DO UPDATE SET "
        "tokens = ?2, stamp = ?3",
    [VG_SQL_KIND_RUNNING] = "SELECT count(*) FROM vigil_jobs WHERE state = 1 AND kind = ?1",
    /* the ends: each is conditional on the number */
    [VG_SQL_END_KEEP] =
        "INSERT INTO vigil_jobs_ended(" ENDED_COLUMNS ") SELECT id, kind, class, ?3, due, number, worker, created, "
        "CASE WHEN number = 0 THEN NULL ELSE started END, ?4, errors + ?8, crashes, max_errors, limit_ms, version, "
        "content_type, ukey, ustart, batch, text, "
        "coalesce(?5, error), CASE ?3 WHEN 4 THEN NULL ELSE payload END, ?6, tenant, coalesce(?9, verdict) FROM "
        "vigil_jobs WHERE id = ?1 AND "
        "number = ?2 AND (state = 1 OR ?7)",
    /* Completions without result and batch that have one number. OR ROLLBACK: no savepoint for the statement. */
    [VG_SQL_COMPLETE_RANGE] = COMPLETE_MANY "vigil_jobs j NOT INDEXED WHERE j.id BETWEEN ?1 AND ?2 AND number = ?3 AND "
                                            "j.state = 1",
    [VG_SQL_COMPLETE_LIST] = COMPLETE_MANY "json_each(?1) e CROSS JOIN vigil_jobs j ON j.id = e.value WHERE number = "
                                           "?3 AND j.state = 1",
    [VG_SQL_IS_MINE] = "SELECT 1 FROM vigil_jobs WHERE id = ?1 AND number = ?2 AND state = 1",
    [VG_SQL_DELETE_RANGE] =
        "DELETE FROM vigil_jobs NOT INDEXED WHERE id BETWEEN ?1 AND ?2 AND number = ?3 AND state = 1",
    [VG_SQL_DELETE_LIST] =
        "DELETE FROM vigil_jobs WHERE id IN (SELECT value FROM json_each(?1)) AND number = ?3 AND state = 1",
    [VG_SQL_END_DELETE] = "DELETE FROM vigil_jobs WHERE id = ?1",
    [VG_SQL_AGAIN] = "UPDATE vigil_jobs SET state = CASE WHEN crashes >= 2 THEN 3 ELSE 0 END, number = number + 1, "
                     "errors = errors + 1, due = ?3, error = ?4, checkpoint = coalesce(?5, checkpoint), lease = NULL, "
                     "verdict = coalesce(?6, verdict) "
                     "WHERE id = ?1 AND number = ?2 AND state = 1 AND cancel = 0",
    [VG_SQL_GIVE_BACK] =
        "UPDATE vigil_jobs SET state = CASE WHEN crashes >= 2 THEN 3 ELSE 0 END, number = number + 1, "
        "checkpoint = coalesce(?3, checkpoint), lease = NULL WHERE id = ?1 AND number = ?2 AND state = 1 AND cancel = "
        "0",
    [VG_SQL_NEXT_DUE] = "SELECT min(due) FROM vigil_jobs WHERE state = 0 AND kind = ?1 AND class = ?2 AND due > ?3",
    [VG_SQL_QUARANTINED] =
        "SELECT 1 FROM vigil_jobs WHERE state = 3 AND kind = ?1 AND due <= ?2 AND version <= ?3 LIMIT 1",
    [VG_SQL_NEXT_QUARANTINED] = "SELECT min(due) FROM vigil_jobs WHERE state = 3 AND due > ?1",
    [VG_SQL_RATE_WAITS] =
        "SELECT 1 FROM vigil_jobs WHERE state = 0 AND kind = ?1 AND class IN (0, 1, 2, 3, 4) AND due <= ?2 "
        "AND version <= ?3 AND NOT EXISTS(SELECT 1 FROM vigil_jobs_kinds WHERE kind IN ('', ?1) AND paused) "
        "LIMIT 1",
    [VG_SQL_NEXT_SCHEDULE] = "SELECT min(next) FROM vigil_jobs_schedules",
    [VG_SQL_SCHEDULE_SET] =
        "INSERT INTO vigil_jobs_schedules(name, kind, class, cron, zone, catch_up, next, version, content_type, "
        "max_errors, "
        "limit_ms, payload) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT(name) DO UPDATE SET "
        "next = "
        "CASE WHEN cron = excluded.cron AND zone = excluded.zone THEN next ELSE excluded.next END, kind = "
        "excluded.kind, "
        "class = excluded.class, cron = excluded.cron, zone = excluded.zone, catch_up = excluded.catch_up, version = "
        "excluded.version, content_type = excluded.content_type, max_errors = excluded.max_errors, limit_ms = "
        "excluded.limit_ms, payload = excluded.payload",
    [VG_SQL_SCHEDULE_REMOVE] = "DELETE FROM vigil_jobs_schedules WHERE name = ?1",
    [VG_SQL_SCHEDULE_LOOK] = "SELECT name, kind, class, cron, zone, catch_up, next, last, version, content_type, "
                             "max_errors, limit_ms, payload "
                             "FROM vigil_jobs_schedules WHERE next <= ?1 ORDER BY name",
    [VG_SQL_SCHEDULE_MOVE] = "UPDATE vigil_jobs_schedules SET next = ?3, last = coalesce(?4, last) WHERE name = ?1 AND "
                             "next = ?2",
    [VG_SQL_NEXT_LEASE] = "SELECT min(lease) FROM vigil_jobs WHERE state = 1 AND lease >= ?1",
    [VG_SQL_EXTEND] = "UPDATE vigil_jobs SET lease = ?3 WHERE id = ?1 AND number = ?2 AND state = 1 RETURNING cancel",
    [VG_SQL_SAVE] =
        "UPDATE vigil_jobs SET progress = coalesce(?3, progress), text = coalesce(?4, text), "
        "checkpoint = coalesce(?5, checkpoint), verdict = coalesce(?6, verdict) WHERE id = ?1 AND number = ?2 AND "
        "state = 1",
    [VG_SQL_EXPIRED] =
        "SELECT id, number, crashes, batch, cancel FROM vigil_jobs WHERE state = 1 AND lease < ?1 ORDER BY lease, id "
        "LIMIT ?2 OFFSET ?3",
    [VG_SQL_RESCUE] =
        "UPDATE vigil_jobs SET state = CASE WHEN crashes + 1 >= 2 THEN 3 ELSE 0 END, number = number + 1, "
        "crashes = crashes + 1, lease = NULL, error = 'the process died or was cut off: the lease ran out' "
        "WHERE id = ?1 AND number = ?2 AND state = 1",
    [VG_SQL_RESCUE_NUMBER] =
        "UPDATE vigil_jobs SET number = number + 1, crashes = crashes + 1 WHERE id = ?1 AND number = ?2 AND "
        "state = 1",
    [VG_SQL_PRUNE_LIST] = "SELECT id FROM vigil_jobs_ended WHERE state = ?1 AND state > 4 AND (ended, id) <= (?2, ?3) "
                          "ORDER BY ended, id LIMIT ?4",
    /* The first of those that are too many. The completed ones are counted by id. */
    [VG_SQL_KEPT_LAST] =
        "SELECT ended, id FROM vigil_jobs_ended WHERE state = ?1 AND state > 4 ORDER BY ended DESC, id "
        "DESC LIMIT 1 OFFSET ?2",
    [VG_SQL_KEPT_LAST_COMPLETED] =
        "SELECT id FROM vigil_jobs_ended NOT INDEXED WHERE state = 4 ORDER BY id DESC LIMIT 1 OFFSET ?1",
    [VG_SQL_PRUNE_COMPLETED] =
        "SELECT id, ended FROM vigil_jobs_ended NOT INDEXED WHERE id > ?1 AND state = 4 ORDER BY id LIMIT ?2",
    [VG_SQL_PRUNE] = "DELETE FROM vigil_jobs_ended WHERE id = ?1",
    [VG_SQL_PRUNE_COUNT] = "INSERT INTO vigil_jobs_meta VALUES('pruned' || ?1, ?2) ON CONFLICT(name) DO UPDATE SET "
                           "value = value + ?2",
    [VG_SQL_LOOK] =
        "SELECT * FROM (SELECT j.id, number, state, class, kind, version, errors, crashes, created, due, "
        "CASE WHEN number = 0 THEN NULL ELSE j.started END, 0, progress, "
        "text, error, w.name, ukey, payload, NULL, batch, tenant, verdict FROM vigil_jobs j LEFT JOIN "
        "vigil_jobs_workers w "
        "ON w.id = worker WHERE "
        "j.id > ?1 AND j.id <= ?2 AND (?3 >> state) & 1 AND (?4 IS NULL OR kind = ?4) ORDER BY "
        "j.id LIMIT ?5) "
        "UNION ALL SELECT * FROM (SELECT e.id, number, state, class, kind, version, errors, crashes, "
        "created, due, e.started, ended, "
        "NULL, text, error, w.name, ukey, payload, result, batch, tenant, verdict FROM vigil_jobs_ended e LEFT JOIN "
        "vigil_jobs_workers w ON w.id = "
        "worker WHERE e.id > ?1 AND e.id <= ?2 AND (?3 >> state) & 1 AND (?4 IS NULL OR kind = "
        "?4) ORDER BY e.id LIMIT ?5) "
        "ORDER BY 1 LIMIT ?5",
    [VG_SQL_STATE_OF] = "SELECT state, number, batch FROM vigil_jobs WHERE id = ?1",
    [VG_SQL_CANCEL_RUNNING] = "UPDATE vigil_jobs SET cancel = 1 WHERE id = ?1 AND state = 1",
    [VG_SQL_ENDED_STATE_OF] = "SELECT state FROM vigil_jobs_ended WHERE id = ?1",
    [VG_SQL_RETRY_WAITING] =
        "UPDATE vigil_jobs SET state = 0, due = ?2, number = number + 1, crashes = 0 WHERE id = ?1 AND "
        "state IN (0, 3)",
    [VG_SQL_RETRY_ENDED] =
        "INSERT INTO vigil_jobs(id, kind, class, state, due, number, created, max_errors, limit_ms, "
        "version, content_type, ukey, "
        "ustart, payload, tenant) SELECT id, kind, class, 0, ?2, number + 1, created, max_errors, limit_ms, "
        "version, content_type, "
        "ukey, ustart, payload, tenant FROM vigil_jobs_ended WHERE id = ?1 ON CONFLICT DO NOTHING",
    [VG_SQL_EDIT] = "UPDATE vigil_jobs SET payload = ?2 WHERE id = ?1 AND state <> 1",
    [VG_SQL_EDIT_ENDED] = "UPDATE vigil_jobs_ended SET payload = ?2 WHERE id = ?1 AND state IN (5, 6)",
    [VG_SQL_FORGET] = "DELETE FROM vigil_jobs_ended WHERE id = ?1",
    [VG_SQL_PAUSE] =
        "INSERT INTO vigil_jobs_kinds(kind, paused) VALUES(?1, ?2) ON CONFLICT(kind) DO UPDATE SET paused = ?2",
    [VG_SQL_TALLY] =
        "SELECT kind, class, state, count(*), max(0, ?1 - CASE WHEN state = 1 THEN min(started) ELSE min(due) END), "
        "EXISTS(SELECT 1 FROM vigil_jobs_kinds k WHERE k.kind IN ('', j.kind) AND paused) FROM vigil_jobs j GROUP BY "
        "1, "
        "2, 3 UNION ALL SELECT kind, class, state, count(*), 0, 0 FROM vigil_jobs_ended GROUP BY 1, 2, 3 ORDER BY 1, "
        "2, 3",
    [VG_SQL_META] = "SELECT value FROM vigil_jobs_meta WHERE name = ?1",
    [VG_SQL_AUDIT_LIVE] = "SELECT state = 1, count(*) FROM vigil_jobs GROUP BY 1",
    [VG_SQL_AUDIT_ENDED] = "SELECT count(*) FROM vigil_jobs_ended WHERE state = ?1",
    [VG_SQL_AUDIT_OLDEST] = "SELECT min(due) FROM vigil_jobs WHERE state = 0 AND class = ?1",
};
