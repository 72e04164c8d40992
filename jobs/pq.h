/* SPDX-License-Identifier: MIT */
/*
 * pq.h - what the files of the PostgreSQL engine share: connection, statements, calls.
 *
 * Each connection has a loop of its own that watches the socket; libpq never blocks. A verb sends its statements in one
 * pipeline with one sync at the end: they are one transaction and one round trip. Each statement has its own snapshot
 * (READ COMMITTED).
 */
#ifndef VG_JOBS_PQ_H
#define VG_JOBS_PQ_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include <vigil/loop.h>

#include "engine.h"

enum vg_pq_sql {
    VG_PQ_INSERT,
    VG_PQ_INSERT_MANY,
    VG_PQ_COUNT_ENQUEUED,
    VG_PQ_NOTIFY,
    VG_PQ_NOTIFY_ENDED,
    VG_PQ_HOLDER,
    VG_PQ_PERIOD_HOLDER,
    VG_PQ_PERIOD_SET,
    VG_PQ_UNINSERT,
    VG_PQ_WAITING,
    VG_PQ_SPOOL_MOVE,
    VG_PQ_SPOOL_NUMBER,
    VG_PQ_HAS_TABLES,
    VG_PQ_LEVEL,
    VG_PQ_BATCH_NEW,
    VG_PQ_BATCH_JOIN,
    VG_PQ_BATCH_OPEN,
    VG_PQ_BATCH_CLOSE,
    VG_PQ_BATCH_RELEASE,
    VG_PQ_BATCH_RELEASE_ALL,
    VG_PQ_WORKER,
    VG_PQ_CLAIM,
    VG_PQ_CLAIM_ONE,
    VG_PQ_CLAIM_QUARANTINE,
    VG_PQ_QUARANTINED,
    VG_PQ_LIMITED_DUE,
    VG_PQ_LOCK_KIND,
    VG_PQ_CLAIM_LIMITED,
    VG_PQ_CLAIM_FAIR,
    VG_PQ_SPEND,
    VG_PQ_COMPLETE_MANY,
    VG_PQ_COMPLETE_ONE,
    VG_PQ_END_ONE,
    VG_PQ_AGAIN,
    VG_PQ_GIVE_BACK,
    VG_PQ_NEXT,
    VG_PQ_EXTEND,
    VG_PQ_TALLY,
    VG_PQ_CHECK,
    VG_PQ_CLOCK,
    VG_PQ_SCHEDULE_SET,
    VG_PQ_SCHEDULE_REMOVE,
    VG_PQ_SCHEDULE_LOOK,
    VG_PQ_SCHEDULE_FIRE,
    VG_PQ_SAVE,
    VG_PQ_EXPIRED,
    VG_PQ_RESCUE,
    VG_PQ_RESCUE_DEAD,
    VG_PQ_PRUNE,
    VG_PQ_KEPT_LAST,
    VG_PQ_KEPT_LAST_COMPLETED,
    VG_PQ_PRUNE_COMPLETED,
    VG_PQ_PRUNE_WORKERS,
    VG_PQ_LOOK,
    VG_PQ_CANCEL_WAITING,
    VG_PQ_CANCEL_ASKED,
    VG_PQ_CANCEL_RUNNING,
    VG_PQ_GONE,
    VG_PQ_STATE_OF,
    VG_PQ_RETRY_WAITING,
    VG_PQ_RETRY_ENDED,
    VG_PQ_EDIT,
    VG_PQ_DROP,
    VG_PQ_PAUSE,
    VG_PQ_AUDIT,
    VG_PQ_PINNED,
    VG_PQ_WAITER_ADD,
    VG_PQ_WAITER_REMOVE,
    VG_PQ_LOOKERS,
    VG_PQ_COUNT
};
extern const char *const vg_pq_text[VG_PQ_COUNT];
extern const char *const vg_pq_schema;

struct vg_jobs_site {
    char *where;
    int64_t poll_ms;
    pthread_mutex_t lock;
    struct vg_jobs_conn *runner; /* whose loop `ring` wakes; under the lock */
    bool rung;                   /* before there was a runner; under the lock */
    vigil_post post;
};

struct vg_jobs_conn {
    struct vg_jobs_site *site;
    PGconn *pg;
    vigil_loop *loop;
    vigil_watch watch;
    int socket; /* a copy of libpq's, while it is watched */
    bool watched, listens, waits, timer_fired;
    struct vg_jobs_conn *ear;  /* of the runner's: where it listens; the runner's thread alone */
    struct vg_jobs_conn *mate; /* of the runner's: where large numbers of ends are recorded (pq_beside.c) */
    uint64_t mate_at;          /* CLOCK_MONOTONIC ms: when a mate may be tried again */
    bool broken;               /* connect anew before the next call */
    int failure;               /* the first error of the pipeline */
    bool bad_row;              /* that error was about a row, not about the server */
    uint64_t preparing;        /* which of the statements sent are preparations */
    unsigned events;           /* what the loop has seen */
    uint32_t ended;            /* notifications of ended jobs, and pokes */
    vigil_post poke;
    char *lookers;      /* of one that waits: who may have missed it (pq_listen.c), as an array; NULL: nobody */
    int64_t lookers_ms; /* the pause before it looks again because of them */
    bool prepared[VG_PQ_COUNT];
    unsigned sent; /* statements in the pipeline whose results have not been read */
    int64_t worker;
    uint64_t full_look_at;   /* CLOCK_MONOTONIC ms: when the watermarks are dropped */
    uint64_t recent_look_at; /* the same: when the claim reads from low_recent on */
    int64_t *low;            /* per kind and class: due times below have been claimed */
    int64_t *low_recent;     /* the marks at the last look below them; in the same block */
    unsigned low_count;
    int64_t pruned_to;   /* completed jobs with lower ids have been looked at; 0: none */
    int64_t prune_below; /* completed jobs up to this id are too many; 0: none */
    uint64_t kept_at;    /* CLOCK_MONOTONIC ms: when to count them again */
    int64_t bad[32];     /* rows that cannot be rescued, and are left out (pq_rescue.c) */
    unsigned bad_count;
    char bad_why[200];
    int64_t lease_low;       /* no lease was below; lowered to rescue_low at each rescue */
    int64_t rescue_low;      /* leases below have been looked at */
    uint64_t rescue_full_at; /* CLOCK_MONOTONIC ms: when rescue reads them all again */
    _Atomic bool rescue_all; /* the next rescue reads them all: leases were changed from outside. A hint: relaxed */
    char **turns;            /* per kind of the want: the tenant that was served last */
    unsigned turn_count;
    bool was_short; /* the last exchange had fewer jobs than wanted */
    bool full_look_cheap;
};

/* The arguments of one statement. */
enum {
    VG_PQ_ARGUMENTS = 15
};
struct vg_pq_call {
    const char *values[VG_PQ_ARGUMENTS];
    int lengths[VG_PQ_ARGUMENTS], formats[VG_PQ_ARGUMENTS];
    char numbers[VG_PQ_ARGUMENTS][24];
    int count;
};
void vg_pq_number(struct vg_pq_call *call, int64_t number);
void vg_pq_number_or_null(struct vg_pq_call *call, int64_t number); /* 0 is NULL */
void vg_pq_text_of(struct vg_pq_call *call, const char *text);      /* NULL is NULL */
void vg_pq_bytes(struct vg_pq_call *call, const void *bytes, size_t length);

/* Put a statement into the pipeline. */
int vg_pq_send(struct vg_jobs_conn *conn, enum vg_pq_sql which, const struct vg_pq_call *call);
/* The result of the next statement; NULL after an error, which is kept. */
PGresult *vg_pq_next(struct vg_jobs_conn *conn);
/* End the pipeline: sync must have been sent. Gives the first error, or 0. */
int vg_pq_sync(struct vg_jobs_conn *conn);
int vg_pq_finish(struct vg_jobs_conn *conn, int error);
/* One statement by itself; *result may be NULL and is the caller's. */
int vg_pq_run(struct vg_jobs_conn *conn, enum vg_pq_sql which, const struct vg_pq_call *call, PGresult **result);
/* Statements without arguments, not prepared. */
int vg_pq_execute(struct vg_jobs_conn *conn, const char *sql);
int vg_pq_connected(struct vg_jobs_conn *conn);
/* A connection without a server yet; NULL: no memory. */
struct vg_jobs_conn *vg_pq_make(struct vg_jobs_site *site);
void vg_pq_unwatch(struct vg_jobs_conn *conn);
/* Run the loop until something has happened, or so long; negative: for ever. */
void vg_pq_run_until(struct vg_jobs_conn *conn, int64_t timeout_ms);
unsigned vg_pq_wait(struct vg_jobs_conn *mouth, int64_t timeout_ms);
uint32_t vg_pq_ended_count(struct vg_jobs_conn *conn);
void vg_pq_ended_wait(struct vg_jobs_conn *conn, uint32_t seen, int64_t timeout_ms);
void vg_pq_ended_poke(struct vg_jobs_conn *conn);
int vg_pq_error(struct vg_jobs_conn *conn, const PGresult *result);
/* Whether the same call may work later. */
bool vg_pq_passes(const PGresult *result);

/* CLOCK_MONOTONIC. */
uint64_t vg_pq_now_ms(void);

/* Columns of a binary result. */
int64_t vg_pq_get_number(const PGresult *result, int row, int column);
int vg_pq_get_int(const PGresult *result, int row, int column);
const char *vg_pq_get_text(const PGresult *result, int row, int column); /* "" for NULL */
int vg_pq_changed(const PGresult *result);

int vg_pq_enqueue(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count);
int vg_pq_enqueue_within(struct vg_jobs_site *site, void *foreign, struct vg_jobs_new *jobs, size_t count);
int vg_pq_exchange(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                   const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next);
/* The ends of an exchange in the pipeline. */
struct vg_pq_sent {
    struct vg_jobs_end **plain; /* by number and id; the caller frees it */
    size_t plain_count;
    bool released, ended;
    size_t again; /* ends after which the job waits again */
};
int vg_pq_send_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent);
void vg_pq_read_ends(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, const struct vg_pq_sent *sent);
/* The same on the second connection, while this one claims. -ENOTCONN: nothing was sent, record them here. */
int vg_pq_send_beside(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent);
/* 0: they are recorded or refused. */
int vg_pq_read_beside(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t count, struct vg_pq_sent *sent);
/* Who gets the claimed rows. */
struct vg_pq_taker {
    const struct vg_jobs_want *want;
    vg_jobs_take_fn take;
    void *arg;
    const int *classes; /* to claim from, in this order */
    int class_count;
};
void vg_pq_take_row(struct vg_jobs_conn *conn, const PGresult *result, int i, unsigned kind, bool quarantined,
                    vg_jobs_take_fn take, void *arg);
/* Hand the claimed rows over, by class and due time. The server gives them by id. Gives how many. */
int vg_pq_take_rows(struct vg_jobs_conn *conn, const PGresult *result, const struct vg_jobs_want *want,
                    bool quarantined, vg_jobs_take_fn take, void *arg);
/* Whether it has a cap, a rate or tenants that take turns. */
bool vg_pq_is_limited(const struct vg_jobs_kind_want *kind);
/* Claim at most `count` jobs of a limited kind from the taker's classes. Gives how many. */
int vg_pq_claim_kind(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count);
/* Claim one that runs alone. Gives how many. */
int vg_pq_claim_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want, vg_jobs_take_fn take,
                            void *arg);
/* So many jobs of a kind with a rate have started. */
void vg_pq_spend(struct vg_jobs_conn *conn, const struct vg_jobs_kind_want *kind, int taken);
int64_t vg_pq_version_of(const struct vg_jobs_kind_want *kind);
/* Claim at most `count` jobs of a kind whose tenants take turns. Gives how many. */
int vg_pq_claim_fair(struct vg_jobs_conn *conn, const struct vg_pq_taker *taker, unsigned kind, unsigned count);
int vg_pq_extend(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms);
int vg_pq_quarantined(struct vg_jobs_conn *conn, const struct vg_jobs_want *want);
int vg_pq_rescue(struct vg_jobs_conn *conn, unsigned most, struct vg_jobs_bad *bad);
/* The array of the rows that are left out; NULL: no memory. The caller frees it. */
char *vg_pq_bad_ids(const struct vg_jobs_conn *conn);
int vg_pq_prune(struct vg_jobs_conn *conn, const struct vg_jobs_keep *keep, unsigned most);
int vg_pq_pinned(struct vg_jobs_conn *conn, int64_t older_ms, int64_t *age_ms, char *text, size_t room);
int vg_pq_look(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg);
int vg_pq_gone(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *gone);
int vg_pq_cancel(struct vg_jobs_conn *conn, uint64_t id);
int vg_pq_retry(struct vg_jobs_conn *conn, uint64_t id);
int vg_pq_edit(struct vg_jobs_conn *conn, uint64_t id, const void *payload, size_t length);
int vg_pq_drop(struct vg_jobs_conn *conn, uint64_t id);
int vg_pq_pause(struct vg_jobs_conn *conn, const char *kind, bool paused);
int vg_pq_enqueue_once(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                       size_t count);
int vg_pq_spool_number(struct vg_jobs_conn *conn, const char *spool, uint64_t *number);
int vg_pq_waiting(struct vg_jobs_conn *conn, uint64_t most, uint64_t *waiting);
int vg_pq_batch(struct vg_jobs_conn *conn, uint64_t *batch);
int vg_pq_batch_end(struct vg_jobs_conn *conn, uint64_t batch);
int vg_pq_audit(struct vg_jobs_conn *conn, vigil_jobs_account *account);
int vg_pq_count(struct vg_jobs_conn *conn, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg);
int vg_pq_check(struct vg_jobs_conn *conn, int64_t old_ms, vg_jobs_doubt_fn say, void *arg);
int vg_pq_clock(struct vg_jobs_conn *conn, int64_t *now_ms);
int vg_pq_schedule_set(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule);
int vg_pq_schedule_remove(struct vg_jobs_conn *conn, const char *name);
int vg_pq_schedule_look(struct vg_jobs_conn *conn, int64_t due_ms, vg_jobs_schedule_fn see, void *arg);
int vg_pq_schedule_fire(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                        const int64_t *times, size_t count);

extern VIGIL_API const struct vg_jobs_engine vigil_jobs_engine_pq;

#endif
