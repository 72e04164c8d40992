/* SPDX-License-Identifier: MIT */
/*
 * format.h - the recorder's file: what is where, who writes it when, and what a reader may believe.
 *
 * A process that uses Vigil keeps one file, mapped shared. Everything that the library counts lies in it: not a copy, the
 * counters themselves. So a reader in another process needs nothing from the observed one; it works while that is wedged,
 * stopped, or dead. reader.h does the reading; this page is for those who write, and for other languages.
 *
 *     file      = header, fixed sections, blocks
 *     sections  = directory of blocks, function names, modules, verdicts, acts; where they are is said in the header
 *     block     = one pool, some workers of a pool, histograms of a pool, one loop, one thread with its ring of events
 *
 * Blocks are added at the end of the file and used again when their owner has gone; the file never shrinks. Offsets are from the
 * beginning of the file. Every number is in the machine's byte order; the header says which.
 *
 * Cells. A vg_cell is an aligned 64-bit word that may change at any time. It has one writer unless its comment says
 * otherwise. What has to be seen together is ordered: a block is filled before its serial shows in the directory; an event is
 * written before the ring's head says so; what is changed again and again (waits, names, verdicts) has a count of its writes, which
 * is odd meanwhile; a task is counted as submitted before started before ended, so a reader that
 * reads the ends first, then the starts, then the submits never sees a negative queue. Fields that are not cells are written
 * before the block or the header is shown and stay.
 *
 * Times are ticks (vg_ticks of base/clock.h): cheap, monotonic in one boot, of unknown length. Two points tell the length:
 * (born_ticks, born_ns) and (mark_ticks, mark_ns); a reader on the same boot does better with its own clocks.
 *
 * A serial names an object (pool, loop, thread) for the life of the process; it is never given twice and never 0.
 *
 * Never believe any of it: the process that wrote it may have been dying, or may be hostile. reader.c bounds everything.
 *
 * Changes: a reader refuses a version that it does not know. Whoever changes a struct here raises VG_FILE_VERSION.
 */
#ifndef VG_RECORD_FORMAT_H
#define VG_RECORD_FORMAT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define VG_FILE_MAGIC   UINT64_C(0x4345524c49474956) /* "VIGILREC" on a little-endian machine */
#define VG_FILE_VERSION 2U
#define VG_FILE_ORDER   UINT32_C(0x01020304)

enum {
    VG_FILE_CLASSES = 5,  /* priorities, CRITICAL first */
    VG_FILE_STATES = 16,  /* room for vigil_worker_state */
    VG_FILE_PHASES = 16,  /* room for vigil_loop_phase */
    VG_FILE_STRIPES = 16, /* of the counters that threads outside share */
    VG_FILE_MOST_RINGS = 256
};

#ifdef VIGIL_CHECK /* small enough to be explored; no such file is ever written */
enum {
    VG_FILE_HISTORY = 3,
    VG_FILE_BLOCKS = 2,
    VG_FILE_NAMES = 2,
    VG_FILE_MODULES = 1,
    VG_FILE_VERDICTS = 2,
    VG_FILE_ACTS = 2,
    VG_FILE_NAME_ROOM = 16,
    VG_FILE_PATH_ROOM = 8,
    VG_FILE_REASON_ROOM = 8,
    VG_FILE_EVIDENCE_ROOM = 8,
    VG_FILE_ADVICE_ROOM = 8,
    VG_HIST_TOP_BITS = 5
};
#else
enum {
    VG_FILE_HISTORY = 33,  /* changes of state that are kept, and one that may be being written */
    VG_FILE_BLOCKS = 1024, /* entries of the directory */
    VG_FILE_NAMES = 1024,  /* functions that were given a name */
    VG_FILE_MODULES = 64,  /* executable and libraries */
    VG_FILE_VERDICTS = 64, /* the last of the watchdog's */
    VG_FILE_ACTS = 128,    /* the last of the recovery's */
    VG_FILE_NAME_ROOM = 56,
    VG_FILE_PATH_ROOM = 192,
    VG_FILE_REASON_ROOM = 160,
    VG_FILE_EVIDENCE_ROOM = 768,
    VG_FILE_ADVICE_ROOM = 256,
    VG_HIST_TOP_BITS = 48 /* see below */
};
#endif

typedef _Atomic uint64_t vg_cell;

/* ---- the header: offset 0 ---------------------------------------------------------------------------------------- */

typedef enum vg_file_section_kind {
    VG_SECTION_DIRECTORY = 1, /* vg_file_block */
    VG_SECTION_NAMES,         /* vg_file_name */
    VG_SECTION_MODULES,       /* vg_file_module */
    VG_SECTION_VERDICTS,      /* vg_file_verdict */
    VG_SECTION_ACTS,          /* vg_file_act */
    VG_SECTIONS
} vg_file_section_kind;

typedef struct vg_file_section {
    uint64_t offset;
    uint32_t entry_bytes;
    uint32_t entries;
} vg_file_section;

/* Events that found no ring, and threads without one; several writers, one line each so that they do not meet. */
typedef struct vg_file_drops {
    alignas(64) vg_cell events;
} vg_file_drops;

typedef struct vg_file_header {
    vg_cell magic;         /* written last when the file is made: before that nobody can mistake it */
    uint32_t version;      /* VG_FILE_VERSION */
    uint32_t header_bytes; /* sizeof(vg_file_header) */
    uint32_t byte_order;   /* VG_FILE_ORDER as the writer's machine stores it */
    uint32_t address_bits; /* 64 */
    uint64_t pid;
    uint64_t start_time; /* field 22 of /proc/PID/stat: the same pid with another start time is another process */
    uint64_t uid;
    uint64_t level;               /* vigil_watch_level */
    uint64_t ring_events;         /* records in each ring, a power of two */
    uint64_t max_bytes;           /* the file grows no further */
    uint64_t born_ticks, born_ns; /* the same moment on both clocks; ns is CLOCK_MONOTONIC */
    uint64_t born_wall_ns;        /* CLOCK_REALTIME then */
    char boot_id[40];             /* /proc/sys/kernel/random/boot_id: clocks and pids of another boot mean nothing */
    char library[32];             /* version of libvigil */
    char command[256];            /* /proc/PID/cmdline, with blanks for zeros, cut */
    vg_file_section sections[8];  /* by vg_file_section_kind */

    /* From here on cells; writers hold the recorder's lock, except where it says otherwise. */
    /* A later moment on both clocks, for readers after a boot. If the process died between the two, one is of the mark before. */
    vg_cell mark_ticks, mark_ns;
    vg_cell file_bytes;
    vg_cell serials;        /* the last serial that was given */
    vg_cell left_out;       /* pools, loops and threads that live outside the file, because it has no room for them */
    vg_cell names, modules; /* entries used in these sections */
    vg_cell verdicts, acts; /* ever written; entry i of verdict n is n % VG_FILE_VERDICTS. Watchdog alone */
    vg_cell watch_ticks;    /* when the watchdog last looked (0: there is none); watchdog alone */
    vg_cell watch_interval; /* ns between its looks; watchdog alone */
    vg_cell ended;          /* 1: the last user has given the recorder back, and the file is about to be removed */
    vg_file_drops drops[VG_FILE_STRIPES];
} vg_file_header;

/* ---- the directory ----------------------------------------------------------------------------------------------- */

typedef enum vg_file_block_kind {
    VG_BLOCK_FREE = 0,
    VG_BLOCK_POOL,    /* vg_file_pool */
    VG_BLOCK_WORKERS, /* vg_file_worker, several; owner: the pool */
    VG_BLOCK_HISTS,   /* vg_file_pool_hists, several; owner: the pool */
    VG_BLOCK_LOOP,    /* vg_file_loop */
    VG_BLOCK_RING     /* vg_file_thread and its events; owner: the pool or loop, 0 for other threads */
} vg_file_block_kind;

/* One block. To read one: the entry, the block itself, the entry again. If that has changed it is another's now. */
typedef struct vg_file_block {
    vg_cell serial; /* of this block's content; 0: none. Stored last (release), cleared first */
    vg_cell kind;
    vg_cell offset, bytes; /* stay when the content goes: the place is used again */
    vg_cell owner;         /* serial of the object that it belongs to */
    vg_cell entries;       /* of WORKERS and HISTS: how many; of RING: records */
} vg_file_block;

/* ---- histograms -------------------------------------------------------------------------------------------------- */

/*
 * Log-linear: below 16 ticks each value has its own bucket; above, each power of two is cut into 16 buckets of equal
 * width. A value is told from the middle of its bucket with an error of at most 1/32, up to 2^48 ticks (a day at 3 GHz); what is
 * longer counts as that long.
 */
enum {
    VG_HIST_SUB_BITS = 4,
    VG_HIST_SUB = 1 << VG_HIST_SUB_BITS,
    VG_HIST_BUCKETS = (VG_HIST_TOP_BITS - VG_HIST_SUB_BITS + 1) * VG_HIST_SUB
};

typedef struct vg_file_hist {
    vg_cell sum; /* ticks */
    vg_cell longest;
    vg_cell buckets[VG_HIST_BUCKETS];
} vg_file_hist;

static inline unsigned vg_hist_bucket(uint64_t ticks)
{
    if (ticks < VG_HIST_SUB)
        return (unsigned)ticks;
    const unsigned top = 63U - (unsigned)__builtin_clzll(ticks);
    if (top >= VG_HIST_TOP_BITS)
        return VG_HIST_BUCKETS - 1;
    return ((top - VG_HIST_SUB_BITS + 1) << VG_HIST_SUB_BITS) +
           (unsigned)((ticks >> (top - VG_HIST_SUB_BITS)) & (VG_HIST_SUB - 1));
}

/* The least value of a bucket; of VG_HIST_BUCKETS: the end of the last. */
static inline uint64_t vg_hist_floor(unsigned bucket)
{
    if (bucket < VG_HIST_SUB)
        return bucket;
    return (uint64_t)(VG_HIST_SUB + bucket % VG_HIST_SUB) << (bucket / VG_HIST_SUB - 1);
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

/* What a worker counts in one class. In the order in which a reader wants them: whoever copies upwards sees the end of a task
   only if it sees its start, and the start only if it sees the submit. */
typedef struct vg_class_counts {
    vg_cell completed;
    vg_cell failed;
    vg_cell cancelled;
    vg_cell started;
    vg_cell withdrawn;  /* of submitted: counted, and then refused by the queue */
    vg_cell refused;    /* for any reason */
    vg_cell husks;      /* queue entries of jobs that were cancelled or run elsewhere, met and dropped */
    vg_cell husks_made; /* jobs cancelled or run by this worker while their entry is queued */
    vg_cell spawned;    /* pushed to the worker's own deque */
    vg_cell submitted;  /* accepted from this worker through an injector, mailbox or the timer */
} vg_class_counts;

typedef enum vg_wait_kind {
    VG_WAIT_NONE = 0,
    VG_WAIT_WORK,     /* parked: nothing to do */
    VG_WAIT_DECLARED, /* inside vigil_blocking_begin/end; where: who called it */
    VG_WAIT_GROUP,    /* vigil_group_wait; on: the group's address */
    VG_WAIT_JOB,      /* vigil_job_wait; on: the job's id */
    VG_WAIT_IDLE,     /* vigil_pool_wait_idle or stop; on: the pool's serial */
    VG_WAIT_ROOM,     /* a full queue; on: the pool's serial */
    VG_WAIT_EVENTS,   /* a loop asleep; on: its serial */
    VG_WAIT_KINDS
} vg_wait_kind;

/* What a thread waits for. It makes `writes` odd, changes the rest, makes it even; at the end of the wait it only clears kind. */
typedef struct vg_file_wait {
    vg_cell writes;
    vg_cell kind;  /* vg_wait_kind */
    vg_cell on;    /* see there */
    vg_cell where; /* the return address of the call that waits, 0 if unknown */
    vg_cell since; /* ticks */
} vg_file_wait;

/* A change of state. The last is entry (changes - 1) % VG_FILE_HISTORY; entry number `changes` may be being written, so the oldest that
   can be believed is changes - VG_FILE_HISTORY + 1. */
typedef struct vg_file_change {
    vg_cell since, state;
} vg_file_change;

/* One worker or spare. Its own thread is the writer. */
typedef struct vg_file_worker {
    alignas(64) vg_class_counts of[VG_FILE_CLASSES];
    vg_cell steals_tried, steals_won, steals_lost;
    vg_cell parks, wakes_sent, wakes_useful, wakes_spurious;
    vg_cell ageing_picks;
    vg_cell time[VG_FILE_STATES]; /* ticks in each vigil_worker_state, without the present stay */
    vg_cell state, state_since;   /* vigil_worker_state. Each by itself: together they are the history's last entry */
    vg_cell changes;              /* how many entries the history has had */
    vg_file_change history[VG_FILE_HISTORY];
    /* The task that runs, the innermost if tasks are nested; a spawn that its parent runs itself counts as the parent. It stays
       after the task: believe it only in the states RUNNING and BLOCKED, or while depth is not 0. */
    vg_cell task_function; /* 0: none */
    vg_cell task_since;    /* at the latest when it began: short ones in a row share it */
    vg_cell task_id; /* its submit stamp, as in VG_EVENT_SUBMIT; 0: spawned. Of short ones in a row that of the first */
    vg_cell task_job; /* the job's id; 0: no job */
    vg_cell depth;    /* tasks on the thread's stack that wait, while the worker helps others */
    vg_file_wait wait;
    vg_cell tid;                   /* 0: no thread */
    vg_cell thread;                /* serial of its vg_file_thread; 0: it has no ring */
    uint64_t index;                /* in the pool; from VIGIL_MAX_WORKERS on they are spares */
    alignas(64) vg_cell called_at; /* when it was last woken; written by the wakers */
} vg_file_worker;

/* The counters of threads that are no workers; read-modify-writes, because two such threads may share one. */
typedef struct vg_file_stripe {
    alignas(64) vg_cell submitted[VG_FILE_CLASSES];
    vg_cell withdrawn[VG_FILE_CLASSES];
    vg_cell refused[VG_FILE_CLASSES];
    vg_cell cancelled[VG_FILE_CLASSES];
    vg_cell husks[VG_FILE_CLASSES];
    vg_cell husks_made[VG_FILE_CLASSES];
    vg_cell wakes_sent;
} vg_file_stripe;

typedef struct vg_file_pool {
    char name[16];
    uint64_t born_ticks;
    uint64_t max_queue;             /* 0: no bound */
    uint64_t caps[VG_FILE_CLASSES]; /* 0: no cap */
    vg_cell phase;                  /* 0 open, 1 draining, 2 discarding, 3 stopped */
    vg_cell workers;                /* as asked for */
    vg_cell max_spares;
    vg_cell spares_started, spares_refused; /* several writers */
    vg_cell delayed[VG_FILE_CLASSES];       /* accepted and not due; several writers */
    /* What only a look into the queues can tell; written by whoever looked last: the watchdog, or
       vigil_pool_stats_get. */
    vg_cell sampled_at;              /* ticks; 0: never */
    vg_cell oldest[VG_FILE_CLASSES]; /* submit stamp of the oldest task that waits in the shared queue; 0: none */
    vg_cell audited_at;              /* ticks; 0: never */
    vg_cell audit_settled, audit_expected, audit_found;
    vg_cell audit_lost; /* signed */
    vg_file_stripe stripes[VG_FILE_STRIPES];
} vg_file_pool;

/* Latencies in ticks. Worker i adds to entry i % entries; if that is shared it does so with read-modify-writes. */
typedef struct vg_file_pool_hists {
    vg_file_hist wait[VG_FILE_CLASSES]; /* from submit to start; submitted tasks, not spawns */
    vg_file_hist run[VG_FILE_CLASSES];  /* from start to end */
    vg_file_hist wake;                  /* from the waker's call to the worker's first step */
} vg_file_pool_hists;

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* One writer, the owner's thread, except where it says otherwise. */
typedef struct vg_file_loop {
    char name[32];
    uint64_t born_ticks;
    vg_cell state,
        state_since; /* vigil_loop_state as the owner last knew it: a waker's step is seen when it has got up */
    vg_cell changes;
    vg_file_change history[VG_FILE_HISTORY];
    vg_cell phase, phase_since; /* vigil_loop_phase; NONE between callbacks of no phase and while it sleeps */
    vg_cell call_function;      /* the callback that runs; 0: none */
    vg_cell call_since;         /* ticks; at the latest when it began: several short ones in a row may share it */
    vg_cell tid;                /* of the thread that runs the loop; 0: nobody does */
    vg_cell thread;             /* serial of its vg_file_thread */

    vg_cell turns;
    vg_cell posts_cancelled;
    vg_cell internal_run, internal_cancelled;
    vg_cell ticks_run, microtasks_run, microtask_breaches;
    vg_cell timers_started, timers_fired, timers_cancelled, timers_ended;
    vg_cell fd_events, stale_events;
    vg_cell signals_delivered, children_reaped;
    vg_cell immediates_run, closes_run, prepares_run, checks_run, uncaught;
    vg_cell sleeps, sleeps_avoided, wakes_useful, wakes_spurious;
    vg_cell poll_calls, poll_ticks, work_ticks;
    vg_cell phase_ticks[VG_FILE_PHASES];

    alignas(64) vg_cell refused; /* several writers, as the next four */
    vg_cell internal_refused, wakes_sent, fds_gone;
    vg_cell called_at; /* when it was last woken; by the waker */

    /* Written by the owner before it sleeps, and by whoever looks: the watchdog, or vigil_loop_stats_get. */
    alignas(64) vg_cell sampled_at;
    vg_cell posts_accepted, posts_taken; /* taken: run or cancelled */
    vg_cell keep;                        /* what keeps it alive: references and watches */
    vg_cell watches;

    alignas(64) vg_file_hist callback; /* how long callbacks ran */
    vg_file_hist delay;                /* how late timers fired */
    vg_file_hist poll;                 /* how long it was blocked */
    vg_file_hist wake;                 /* from the waker's call to the owner's first step */
} vg_file_loop;

/* ---- threads and their events ------------------------------------------------------------------------------------ */

/*
 * 32 bytes. `what` holds the kind in bits 56-63, a small number (class, phase) in 48-55, and an address in 0-47, which is
 * a function where not said otherwise. Events that last are written at their end: they began at ticks - duration. `id` is
 * what joins them: the stamp that the task got when it was submitted.
 */
typedef struct vg_event {
    uint64_t ticks;
    uint64_t what;
    uint64_t a;
    uint64_t b;
} vg_event;

typedef enum vg_event_kind {
    VG_EVENT_NONE = 0,
    VG_EVENT_SUBMIT, /* small: class. ticks is the task's id. a: serial of the pool << 32 | number of tasks. b: the task */
    VG_EVENT_RUN,    /* small: class. a: id, 0 for a spawn. b: status << 48 | duration; see vg_event_status */
    VG_EVENT_CANCEL, /* small: class. a: id. b: the task */
    VG_EVENT_PARK, /* small: 0; no address. a: ticks from the wake to the worker's first step, 0: not woken. b: duration */
    VG_EVENT_WAKE,  /* no address. a: serial of the pool or loop << 32 | worker. b: 0 */
    VG_EVENT_STEAL, /* small: class; no address. a: victim << 32 | 1. b: 0 */
    VG_EVENT_WAIT,  /* small: vg_wait_kind; address: where. a: on. b: duration */
    VG_EVENT_POST, /* to a loop's internal lane; other posts are counted, not recorded. small: 1. a: serial of the loop << 32.
                           b: the post */
    VG_EVENT_CALL,      /* small: vigil_loop_phase. a: serial of the loop << 32 | 1. b: duration */
    VG_EVENT_SLEEP,     /* of a loop; no address. a: as VG_EVENT_PARK. b: duration */
    VG_EVENT_MARK,      /* the user's: bits 48-55 length, the first 6 characters in 0-47, the others in b. a: value */
    VG_EVENT_SETTLE,    /* small: 1 fulfilled, 2 rejected; no address. a: id of the promise. b: id of the task, or 0 */
    VG_EVENT_PROMISIFY, /* small: class. a: id of the promise. b: 0. The submit that follows in this ring is its task's */
    VG_EVENT_RUNS, /* several short tasks in a row. small: class; function: the last one's. a: how many. b: duration in all */
    VG_EVENT_CALLS, /* the same for callbacks: small: vigil_loop_phase. a: serial of the loop << 32 | how many */
    VG_EVENT_KINDS
} vg_event_kind;

#define VG_EVENT_ADDRESS UINT64_C(0x0000ffffffffffff)

static inline uint64_t vg_event_what(vg_event_kind kind, unsigned small, uint64_t address)
{
    return (uint64_t)kind << 56 | (uint64_t)(small & 0xffU) << 48 | (address & VG_EVENT_ADDRESS);
}

static inline vg_event_kind vg_event_kind_of(const vg_event *event)
{
    return (vg_event_kind)(event->what >> 56);
}

static inline unsigned vg_event_small(const vg_event *event)
{
    return (unsigned)(event->what >> 48 & 0xffU);
}

static inline uint64_t vg_event_address(const vg_event *event)
{
    return event->what & VG_EVENT_ADDRESS;
}

static inline uint64_t vg_event_duration(const vg_event *event)
{
    return event->b & VG_EVENT_ADDRESS;
}

/* Of VG_EVENT_RUN: 0 completed, else the error number (positive) that the task returned or raised, at most 0xffff. */
static inline unsigned vg_event_status(const vg_event *event)
{
    return (unsigned)(event->b >> 48);
}

/* The head of a VG_BLOCK_RING; the events follow. The thread is the writer, unless it says otherwise. */
typedef struct vg_file_thread {
    vg_cell tid;
    vg_cell role;      /* vg_thread_role */
    vg_cell owner;     /* serial of the pool or loop; 0: none */
    vg_cell index;     /* of the worker in its pool */
    vg_cell begun;     /* ticks */
    vg_cell ended;     /* ticks; 0: it lives. The ring stays readable until another thread gets it */
    char name[16];     /* as the thread was called when it got the ring */
    vg_file_wait wait; /* of threads that are no workers */
    alignas(64)
        vg_cell head; /* events ever written here; the last is (head - 1) % ring_events. Event number head may be being
                                 written, so the oldest that can be believed is head - ring_events + 1 */
    alignas(64) vg_event events[];
} vg_file_thread;

typedef enum vg_thread_role {
    VG_ROLE_OTHER = 0, /* it called the library */
    VG_ROLE_WORKER,
    VG_ROLE_LOOP, /* it runs a loop */
    VG_ROLES
} vg_thread_role;

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A function that was given a name by vigil_watch_name. Written as a verdict is, under the recorder's lock. */
typedef struct vg_file_name {
    vg_cell writes;
    uint64_t address;
    char name[VG_FILE_NAME_ROOM];
} vg_file_name;

/* An executable or library as it was mapped, so that addresses can be named after the process has died. Written as a name is. */
typedef struct vg_file_module {
    vg_cell writes;
    uint64_t begin; /* 0: it has no segments, and is not shown */
    uint64_t end;
    uint64_t base; /* what the loader added to the addresses in the file */
    uint32_t build_id_bytes;
    uint8_t build_id[36];
    char path[VG_FILE_PATH_ROOM];
} vg_file_module;

/* ---- what the watchdog says -------------------------------------------------------------------------------------- */

/* One finding. The watchdog's thread is the writer: it makes `writes` odd, changes the rest, makes it even. */
typedef struct vg_file_verdict {
    vg_cell writes;
    uint64_t number;                  /* from 1 on */
    uint32_t kind;                    /* vigil_stall of watch.h */
    uint32_t severity;                /* vigil_severity of watch.h: 0 INFO, 1 WARNING, 2 ERROR, 3 CRITICAL */
    uint64_t object;                  /* serial of the pool or loop */
    uint64_t worker;                  /* index, UINT64_MAX: none in particular */
    uint64_t first_ticks, last_ticks; /* first seen, last confirmed */
    uint64_t over_ticks;              /* 0: it still holds */
    uint64_t repeats;                 /* times confirmed */
    uint64_t function;                /* the callback or task concerned; 0: none */
    char reason[VG_FILE_REASON_ROOM];
    char evidence[VG_FILE_EVIDENCE_ROOM];
    char advice[VG_FILE_ADVICE_ROOM];
} vg_file_verdict;

/* One act of recovery; written as a verdict is. */
typedef struct vg_file_act {
    vg_cell writes;
    uint64_t number;
    uint64_t ticks;
    uint64_t verdict; /* number of the verdict that it answers; 0: asked for by the user */
    uint32_t kind;    /* vigil_recovery of watch.h */
    int32_t result;   /* 0 or a negative errno */
    uint64_t object, worker;
    char text[VG_FILE_REASON_ROOM];
} vg_file_act;

#endif
