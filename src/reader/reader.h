/* SPDX-License-Identifier: MIT */
/*
 * reader.h - looking at a process from outside, through its recorder file (format.h).
 *
 * For the viewers, for tests, and for nobody inside a hot path. A reader needs nothing from the process that it looks at and
 * never makes it wait. It reads with pread, never through a mapping: a file that somebody cuts short gives an error, not a
 * signal. It believes nothing: every offset, count, index and text is bounded before use, whatever the file says, and a
 * file that makes no sense gives -EBADMSG.
 *
 *     vg_reader *reader;
 *     if (vg_reader_open_pid(&reader, pid) == 0) {
 *         vg_snapshot *now;
 *         if (vg_reader_snapshot(reader, &now) == 0) { ... vg_snapshot_free(now); }
 *         vg_reader_close(reader);
 *     }
 *
 * Times in a snapshot are nanoseconds. Moments are ages: how long before the snapshot's own moment (now_ticks) they were; for
 * a process that has died that moment is the last sign of life that is found in the file.
 *
 * Any thread; one thread at a time per reader. A snapshot is plain memory of the caller and shares nothing with its reader.
 */
#ifndef VG_READER_READER_H
#define VG_READER_READER_H

#include "record/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct vg_reader vg_reader;

/* ---- finding and opening ----------------------------------------------------------------------------------------- */

/* Open the file of a process of this user, or a file by its path (also one that a dead process left behind).
   0; -ENOENT no such file: the process has no Vigil inside, or its recorder is off; -EACCES or -EPERM it is not ours;
   -EBADMSG it is no recorder file, or one that makes no sense; -EPROTO it is of another version;
   -ENOMEM; or what open(2) says. */
int vg_reader_open_pid(vg_reader **result, pid_t pid);
int vg_reader_open_path(vg_reader **result, const char *path);
void vg_reader_close(vg_reader *reader);

typedef struct vg_process {
    pid_t pid;
    bool alive; /* this very process, not another that has got its number */
    uint64_t age_ns;
    char command[256];
    char path[4096]; /* of the recorder file */
} vg_process;

/* The recorder files in the runtime directory (record/directory.h).
   Fills up to `room`, in the order of their pids, and returns how many there are; 0 if there is no directory; a negative errno. */
int vg_processes(vg_process *processes, size_t room);

/* ---- a snapshot -------------------------------------------------------------------------------------------------- */

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
    char name[16];
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

typedef struct vg_loop_view {
    uint64_t serial;
    char name[32];
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
} vg_loop_view;

typedef struct vg_thread_view {
    uint64_t serial;
    pid_t tid;
    bool ended;
    vg_thread_role role;
    uint64_t owner; /* serial of the pool or loop; 0: none */
    unsigned index;
    char name[16];
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
    uint64_t repeats;
    char reason[160], evidence[768], advice[256];
} vg_verdict_view;

typedef struct vg_act_view {
    uint64_t number, verdict;
    unsigned kind;
    int result;
    uint64_t object, worker;
    uint64_t age_ns;
    char text[160];
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

/* 0; -EBADMSG; -ENOMEM. Free it with vg_snapshot_free. Counters of one pool are coherent (see vg_class_view); different
   objects are read one after the other. */
int vg_reader_snapshot(vg_reader *reader, vg_snapshot **result);
void vg_snapshot_free(vg_snapshot *snapshot);

/* The value below which the fraction q (0 to 1) lies, in ns; 0 for an empty histogram. Off by at most 1/32. */
uint64_t vg_hist_quantile(const vg_hist_view *hist, double q);

/* Add `more` to `into`, and take `before` off `now` (both of one histogram: what has come since). */
void vg_hist_add(vg_hist_view *into, const vg_hist_view *more);
void vg_hist_since(vg_hist_view *result, const vg_hist_view *now, const vg_hist_view *before);

/* ---- events ------------------------------------------------------------------------------------------------------ */

/*
 * The events of one thread (by its serial), oldest first, from number `from` on (0: as old as there are). *events is memory of
 * the caller, to be freed; *first is the number of its first event, *count how many. What has been overwritten before it
 * could be read is left out: then *first > from. To follow a ring, ask next from *first + *count.
 * 0; -ENOENT no such thread (any more); -EBADMSG; -ENOMEM. The kinds are not checked: skip what you do not know.
 */
int vg_reader_events(vg_reader *reader, uint64_t thread, uint64_t from, vg_event **events, uint64_t *first,
                     size_t *count);

/* Ticks to ns before the snapshot's moment (negative: after it), and to ns since the recorder was made. */
int64_t vg_snapshot_age(const vg_snapshot *snapshot, uint64_t ticks);
int64_t vg_snapshot_time(const vg_snapshot *snapshot, uint64_t ticks);

/* ---- names ------------------------------------------------------------------------------------------------------- */

/*
 * The name of a function: as registered with vigil_watch_name, else "symbol+0x12" from the symbol table of the module it lies
 * in (if that is the same file still, by build id), else "libfoo.so+0x1234", else "0x1234". Always something, cut at `room`.
 * Works for dead processes too. May read files; remembers what it has read.
 */
void vg_reader_name(vg_reader *reader, uint64_t address, char *name, size_t room);

/* Words for the numbers; never NULL. */
const char *vg_worker_state_name(unsigned state);
const char *vg_loop_state_name(unsigned state);
const char *vg_loop_phase_name(unsigned phase);
const char *vg_class_name(unsigned class_);
const char *vg_wait_name(unsigned kind);
const char *vg_event_name(unsigned kind);

#endif
