/* SPDX-License-Identifier: MIT */
/*
 * struct.h - struct vigil_loop. Each group of fields says who may touch it.
 */
#ifndef VG_LOOP_STRUCT_H
#define VG_LOOP_STRUCT_H

#include "base/fence.h"
#include "base/forkguard.h"
#include "fifo.h"
#include "ingress.h"
#include "instant.h"
#include "lane.h"
#include "poller.h"
#include "record/format_loop.h"
#include "record/record.h"
#include "record/subject.h"
#include "registry.h"
#include "timers.h"
#include "upstairs.h"
#include "watches.h"

#include <vigil/loop.h>

#include <stdalign.h>

/* The state word: a vigil_loop_state, and for Sleeping also where. */
enum {
    VG_STATE_MASK = 7,
    VG_SLEEPS_IN_POLLER = 8
};

enum {
    VG_DONE = 1,
    VG_ABANDONED = 2 /* added each time */
};

/* interrupt: why a phase stops between two callbacks. */
enum {
    VG_STOP = 1,  /* vigil_loop_pause: leave, come back to the same place */
    VG_ABORT = 2, /* vigil_loop_close, or the deadline of a shutdown: start nothing more */
};

/* The steps of a turn; docs/loop.md has the same numbers. */
typedef enum vg_step {
    VG_STEP_BEGIN = 0,
    VG_STEP_INTERNAL,
    VG_STEP_POSTS,
    VG_STEP_TIMERS,
    VG_STEP_PREPARE,
    VG_STEP_POLL,
    VG_STEP_IO,
    VG_STEP_CHECK,
    VG_STEP_IMMEDIATES,
    VG_STEP_CLOSE,
    VG_STEPS
} vg_step;

/* Owner's: clocks.h */
typedef struct vg_clocks {
    bool used;
    int fd;                         /* readable after a jump */
    vg_watch *watch;                /* of it */
    int64_t boot_ahead, wall_ahead; /* of the loop's clock, in ns */
} vg_clocks;

/* Owner's: timers of the running batch that are not in the histogram of delays yet (note.h). */
typedef struct vg_late {
    uint64_t from, width; /* ns: those that fall into the bucket, and are not later than its first; width 0: none */
    uint64_t count, sum;  /* of them; sum in ns */
    unsigned bucket;
} vg_late;

typedef struct vg_hook vg_hook;
typedef struct vg_signals vg_signals;
typedef struct vg_children vg_children;

/* What must follow the callback that runs, also if it is left by a raise or its thread ends in it (run.c). */
typedef struct vg_unfinished {
    void (*left)(struct vg_unfinished *it);
} vg_unfinished;

struct vigil_loop {
    /* Read by everybody, written before the loop is shared (the guard also by vigil_loop_fork). */
    vg_forkguard guard;
    vigil_loop_options options;
    char name[32];
    uint64_t made_at;
    vg_tick_base tick_base;
    vg_file_loop *shared;  /* counters and states, in the recorder (record/format.h) */
    vg_record_block block; /* of these; also by vigil_loop_fork, as the next two */
    uint32_t record_epoch;
    uint8_t level;        /* of the recorder */
    vg_fence_mode fences; /* of posts */
    vg_subject subject;

    /* Any thread. */
    alignas(64) _Atomic uint32_t state; /* SLEEP.md; also the futex word */
    _Atomic uint32_t interrupt;         /* VG_STOP, VG_ABORT */
    _Atomic bool poll_wanted;           /* sleep in the poller: written under the watches' lock */
    _Atomic uintptr_t owner;            /* the thread inside run; it may touch the owner's fields */
    alignas(64) _Atomic uint32_t done;  /* VG_DONE: nothing runs any more; above: abandoned so often. A futex word */
    _Atomic uint64_t end_deadline;      /* of a graceful shutdown */
    _Atomic int owner_thread;           /* system's id of the thread inside run, 0: none; for the watchdog */
    _Atomic uint64_t now;               /* cached time; written by the owner */
    _Atomic uint32_t pressure;          /* 0 none, 1 a post was refused, 2 that was reported */
    alignas(64) _Atomic int64_t keep;   /* refs, and watches that keep the loop alive */
    _Atomic int64_t refs;               /* of keep: vigil_loop_ref */
    _Atomic uint64_t inflight;          /* threads inside a call, other than a post, that may be the last */
    _Atomic(vg_upstairs *) upstairs;    /* NULL until somebody needs it */
    vg_ingress ingress;
    alignas(64) vg_lane lane;

    /* Any thread under watches.lock. */
    alignas(64) vg_watches watches;
    vg_poller poller;

    /* Owner. */
    alignas(64) vg_fifo ticks;
    vg_fifo microtasks;
    vg_call_store calls;
    uint64_t microtask_left; /* of what this checkpoint was given */
    uint64_t microtask_given;
    uint64_t microtask_ticks; /* of what it has used: ticks */
    bool microtasks_breached; /* no more in this turn */
    bool in_checkpoint;
    bool in_microtasks; /* of the checkpoint: not in the ticks */
    vg_step step;       /* where the turn is */
    bool step_begun;    /* its snapshot is taken */
    bool once;          /* leave after one turn */
    bool nowait;        /* do not block */
    bool auto_exit;     /* do not block when nothing keeps the loop alive */
    bool ends_itself;   /* and end it */
    bool embedded;      /* vigil_loop_fd was called */
    bool over;          /* E6 has been reached */
    bool ended;         /* nothing is accepted any more, not even a microtask */
    bool in_uncaught;
    bool asked; /* on_before_exit was called, and nothing has happened since */
    bool raised;
    bool thread_ended; /* the callback left by pthread_exit or cancellation */
    int raised_status;
    uint8_t end_step;
    uint32_t stream_rounds; /* of the drain: rounds in a row in which only others added to the lane */
    uint32_t poll_count;    /* events of the last poll, not yet collected */
    uint64_t once_before;   /* callbacks run before vigil_loop_run */
    uint64_t once_hooks;    /* hooks among them */
    uint64_t own_calls;     /* counted as callbacks, and the loop's own: see vg_once_begin */
    uint64_t step_ticks;    /* vg_ticks at the start of the step */
    uint64_t posts_until;   /* ingress.taken when this turn's budget is used up */
    uint64_t prepare_deadline;
    vg_ingress_mark posts_end;
    uint64_t posts_before;   /* ingress.taken when it last was about to sleep */
    uint32_t lingers_failed; /* in a row */
    vigil_post *internal;    /* taken from the lane, not yet run */
    vigil_post removed;      /* runs in the place of posts that were taken back */
    vg_fifo immediates;
    vg_fifo immediates_now;
    vg_fifo closers;
    vg_fifo closers_now;
    vg_watch *dead_now; /* dead watches whose closed() has not run */
    vg_timers timers;
    vg_clocks clocks;
    vg_registry hook_slots;
    vg_hook *hooks; /* in order; dead ones are unlinked at the end of the turn */
    vg_hook *hook_at;
    uint64_t hooks_added; /* ever: their numbers */
    uint64_t hooks_last;  /* the last hook that this step runs */
    bool hooks_dead;
    vg_end_hook *end_hooks;
    vigil_at_end *at_end_first; /* callbacks for the end */
    vigil_at_end *at_end_last;
    bool upstairs_waits;       /* for the end of the checkpoint */
    vg_unfinished *unfinished; /* NULL: nothing */
    vg_signals *signals;       /* NULL until the first */
    vg_children *children;     /* NULL until the first */
    vg_instant_clock instant;
    vg_late late;
    uint64_t woke_at; /* vg_ticks when the last blocking ended, or run began */
    /* Callbacks that are not noted yet (note.h). */
    uint64_t last_end; /* 0: outside a step */
    uintptr_t shown;   /* last argument of vigil_loop_shows */
    uint64_t usual;    /* what short ones take */
    uint32_t unread;
    uint32_t interval;
    vg_poll_event events[VG_POLLER_BATCH];
};

#endif
