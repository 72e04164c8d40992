/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what an engine does, in few verbs. PROTOCOL.md has the rules that each verb keeps.
 *
 * A connection belongs to one thread at a time. Each verb is one transaction. A verb fails as a whole with a negative
 * errno: -ENOTCONN means that the engine is away and that the caller may repeat the verb, because every change is
 * conditional on the fencing number. exchange and extend fail with -EBADMSG if the engine refuses to change a row: the
 * caller repeats them row by row, so that one bad row holds up nothing else.
 */
#ifndef VG_JOBS_ENGINE_H
#define VG_JOBS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/jobs.h>

/* The version of the tables. An engine refuses a database with a higher one. */
#define VG_JOBS_SCHEMA             1
/* What was added within the version: columns and tables that older libraries do not see. */
#define VG_JOBS_LEVEL              3
/* Leases that ran out until a job is quarantined, and until it is dead. */
#define VG_JOBS_CRASHES_QUARANTINE 2
#define VG_JOBS_CRASHES_DEAD       3

struct vg_jobs_conn;
struct vg_jobs_site;

/* A job to insert. */
struct vg_jobs_new {
    const char *kind;
    const void *payload;
    size_t length;
    int priority;
    int64_t delay_ms, at_ms; /* the later counts */
    bool at_exactly;         /* due at at_ms, which may have passed */
    unsigned version;
    const char *content_type;
    const char *key;
    int unique;
    unsigned max_errors;
    int64_t limit_ms;
    uint64_t batch, after;
    int64_t unique_ms; /* how long the key is kept at least */
    const char *tenant;
    uint64_t id;     /* result; 0: the key is taken */
    uint64_t holder; /* result: the job that holds the key */
};

/* How a run ends. */
enum vg_jobs_outcome {
    VG_JOBS_COMPLETE,
    VG_JOBS_AGAIN, /* failed: waits for delay_ms */
    VG_JOBS_BURY,  /* failed for good */
    VG_JOBS_CANCEL,
    VG_JOBS_GIVE_BACK, /* waits as before: no error is counted */
};

struct vg_jobs_end {
    uint64_t id, number, batch;
    enum vg_jobs_outcome outcome;
    int64_t delay_ms;
    const char *error; /* NULL: none */
    const void *result;
    size_t result_length;
    const void *checkpoint; /* NULL: unchanged */
    size_t checkpoint_length;
    const char *verdict; /* NULL: unchanged */
    bool any_state;      /* also a job that does not run */
    bool capped;         /* its kind has a cap, or its tenants have: others may start one when this has ended */
    bool accepted;       /* result; false: the number is old */
};

/* A claimed job. The bytes are the engine's until `take` returns. */
struct vg_jobs_row {
    uint64_t id, number, batch;
    unsigned kind; /* index in the want */
    int priority;
    unsigned version, errors, crashes, max_errors;
    int64_t limit_ms;
    const char *content_type;
    const void *payload, *checkpoint;
    size_t length, checkpoint_length;
    bool quarantined;
};
typedef void (*vg_jobs_take_fn)(void *arg, const struct vg_jobs_row *row);

struct vg_jobs_kind_want {
    const char *name;
    unsigned version; /* highest; 0: any */
    unsigned cap, rate;
    bool fair; /* tenants take turns */
    unsigned tenant_cap, tenant_rate;
};

struct vg_jobs_want {
    unsigned count;        /* 0: claim nothing */
    bool alone;            /* nothing runs here: a quarantined job may be claimed, and then only that */
    bool quarantine_first; /* such a job goes before ordinary ones */
    const struct vg_jobs_kind_want *kinds;
    unsigned kind_count, first_kind; /* kinds are asked in rotation from first_kind */
    int classes[VIGIL_PRIORITIES];   /* in the order of asking */
    int64_t lease_ms;
};

struct vg_jobs_next {
    unsigned claimed;
    int64_t due_ms; /* until the next job is due or lease runs out; negative: none is known */
    int unrecorded; /* 0, or why the ends were not recorded although jobs were claimed */
};

/* A lease to extend. */
enum vg_jobs_beat {
    VG_JOBS_BEAT_OK,
    VG_JOBS_BEAT_LOST,
    VG_JOBS_BEAT_CANCEL
};
struct vg_jobs_lease {
    uint64_t id, number;
    double progress; /* negative: unchanged */
    const char *text;
    const char *verdict; /* NULL: unchanged */
    const void *checkpoint;
    size_t checkpoint_length;
    enum vg_jobs_beat beat; /* result */
};

/* Rows that cannot be rescued. */
struct vg_jobs_bad {
    unsigned count;
    uint64_t id; /* of one of them */
    char why[200];
};

/* What is kept of ended jobs, by age and by number; 0: any number. */
struct vg_jobs_keep {
    int64_t completed_ms, dead_ms;
    uint64_t completed_most, dead_most; /* the second for dead and for cancelled ones each */
};

/* A schedule. next_ms VG_JOBS_NEVER: no fire time is left. */
#define VG_JOBS_NEVER (INT64_MAX / 4)
struct vg_jobs_schedule {
    const char *name, *cron, *zone;
    int catch_up;
    int64_t next_ms, last_ms;
    struct vg_jobs_new job; /* kind, payload, class, version, content_type, max_errors, limit_ms */
};
typedef void (*vg_jobs_schedule_fn)(const struct vg_jobs_schedule *schedule, void *arg);

/* A promise that does not hold. */
enum vg_jobs_doubt {
    VG_JOBS_DOUBT_LASTS, /* what was acknowledged may be lost */
    VG_JOBS_DOUBT_ASKED, /* the same, as the options or the name have asked for */
    VG_JOBS_DOUBT_SLOW,  /* something outside holds the queue up */
};
typedef void (*vg_jobs_doubt_fn)(void *arg, enum vg_jobs_doubt doubt, const char *line);

/* What wakes a runner. */
enum {
    VG_JOBS_EVENT_WORK = 1,   /* there may be jobs */
    VG_JOBS_EVENT_CANCEL = 2, /* a running job may have been cancelled */
    VG_JOBS_EVENT_LOCAL = 4,  /* this process has ends to send, or stops */
    VG_JOBS_EVENT_CLOCK = 8,  /* leases may have run out sooner than was known */
};

struct vg_jobs_engine {
    const char *name;
    bool any_thread; /* while the runner sleeps another thread may use its connection, one at a time */

    /* The site is the part that all connections of a vigil_jobs share, and any thread may use. */
    int (*site_open)(struct vg_jobs_site **site, const char *where, const vigil_jobs_options *options);
    void (*site_close)(struct vg_jobs_site *site);
    int (*connect)(struct vg_jobs_site *site, struct vg_jobs_conn **conn);
    void (*disconnect)(struct vg_jobs_conn *conn);
    /* A runner starts: it can be rung from here on. */
    void (*start_running)(struct vg_jobs_site *site);

    int (*enqueue)(struct vg_jobs_conn *conn, struct vg_jobs_new *jobs, size_t count);
    /* The same on a foreign connection, inside its transaction. */
    int (*enqueue_within)(struct vg_jobs_site *site, void *foreign, struct vg_jobs_new *jobs, size_t count);
    /* The same, if this spool's number is lower than `number`, which it becomes in the same transaction. -EALREADY: it
       is not. */
    int (*enqueue_once)(struct vg_jobs_conn *conn, const char *spool, uint64_t number, struct vg_jobs_new *jobs,
                        size_t count);
    int (*spool_number)(struct vg_jobs_conn *conn, const char *spool, uint64_t *number);
    /* How many jobs wait, counted up to `most`. */
    int (*waiting)(struct vg_jobs_conn *conn, uint64_t most, uint64_t *waiting);
    /* Record ends and claim. Either may be a transaction of its own. */
    int (*exchange)(struct vg_jobs_conn *conn, struct vg_jobs_end **ends, size_t end_count,
                    const struct vg_jobs_want *want, vg_jobs_take_fn take, void *arg, struct vg_jobs_next *next);
    /* Whether a quarantined job of the want's kinds is due: 1 or 0. */
    int (*quarantined)(struct vg_jobs_conn *conn, const struct vg_jobs_want *want);
    int (*extend)(struct vg_jobs_conn *conn, struct vg_jobs_lease *leases, size_t count, int64_t lease_ms);
    /* Take at most `most` leases that have run out. Gives how many. Each row stands for itself: one that the engine
       refuses to change is left, and told in *bad. */
    int (*rescue)(struct vg_jobs_conn *conn, unsigned most, struct vg_jobs_bad *bad);
    /* Remove at most `most` ended jobs of each state that are not to be kept. Gives how many. */
    int (*prune)(struct vg_jobs_conn *conn, const struct vg_jobs_keep *keep, unsigned most);
    /* A transaction of somebody else, older than this, that keeps the engine from reusing space: its age (0: none) and
       a sentence about it. */
    int (*pinned)(struct vg_jobs_conn *conn, int64_t older_ms, int64_t *age_ms, char *text, size_t room);

    int (*look)(struct vg_jobs_conn *conn, const vigil_jobs_filter *filter, vigil_jobs_see_fn see, void *arg);
    int (*cancel)(struct vg_jobs_conn *conn, uint64_t id);
    int (*retry)(struct vg_jobs_conn *conn, uint64_t id);
    /* Another payload for a job that does not run. */
    int (*edit)(struct vg_jobs_conn *conn, uint64_t id, const void *payload, size_t length);
    /* Remove an ended job. */
    int (*drop)(struct vg_jobs_conn *conn, uint64_t id);
    int (*pause)(struct vg_jobs_conn *conn, const char *kind, bool paused);
    int (*batch)(struct vg_jobs_conn *conn, uint64_t *batch);
    int (*batch_end)(struct vg_jobs_conn *conn, uint64_t batch);
    int (*audit)(struct vg_jobs_conn *conn, vigil_jobs_account *account);

    int (*count)(struct vg_jobs_conn *conn, void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg);
    /* Say what does not hold; old_ms is for transactions of others. */
    int (*check)(struct vg_jobs_conn *conn, int64_t old_ms, vg_jobs_doubt_fn say, void *arg);
    /* The engine's clock, in ms since 1970. */
    int (*now)(struct vg_jobs_conn *conn, int64_t *now_ms);
    /* Make or change a schedule. With the same cron and zone the stored next_ms stays. */
    int (*schedule_set)(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule);
    /* Gives how many it removed. */
    int (*schedule_remove)(struct vg_jobs_conn *conn, const char *name);
    /* Those that fire at due_ms or before, by name. */
    int (*schedule_look)(struct vg_jobs_conn *conn, int64_t due_ms, vg_jobs_schedule_fn see, void *arg);
    /* If its next fire time is still schedule->next_ms: set the next one, and enqueue a job for each of the times. One
       transaction. Gives 1, or 0 if another process was first. */
    int (*schedule_fire)(struct vg_jobs_conn *conn, const struct vg_jobs_schedule *schedule, int64_t next_ms,
                         const int64_t *times, size_t count);

    /* Sleep until an event or the time is over (negative: no limit). The runner's connection. Gives the events. */
    unsigned (*wait)(struct vg_jobs_conn *conn, int64_t timeout_ms);
    /* Wake the runner of this process. Any thread. */
    void (*ring)(struct vg_jobs_site *site);
    /* Wake the runners of all processes after a foreign commit. Any thread. */
    void (*ring_all)(struct vg_jobs_site *site, unsigned events);
    /* Sleep until some job may have ended. The count of ends is read before looking. */
    uint32_t (*ended_count)(struct vg_jobs_conn *conn);
    void (*ended_wait)(struct vg_jobs_conn *conn, uint32_t seen, int64_t timeout_ms);
    /* End an ended_wait of this connection, or the next one. Any thread. */
    void (*ended_poke)(struct vg_jobs_conn *conn);
    /* Which of the jobs neither wait nor run. */
    int (*gone)(struct vg_jobs_conn *conn, const uint64_t *ids, size_t count, bool *gone);
    int (*clock_advance)(struct vg_jobs_site *site, int64_t by_ns);
};

extern const struct vg_jobs_engine vg_jobs_sqlite;

/* The engine of libvigil-jobs-pq, which is loaded when a queue needs it. */
#define VG_JOBS_PQ_SYMBOL "vigil_jobs_engine_pq"

#endif
