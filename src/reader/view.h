/* SPDX-License-Identifier: MIT */
/*
 * view.h - what a snapshot consists of.
 */
#ifndef VG_READER_VIEW_H
#define VG_READER_VIEW_H

#include "record/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct vg_wait_view {
    vg_wait_kind kind;
    uint64_t on;
    uint64_t where;
    uint64_t age_ns;
} vg_wait_view;

typedef struct vg_change_view {
    unsigned state;
    uint64_t age_ns; /* how long ago it began */
} vg_change_view;

/* submitted = queued + running + completed + failed + cancelled, in every snapshot. */
typedef struct vg_class_view {
    uint64_t submitted, queued, running, completed, failed, cancelled;
    uint64_t refused;       /* dropped: never accepted */
    uint64_t spawned;       /* of submitted */
    uint64_t delayed;       /* of queued: not due yet */
    uint64_t oldest_age_ns; /* of what waits in the shared queue, as last sampled; 0: none known */
} vg_class_view;

typedef struct vg_worker_view {
    unsigned index;
    bool spare;
    pid_t tid;
    uint64_t thread; /* serial, to find its events; 0: none */
    unsigned state;  /* vigil_worker_state */
    uint64_t state_age_ns;
    bool in_task; /* the three below mean something */
    uint64_t task_function;
    uint64_t task_age_ns;
    uint64_t task_id;
    uint64_t task_job;
    char label[64]; /* of the task; "": none */
    unsigned depth;
    vg_wait_view wait;
    vg_class_view of[VG_FILE_CLASSES]; /* queued, running, delayed, oldest_age_ns are 0: they belong to the pool */
    uint64_t started[VG_FILE_CLASSES];
    uint64_t steals_tried, steals_won, steals_lost;
    uint64_t parks, wakes_sent, wakes_useful, wakes_spurious, ageing_picks;
    uint64_t time_ns[VG_FILE_STATES]; /* the present stay included */
    unsigned changes;                 /* used entries of history, newest first */
    vg_change_view history[VG_FILE_HISTORY];
} vg_worker_view;

/* A histogram in nanoseconds; see vg_hist_quantile. */
typedef struct vg_hist_view {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t longest_ns;
    double tick_ns;
    uint64_t buckets[VG_HIST_BUCKETS];
} vg_hist_view;

typedef struct vg_pool_view {
    uint64_t serial;
    char name[64];
    uint64_t age_ns;
    unsigned phase; /* 0 open, 1 draining, 2 discarding, 3 stopped */
    unsigned workers_wanted;
    unsigned max_spares;
    uint64_t max_queue;
    uint64_t caps[VG_FILE_CLASSES];
    uint64_t spares_started, spares_refused;
    uint64_t sampled_age_ns; /* of oldest_age_ns; UINT64_MAX: never */
    vg_class_view total, of[VG_FILE_CLASSES];
    uint64_t steals_tried, steals_won, steals_lost;
    uint64_t parks, wakes_sent, wakes_useful, wakes_spurious, ageing_picks;
    uint64_t work_ns, search_ns, idle_ns, blocked_ns; /* summed over the workers */
    bool audited, audit_settled;
    uint64_t audit_age_ns, audit_expected, audit_found;
    int64_t audit_lost;
    size_t worker_count;
    vg_worker_view *workers; /* by index */
    vg_hist_view wait[VG_FILE_CLASSES], run[VG_FILE_CLASSES], wake;
} vg_pool_view;

/* A stream, a listener, a connection in the making, datagrams or a child (record/format_io.h). */
typedef struct vg_io_view {
    uint64_t number; /* of its loop */
    vg_io_kind kind;
    uint64_t age_ns;
    char name[32];
    char address[64]; /* "": none */
    uint64_t pid;     /* of a child */
    vg_io_wait wait;  /* besides bytes */
    uint64_t wait_ns;
    bool reading, sending; /* somebody waits to read; the system takes no more */
    uint64_t reading_ns;   /* without a byte; also for the next */
    uint64_t sending_ns;
    uint64_t bytes_read, bytes_sent, unsent;
    uint64_t streams; /* of a listener */
} vg_io_view;

typedef struct vg_loop_view {
    uint64_t serial;
    char name[64];
    uint64_t age_ns;
    unsigned state; /* vigil_loop_state */
    uint64_t state_age_ns;
    unsigned phase; /* vigil_loop_phase */
    uint64_t phase_age_ns;
    uint64_t call_function; /* 0: no callback runs */
    uint64_t call_age_ns;
    pid_t tid; /* 0: nobody runs it */
    uint64_t thread;
    uint64_t turns;
    uint64_t posts_accepted, posts_run, posts_cancelled, posts_queued, posts_refused;
    uint64_t internal_run, internal_cancelled, internal_refused;
    uint64_t ticks_run, microtasks_run, microtask_breaches;
    uint64_t timers_started, timers_fired, timers_cancelled, timers_active;
    uint64_t fd_events, stale_events, fds_gone, watches;
    uint64_t signals_delivered, children_reaped;
    uint64_t immediates_run, closes_run, prepares_run, checks_run, uncaught;
    uint64_t sleeps, sleeps_avoided, wakes_sent, wakes_useful, wakes_spurious, poll_calls;
    uint64_t poll_ns, work_ns;
    uint64_t phase_ns[VG_FILE_PHASES];
    int64_t keep;
    uint64_t sampled_age_ns; /* of posts_accepted, posts_run, keep, watches; UINT64_MAX: never */
    unsigned changes;
    vg_change_view history[VG_FILE_HISTORY];
    vg_hist_view callback, delay, poll, wake;
    uint64_t ios_opened, ios_open, ios_unseen; /* unseen: open, and not in ios */
    uint64_t io_bytes_read, io_bytes_sent;
    size_t io_count;
    vg_io_view *ios; /* by number; NULL: the loop has had none */
} vg_loop_view;

typedef struct vg_thread_view {
    uint64_t serial;
    pid_t tid;
    bool ended;
    vg_thread_role role;
    uint64_t owner; /* serial of the pool or loop; 0: none */
    unsigned index;
    char name[64];
    uint64_t age_ns;
    uint64_t events;  /* ever written */
    uint64_t dropped; /* of these: overwritten by later ones */
    vg_wait_view wait;
} vg_thread_view;

typedef struct vg_verdict_view {
    uint64_t number;
    unsigned kind, severity;
    uint64_t object, worker, function;
    uint64_t first_age_ns, last_age_ns;
    bool over;
    uint64_t over_age_ns;
    uint64_t repeats, times;
    char reason[VG_FILE_REASON_ROOM], evidence[VG_FILE_EVIDENCE_ROOM], advice[VG_FILE_ADVICE_ROOM];
} vg_verdict_view;

typedef struct vg_act_view {
    uint64_t number, verdict;
    unsigned kind;
    int result;
    uint64_t object, worker;
    uint64_t age_ns;
    char text[VG_FILE_REASON_ROOM];
} vg_act_view;

typedef struct vg_snapshot {
    pid_t pid;
    bool alive;   /* the process is there (running, wedged or stopped) */
    bool stopped; /* by a signal or a debugger */
    bool zombie;  /* it has ended and nobody has waited for it; alive is false */
    unsigned level;
    char command[256], library[32];
    uint64_t born_wall_ns; /* CLOCK_REALTIME when the recorder was made */
    uint64_t age_ns;       /* of the recorder, at the snapshot's moment */
    uint64_t now_ticks;    /* the snapshot's moment */
    uint64_t born_ticks;
    double tick_ns; /* nanoseconds per tick */
    uint64_t file_bytes, max_bytes;
    uint64_t left_out;       /* pools, loops and threads that the file has no room for */
    uint64_t events_dropped; /* that found no ring */
    uint64_t watch_age_ns;   /* since the watchdog looked; UINT64_MAX: there is none */
    uint64_t watch_interval_ns;
    size_t pool_count, loop_count, thread_count, verdict_count, act_count;
    vg_pool_view *pools;       /* by serial */
    vg_loop_view *loops;       /* by serial */
    vg_thread_view *threads;   /* by serial */
    vg_verdict_view *verdicts; /* newest first */
    vg_act_view *acts;         /* newest first */
} vg_snapshot;

#endif
