/* SPDX-License-Identifier: MIT */
/*
 * inner.h - the loop from inside. Who may touch which field when is said with each group of them.
 *
 * Seams for the rooms above (promises):
 *   vigil_loop_post_internal      settle from any thread, embedded node, no allocation
 *   vigil_loop_microtask_node     a reaction, embedded node, no allocation
 *   vg_loop_keep / vg_loop_unkeep in-flight work keeps the loop alive
 *   vigil_loop_is_owner           on the loop or not
 *   vg_end_hook                   called between "drained, Terminated" and "poller closed"
 *   vg_upstairs                   the same for the room as a whole, and the other moments at which it wants to be asked
 */
#ifndef VG_LOOP_INNER_H
#define VG_LOOP_INNER_H

#include "base/clock.h"
#include "base/fault.h"
#include "base/fence.h"
#include "base/forkguard.h"
#include "base/mutex.h"
#include "fifo.h"
#include "ingress.h"
#include "instant.h"
#include "lane.h"
#include "poller.h"
#include "registry.h"
#include "timers.h"
#include "record/record.h"
#include "record/subject.h"

#include <vigil/loop.h>

#include <stdalign.h>

/* The state word: a vigil_loop_state, and for Sleeping also where. */
enum {
    VG_STATE_MASK = 7,
    VG_SLEEPS_IN_POLLER = 8
};

/* interrupt: why a phase stops between two callbacks. */
enum {
    VG_STOP = 1,  /* vigil_loop_stop: leave, come back to the same place */
    VG_ABORT = 2, /* vigil_loop_close, or the deadline of a shutdown: start nothing any more */
};

/* The steps of a turn; docs/loop.md numbers them alike. */
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

/* One watch. Under the lock of the watches, except where it says owner. Never freed before the close step of a turn in which it
   is dead, so the owner may hold pointers to it through a turn. */
typedef struct vg_watch {
    vg_registry_head head;
    uint32_t slot;
    int fd;
    _Atomic uint32_t events; /* wanted */
    uint32_t flags;          /* VIGIL_WATCH_*, VG_WATCH_* */
    _Atomic bool alive;
    bool ready;                  /* owner: it is in the ready list */
    uint32_t ready_events;       /* owner */
    struct vg_watch *ready_next; /* owner */
    struct vg_watch *next;       /* of the same fd; when dead: in the list of the dead */
    vigil_watch_fn fn;
    vigil_call_fn closed;
    void *arg;
    const void *created;
    uint64_t since;
} vg_watch;

enum {
    VG_WATCH_INNER = 0x100, /* the loop's own: signals, children. Not counted in the statistics */
    VG_WATCH_GONE = 0x200   /* its fd was closed: it is told in the close step */
};

/* What is known of one fd number. */
typedef struct vg_fd {
    vg_watch *first;
    uint32_t generation; /* of its registration in the poller: events of an earlier one are stale */
    uint32_t registered; /* events that the poller was told; edge in the top bit */
    uint32_t hangups;    /* turns in a row with nothing but hang-up or error */
    bool in_poller;
} vg_fd;

typedef struct vg_watches {
    vg_mutex lock;
    vg_registry slots;
    vg_fd *fds;
    size_t fd_room;
    vg_watch *dead; /* to be freed in the close step */
    _Atomic bool any_dead;
    bool closed;             /* the loop has ended: the poller stays closed */
    uint32_t registered_fds; /* how many fds are in the poller */
    uint64_t suspect;        /* a stale event of the last batch that nobody could switch off; VG_POLL_TAG_NONE: none */
    vg_watch *ready;         /* owner: collected, not executed */
    vg_watch *ready_last;    /* owner */
    _Atomic uint64_t active; /* user's watches, for statistics */
} vg_watches;

typedef struct vg_hook {
    vg_registry_head head;
    uint32_t slot;
    bool alive;
    uint64_t number; /* they are in this order */
    vigil_hook_calls calls;
    void *arg;
    struct vg_hook *next;
} vg_hook;

/* Runs on the owner when everything is drained and the state is Terminated. What it queues as microtasks still runs. */
typedef struct vg_end_hook {
    struct vg_end_hook *next;
    void (*run)(struct vg_end_hook *hook, vigil_loop *loop);
} vg_end_hook;

/* The state that a room above keeps for this loop, as far as the loop has to know it. Made by whoever needs it first, on any
   thread; the loop calls it on the owner. */
typedef struct vg_upstairs {
    /* The end of a checkpoint: both queues are empty, and upstairs_waits was set. It must not raise. */
    void (*checkpoint)(struct vg_upstairs *it, vigil_loop *loop);
    /* Terminated. Called again after the microtasks that it queues, as long as it returns true. */
    bool (*end)(struct vg_upstairs *it, vigil_loop *loop);
    /* The loop is given back (or, in the child of a fork, freed). True: the memory of struct vigil_loop is still needed; call
       vg_loop_free when it is not. */
    bool (*gone)(struct vg_upstairs *it, vigil_loop *loop);
    /* vigil_loop_fork: this is the child, and nobody else is here. */
    void (*forked)(struct vg_upstairs *it, vigil_loop *loop);
} vg_upstairs;

extern vg_upstairs vg_upstairs_none; /* in the place of one: too late, the loop has ended without it */

typedef struct vg_signals vg_signals;
typedef struct vg_children vg_children;

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
    _Atomic uintptr_t owner;            /* the thread inside run: who has it may touch the owner's fields */
    alignas(64) _Atomic uint32_t done;  /* 1: nothing runs any more; a futex word */
    _Atomic uint64_t end_deadline;      /* of a graceful shutdown */
    _Atomic uintptr_t last_owner;
    _Atomic int owner_thread;         /* the system's number of the thread inside run, 0: none; for the watchdog */
    _Atomic uint64_t now;             /* cached time; written by the owner */
    _Atomic(const char *) why;        /* static text */
    _Atomic uint32_t pressure;        /* 0 none, 1 a post was refused, 2 that was reported */
    alignas(64) _Atomic int64_t keep; /* refs, and watches that keep the loop alive */
    _Atomic int64_t refs;             /* of keep: vigil_loop_ref */
    _Atomic uint64_t inflight;        /* threads inside a call that may be the last, other than a post */
    _Atomic(vg_upstairs *) upstairs;  /* NULL until somebody needs it */
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
    bool ended;         /* nothing is accepted any more, not even a microtask */
    bool in_uncaught;
    bool asked; /* on_before_exit was called, and nothing has happened since */
    bool raised;
    int raised_status;
    uint8_t end_step;
    uint32_t stream_rounds; /* of the drain: in a row in which only others have added to the lane */
    uint32_t poll_count;    /* events of the last poll, not yet collected */
    uint64_t step_ticks;    /* vg_ticks at the start of the step */
    uint64_t posts_until;   /* ingress.taken when this turn's budget is used up */
    uint64_t prepare_deadline;
    vg_ingress_mark posts_end;
    uint64_t posts_before;   /* ingress.taken when it last was about to sleep */
    uint32_t lingers_failed; /* in a row */
    vigil_post *internal;    /* taken from the lane, not yet run */
    vg_fifo immediates;
    vg_fifo immediates_now;
    vg_fifo closers;
    vg_fifo closers_now;
    vg_watch *dead_now; /* dead watches whose closed() has not run */
    vg_timers timers;
    vg_registry hook_slots;
    vg_hook *hooks; /* in order; a dead one is unlinked at the end of the turn */
    vg_hook *hook_at;
    uint64_t hooks_added; /* ever: their numbers */
    uint64_t hooks_last;  /* of this step: the number of the last one that it runs */
    bool hooks_dead;
    vg_end_hook *end_hooks;
    vigil_at_end *at_end_first; /* a list: what users want to be told at the end */
    vigil_at_end *at_end_last;
    bool upstairs_waits;   /* for the end of the checkpoint */
    vg_signals *signals;   /* NULL until the first */
    vg_children *children; /* NULL until the first */
    vg_instant_clock instant;
    uint64_t woke_at; /* vg_ticks when the last blocking ended, or run began */
    /* Callbacks that are not noted yet (note.h). */
    uint64_t last_end; /* 0: outside a step */
    uintptr_t shown;   /* what vigil_loop_shows was last told */
    uint64_t usual;    /* what short ones take */
    uint32_t unread;
    uint32_t interval;
    vg_poll_event events[VG_POLLER_BATCH];
};

/* The next of what users want to be told at the end, taken off the list; NULL if there is none. */
vigil_at_end *vg_at_end_take(vigil_loop *loop);

/* ---- who is calling ---------------------------------------------------------------------------------------------- */

extern _Thread_local char vg_loop_self; /* its address names the thread */

static inline uintptr_t vg_self(void)
{
    return (uintptr_t)&vg_loop_self;
}

/* A thread that is no owner is inside on_event, in the middle of a call that the end of the loop waits for. */
typedef struct vg_telling {
    const vigil_loop *loop;
    struct vg_telling *outer;
} vg_telling;
extern _Thread_local vg_telling *vg_tells;

static inline int vg_guard_any(const vigil_loop *loop)
{
    if (loop == NULL)
        return -EINVAL;
    return vg_forked(&loop->guard) ? -ECHILD : 0;
}

static inline bool vg_is_owner(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->owner, memory_order_relaxed) == vg_self();
}

/* Whether this thread is inside a callback of the loop, so that waiting for its end would be waiting for itself. */
static inline bool vg_inside(const vigil_loop *loop)
{
    if (vg_is_owner(loop))
        return true;
    for (const vg_telling *it = vg_tells; it != NULL; it = it->outer) {
        if (it->loop == loop)
            return true;
    }
    return false;
}

/* Say why, and return the error. */
static inline int vg_refuse(vigil_loop *loop, int error, const char *why)
{
    atomic_store_explicit(&loop->why, why, memory_order_relaxed);
    return error;
}

/* An owner's call: on the owner's thread, or while nobody runs the loop. */
static inline int vg_guard_owner(vigil_loop *loop)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    uintptr_t owner = atomic_load_explicit(&loop->owner, memory_order_relaxed);
    if (owner != vg_self() && owner != 0)
        return vg_refuse(loop, -EPERM,
                         "this call belongs to the thread that runs the loop; post a callback that makes it");
    return 0;
}

static inline vigil_loop_state vg_state(const vigil_loop *loop)
{
    return (vigil_loop_state)(atomic_load_explicit(&loop->state, memory_order_relaxed) & VG_STATE_MASK);
}

/* The same for what needs a loop that goes on: timers, watches. */
static inline int vg_guard_open(vigil_loop *loop)
{
    if (vg_state(loop) >= VIGIL_LOOP_TERMINATING)
        return vg_refuse(loop, -ESHUTDOWN, "the loop is ending or has ended; make a new one");
    return 0;
}

/* A call that counts itself in flight asks this first: those that come when all is over do not keep the end waiting. */
static inline int vg_guard_over(vigil_loop *loop)
{
    if (vg_state(loop) == VIGIL_LOOP_TERMINATED)
        return vg_refuse(loop, -ESHUTDOWN, "the loop has ended; make a new one");
    return 0;
}

/* Owner: the time of this very instant, never too early. */
static inline uint64_t vg_instant(vigil_loop *loop)
{
    return vg_instant_now(&loop->instant);
}

static inline void vg_tally(_Atomic uint64_t *counter, uint64_t more)
{
    /* One writer: no read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more, memory_order_relaxed);
}

/* ---- sleep.c ----------------------------------------------------------------------------------------------------- */

void vg_loop_wake_sleeper(vigil_loop *loop, uint32_t state);
static inline void vg_loop_wake_if_asleep(vigil_loop *loop)
{
    uint32_t state = atomic_load_explicit(&loop->state, memory_order_relaxed);
    /* W2: if it has not published Sleeping yet, its re-check S3 finds our thing */
    if (__builtin_expect((state & VG_STATE_MASK) == VIGIL_LOOP_SLEEPING, 0))
        vg_loop_wake_sleeper(loop, state);
}
/* Any thread, after publishing something for the loop to see: fence, look, wake if it sleeps. */
static inline void vg_loop_wake(vigil_loop *loop)
{
    /* W1: what the caller published comes before our look at the state; pairs with the fence S2 in sleep.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_loop_wake_if_asleep(loop);
}
/* The same after publishing a place of the ingress. */
static inline void vg_loop_wake_posted(vigil_loop *loop)
{
    vg_fence_light(loop->fences); /* W1': pairs with the heavy fence S2' in sleep.c */
    vg_loop_wake_if_asleep(loop);
}
/* After an owner's call: an embedded loop that nobody is inside must show that there is more to do. */
static inline void vg_loop_stir(vigil_loop *loop)
{
    if (__builtin_expect(loop->embedded, 0) && !vg_is_owner(loop))
        vg_loop_wake(loop);
}
/* Owner: posts are streaming in, and after a moment there are more: do not sleep. SLEEP.md, "The stream". */
bool vg_loop_stream(vigil_loop *loop, uint64_t deadline);
/* Owner: sleep until woken, an event or the deadline; leaves the events in loop->events, their number in poll_count. */
void vg_loop_sleep(vigil_loop *loop, uint64_t deadline);
/* Owner: look at the descriptors without sleeping. */
void vg_loop_glance(vigil_loop *loop);
/* Owner: be asleep for the others although nobody blocks: embedding. */
void vg_loop_doze(vigil_loop *loop);
/* Owner: what keeps it from blocking. */
bool vg_loop_pending(const vigil_loop *loop);
bool vg_loop_alive(const vigil_loop *loop);
/* Of that: something is queued that the end has to run or cancel. */
bool vg_loop_alive_queues(const vigil_loop *loop);
/* The same without what lies in the internal lane. */
bool vg_loop_alive_inside(const vigil_loop *loop);

/* A call of a thread other than the owner that may be the loop's last reason to live. */
void vg_inflight_begin(vigil_loop *loop);
void vg_inflight_end(vigil_loop *loop);

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* loop.c: the last of a loop that has been given back; see vg_upstairs */
void vg_loop_free(vigil_loop *loop);

/* post.c */
void vg_run_post(void *arg); /* what the ingress has for a post that lies in its sender's memory: runs it */
static inline uintptr_t vg_post_function(vg_call_fn run, const void *arg) /* what a post that was taken will call */
{
    return run == vg_run_post ? (uintptr_t)((const vigil_post *)arg)->run : (uintptr_t)run;
}
int vg_loop_nudge(vigil_loop *loop); /* any thread: an empty post; -ESHUTDOWN tells that the door is closed */
int vg_loop_keep(vigil_loop *loop);
void vg_loop_unkeep(vigil_loop *loop);

/* micro.c: the microtask checkpoint */
void vg_checkpoint_slow(vigil_loop *loop);
static inline bool vg_checkpoint_due(const vigil_loop *loop)
{
    return loop->ticks.first != NULL || loop->microtasks.first != NULL || loop->upstairs_waits;
}

static inline void vg_checkpoint(vigil_loop *loop)
{
    if (vg_checkpoint_due(loop))
        vg_checkpoint_slow(loop);
}

static inline bool vg_interrupted(const vigil_loop *loop)
{
    return atomic_load_explicit(&loop->interrupt, memory_order_relaxed) != 0;
}

/* turn.c: goes through the steps from where the loop is; returns between two callbacks if interrupted, else when the turn is
   over. A callback that raises leaves it, and it is entered again. */
void vg_turn(vigil_loop *loop);
vigil_loop_phase vg_phase_of(vg_step step);
void vg_update_now(vigil_loop *loop);
/* Called in the middle of a drain: internal, posts, immediates, close without the rest. */
bool vg_drain_some(vigil_loop *loop);

/* run.c: runs `body` such that vigil_raise inside a callback comes back to it. */
void vg_guarded(vigil_loop *loop, void (*body)(vigil_loop *loop));
/* Report an event. */
void vg_emit(vigil_loop *loop, vigil_loop_event_kind kind, int fd, int error, uint64_t count, const char *text);

/* ending.c: from Terminating to done; the caller is the owner and touches the loop no more afterwards. */
void vg_loop_end(vigil_loop *loop);
bool vg_end_is_overdue(vigil_loop *loop);

/* timer_api.c */
void vg_timers_run(vigil_loop *loop);
void vg_timers_drop(vigil_loop *loop);

/* watch.c; the first three under the lock */
int vg_watch_enter(vigil_loop *loop, int fd);     /* tell the poller about an fd that it does not know */
void vg_watch_all_gone(vigil_loop *loop, int fd); /* the fd was closed: everybody is told */
void vg_watch_over(vigil_loop *loop, vg_watch *watch, uint32_t flag); /* no callback starts any more */
int vg_watch_open_poller(vigil_loop *loop);                           /* under the lock */
void vg_watch_update_wanted(vigil_loop *loop);
int vg_watch_add_inner(vigil_loop *loop, vg_watch **watch, int fd, uint32_t events, vigil_watch_fn fn, void *arg,
                       bool keeps_alive);
void vg_watch_remove_inner(vigil_loop *loop, vg_watch *watch);
/* watch_owner.c */
void vg_watch_collect(vigil_loop *loop);
void vg_watch_run(vigil_loop *loop);
void vg_watch_drop_all(vigil_loop *loop);
void vg_watch_bury(vigil_loop *loop); /* take over the list of the dead: dead_now */
void vg_watch_free_dead(vigil_loop *loop, vg_watch *watch);
void vg_watch_heal(vigil_loop *loop, int error);
int vg_watch_after_fork(vigil_loop *loop);

/* watched.c */
extern const vg_subject_calls vg_loop_subject_calls;

/* hooks.c */
void vg_hooks_prepare(vigil_loop *loop);
bool vg_hooks_recheck(vigil_loop *loop);
void vg_hooks_check(vigil_loop *loop);
void vg_hooks_sweep(vigil_loop *loop);

/* signals.c, children.c */
bool vg_signals_pending(const vigil_loop *loop);
void vg_signals_resume(vigil_loop *loop);
void vg_signals_drop(vigil_loop *loop);
void vg_signals_close(vigil_loop *loop);
void vg_children_drop(vigil_loop *loop);
void vg_children_close(vigil_loop *loop);
void vg_children_free(vigil_loop *loop);
void vg_children_after_fork(vigil_loop *loop);
uint32_t vg_children_list(const vigil_loop *loop, vigil_keeper *keepers, size_t room, uint64_t now);

#endif
