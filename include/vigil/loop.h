/* SPDX-License-Identifier: MIT */
/*
 * vigil/loop.h - an event loop with one owner: posts from any thread, microtasks, timers,
 * descriptors, signals, children.
 *
 * What it promises
 *
 *   Exactly once.   An accepted post runs once, or its cancel callback runs once. A post that races
 *                   the end of the loop is accepted or refused, never lost.
 *   Order.          Posts of one thread run in the order in which that thread posted them.
 *   No lost wake.   A post to a sleeping loop wakes it. There is no timeout behind this:
 *                   src/loop/SLEEP.md has the argument. A wake costs one system call however many
 *                   posts race for it, and none while the loop is awake.
 *   Silence.        A loop with nothing to do makes no wake-ups and uses no CPU.
 *   Never early.    A timer runs at or after its deadline, in the order of deadlines, FIFO among
 *                   equal ones.
 *   Containment.    vigil_raise inside a callback ends that callback alone.
 *
 * The order of one turn is written down, numbered, in docs/loop.md. The short form: internal posts,
 * posts, timers, prepare hooks, poll, descriptors, check hooks, immediates, close callbacks; each
 * phase works on what was there when it began; after every callback the ticks and microtasks run.
 *
 * Threads: "any" is any thread. "Owner" is the thread that is inside vigil_loop_run; while nobody
 * is inside it, any one thread at a time may make owner's calls. An owner's call from elsewhere
 * answers -EPERM. No call blocks unless it says so. A callback runs on the owner's thread, never
 * inside the call that asked for it, and never under a lock.
 *
 * Lifetime: no other thread may be inside a call on a loop that is being destroyed, with one
 * exception that programs need: a vigil_loop_call, _post, _post_internal, _ref or _unref which has
 * taken effect may still be on its way out.
 */
#ifndef VIGIL_LOOP_H
#define VIGIL_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_loop vigil_loop;
typedef struct vigil_post vigil_post;

/* A piece of work, and what runs in its place when the loop ends first. */
typedef void (*vigil_call_fn)(void *arg);
typedef void (*vigil_post_fn)(vigil_post *post);

/* The same inside your own struct: no allocation, and a second post while it is queued is
   refused instead of queued twice. The loop's last touch is the call of run (or cancel): it may
   free the post or post it again. Set it up with vigil_post_init once; the vg_ fields are the
   library's. 32 bytes. */
struct vigil_post {
    vigil_post_fn run;
    vigil_post_fn cancel; /* may be NULL */
    vigil_post *vg_next;
    VIGIL_ATOMIC(uint32_t) vg_queued;
    uint32_t vg_reserved;
};

/* Make a post of the caller's memory. run must not be NULL; cancel may be. The post must not be
   queued. Any thread; does not block; cannot fail. */
static inline void vigil_post_init(vigil_post *post, vigil_post_fn run, vigil_post_fn cancel)
{
    post->run = run;
    post->cancel = cancel;
    post->vg_next = NULL;
    post->vg_reserved = 0;
#ifdef __cplusplus
    post->vg_queued = 0;
#else
    atomic_init(&post->vg_queued, 0U); /* plain: nobody else may look at the post yet */
#endif
}

/* ---- making a loop --------------------------------------------------------------------------- */

/* Where the loop sleeps. */
typedef enum vigil_fast_path {
    /* on a futex while no descriptor is watched, in the poller otherwise (default) */
    VIGIL_FAST_PATH_AUTO = 0,
    /* always on a futex; watching a descriptor is refused with -EINVAL */
    VIGIL_FAST_PATH_FORCED = 1,
    VIGIL_FAST_PATH_DISABLED = 2 /* always in the poller */
} vigil_fast_path;

/* How many microtasks one checkpoint may run. */
typedef enum vigil_microtask_mode {
    /* at most microtask_budget; the rest waits for the next turn, which does not block */
    VIGIL_MICROTASK_BUDGET = 0,
    /* until none is left, as JavaScript has it; a diagnostic every 100 000 */
    VIGIL_MICROTASK_EXHAUSTIVE = 1
} vigil_microtask_mode;

typedef enum vigil_loop_phase {
    VIGIL_PHASE_NONE = 0, /* outside a turn: the end of the loop */
    VIGIL_PHASE_INTERNAL, /* vigil_loop_post_internal */
    VIGIL_PHASE_POSTS,    /* vigil_loop_post, _call */
    VIGIL_PHASE_TIMERS,
    VIGIL_PHASE_PREPARE,
    VIGIL_PHASE_IO, /* descriptors, signals, children */
    VIGIL_PHASE_CHECK,
    VIGIL_PHASE_IMMEDIATES,
    VIGIL_PHASE_CLOSE,
    VIGIL_PHASES
} vigil_loop_phase;

/* What on_event reports. */
typedef enum vigil_loop_event_kind {
    VIGIL_LOOP_MICROTASK_BREACH = 1, /* the budget ran out; count: microtasks left over */
    /* exhaustive mode: one checkpoint ran `count` microtasks and goes on */
    VIGIL_LOOP_MICROTASK_FLOOD,
    VIGIL_LOOP_PRESSURE_ON,  /* max_posts was reached and a post refused; count: posts queued */
    VIGIL_LOOP_PRESSURE_OFF, /* half of that has been worked off; count: posts queued */
    VIGIL_LOOP_FD_GONE, /* fd was closed while it was watched; its watchers get VIGIL_FD_GONE */
    /* a closed fd lives on in a duplicate and still fires; the poller was rebuilt */
    VIGIL_LOOP_FD_ORPHAN,
    /* fd reports hang-up or error turn after turn, and nobody does anything about it */
    VIGIL_LOOP_HUP_STORM,
    VIGIL_LOOP_POLL_FAILED, /* the poller answered `error` and is rebuilt */
    VIGIL_LOOP_CHILD_LOST   /* a watched child could not be waited for: error says why */
} vigil_loop_event_kind;

typedef struct vigil_loop_event {
    size_t size;
    vigil_loop_event_kind kind;
    int fd;    /* -1 if none is meant */
    int error; /* a negative errno, or 0 */
    uint64_t count;
    const char *text; /* what happened and what to do, static */
} vigil_loop_event;
#define VIGIL_LOOP_EVENT_INIT VG_SIZED(vigil_loop_event)

/* A callback that left by vigil_raise; with -ECANCELED also one whose thread ended in it
   (pthread_exit, cancellation). Then the loop is free, and this is reported by the thread that
   runs or ends it next. */
typedef struct vigil_uncaught {
    size_t size;
    int status;
    vigil_loop_phase phase; /* whose callback it was */
    bool microtask;         /* it was a tick or a microtask after a callback of that phase */
} vigil_uncaught;
#define VIGIL_UNCAUGHT_INIT VG_SIZED(vigil_uncaught)

/* Start from VIGIL_LOOP_OPTIONS_INIT; zero means the default for every field. */
typedef struct vigil_loop_options {
    size_t size; /* set by the _INIT macro; tells the library which fields exist */
    /* at most 31 bytes are kept; shows up in vigil_loop_explain; default "loop" */
    const char *name;
    /* vigil_loop_run goes on when nothing keeps the loop alive, until stop or shutdown */
    bool stay;
    vigil_fast_path fast_path;
    vigil_microtask_mode microtasks;
    unsigned microtask_budget; /* per checkpoint; 0: 1024 */
    unsigned post_budget;      /* posts per turn; 0: 1024 */
    size_t max_posts;          /* most posts that wait at a time; 0: no bound */
    /* owner; a raise inside it is only counted */
    void (*on_uncaught)(void *user, const vigil_uncaught *it);
    /* Owner, or the thread whose call it concerns, inside that call: it cannot wait for the
       loop's end there. */
    void (*on_event)(void *user, const vigil_loop_event *it);
    /* Owner: nothing keeps the loop alive. If it adds something, the loop goes on; if it stops
       the loop, the run returns 1; if it raises, that is reported and the loop ends. */
    void (*on_before_exit)(void *user);
    void *user;
} vigil_loop_options;
#define VIGIL_LOOP_OPTIONS_INIT VG_SIZED(vigil_loop_options)

/* Make a loop. options may be NULL. *loop is given back with vigil_loop_destroy. Starts no
   thread, and opens no descriptor unless the fast path is disabled. Any thread; does not block.
   0; -EINVAL an option is out of range; -ENOMEM; -EMFILE. */
VIGIL_API int vigil_loop_create(vigil_loop **loop, const vigil_loop_options *options);

/* ---- running and ending ---------------------------------------------------------------------- */

typedef enum vigil_run_mode {
    VIGIL_RUN = 0, /* until the loop ends or is stopped */
    /* until a callback has run, or nothing is left to wait for; blocks until then */
    VIGIL_RUN_ONCE = 1,
    VIGIL_RUN_NOWAIT = 2 /* one turn that does not block */
} vigil_run_mode;

/* Run the loop on this thread, which owns it until the call returns. With VIGIL_RUN the loop
   ends when nothing keeps it alive any more: ingress is closed in the same instant in which it
   is seen to be empty, so a post that races the end is run or refused. With the option `stay`
   only shutdown and close end it. VIGIL_RUN_ONCE runs turns until a callback has run or nothing
   is left to wait for, and finishes the turn without blocking. Ticks and microtasks count, so do
   handlers of promises; what the loop does for itself does not. VIGIL_RUN_NOWAIT does not block.
   Any thread; blocks.
   0  VIGIL_RUN: the loop has ended, now or before. The other modes: nothing keeps the loop alive
   1  VIGIL_RUN: vigil_loop_pause was called, the loop may be run again. The other modes:
      something keeps it alive
   -EBUSY another thread runs it; -EDEADLK called inside one of its callbacks (also on_event, on
   another thread); -ESHUTDOWN the other modes: the loop has ended; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_run(vigil_loop *loop, vigil_run_mode mode);

/* Let vigil_loop_run return 1 after the callback that runs; at once if the loop sleeps; or, if
   nobody is inside it, let the next run return before its first turn. Nothing is dropped. Any
   thread; does not block.
   0; -ESHUTDOWN; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_pause(vigil_loop *loop);

/* End the loop gracefully. From here on vigil_loop_post and vigil_loop_call answer -ESHUTDOWN.
   Everything accepted before runs: posts, internal posts, immediates, close callbacks,
   microtasks, and what these add to the internal lane. Later internal posts of other threads run
   if they are accepted; they do not hold the end up. Timers, descriptors and children are
   dropped; signals still call their watches. When timeout_ns has passed the rest is dropped as
   vigil_loop_close does it. If nobody is inside vigil_loop_run, the calling thread does the
   draining itself. Idempotent; a second call may shorten the time. Any thread; waits for the
   end, except inside a callback of the loop, where it returns 0 at once and the loop ends after
   the callback.
   0 done; -ETIMEDOUT a callback does not return, the end goes on without the caller; -EINVAL;
   -ECHILD. */
VIGIL_API int vigil_loop_shutdown(vigil_loop *loop, int64_t timeout_ns);

/* End the loop at once: the callback that runs finishes, nothing else starts, cancel callbacks
   run for what is dropped. Any thread; waits for the end.
   0; -ETIMEDOUT the callback does not return, the end goes on; -EDEADLK inside a callback of the
   loop: nothing happens, use vigil_loop_shutdown there; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_close(vigil_loop *loop, int64_t timeout_ns);

/* Wait until the loop is done: no callback runs or will ever run. Any thread; blocks.
   0; -ETIMEDOUT; -EDEADLK inside a callback of the loop; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_wait(vigil_loop *loop, int64_t timeout_ns);

/* Give the loop back; closes it first if nobody has. NULL is allowed. See "Lifetime" above. In
   the child of a fork it frees the memory and closes the child's copies of the descriptors, and
   calls nobody. Any thread; blocks if it has to close.
   0; -EDEADLK inside a callback of the loop; -EBUSY another thread is inside vigil_loop_run:
   nothing happens. */
VIGIL_API int vigil_loop_destroy(vigil_loop *loop);

typedef enum vigil_loop_state {
    VIGIL_LOOP_AWAKE = 0, /* nobody runs it */
    VIGIL_LOOP_RUNNING = 1,
    VIGIL_LOOP_SLEEPING = 2,
    VIGIL_LOOP_TERMINATING = 3,
    VIGIL_LOOP_TERMINATED = 4 /* final */
} vigil_loop_state;

/* Where the loop is in its life. Any thread; does not block. Returns the state. */
VIGIL_API vigil_loop_state vigil_loop_state_get(const vigil_loop *loop);

/* Whether the calling thread is inside vigil_loop_run of this loop. Any thread; does not block.
   Returns true if it is. */
VIGIL_API bool vigil_loop_is_owner(const vigil_loop *loop);

/* Make the loop the child's own after a fork; until then every call in the child answers
   -ECHILD. Timers, watches and queued posts stay, with new descriptors; child watches are
   dropped (VIGIL_LOOP_CHILD_LOST), because the children are the parent's. Only on the thread
   that was the owner when it forked, or on any thread if nobody ran the loop; does not block.
   0; -EPERM another thread was running it; -EMFILE, -ENOMEM try again; -EINVAL not a child. */
VIGIL_API int vigil_loop_fork(vigil_loop *loop);

/* ---- posting from any thread ----------------------------------------------------------------- */

/* Call fn(arg) on the loop, in the posts phase of a turn. cancel(arg), if not NULL, runs instead
   when the loop ends first. A queued call keeps the loop alive. O(1) at any backlog; memory
   comes from recycled chunks. Any thread, also the owner: then it runs in a later turn. Does not
   block.
   0; -EINVAL; -ESHUTDOWN; -EAGAIN max_posts wait already; -ENOMEM; -ECHILD. */
VIGIL_API int vigil_loop_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg);

/* The same with a post of your own, in the same order, without allocation. The post is the
   loop's until run or cancel is called. Any thread; does not block.
   0; -EINVAL; -EBUSY the post is queued already, which folds many posts into one; -ESHUTDOWN;
   -EAGAIN max_posts wait already; -ECHILD. */
VIGIL_API int vigil_loop_post(vigil_loop *loop, vigil_post *post);

/* The priority lane: the post runs before all others, in the next turn. Never allocates, has no
   bound, and is open longer: until a shutdown has drained everything else. Any thread; does not
   block.
   0; -EINVAL; -EBUSY; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_loop_post_internal(vigil_loop *loop, vigil_post *post);

/* The same inside a signal handler of your own, which may have interrupted any code, the loop's own
   too. Of this library, a signal handler may call vigil_loop_post_from_handler, vigil_loop_now,
   vigil_loop_state_get and vigil_loop_is_owner, and nothing else. It allocates nothing, takes no
   lock, and leaves errno alone. Any thread; does not block.
   0; -EINVAL; -EBUSY queued already; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_loop_post_from_handler(vigil_loop *loop, vigil_post *post);

/* Keep the loop alive until the matching vigil_loop_unref. Any thread; does not block.
   0; -ESHUTDOWN; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_ref(vigil_loop *loop);

/* Undo one vigil_loop_ref. Any thread; does not block.
   0; -ESHUTDOWN; -EINVAL there was no ref; -ECHILD. */
VIGIL_API int vigil_loop_unref(vigil_loop *loop);

/*
 * Something to do when the loop has ended, inside your own struct: for whatever waits for the loop
 * and must not wait forever (a timer that will never fire says nothing by itself). Set run; the vg_
 * fields are the library's. run(it) is called once on the owner, in the order of the adds, after
 * everything else was run or cancelled: the state is Terminated, only microtasks can still be
 * queued, and they run. The loop's last touch is that call.
 */
typedef struct vigil_at_end vigil_at_end;
struct vigil_at_end {
    void (*run)(vigil_at_end *it);
    vigil_at_end *vg_next;
    vigil_at_end *vg_prev;
    vigil_loop *vg_loop;
};

/* Let it->run be called when the loop has ended. It does not keep the loop alive. No allocation;
   O(1). Owner; does not block.
   0; -EINVAL; -EBUSY it is added already; -ESHUTDOWN the loop has ended; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_at_end_add(vigil_loop *loop, vigil_at_end *it);

/* Take it back before it has run. O(1). Owner; does not block.
   0; -EINVAL; -ENOENT it is not there, or has run; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_at_end_remove(vigil_loop *loop, vigil_at_end *it);

/* Make an entry for vigil_loop_at_end_add of the caller's memory. run must not be NULL. Any
   thread; does not block; cannot fail. */
static inline void vigil_at_end_init(vigil_at_end *it, void (*run)(vigil_at_end *it))
{
    it->run = run;
    it->vg_next = NULL;
    it->vg_prev = NULL;
    it->vg_loop = NULL;
}

/* ---- owner's queues -------------------------------------------------------------------------- */

/* Call fn(arg) before anything else happens on the loop, after the callback that runs now. Ticks
   run before microtasks, both FIFO, until both queues are empty. cancel(arg), if not NULL, runs
   instead when the loop is closed first. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_tick_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel,
                                   void *arg);

/* The same as a microtask, which runs after all ticks. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_microtask_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel,
                                        void *arg);

/* vigil_loop_tick_call with a post of your own, without allocation. Owner; does not block.
   0; -EINVAL; -EBUSY the post is queued already; -EPERM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_tick(vigil_loop *loop, vigil_post *post);

/* vigil_loop_microtask_call with a post of your own, without allocation. Owner; does not block.
   0; -EINVAL; -EBUSY the post is queued already; -EPERM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_microtask(vigil_loop *loop, vigil_post *post);

/* Call fn(arg) after the poll of this turn; of the next turn, when called in that phase.
   cancel(arg), if not NULL, runs instead when the loop is closed first. Keeps the loop alive.
   Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_immediate_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel,
                                        void *arg);

/* The same with a post of your own, without allocation. Owner; does not block.
   0; -EINVAL; -EBUSY the post is queued already; -EPERM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_immediate(vigil_loop *loop, vigil_post *post);

/* Take back a post that vigil_loop_post or vigil_loop_immediate has queued on this loop: neither
   run nor cancel will be called, and the post is the caller's again. A post that was taken back
   is still counted, as one that ran, when its turn comes. Costs a step for each immediate that
   is queued, and one for every 160 posts. Owner; does not block.
   0        it will not run, not even if it is due in this very turn
   -ENOENT  it is not queued: it has run, or runs now, or was never posted
   -EBUSY   it is a tick, a microtask or an internal post, or another thread is just posting it
   -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_post_remove(vigil_loop *loop, vigil_post *post);

/* Call fn(arg) at the very end of this turn; of the next one, when called there. cancel(arg), if
   not NULL, runs instead when the loop is closed first. Keeps the loop alive. Owner; does not
   block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN the loop has ended; -ECHILD. */
VIGIL_API int vigil_loop_defer_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel,
                                    void *arg);

/* ---- time and timers ------------------------------------------------------------------------- */

/* The loop's time: CLOCK_MONOTONIC in nanoseconds as of the start of the turn or the end of the
   poll. It never goes back, and does not move inside a callback. Any thread; does not block.
   Returns the time. */
VIGIL_API uint64_t vigil_loop_now(const vigil_loop *loop);

/* Read the clock and make that the loop's time. Owner; on other threads it only reads the clock.
   Does not block. Returns the time. */
VIGIL_API uint64_t vigil_loop_now_update(vigil_loop *loop);

/* Names a timer. A stale one is an error (-ESTALE), never a crash. id 0 is never a timer. */
typedef struct vigil_timer {
    uint64_t id;
} vigil_timer;

typedef void (*vigil_timer_fn)(vigil_loop *loop, vigil_timer timer, void *arg);

#define VIGIL_TIMER_UNREF     1U /* does not keep the loop alive */
/* the delay counts from vigil_loop_now, not from the instant of the call */
#define VIGIL_TIMER_FROM_TICK 2U

/* The clock that a timer is on. */
typedef enum vigil_clock {
    VIGIL_CLOCK_MONOTONIC = 0, /* the loop's own; it stands still while the machine sleeps */
    /* goes on while the machine sleeps: what became due in that time fires when it wakes up */
    VIGIL_CLOCK_BOOTTIME,
    /* the time of day, as CLOCK_REALTIME: when somebody sets it, the timer moves with it. It needs
       deadline_ns: a delay does not depend on the time of day */
    VIGIL_CLOCK_REALTIME
} vigil_clock;

typedef struct vigil_timer_options {
    size_t size;
    /* from the instant of the call, or with VIGIL_TIMER_FROM_TICK from the loop's time */
    int64_t delay_ns;
    /* if not 0: the absolute time on `clock`, and delay_ns is not looked at */
    uint64_t deadline_ns;
    /* 0: once. Else again at deadline + n * interval; see docs/loop.md on catching up */
    int64_t interval_ns;
    /* may be late by so much (at most 4 s), so that it can share a wake-up with others */
    int64_t slack_ns;
    unsigned flags;
    /* others than the default take one descriptor for the loop, whose fast path must not be
       forced */
    vigil_clock clock;
} vigil_timer_options;
#define VIGIL_TIMER_OPTIONS_INIT VG_SIZED(vigil_timer_options)

/* Start a timer: fn(loop, timer, arg) runs at or after the deadline, in a later turn. *timer
   (may be NULL) is its name until it has fired for the last time. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_timer_start(vigil_loop *loop, int64_t delay_ns, vigil_timer_fn fn, void *arg,
                                vigil_timer *timer);

/* The same with options, which start from VIGIL_TIMER_OPTIONS_INIT. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -EMFILE for another clock; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_timer_start_with(vigil_loop *loop, const vigil_timer_options *options,
                                     vigil_timer_fn fn, void *arg, vigil_timer *timer);

/* Cancel a timer. The answer is exact. Owner; does not block.
   0        it will not run (again), not even if it is due in this very turn
   -EBUSY   it is a timer without interval and its callback is the one that runs: too late, it
            has fired
   -ESTALE  it has fired, or was cancelled before
   -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_timer_cancel(vigil_loop *loop, vigil_timer timer);

/* Cancel several timers. Owner; does not block.
   Returns how many of them will not run; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_timer_cancel_many(vigil_loop *loop, const vigil_timer *timers, size_t count);

/* Set the deadline anew: delay_ns from now, whether the timer runs, waits or is due. The
   interval stays. Inside its own callback this brings a timer without interval back to life.
   Postponing costs no walk through the heap. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ENOMEM; -ECHILD. */
VIGIL_API int vigil_timer_again(vigil_loop *loop, vigil_timer timer, int64_t delay_ns);

/* The same to an absolute time on the timer's clock. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ENOMEM; -ECHILD. */
VIGIL_API int vigil_timer_again_at(vigil_loop *loop, vigil_timer timer, uint64_t deadline_ns);

/* Let the timer keep the loop alive, as it does from the start. Not counted. Owner; does not
   block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_timer_ref(vigil_loop *loop, vigil_timer timer);

/* Let the timer no longer keep the loop alive. Not counted. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_timer_unref(vigil_loop *loop, vigil_timer timer);

/* When the timer will fire, on its own clock. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_timer_deadline(vigil_loop *loop, vigil_timer timer, uint64_t *deadline_ns);

/* ---- descriptors ----------------------------------------------------------------------------- */

#define VIGIL_FD_READ     1U
#define VIGIL_FD_WRITE    2U
#define VIGIL_FD_PRI      4U  /* urgent data */
#define VIGIL_FD_RDHUP    8U  /* the peer has closed its sending half */
#define VIGIL_FD_ERROR    16U /* always reported */
#define VIGIL_FD_HANGUP   32U /* always reported */
#define VIGIL_FD_GONE     64U /* the fd was closed behind the watch, which is over */
/* report changes, not states; holds if every watch of the fd has it */
#define VIGIL_WATCH_EDGE  1U
#define VIGIL_WATCH_UNREF 2U /* does not keep the loop alive */

typedef struct vigil_watch {
    uint64_t id;
} vigil_watch;

typedef void (*vigil_watch_fn)(vigil_loop *loop, vigil_watch watch, int fd, unsigned events,
                               void *arg);

/* Watch fd for events (VIGIL_FD_*); *watch (may be NULL) names the watch. Several watches may
   share an fd. Remove the watch before you close the fd. closed(arg), if not NULL, runs on the
   loop when the watch is over for good: after it no callback of this watch runs or is running.
   Any thread, also while the loop is blocked in the poll; does not block.
   0; -EINVAL bad events, or the fast path is forced, or it is this loop's own fd; -EBADF;
   -EOPNOTSUPP the fd cannot be polled (a regular file); -ELOOP loops that watch each other;
   -ENOMEM; -EMFILE; -ENOSPC; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_watch_add(vigil_loop *loop, int fd, unsigned events, unsigned flags,
                              vigil_watch_fn fn, vigil_call_fn closed, void *arg,
                              vigil_watch *watch);

/* Watch for other events. An event that was collected before still comes, unless the new events
   exclude it. Any thread; does not block.
   0; -EINVAL; -ESTALE; -EBADF or -ENOENT the fd was closed behind the watch, which is over, see
   VIGIL_FD_GONE; -ENOMEM; -ECHILD. */
VIGIL_API int vigil_watch_modify(vigil_loop *loop, vigil_watch watch, unsigned events);

/* Stop watching. On the owner no callback follows, not even for an event that was collected in
   this turn. Elsewhere one callback may still be running; `closed` says when it is over. Any
   thread; does not block.
   0; -EINVAL; -ESTALE; -ECHILD. */
VIGIL_API int vigil_watch_remove(vigil_loop *loop, vigil_watch watch);

/* Let the watch keep the loop alive, as it does without VIGIL_WATCH_UNREF. Not counted.
   Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_watch_ref(vigil_loop *loop, vigil_watch watch);

/* Let the watch no longer keep the loop alive. Not counted. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_watch_unref(vigil_loop *loop, vigil_watch watch);

/* Change where the loop sleeps, at any time. Any thread; does not block.
   0; -EINVAL; -EBUSY descriptors are watched, so the fast path cannot be forced; -EMFILE;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_loop_fast_path_set(vigil_loop *loop, vigil_fast_path mode);

/* A descriptor that is readable when the loop has something to do, so that another loop can wait
   for it and then call vigil_loop_run(loop, VIGIL_RUN_NOWAIT). It stays the loop's. Posts, and
   owner's calls that are made while nobody is inside (a timer, a tick, a handler), show too.
   Owner; does not block.
   Returns the fd; -EINVAL the fast path is forced; -EMFILE; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_loop_fd(vigil_loop *loop);

/* Hooks, so that other libraries can live on this loop. Any may be NULL.
   prepare  before the poll; returns how long the poll may block, in ns, negative for as long as
            it likes
   recheck  the last look: the loop has said that it sleeps; true if there is work after all.
            Must be quick. What it queues on the loop, or sets a timer for, counts by itself
   check    after the poll and its descriptors
   Owner. Hooks of one kind run in the order in which they were added, and do not keep the loop
   alive. One that a hook adds runs in the next turn. */
typedef struct vigil_hook {
    uint64_t id;
} vigil_hook;
typedef struct vigil_hook_calls {
    size_t size;
    int64_t (*prepare)(vigil_loop *loop, void *arg);
    bool (*recheck)(vigil_loop *loop, void *arg);
    void (*check)(vigil_loop *loop, void *arg);
} vigil_hook_calls;
#define VIGIL_HOOK_CALLS_INIT VG_SIZED(vigil_hook_calls)

/* Add hooks; *hook (may be NULL) names them. calls is copied. Owner; does not block.
   0; -EINVAL; -EPERM; -ENOMEM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_hook_add(vigil_loop *loop, const vigil_hook_calls *calls, void *arg,
                             vigil_hook *hook);

/* Remove hooks; they do not run any more. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_hook_remove(vigil_loop *loop, vigil_hook hook);

/* ---- signals and children -------------------------------------------------------------------- */

typedef struct vigil_signal {
    uint64_t id;
} vigil_signal;
typedef struct vigil_signal_info {
    size_t size;
    int signo;
    int code;  /* si_code */
    pid_t pid; /* of the sender */
    uid_t uid;
    int value; /* of sigqueue */
} vigil_signal_info;
#define VIGIL_SIGNAL_INFO_INIT VG_SIZED(vigil_signal_info)

typedef void (*vigil_signal_fn)(vigil_loop *loop, vigil_signal signal,
                                const vigil_signal_info *info, void *arg);

/* Call fn when the process gets the signal; *signal (may be NULL) names the watch. Every watch
   of every loop gets it, on the loop's thread, and then the handler that was installed before.
   No thread's mask matters. A watch that a callback adds waits for the next signal. Watches do
   not keep the loop alive.

   The signal has no default action from here until the last watch is removed or its loop is
   destroyed: during a shutdown it still calls fn, after the end of the loop it is absorbed. The
   child of a fork has the former handler or the default action until it calls vigil_loop_fork.
   docs/loop.md, "The special problem of signals". Owner; does not block.
   0; -EINVAL also SIGKILL, SIGSTOP, faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP), the fast
   path is forced; -EPERM; -ENOMEM; -EMFILE; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_signal_add(vigil_loop *loop, int signo, vigil_signal_fn fn, void *arg,
                               vigil_signal *signal);

/* Remove a signal watch. The last watch of a signal in the process restores the handler that was
   there before, unless somebody has installed another one since. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_signal_remove(vigil_loop *loop, vigil_signal signal);

/* Let the signal watch keep the loop alive, which it does not from the start. Not counted.
   Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_signal_ref(vigil_loop *loop, vigil_signal signal);

/* Let the signal watch no longer keep the loop alive. Not counted. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_signal_unref(vigil_loop *loop, vigil_signal signal);

typedef struct vigil_child {
    uint64_t id;
} vigil_child;
/* code: CLD_EXITED, CLD_KILLED or CLD_DUMPED with the exit status or signal; or 0 and a negative
   errno in status. */
typedef void (*vigil_child_fn)(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status,
                               void *arg);

/* Call fn once when the child process has ended, and reap it: this child and no other. *child
   (may be NULL) names the watch. Keeps the loop alive. Owner; does not block.
   0; -EINVAL; -ENOENT no such child of this process; -ENOSYS no pidfd_open; -EPERM; -ENOMEM;
   -EMFILE; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_child_add(vigil_loop *loop, pid_t pid, vigil_child_fn fn, void *arg,
                              vigil_child *child);

/* Stop watching; the child is not reaped. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_child_remove(vigil_loop *loop, vigil_child child);

/* Let the child watch keep the loop alive, as it does from the start. Not counted.
   Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_child_ref(vigil_loop *loop, vigil_child child);

/* Let the child watch no longer keep the loop alive. Not counted. Owner; does not block.
   0; -EINVAL; -ESTALE; -EPERM; -ECHILD. */
VIGIL_API int vigil_child_unref(vigil_loop *loop, vigil_child child);

/* ---- looking at it --------------------------------------------------------------------------- */

/* Something that keeps the loop alive. */
typedef enum vigil_keeper_kind {
    VIGIL_KEEPER_REF = 1, /* vigil_loop_ref; count of them */
    VIGIL_KEEPER_POSTS,   /* queued posts, internal ones included */
    VIGIL_KEEPER_MICROTASKS,
    VIGIL_KEEPER_IMMEDIATES,
    VIGIL_KEEPER_CLOSING, /* deferred calls, watches that are being closed */
    VIGIL_KEEPER_TIMER,
    VIGIL_KEEPER_WATCH,
    VIGIL_KEEPER_CHILD,
    VIGIL_KEEPER_SIGNAL /* vigil_signal_ref; count of them */
} vigil_keeper_kind;

typedef struct vigil_keeper {
    vigil_keeper_kind kind;
    uint64_t id;         /* of the timer, watch or child */
    int64_t number;      /* a count, the fd, the pid, or the ns until the timer fires */
    uint64_t since_ns;   /* how long ago it was made; 0 for counts */
    const void *created; /* an address inside the function that made it; NULL for counts */
    bool broken;         /* a watch whose fd is not open any more */
} vigil_keeper;

/* Fill in up to `room` keepers. Owner; does not block.
   Returns how many there are; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_keepers(vigil_loop *loop, vigil_keeper *keepers, size_t room);

/* The keepers in words, one line each, cut at `room` bytes. Owner; does not block.
   Returns the length that the whole has; -EINVAL; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_explain(vigil_loop *loop, char *text, size_t room);

/* Inside a callback: what runs from here on is shown to viewers as `what`, an address that
   vigil_record_name has given a name to, and no longer as the callback's function. For callbacks
   that are only a door to others (an interpreter's, a dispatcher's): called before each, it
   makes each of them a callback of its own in the trace and in the histogram. Lasts until the
   next call or the end of the callback. Owner; does not block.
   0; -EINVAL; -ENOENT no callback runs; -EPERM; -ECHILD. */
VIGIL_API int vigil_loop_shows(vigil_loop *loop, const void *what);

/* Everything since the loop was made. In one snapshot taken by the owner: posts_accepted =
   posts_run + posts_cancelled + posts_queued. These count the loop's own too: an unref, and a
   watch added from elsewhere, nudge the loop by an empty post. */
typedef struct vigil_loop_stats {
    size_t size;
    vigil_loop_state state;
    vigil_loop_phase phase; /* that it is in now */
    uint64_t turns;
    uint64_t posts_accepted, posts_run, posts_cancelled, posts_queued;
    uint64_t posts_refused; /* -ESHUTDOWN, -EAGAIN, -ENOMEM */
    uint64_t internal_run, internal_cancelled, internal_refused;
    uint64_t ticks_run, microtasks_run, microtask_breaches;
    uint64_t timers_started, timers_fired, timers_cancelled, timers_active;
    uint64_t fd_events, watches_active, stale_events, fds_gone;
    uint64_t signals_delivered, children_reaped;
    uint64_t immediates_run, closes_run, hooks_run;
    uint64_t uncaught;
    uint64_t sleeps;                  /* times it blocked */
    uint64_t sleeps_avoided;          /* the re-check found work after Sleeping was published */
    uint64_t wakes_sent;              /* system calls made by others to wake it */
    uint64_t wakes_useful;            /* sleeps ended by one, with something to do */
    uint64_t wakes_spurious;          /* sleeps that ended with nothing to do */
    uint64_t poll_calls;              /* system calls that looked at descriptors */
    uint64_t poll_ns, work_ns;        /* blocked, and not blocked, while somebody ran it */
    uint64_t callbacks[VIGIL_PHASES]; /* run in each phase, microtasks not counted */
    uint64_t phase_ns[VIGIL_PHASES];  /* time spent in each, microtasks included */
    uint64_t chunks;                  /* ingress chunks that exist now, spares included */
    uint64_t timer_bytes; /* memory of timers now; what a burst leaves goes before a sleep */
    uint64_t call_bytes;  /* the same of queued ticks, microtasks, immediates, deferred calls */
} vigil_loop_stats;
#define VIGIL_LOOP_STATS_INIT VG_SIZED(vigil_loop_stats)

/* Fill *stats, which starts from VIGIL_LOOP_STATS_INIT. Any thread; never waits for the owner.
   0; -EINVAL; -ECHILD. */
VIGIL_API int vigil_loop_stats_get(vigil_loop *loop, vigil_loop_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
