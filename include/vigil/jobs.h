/* SPDX-License-Identifier: MIT */
/*
 * vigil/jobs.h - jobs that outlive the process. A library of its own: libvigil-jobs.
 *
 *     vigil_jobs *jobs;
 *     vigil_jobs_open(&jobs, "work.db", NULL);              one process, or several on one machine
 *     vigil_jobs_handle(jobs, "resize", resize, NULL, NULL);
 *     vigil_jobs_enqueue(jobs, "resize", "cat.png", 7, NULL, NULL);
 *     vigil_jobs_start(jobs);
 *
 * "postgresql://..." in place of the file's name is the same program on several hosts.
 *
 * What it promises
 *
 *   At least once.  An enqueued job runs until it has completed, is dead or is cancelled. It may
 *                   run twice: the process can die between the side effect and the completion. Its
 *                   id is the same in each run and serves as an idempotency key.
 *   One owner.      A run holds a lease and a fencing number, which rises at each change of hands.
 *                   A completion with an old number is refused, and the run that still goes on has
 *                   its token aborted with -ESTALE. No job is completed twice.
 *   The account.    enqueued = waiting + running + completed + dead + cancelled, at each commit.
 *                   vigil_jobs_audit looks.
 *   Priorities.     The five classes of vigil/pool.h, over all processes, with that ageing rule.
 *                   Within a class and kind: by due time, then by id.
 *   A heartbeat     from a thread of its own. A handler cannot hold it up.
 *   Silence.        Without work an SQLite queue makes no query and no wake-up. A PostgreSQL queue
 *                   looks once in poll_ns besides LISTEN.
 *
 * jobs/PROTOCOL.md has the argument for leases and numbers. docs/jobs.md has a table of what each
 * engine keeps through which failure.
 *
 * Names (kinds, keys, tenants, content types, schedules) are UTF-8, or -EINVAL. In the texts of
 * vigil_jobs_progress and vigil_jobs_error other bytes become question marks. Payloads, checkpoints
 * and results are any bytes.
 *
 * Threads: every call may be made by any thread unless it says otherwise. "Blocks" includes the
 * disk or the server. After fork the child's calls answer -ECHILD. Errors besides those of base.h:
 *
 *   -ENOTCONN    the engine is away: the server does not answer, or the file cannot be reached
 *   -EEXIST      a job with this key is there already
 *   -EAGAIN      the queue is full (max_waiting)
 *   -EMSGSIZE    the payload is larger than max_payload
 *   -EPROTO      the database has tables of another version, or an unknown engine was named
 */
#ifndef VIGIL_JOBS_H
#define VIGIL_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/pool.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_jobs vigil_jobs;

/* ---- the queue ------------------------------------------------------------------------------- */

/* Start from VIGIL_JOBS_OPTIONS_INIT; zero means the default for every field. */
typedef struct vigil_jobs_options {
    size_t size;
    vigil_pool *pool; /* where handlers run; NULL: a pool of its own, started by vigil_jobs_start */
    unsigned workers; /* most handlers at a time; 0: the workers of the pool */
    /* most claimed jobs that wait for a worker. 0: by how long the handlers take, at most 1024;
       jobs that take longer than a few milliseconds are not claimed ahead */
    unsigned prefetch;
    bool no_prefetch; /* claim for idle workers alone */
    int64_t
        lease_ns;    /* how long a job stays a silent process's; 0: 30 s. Beats come thrice in it */
    int64_t poll_ns; /* PostgreSQL: the slow poll behind LISTEN; 0: 10 s */
    size_t max_payload;        /* bytes; 0: 1 MiB */
    int64_t keep_completed_ns; /* how long completed jobs and results are kept; 0: 1 day */
    int64_t keep_dead_ns;      /* the same for dead and cancelled ones; 0: 30 days */
    bool fast; /* SQLite: synchronous=NORMAL. A power cut may undo the last commits, never more */
    /* most waiting jobs, also those that are not due yet: enqueueing more answers -EAGAIN. Checked
       at the enqueueing, by the processes that set it; several at once may exceed it by a sixteenth
       each. 0: no bound */
    uint64_t max_waiting;
    int64_t full_wait_ns; /* how long enqueueing waits for room first; 0: not */
    int64_t alarm_ns;     /* a foreign transaction that is open for longer is reported once on
                         stderr, and in the statistics; 0: 1 minute */
    /* a file for jobs that are enqueued while the engine is away: they go into the queue when it is
       back, each exactly once, also after a restart. One queue at a time has it. Enqueueing then
       costs some more. Not with several servers. NULL: none. Read by vigil_jobs_open alone */
    const char *spool;
    size_t spool_bytes; /* its largest size; 0: 64 MiB */
    /* vigil_jobs_open fails with -ENOTSUP if the settings of the engine may lose what it has
       acknowledged: see vigil_jobs_check. Otherwise it calls on_doubt(user, line) for each such
       setting that these options have not asked for; NULL: the first line in a process goes to
       standard error, unless VIGIL_LOG=off */
    bool must_last;
    void (*on_doubt)(void *user, const char *line);
    void *user;
    /* most completed jobs that are kept, the newest by id, and most dead and most cancelled ones,
       the newest by their end; 0: any number. Older ones go within a minute or so */
    uint64_t keep_completed_most, keep_dead_most;
} vigil_jobs_options;
#define VIGIL_JOBS_OPTIONS_INIT VG_SIZED(vigil_jobs_options)

/* Open a queue, and make its tables if they are not there. `where` is the name of an SQLite file,
   "memory:NAME" for one in memory that goes with its last user, or "postgresql://...". Several
   PostgreSQL servers, with spaces between them, are one queue: docs/jobs.md says what is different.
   Then one that answers is enough for now. options may be NULL. *jobs is given back with
   vigil_jobs_close. Any thread; blocks.
   0; -EINVAL; -ENOMEM; -ENOTCONN; -EPROTO; -ENOENT the engine's library is not installed; -EBUSY
   another queue has the spool; -EIO the spool cannot be used; -EAGAIN no thread; -ENOTSUP
   must_last. */
VIGIL_API int vigil_jobs_open(vigil_jobs **jobs, const char *where,
                              const vigil_jobs_options *options);

/* Give the queue back. Ends it first, with vigil_jobs_shutdown(jobs, 0), if nobody has. NULL is
   allowed. Any thread but a handler; blocks as long as handlers run. */
VIGIL_API void vigil_jobs_close(vigil_jobs *jobs);

/* Stop claiming and give back what has not started. Then wait for the handlers; when timeout_ns is
   over, their tokens are aborted with -ESHUTDOWN and their jobs are given back: another process may
   start them at once, and what these handlers still return is refused. Any thread but a handler;
   blocks.
   0 all handlers had ended; -ETIMEDOUT some jobs were given back while they ran; -EINVAL;
   -ECHILD. */
VIGIL_API int vigil_jobs_shutdown(vigil_jobs *jobs, int64_t timeout_ns);

/* The reason for the last failure of a vigil_jobs call on this thread, with the engine's own words.
   Any thread; does not block. Returns a text that is valid until the next failure. */
VIGIL_API const char *vigil_jobs_why(void);

/* ---- running --------------------------------------------------------------------------------- */

/* One run of a job, as its handler sees it. Read only. Valid until the handler returns, or after
   VIGIL_JOBS_LATER until vigil_jobs_finish. */
typedef struct vigil_jobs_run {
    size_t size;
    uint64_t id;
    uint64_t number; /* the fencing number of this run */
    const char *kind;
    unsigned version; /* of the payload, as enqueued */
    const char *content_type;
    const void *payload;
    size_t payload_size;
    unsigned errors;        /* runs of this job that failed before */
    unsigned crashes;       /* leases of this job that ran out before */
    const void *checkpoint; /* what an earlier run saved; NULL: nothing */
    size_t checkpoint_size;
} vigil_jobs_run;
#define VIGIL_JOBS_RUN_INIT VG_SIZED(vigil_jobs_run)

/* The work. 0 completes the job. A negative value is an error: the job is tried again later, or is
   dead after max_errors. VIGIL_JOBS_LATER: the handler has handed the run to an asynchronous
   function or coroutine, which calls vigil_jobs_finish. */
#define VIGIL_JOBS_LATER 1
typedef int (*vigil_jobs_fn)(vigil_jobs_run *run, void *arg);

/* How jobs of a kind are run. Start from VIGIL_JOBS_KIND_INIT; zero means the default. */
typedef struct vigil_jobs_kind {
    size_t size;
    unsigned version;       /* highest payload version that the handler knows; 0: any */
    unsigned max_errors;    /* errors until the job is dead; 0: 10 */
    int64_t backoff_ns;     /* before the second run; doubles, with jitter; 0: 1 s */
    int64_t backoff_max_ns; /* 0: 1 hour */
    int64_t limit_ns;       /* for a run: then its token is aborted with -ETIMEDOUT; 0: none */
    unsigned cap;           /* most runs at a time over all processes; 0: no cap */
    unsigned rate;          /* most starts per second over all processes; 0: no limit */
    unsigned tenant_cap;    /* the same for the jobs of one tenant; 0: no cap */
    unsigned tenant_rate;   /* the same for the jobs of one tenant; 0: no limit */
    bool fair; /* tenants take turns within a class, however many jobs each has. A tenant_cap or
                  tenant_rate means so too */
} vigil_jobs_kind;
#define VIGIL_JOBS_KIND_INIT VG_SIZED(vigil_jobs_kind)

/* Run jobs of this kind with fn(run, arg). Kinds and versions that no handler of this process knows
   are left for others. Before vigil_jobs_start. Any thread; blocks.
   0; -EINVAL; -ENOMEM; -EEXIST the kind has a handler; -EBUSY started; -ECHILD. */
VIGIL_API int vigil_jobs_handle(vigil_jobs *jobs, const char *kind, vigil_jobs_fn fn, void *arg,
                                const vigil_jobs_kind *options);

/* Start to claim and run jobs. Any thread; blocks for the start of two threads.
   0; -EINVAL; -ENOMEM; -EAGAIN no thread; -EALREADY; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_jobs_start(vigil_jobs *jobs);

/* End a run whose handler returned VIGIL_JOBS_LATER: status as a handler returns it. The run is
   gone afterwards. Any thread; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_jobs_finish(vigil_jobs_run *run, int status);

/* The token of the run: aborted with -ESTALE when the lease is lost, -ECANCELED when the job is
   cancelled, -ETIMEDOUT at limit_ns, -ESHUTDOWN at the end. Borrowed, as long as the run. Inside
   the handler's run, any thread; does not block. Returns NULL without memory. */
VIGIL_API vigil_cancel_token *vigil_jobs_token(vigil_jobs_run *run);

/* Say how far the run is, 0 to 1, and in words (NULL: as before). Goes out with the next beat. Any
   thread during the run; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_jobs_progress(vigil_jobs_run *run, double done, const char *text);

/* Save bytes for the next run of this job, should this one not complete. Goes out with the next
   beat, or with the end of the run. Any thread during the run; does not block.
   0; -EINVAL; -ENOMEM; -EMSGSIZE. */
VIGIL_API int vigil_jobs_checkpoint(vigil_jobs_run *run, const void *bytes, size_t length);

/* What the job leaves when it completes, see vigil_jobs_wait. Any thread during the run; does not
   block.
   0; -EINVAL; -ENOMEM; -EMSGSIZE. */
VIGIL_API int vigil_jobs_result(vigil_jobs_run *run, const void *bytes, size_t length);

/* Why the run fails, in words, for the dead letter. Any thread during the run; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_jobs_error(vigil_jobs_run *run, const char *text);

/* ---- enqueueing ------------------------------------------------------------------------------ */

/* Until when a key keeps other jobs with the same key out. */
typedef enum vigil_jobs_unique {
    VIGIL_JOBS_UNTIL_END = 0,  /* however the job ends (default) */
    VIGIL_JOBS_UNTIL_START = 1 /* a second may wait while the first runs */
} vigil_jobs_unique;

/* Start from VIGIL_JOBS_JOB_INIT. */
typedef struct vigil_jobs_job {
    size_t size;
    vigil_priority priority; /* the _INIT macro says VIGIL_NORMAL */
    int64_t delay_ns;        /* not before; by the engine's clock */
    unsigned version;
    const char *content_type; /* NULL: none */
    const char *key;          /* unique; NULL: none */
    vigil_jobs_unique unique;
    unsigned max_errors;  /* 0: what the kind says */
    int64_t limit_ns;     /* 0: what the kind says */
    uint64_t batch;       /* from vigil_jobs_batch; 0: none */
    uint64_t after_batch; /* waits until every job of that batch has ended; 0: none */
    int64_t at_ms;        /* not before; since 1970, by the engine's clock. 0: as delay_ns says */
    int64_t unique_ns;  /* the key keeps others out for so long after the enqueueing at least, also
                             when the job has ended; 0: as `unique` says */
    const char *tenant; /* whose job it is, for vigil_jobs_kind.fair and so on; NULL: nobody's */
} vigil_jobs_job;
#ifdef __cplusplus
#define VIGIL_JOBS_JOB_INIT                                                                       \
    vigil_jobs_job                                                                                \
    {                                                                                             \
        sizeof(vigil_jobs_job), VIGIL_NORMAL, 0, 0, NULL, NULL, VIGIL_JOBS_UNTIL_END, 0, 0, 0, 0, \
            0, 0, NULL                                                                            \
    }
#else
#define VIGIL_JOBS_JOB_INIT                                      \
    {                                                            \
        .size = sizeof(vigil_jobs_job), .priority = VIGIL_NORMAL \
    }
#endif

/* Enqueue one job. When this returns 0 it is on disk. options and id may be NULL; the payload is
   copied. With -EEXIST, *id is the job that holds the key. *id is 0 if the job went to the spool;
   if its key is taken when it comes out, it is dropped. Jobs of batches do not go there. Any
   thread; blocks.
   0; -EINVAL; -ENOMEM; -EMSGSIZE; -EEXIST; -EAGAIN max_waiting; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_enqueue(vigil_jobs *jobs, const char *kind, const void *payload,
                                 size_t length, const vigil_jobs_job *options, uint64_t *id);

/* One of many. */
typedef struct vigil_jobs_item {
    const char *kind;
    const void *payload;
    size_t length;
    const vigil_jobs_job *options; /* may be NULL */
    uint64_t id;                   /* set by the call; 0: another job holds the key */
} vigil_jobs_item;

/* Enqueue many jobs in one transaction: all or none, except those whose key is taken. Any thread;
   blocks.
   Returns how many were enqueued; -EINVAL; -ENOMEM; -EMSGSIZE; -EAGAIN max_waiting; -ENOTCONN;
   -ECHILD. */
VIGIL_API int vigil_jobs_enqueue_many(vigil_jobs *jobs, vigil_jobs_item *items, size_t count);

/* Enqueue inside the caller's own transaction: `connection` is an sqlite3 * or a PGconn *, of the
   same database as the queue, inside a transaction. The jobs are there if it commits. Call
   vigil_jobs_committed afterwards. Not on several servers: -ENOTSUP. Any thread that may use the
   connection; blocks.
   Returns how many were enqueued; -EINVAL; -ENOMEM; -EMSGSIZE; -EAGAIN max_waiting; -ENOTCONN;
   -ECHILD. */
VIGIL_API int vigil_jobs_enqueue_within(vigil_jobs *jobs, void *connection, vigil_jobs_item *items,
                                        size_t count);

/* Say that a transaction with jobs has been committed, so that idle SQLite workers start them at
   once. PostgreSQL does it by itself. Any thread; does not block.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_jobs_committed(vigil_jobs *jobs);

/* A new batch: jobs that are enqueued with its number belong to it, and jobs with this after_batch
   start when it is closed and all its jobs have ended, however they ended. Any thread; blocks.
   0; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_batch(vigil_jobs *jobs, uint64_t *batch);

/* Close a batch: no job is added any more. Any thread; blocks.
   0; -EINVAL; -ENOENT; -EALREADY; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_batch_end(vigil_jobs *jobs, uint64_t batch);

/* ---- schedules ------------------------------------------------------------------------------- */

/* What happens to fire times that passed while no process was there. */
typedef enum vigil_jobs_catch_up {
    VIGIL_JOBS_CATCH_UP_ONE = 0,  /* one job for all of them (default) */
    VIGIL_JOBS_CATCH_UP_SKIP = 1, /* none; a fire time counts as passed after a minute */
    VIGIL_JOBS_CATCH_UP_ALL = 2   /* one job for each, in order */
} vigil_jobs_catch_up;

/* Start from VIGIL_JOBS_SCHEDULE_INIT. */
typedef struct vigil_jobs_schedule {
    size_t size;
    const char *name; /* set when it is looked at */
    const char *kind;
    const void *payload;
    size_t length;
    /* minute, hour, day of the month, month, day of the week, as in crontab(5): *, numbers, names,
       ranges, lists, steps; or @hourly, @daily, @weekly, @monthly, @yearly. If both days are
       restricted either may match. */
    const char *cron;
    const char *zone; /* as "Europe/Berlin"; NULL: UTC */
    vigil_jobs_catch_up catch_up;
    const vigil_jobs_job *job; /* class, version, content_type, max_errors, limit_ns of its jobs;
                                  may be NULL; NULL when it is looked at */
    int64_t next_ms, last_ms;  /* fire times, since 1970, when it is looked at; 0: none */
} vigil_jobs_schedule;
#define VIGIL_JOBS_SCHEDULE_INIT VG_SIZED(vigil_jobs_schedule)

/* Enqueue a job at each fire time, from whichever process is running jobs then. There is one job
   for each fire time of a name, however many processes there are: the job and the step to the next
   fire time are one transaction. Setting it again with the same cron and zone keeps its place; with
   others it starts anew. The jobs have the fire time as their due time.
   Daylight saving: a local time that does not exist fires at the change of the clock; one that
   exists twice fires the first time, and both times if the hour is a plain *.
   Any thread; blocks.
   0; -EINVAL also for a cron or zone that is not understood; -EMSGSIZE; -ENOMEM; -ENOTCONN;
   -ECHILD. */
VIGIL_API int vigil_jobs_schedule_set(vigil_jobs *jobs, const char *name,
                                      const vigil_jobs_schedule *schedule);

/* Remove a schedule. Jobs that it has enqueued stay. Any thread; blocks.
   0; -ENOENT; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_schedule_remove(vigil_jobs *jobs, const char *name);

typedef void (*vigil_jobs_schedule_fn)(const vigil_jobs_schedule *schedule, void *arg);

/* Call see(schedule, arg) for each schedule, by name. Texts and bytes live until it returns. Any
   thread; blocks.
   Returns how many there are; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_schedule_look(vigil_jobs *jobs, vigil_jobs_schedule_fn see, void *arg);

/* ---- looking and steering -------------------------------------------------------------------- */

typedef enum vigil_jobs_state {
    VIGIL_JOBS_WAITING = 0,
    VIGIL_JOBS_RUNNING = 1,
    VIGIL_JOBS_HELD = 2, /* waits for a batch; counts as waiting in the account */
    VIGIL_JOBS_QUARANTINE =
        3, /* two leases ran out: runs alone in its process; counts as waiting */
    VIGIL_JOBS_COMPLETED = 4,
    VIGIL_JOBS_DEAD = 5,
    VIGIL_JOBS_CANCELLED = 6
} vigil_jobs_state;

/* A job from outside. Texts and bytes live until the callback returns. */
typedef struct vigil_jobs_info {
    size_t size;
    uint64_t id, number;
    vigil_jobs_state state;
    vigil_priority priority;
    const char *kind;
    unsigned version, errors, crashes;
    int64_t created_ms, due_ms, started_ms, ended_ms; /* since 1970; 0: not yet */
    double progress;                                  /* negative: unknown */
    const char *text;                                 /* of vigil_jobs_progress; "" for none */
    const char *error;                                /* the last failure; "" for none */
    const char *worker;                               /* host:pid of the last run; "" for none */
    const char *key;                                  /* "" for none */
    const void *payload, *result;
    size_t payload_size, result_size;
    uint64_t batch;
    const char *tenant; /* "" for none */
    /* what a run was doing, as the last beat or the limit has found it: the watchdog's verdict with
       its stack where one stands, else how long it runs and where its thread is. It stays when the
       run ends, for the dead letter; "" for none */
    const char *verdict;
} vigil_jobs_info;
#define VIGIL_JOBS_INFO_INIT VG_SIZED(vigil_jobs_info)

/* Which jobs. Start from VIGIL_JOBS_FILTER_INIT. */
typedef struct vigil_jobs_filter {
    size_t size;
    uint64_t id;       /* 0: any */
    unsigned states;   /* bits 1 << vigil_jobs_state; 0: any */
    const char *kind;  /* NULL: any */
    uint64_t above_id; /* for the next page */
    unsigned most;     /* 0: 100 */
} vigil_jobs_filter;
#define VIGIL_JOBS_FILTER_INIT VG_SIZED(vigil_jobs_filter)

typedef void (*vigil_jobs_see_fn)(const vigil_jobs_info *info, void *arg);

/* Call see(info, arg) for the jobs of the filter (NULL: all), by rising id. Any thread; blocks.
   Returns how many were seen; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_look(vigil_jobs *jobs, const vigil_jobs_filter *filter,
                              vigil_jobs_see_fn see, void *arg);

/* Wait until the job has ended. see (may be NULL) is then called once, with its result. In a task a
   spare worker takes its place. A handler that waits for another job keeps one of the `workers`
   places: give it a deadline, or return VIGIL_JOBS_LATER and use vigil_promise_jobs. Any
   thread; blocks.
   Returns its vigil_jobs_state; -ETIMEDOUT; -ENOENT there is none, or it was pruned; -EINVAL;
   -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_wait(vigil_jobs *jobs, uint64_t id, int64_t timeout_ns,
                              vigil_jobs_see_fn see, void *arg);

/* A promise of the job's end: fulfilled, however the job has ended, with a pointer to a
   vigil_jobs_info of its own that goes with the value; rejected with -ENOENT if there is no such
   job, with the token's status if that is aborted (token may be NULL), with -ESHUTDOWN by
   vigil_jobs_close. Until then it keeps the loop alive. While the engine is away it waits.
   Asynchronous functions await it with VIGIL_AWAIT, coroutines with co_await. The first one starts
   a thread. Any thread; does not block.
   0; -EINVAL; -ENOMEM; -EAGAIN no thread; -ESHUTDOWN; -ECHILD; the status of an aborted token. */
VIGIL_API int vigil_promise_jobs(vigil_jobs *jobs, vigil_loop *loop, uint64_t id,
                                 vigil_cancel_token *token, vigil_promise **promise);

/* Cancel a job. A waiting one is cancelled at once. The token of a running one is aborted; if its
   handler then returns an error the job is cancelled, if it returns 0 the job is completed. Any
   thread; blocks.
   0 cancelled; 1 it runs and has been asked; -ENOENT; -EALREADY it has ended; -EINVAL; -ENOTCONN;
   -ECHILD. */
VIGIL_API int vigil_jobs_cancel(vigil_jobs *jobs, uint64_t id);

/* Let a dead or cancelled job run again, with its counts at zero; a waiting one at once. Any
   thread; blocks.
   0; -ENOENT; -EBUSY it runs; -EALREADY it has completed; -EEXIST its key is taken; -EINVAL;
   -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_retry(vigil_jobs *jobs, uint64_t id);

/* Give a job another payload: one that waits, is dead or was cancelled. Any thread; blocks.
   0; -ENOENT; -EBUSY it runs; -EALREADY it has completed; -EMSGSIZE; -EINVAL; -ENOTCONN;
   -ECHILD. */
VIGIL_API int vigil_jobs_edit(vigil_jobs *jobs, uint64_t id, const void *payload, size_t length);

/* Remove a job that has ended, before its time. The account still counts it. Any thread; blocks.
   0; -ENOENT; -EBUSY it has not ended; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_remove(vigil_jobs *jobs, uint64_t id);

/* No process starts jobs of this kind (NULL: of any) until vigil_jobs_resume. Any thread; blocks.
   0; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_pause(vigil_jobs *jobs, const char *kind);

/* End a pause. Any thread; blocks. 0; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_resume(vigil_jobs *jobs, const char *kind);

/* The account. */
typedef struct vigil_jobs_account {
    size_t size;
    uint64_t enqueued; /* ever */
    uint64_t waiting, running, completed, dead, cancelled;
    uint64_t oldest_ms[VIGIL_PRIORITIES]; /* how long the oldest due job of the class has waited */
} vigil_jobs_account;
#define VIGIL_JOBS_ACCOUNT_INIT VG_SIZED(vigil_jobs_account)

/* Count everything in one snapshot; pruned jobs are included. Exact on a live database. The cost
   grows with the number of jobs that are kept. Any thread; blocks.
   0 the account balances; -EIO it does not; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_audit(vigil_jobs *jobs, vigil_jobs_account *account);

/* How many jobs of a kind and class are in a state. */
typedef struct vigil_jobs_tally {
    size_t size;
    const char *kind; /* lives until the callback returns */
    vigil_priority priority;
    vigil_jobs_state state;
    uint64_t count;
    uint64_t
        oldest_ms; /* waiting: how long the oldest due one has waited; running: the longest run */
    bool paused;   /* the kind, or all */
} vigil_jobs_tally;
#define VIGIL_JOBS_TALLY_INIT VG_SIZED(vigil_jobs_tally)

/* Call see(tally, arg) for each kind, class and state that has jobs, in this order; ended jobs
   count as long as they are kept. The cost grows with the number of jobs. Any thread; blocks.
   Returns how many were seen; -EINVAL; -ENOMEM; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_count(vigil_jobs *jobs,
                               void (*see)(const vigil_jobs_tally *tally, void *arg), void *arg);

/* Call see(line, arg) for each promise that the engine's settings do not keep, and for what slows a
   queue down from outside: transactions that have been open for longer than old_ns (0: 10 minutes),
   a log that a reader keeps from shrinking. Any thread; blocks.
   Returns how many lines there were; -EINVAL; -ENOTCONN; -ECHILD. */
VIGIL_API int vigil_jobs_check(vigil_jobs *jobs, int64_t old_ns,
                               void (*see)(const char *line, void *arg), void *arg);

/* What this process has done. */
typedef struct vigil_jobs_stats {
    size_t size;
    uint64_t claimed, completed, failed, dead, cancelled, given_back;
    uint64_t refused;   /* ends that came with an old number */
    uint64_t rescued;   /* leases of others that this process found run out */
    uint64_t exchanges; /* transactions of the runner */
    uint64_t beats;
    uint64_t outages;   /* times that the engine was away */
    uint64_t in_flight; /* claimed now */
    /* how old a foreign transaction is that keeps the engine from reusing space, and older than
       alarm_ns; 0: none. Looked for once a minute */
    uint64_t pinned_ms;
    uint64_t spooled;  /* jobs that were written to the spool */
    uint64_t replayed; /* jobs that came out of it */
    /* running jobs whose lease ran out and whose row the engine refuses to change: they are left
       out of the sweep, and one of them is named on stderr */
    uint64_t bad_rows;
} vigil_jobs_stats;
#define VIGIL_JOBS_STATS_INIT VG_SIZED(vigil_jobs_stats)

/* Fill *stats, which starts from VIGIL_JOBS_STATS_INIT. Any thread; does not block.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_jobs_stats_get(vigil_jobs *jobs, vigil_jobs_stats *stats);

/* Tests: let the engine's clock run ahead by so much, for all users of the queue. SQLite and memory
   alone. Any thread; does not block.
   0; -EINVAL; -ENOTSUP; -ECHILD. */
VIGIL_API int vigil_jobs_clock_advance(vigil_jobs *jobs, int64_t by_ns);

#ifdef __cplusplus
}
#endif
#endif
