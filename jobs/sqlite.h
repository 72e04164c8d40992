/* SPDX-License-Identifier: MIT */
/* sqlite.h - what the files of the SQLite engine share: site, connection, statements, transactions. */
#ifndef VG_JOBS_SQLITE_H
#define VG_JOBS_SQLITE_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "beside.h"
#include "engine.h"

/* Each statement is prepared at its first use. The texts are in sqlite_sql.c. */
enum vg_jobs_sql {
    VG_SQL_BEGIN,
    VG_SQL_BEGIN_READ,
    VG_SQL_COMMIT,
    VG_SQL_ROLLBACK,
    VG_SQL_ROW_BEGIN,
    VG_SQL_ROW_END,
    VG_SQL_ROW_UNDO,
    VG_SQL_INSERT,
    VG_SQL_COUNT_ENQUEUED,
    VG_SQL_HOLDER,
    VG_SQL_PERIOD_HOLDER,
    VG_SQL_PERIOD_SET,
    VG_SQL_PERIODS_PRUNE,
    VG_SQL_WAITING,
    VG_SQL_SPOOL_MOVE,
    VG_SQL_SPOOL_NUMBER,
    VG_SQL_BATCH_NEW,
    VG_SQL_BATCH_JOIN,
    VG_SQL_BATCH_OPEN,
    VG_SQL_BATCH_LEAVE,
    VG_SQL_BATCH_CLOSE,
    VG_SQL_BATCH_RELEASE,
    VG_SQL_PEEK,
    VG_SQL_PEEK_QUARANTINE,
    VG_SQL_CLAIM_RANGE,
    VG_SQL_CLAIM_LIST,
    VG_SQL_PEEK_TENANT,
    VG_SQL_PEEK_NOBODY,
    VG_SQL_NEXT_TENANT,
    VG_SQL_TENANT_RUNNING,
    VG_SQL_TENANT_TOKENS,
    VG_SQL_TENANT_SPEND,
    VG_SQL_TENANTS_PRUNE,
    VG_SQL_CLAIM_KEY,
    VG_SQL_WORKER,
    VG_SQL_WORKERS_PRUNE,
    VG_SQL_KIND_STATE,
    VG_SQL_KIND_TOKENS,
    VG_SQL_KIND_RUNNING,
    VG_SQL_END_KEEP,
    VG_SQL_COMPLETE_RANGE,
    VG_SQL_COMPLETE_LIST,
    VG_SQL_IS_MINE,
    VG_SQL_DELETE_RANGE,
    VG_SQL_DELETE_LIST,
    VG_SQL_END_DELETE,
    VG_SQL_AGAIN,
    VG_SQL_GIVE_BACK,
    VG_SQL_NEXT_DUE,
    VG_SQL_QUARANTINED,
    VG_SQL_NEXT_QUARANTINED,
    VG_SQL_RATE_WAITS,
    VG_SQL_NEXT_SCHEDULE,
    VG_SQL_SCHEDULE_SET,
    VG_SQL_SCHEDULE_REMOVE,
    VG_SQL_SCHEDULE_LOOK,
    VG_SQL_SCHEDULE_MOVE,
    VG_SQL_NEXT_LEASE,
    VG_SQL_EXTEND,
    VG_SQL_SAVE,
    VG_SQL_EXPIRED,
    VG_SQL_RESCUE,
    VG_SQL_RESCUE_NUMBER,
    VG_SQL_PRUNE_LIST,
    VG_SQL_KEPT_LAST,
    VG_SQL_KEPT_LAST_COMPLETED,
    VG_SQL_PRUNE_COMPLETED,
    VG_SQL_PRUNE,
    VG_SQL_PRUNE_COUNT,
    VG_SQL_LOOK,
    VG_SQL_STATE_OF,
    VG_SQL_CANCEL_RUNNING,
    VG_SQL_ENDED_STATE_OF,
    VG_SQL_RETRY_WAITING,
    VG_SQL_RETRY_ENDED,
    VG_SQL_EDIT,
    VG_SQL_EDIT_ENDED,
    VG_SQL_FORGET,
    VG_SQL_PAUSE,
    VG_SQL_TALLY,
    VG_SQL_META,
    VG_SQL_AUDIT_LIVE,
    VG_SQL_AUDIT_ENDED,
    VG_SQL_AUDIT_OLDEST,
    VG_SQL_COUNT
};
extern const char *const vg_jobs_sqlite_text[VG_SQL_COUNT];
extern const char *const vg_jobs_sqlite_schema;
/* What comes after the columns that were added later. */
extern const char *const vg_jobs_sqlite_added;

/* The zero of leases. All of them, and the place that a waiting row keeps for one, have six bytes then. */
#define VG_SQL_LEASE_ZERO (INT64_C(1) << 40)

struct vg_jobs_site {
    char *path;
    struct vg_jobs_beside *beside;
    int slot;  /* of the runner; -1 without one */
    int users; /* descriptor whose lock counts the users of a queue in memory; -1: a file */
    bool fast;
    /* Writers of this process, in the order of their coming. */
    _Atomic uint32_t ticket, serving;
};

struct vg_jobs_conn {
    struct vg_jobs_site *site;
    sqlite3 *db;
    sqlite3_stmt *statements[VG_SQL_COUNT];
    int64_t worker;      /* row of this process; 0: not yet */
    bool released;       /* the transaction has made a job wait that did not, or has made room under a cap */
    bool bad_row;        /* the last error was about a row, not about the database */
    int64_t swept;       /* leases below that are still there cannot be rescued; 0: none */
    int64_t pruned_to;   /* completed jobs with lower ids have been looked at; 0: none */
    int64_t prune_below; /* completed jobs up to this id are too many; 0: none */
    int64_t kept_at;     /* CLOCK_MONOTONIC ms: when to count them again */
    uint32_t commits;    /* as they were counted before the last try to begin */
    int64_t busy_since;  /* CLOCK_MONOTONIC ms */
    char **turns;        /* per kind of the want: the tenant that was served last */
    unsigned turn_count;
    int64_t log_behind; /* since when the log could not be emptied, on the same clock; 0: it could */
    struct vg_jobs_ids {
        uint64_t *list;
        size_t count, room;
        char *text; /* the same as a JSON array */
        size_t text_room;
    } ids;
};

/* The engine's clocks: of due times, and of leases. The second never jumps and starts with the boot. */
int64_t vg_jobs_sqlite_now(struct vg_jobs_site *site);
int64_t vg_jobs_sqlite_lease_now(struct vg_jobs_site *site);

/* The statement, reset and without values; NULL with the reason in vigil_jobs_why. */
sqlite3_stmt *vg_jobs_sqlite_get(struct vg_jobs_conn *conn, enum vg_jobs_sql which);
/* Run a statement without rows. 0, or a negative errno. */
int vg_jobs_sqlite_run(struct vg_jobs_conn *conn, sqlite3_stmt *statement);
/* The negative errno of the database's last error. */
int vg_jobs_sqlite_error(struct vg_jobs_conn *conn, const char *what);

/* A write transaction: FIFO within the process, by turns between processes. end commits if error is 0, and gives the
   error. */
int vg_jobs_sqlite_begin(struct vg_jobs_conn *conn);
int vg_jobs_sqlite_end(struct vg_jobs_conn *conn, int error);

/* A job of the batch has ended. Inside a transaction. */
int vg_jobs_sqlite_batch_left(struct vg_jobs_conn *conn, uint64_t batch);
/* Move a job to its end: state, error, result. Gives 1, or 0 if the number is old. Inside a transaction. */
int vg_jobs_sqlite_bury(struct vg_jobs_conn *conn, const struct vg_jobs_end *end, int state);

/* Lists of ids for statements that concern many jobs. Inside a transaction; one list at a time. */
void vg_jobs_ids_begin(struct vg_jobs_conn *conn);
int vg_jobs_ids_add(struct vg_jobs_conn *conn, uint64_t id);
/* Run a statement for all of them: the one for a range of ids (?1 to ?2), or if they are scattered the one for a list
   (?1, a JSON array). values are ?3 and so on. Gives how many rows it changed. */
int vg_jobs_ids_run(struct vg_jobs_conn *conn, enum vg_jobs_sql range, enum vg_jobs_sql list, const int64_t *values,
                    int count);

/* Record the completions among the ends that need nothing special. Marks them in `done`. */
int vg_jobs_sqlite_complete_many(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, bool *done);

/* A claim from one class of one kind. */
struct vg_jobs_turn {
    const struct vg_jobs_want *want;
    unsigned kind;
    int class;
    int64_t now;
    vg_jobs_take_fn take;
    void *arg;
};
/* Claim at most `most` jobs of a kind whose tenants take turns. Gives how many. Inside a transaction. */
int vg_jobs_sqlite_claim_fair(struct vg_jobs_conn *conn, const struct vg_jobs_turn *turn, unsigned most);
/* Take the rows of a peek, and claim them when it is over. Gives how many. Inside a transaction. */
int vg_jobs_sqlite_take_rows(struct vg_jobs_conn *conn, sqlite3_stmt *peek, const struct vg_jobs_turn *turn,
                             bool quarantined);

/* Insert jobs and count them. Gives how many. Inside a transaction. */
int vg_jobs_sqlite_insert(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count);

/* The verbs. */
int vg_jobs_sqlite_enqueue(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count);
int vg_jobs_sqlite_enqueue_within(struct vg_jobs_site *site, void *foreign, struct vg_jobs_new *jobs, size_t count);
int vg_jobs_sqlite_exchange(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                            const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg,
                            struct vg_jobs_next *next);
int vg_jobs_sqlite_extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms);
int vg_jobs_sqlite_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want);
int vg_jobs_sqlite_rescue(struct vg_jobs_conn *conn, unsigned most, struct vg_jobs_bad *bad);
int vg_jobs_sqlite_prune(struct vg_jobs_conn *conn, const struct vg_jobs_keep *keep, unsigned most);
int vg_jobs_sqlite_pinned(struct vg_jobs_conn *conn, int64_t older_ms, int64_t *age_ms, char *text, size_t room);
int vg_jobs_sqlite_look(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg);
int vg_jobs_sqlite_gone(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *gone);
int vg_jobs_sqlite_cancel(struct vg_jobs_conn *conn, uint64_t id);
int vg_jobs_sqlite_retry(struct vg_jobs_conn *conn, uint64_t id);
int vg_jobs_sqlite_edit(struct vg_jobs_conn *conn, uint64_t id, const void *payload, size_t length);
int vg_jobs_sqlite_drop(struct vg_jobs_conn *conn, uint64_t id);
int vg_jobs_sqlite_pause(struct vg_jobs_conn *conn, const char *kind, bool paused);
int vg_jobs_sqlite_enqueue_once(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                                size_t count);
int vg_jobs_sqlite_spool_number(struct vg_jobs_conn *conn, const char *spool, uint64_t *number);
int vg_jobs_sqlite_waiting(struct vg_jobs_conn *conn, uint64_t most, uint64_t *waiting);
int vg_jobs_sqlite_batch(struct vg_jobs_conn *conn, uint64_t *batch);
int vg_jobs_sqlite_batch_end(struct vg_jobs_conn *conn, uint64_t batch);
int vg_jobs_sqlite_audit(struct vg_jobs_conn *conn, vigil_jobs_account *account);
int vg_jobs_sqlite_count(struct vg_jobs_conn *conn, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg);
int vg_jobs_sqlite_check(struct vg_jobs_conn *conn, int64_t old_ms, vg_jobs_doubt_fn say, void *arg);
int vg_jobs_sqlite_clock(struct vg_jobs_conn *conn, int64_t *now_ms);
int vg_jobs_sqlite_schedule_set(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule);
int vg_jobs_sqlite_schedule_remove(struct vg_jobs_conn *conn, const char *name);
int vg_jobs_sqlite_schedule_look(struct vg_jobs_conn *conn, int64_t due_ms, vg_jobs_schedule_fn see, void *arg);
int vg_jobs_sqlite_schedule_fire(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                                 const int64_t *times, size_t count);

static inline void vg_sql_bind_number(sqlite3_stmt *statement, int place, uint64_t number)
{
    (void)sqlite3_bind_int64(statement, place, (sqlite3_int64)number);
}

/* NULL stays NULL. */
static inline void vg_sql_bind_bytes(sqlite3_stmt *statement, int place, const void *bytes, size_t length)
{
    if (bytes != NULL)
        (void)sqlite3_bind_blob64(statement, place, bytes, length, SQLITE_STATIC);
}

#endif
