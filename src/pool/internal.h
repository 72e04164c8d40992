/* SPDX-License-Identifier: MIT */
/*
 * internal.h - the pool's structs, and what its files offer each other.
 *
 * A worker is two structs. Its seat is what the others may see and touch: the deques' stealing end, the word that it sleeps on,
 * its mailbox and its counters. The rest of vg_worker is private to its thread: nobody else has a pointer to it.
 */
#ifndef VG_POOL_INTERNAL_H
#define VG_POOL_INTERNAL_H

#include "base/clock.h"
#include "base/fault.h"
#include "base/fence.h"
#include "base/forkguard.h"
#include "base/futex.h"
#include "base/handles.h"
#include "base/mutex.h"
#include "base/raise.h"
#include "base/slab.h"
#include "base/thread.h"
#include "record/record.h"
#include "record/stack.h"
#include "record/subject.h"
#include "deque.h"
#include "idle.h"
#include "injector.h"

#include <vigil/pool.h>

#include <stddef.h>
#include <string.h>

enum {
    VG_CLASSES = VIGIL_PRIORITIES
};

#define VG_GROUP_COUNT_ZERO (UINT64_C(1) << 45) /* vigil_group.vg_open of an empty group; see group.c */

/* vigil_task.vg_state */
enum {
    VG_TASK_FREE = 0,
    VG_TASK_QUEUED = 1
};
/* vigil_task.vg_kind: what the task is part of */
enum {
    VG_KIND_PLAIN = 0,
    VG_KIND_CALL = 1,
    VG_KIND_JOB = 2
};
/* vigil_task.vg_flags */
enum {
    VG_FLAG_COUNTED = 1, /* it takes one place of max_queue */
    VG_FLAG_STAMPED = 2  /* it was submitted, and vg_stamp says when; a spawn is not stamped */
};

/* ---- counters: one writer each; they lie in the recorder (record/format.h) ---- */

/* Add to a counter that only the calling thread writes. Release: whoever sees the new value sees what was counted before
   it (a task is counted as started before it is counted as ended); pairs with the acquire loads in stats.c. */
static inline void vg_count_release(_Atomic uint64_t *counter, uint64_t amount)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + amount, memory_order_release);
}

/* What threads that are no workers share: spread over a few stripes. `entered` and `left` count calls that touch the pool, so
   that destroy can see the end of a submit whose task has already run. */
typedef struct vg_stripe {
    alignas(64) vg_file_stripe *counts; /* added to with read-modify-writes, because two such threads may share one */
    _Atomic uint64_t entered;
    _Atomic uint64_t left;
    vg_mutex slab_lock;
    vg_slab_cache calls;
} vg_stripe;

#ifdef VIGIL_CHECK
#define VG_STRIPES 1
#else
#define VG_STRIPES 16
#endif
_Static_assert(VG_STRIPES <= (int)VG_FILE_STRIPES && (int)VG_CLASSES == (int)VG_FILE_CLASSES &&
                   (int)VIGIL_WORKER_STATES <= (int)VG_FILE_STATES,
               "the file has room for them");
#ifndef VIGIL_CHECK
_Static_assert(VIGIL_WORKER_HISTORY == (int)VG_FILE_HISTORY - 1, "and for one more that is being written");
#endif

/* ---- workers ---- */

/* vg_seat.wake */
enum {
    VG_WAKE_NONE = 0,
    VG_WAKE_SLEEPING = 1,
    VG_WAKE_CALLED = 2
};
/* vg_seat.waiter: the worker sleeps in a group wait, and would rather work if no spare can be had; it has been told to */
enum {
    VG_WAITER_NONE = 0,
    VG_WAITER_WILLING = 1,
    VG_WAITER_CALLED = 2
};
/* vg_worker.hook: which of the user's hooks the worker is in */
enum {
    VG_HOOK_NONE = 0,
    VG_HOOK_START = 1,
    VG_HOOK_STOP = 2
};
/* vg_seat.life, under the pool's admin lock */
enum {
    VG_SEAT_EMPTY = 0,
    VG_SEAT_TAKEN = 1,
    VG_SEAT_LEFT = 2
}; /* LEFT: the thread has gone or is about to; not joined */

/*
 * A wait on the worker's stack, for the watchdog: what is waited for, and which jobs and groups cannot end before it does.
 * Written by the worker when it has nothing better to do (waits.c), read by the watchdog, who follows none of the pointers.
 */
enum {
    VG_WAIT_NOTES = 8, /* nested waits; deeper ones are counted only */
    VG_NOTE_JOBS = 8,
    VG_NOTE_GROUPS = 6
};
typedef struct vg_wait_note {
    _Atomic uint64_t number; /* 0: being written */
    _Atomic uint32_t what;   /* vg_wait_what */
    _Atomic uint32_t limited;
    _Atomic uint64_t since;     /* ns */
    _Atomic uintptr_t object;   /* job or group */
    _Atomic uintptr_t function; /* of the job */
    _Atomic uintptr_t word;     /* where it sleeps, if that is not the seat's own word; an address to wake, no more */
    _Atomic uintptr_t jobs[VG_NOTE_JOBS]; /* that this worker runs, innermost first; 0 ends the list */
    _Atomic uintptr_t groups[VG_NOTE_GROUPS];
} vg_wait_note;

typedef struct vg_seat {
    alignas(64) _Atomic uint32_t wake;
    _Atomic uint32_t retire;      /* the worker shall go when its task is done */
    _Atomic uintptr_t mailbox;    /* tasks for this worker alone, newest first; lowest bit: closed, or no thread */
    _Atomic uint64_t mail_pushed; /* tasks that were ever in the mailbox */
    _Atomic uint64_t mail_taken;  /* of these: taken out again */
    _Atomic uint32_t waiter;
    _Atomic uint32_t mail_waits;  /* parked with mail of these classes (bits), which are full */
    _Atomic uintptr_t waiting_on; /* the job that the worker waits for */
    _Atomic uint32_t handling;    /* a task is between a queue and a counter; for the audit */
    vigil_pool *pool;
    unsigned index;
    bool spare;
    uint32_t life;
    pthread_t thread;
    _Atomic int thread_id;       /* the system's; 0: no thread */
    _Atomic uint64_t rejected;   /* the number of a wait that shall end with -EDEADLK; written by the watchdog */
    _Atomic uint32_t note_count; /* waits on the stack */
    vg_wait_note notes[VG_WAIT_NOTES];
    vg_file_worker *counts;       /* its slot in the recorder */
    vg_deque *deques[VG_CLASSES]; /* in the worker's queues; written before the seat is shown */
} vg_seat;

/* The last fields of a task, from vg_state on, as one word. */
typedef union vg_task_tail {
    struct {
        uint32_t state;
        uint8_t class_;
        uint8_t kind;
        uint16_t flags;
    } of;
    uint64_t word;
} vg_task_tail;
_Static_assert(sizeof(vigil_task) == offsetof(vigil_task, vg_state) + sizeof(vg_task_tail), "as in vigil/pool.h");

/* Nobody else has the task yet: all at once, and with no atomics. */
static inline void vg_task_set_tail(vigil_task *task, vg_task_tail tail)
{
    memcpy((char *)task + offsetof(vigil_task, vg_state), &tail.word, sizeof tail.word);
}

/* The fields of a group from vg_local to vg_thief, as they are in one with one task that its owner has spawned. */
typedef struct vg_group_start {
    int64_t local;
    uint64_t open;
    int32_t status;
    uint32_t thief;
} vg_group_start;
_Static_assert(offsetof(vigil_group, vg_open) == offsetof(vigil_group, vg_local) + offsetof(vg_group_start, open) &&
                   offsetof(vigil_group, vg_status) ==
                       offsetof(vigil_group, vg_local) + offsetof(vg_group_start, status) &&
                   offsetof(vigil_group, vg_thief) == offsetof(vigil_group, vg_local) + offsetof(vg_group_start, thief),
               "as in vigil/pool.h");

/* What a worker needs to push and pop tasks of one class. */
typedef struct vg_own_queue {
    vg_deque_owner own;
    uint64_t busy; /* the idle word, masked, that leaves a publisher of this class nothing to do: vg_queue_busy */
    uint64_t busy_mask;
    vg_class_counts *counts;
    unsigned class_;
    vg_task_tail tail;    /* of a plain task of this class that is queued */
    vg_group_start start; /* of a join's group: copied from here for less than it is made */
} vg_own_queue;

typedef struct vg_worker {
    vg_seat seat; /* first: the table of seats holds a pointer to it */
    alignas(64) vigil_pool *pool;
    vg_fence_mode fences;
    vg_raise_frame **raise_top; /* the thread's vg_raise_top; set by the thread itself */
    vg_own_queue *queue;        /* of the running task's class */
    vigil_group *group;         /* of the running task */
    unsigned depth;             /* tasks on this thread's stack */
    unsigned announced;         /* classes whose deque the thieves know of (bits) */
    vg_own_queue queues[VG_CLASSES];
    vigil_task *mail_first[VG_CLASSES]; /* from the mailbox, oldest first */
    vigil_task *mail_last[VG_CLASSES];
    unsigned mail_ready;           /* classes with mail (bits) */
    unsigned turn;                 /* takes, to begin with the injector now and then */
    unsigned since_ageing;         /* tasks taken past a waiting lower class */
    unsigned ageing_next;          /* the class whose turn it is */
    unsigned misses[VG_CLASSES];   /* looks in a row that found a ready class empty */
    unsigned cap_held[VG_CLASSES]; /* how often this thread's stack holds a place of a capped class */
    unsigned blocking;             /* depth of blocking sections */
    bool compensated;              /* the outermost section has given a credit */
    bool raised;                   /* the task that has just ended was left by vigil_raise */
    bool woken;                    /* has come back from parking and not found a task yet */
    uint8_t hook;                  /* it is in one: no task of the pool, and nobody waits for what it hands over */
    struct vg_job *job;            /* the innermost that it runs */
    uint64_t waits;                /* numbers given to waits */
    uint64_t spin_ns;              /* how long the next spin lasts */
    unsigned spins_skipped;
    uint64_t random;
    uint8_t level; /* of the recorder: vigil_watch_level */
    bool hists_shared;
    vg_file_pool_hists *hists; /* NULL when the recorder is off */
    /* What is not noted yet (note.h): unread tasks of one class, the first with this id, since last_end. */
    uint64_t last_end;  /* 0: not known */
    uint64_t batch_key; /* of their function and class; 0: the next one begins a new row */
    uint64_t batch_id;
    uint64_t usual; /* what short tasks take, in ticks */
    unsigned batch_class;
    unsigned unread;
    unsigned interval;
    vg_slab_cache calls;
} vg_worker;

/* Some of the workers' slots in the recorder. */
typedef struct vg_slot_block {
    vg_record_block block;
    unsigned first;
    unsigned count;
} vg_slot_block;

enum {
    VG_SLOT_BLOCKS = 12 /* spares, 1, 1, 2, 4, ... 512 workers */
};

extern _Thread_local vg_worker *vg_current_worker;

typedef enum vg_phase {
    VG_OPEN = 0,
    VG_DRAINING = 1,
    VG_DISCARDING = 2
} vg_phase;

struct vigil_pool {
    /* read by everybody, written at creation and by stop */
    vg_forkguard fork_guard;
    vg_fence_mode fences;
    bool no_stealing;
    bool capped; /* some class has a cap */
    vigil_idle_policy idle_policy;
    uint64_t max_spin_ns;
    size_t max_queue;
    vigil_full_policy when_full;
    unsigned caps[VG_CLASSES];
    unsigned max_spares;
    size_t stack_size;
    char name[16];
    int *cpus;
    size_t cpu_count;
    void (*on_worker_start)(void *user, unsigned worker);
    void (*on_worker_stop)(void *user, unsigned worker);
    void (*on_failure)(void *user, const vigil_failure *failure);
    void *user;
    vg_tick_base born;
    vg_file_pool *shared; /* counters and states that have no worker, in the recorder */
    uint8_t level;        /* of the recorder */
    uint32_t record_epoch;
    _Atomic uint32_t phase;      /* vg_phase, only ever goes up */
    _Atomic uint32_t shortcut;   /* 1: an owner may take back what it has just pushed with a light fence, and run it */
    _Atomic uint32_t quit;       /* every task has ended: workers go */
    _Atomic unsigned high;       /* seats 0..high-1 have been used by workers */
    _Atomic unsigned spare_high; /* the same for spares, from VG_MAX_WORKERS */
    _Atomic unsigned target;     /* workers wanted */

    vg_idle idle;
    _Atomic uint64_t
        spawners[VG_CLASSES][VG_SEAT_WORDS]; /* seats that have ever spawned this class; bits are never cleared */
    _Atomic uint32_t cap_used[VG_CLASSES];
    _Atomic int64_t
        husks_waiting[VG_CLASSES];          /* husks of jobs that are still in a queue; may be negative for a moment */
    _Atomic int64_t husks_kept[VG_CLASSES]; /* of these, what the last sweep could not get at */
    alignas(64) vg_injector injectors[VG_CLASSES];

    alignas(64) _Atomic uint64_t queued_places; /* of max_queue; unused without one */
    _Atomic uint32_t room_waiters;
    _Atomic uint32_t room_seq;

    alignas(64) _Atomic uint32_t idle_waiters; /* threads in wait_idle or stop */
    _Atomic uint32_t idle_tickets;             /* how many have ever waited */
    _Atomic uint32_t idle_seen;                /* the pool was idle after this ticket was drawn */

    vg_stripe stripes[VG_STRIPES];
    _Atomic(vg_seat *) seats[VG_MAX_SEATS];

    vg_slab call_slab;
    vg_handles jobs;

    vg_mutex admin; /* workers' seats and threads, resize and the end of stop */
    bool joined;    /* under admin */
    _Atomic uint32_t
        alive; /* threads of workers and spares that have not come to their end; the end of stop sleeps on it */
    vg_mutex
        spare_lock; /* spares' seats and threads; its holder takes no other lock, so anybody may wake under any lock */
    _Atomic uint32_t compensated; /* blocking sections that have given a credit, at most max_spares */
    struct vg_delay *delay;       /* under delay_lock */
    vg_mutex delay_lock;
    bool delay_closed;
    vg_subject subject; /* for the watchdog */

    vg_record_block block; /* of shared */
    vg_record_block hists;
    unsigned hist_sets;
    _Atomic unsigned slot_blocks; /* grows under admin, as the next two do; read without it when a spare is started */
    unsigned slots_covered;       /* workers that have one */
    vg_slot_block slots[VG_SLOT_BLOCKS];
};

/* Lines that every public call begins with. */
static inline int vg_pool_guard(const vigil_pool *pool)
{
    if (pool == NULL)
        return -EINVAL;
    return vg_forked(&pool->fork_guard) ? -ECHILD : 0;
}

/* The calling thread's worker if it is one of this pool, else NULL. */
static inline vg_worker *vg_worker_of(const vigil_pool *pool)
{
    vg_worker *worker = vg_current_worker;
    return worker != NULL && worker->pool == pool ? worker : NULL;
}

/* Is the caller inside a task of the pool? What that hands over while the pool drains is part of what was accepted. */
static inline bool vg_in_task(const vg_worker *worker)
{
    return worker != NULL && worker->hook == VG_HOOK_NONE;
}

/* A cancel callback on the calling thread's stack, which may be any thread: its task has not ended. */
typedef struct vg_cancelling {
    const vigil_pool *pool;
    struct vg_cancelling *outer;
} vg_cancelling;

extern _Thread_local vg_cancelling *vg_cancelling_top; /* run.c */

/* Would the caller wait for itself if it waited for the pool to be idle? */
static inline bool vg_part_of(const vigil_pool *pool)
{
    for (const vg_cancelling *at = vg_cancelling_top; at != NULL; at = at->outer)
        if (at->pool == pool)
            return true;
    return vg_worker_of(pool) != NULL;
}

static inline vg_stripe *vg_stripe_of_caller(vigil_pool *pool)
{
    return &pool->stripes[vg_thread_number() % VG_STRIPES];
}

/* A call that takes tasks out of queues or puts them in is under way, for the audit and for destroy. */
static inline vg_stripe *vg_visit_begin(vigil_pool *pool)
{
    vg_stripe *stripe = vg_stripe_of_caller(pool);
    (void)atomic_fetch_add_explicit(&stripe->entered, 1, memory_order_relaxed);
    return stripe;
}

static inline void vg_visit_end(vg_stripe *stripe)
{
    /* release: our last touch of the pool; pairs with the acquire in vigil_pool_destroy */
    (void)atomic_fetch_add_explicit(&stripe->left, 1, memory_order_release);
}

static inline vg_seat *vg_seat_at(vigil_pool *pool, unsigned index)
{
    return atomic_load_explicit(&pool->seats[index], memory_order_acquire); /* pairs with S1 in seats.c */
}

/* The first seat that there is from `index` on, VG_MAX_SEATS at the end: for (i = 0; (i = vg_seat_next(pool, i)) < ...; i++) */
static inline unsigned vg_seat_next(vigil_pool *pool, unsigned index)
{
    const unsigned workers = atomic_load_explicit(&pool->high, memory_order_relaxed);
    const unsigned spares = VG_MAX_WORKERS + atomic_load_explicit(&pool->spare_high, memory_order_relaxed);
    for (;; index++) {
        if (index >= workers && index < VG_MAX_WORKERS)
            index = VG_MAX_WORKERS;
        if (index >= spares)
            return VG_MAX_SEATS;
        if (vg_seat_at(pool, index) != NULL)
            return index;
    }
}

/* The calling thread is about to wait for this pool from outside. If it is a worker of another pool that one has to know. */
static inline bool vg_block_elsewhere(void)
{
    return vigil_blocking_begin() == 0;
}

static inline void vg_unblock_elsewhere(bool blocked)
{
    if (blocked)
        (void)vigil_blocking_end();
}

/* The worker is between a queue and a counter: it looks for a task that it has not counted as started yet, or has counted one
   that it has not pushed yet. release: an audit that sees the end of it sees the counter and the queue (audit.c). */
static inline void vg_handling(vg_worker *worker, uint32_t yes)
{
    atomic_store_explicit(&worker->seat.handling, yes, memory_order_release);
}

/* For vg_own_queue.busy: without light fences there is always something to do (A). */
static inline uint64_t vg_queue_busy(vg_fence_mode fences, unsigned class_)
{
    return fences == VG_FENCE_SYMMETRIC ? UINT64_MAX : vg_idle_busy(class_);
}

void vg_push_own_slow(vg_worker *worker, vg_own_queue *queue,
                      vigil_task *task); /* the deque is full or was never used */
void vg_announce_own_slow(vigil_pool *pool, unsigned class_);

/* Is what the worker has pushed to its own deque known to all who should know? If not: vg_announce_own_slow. */
static inline bool vg_announced(const vg_worker *worker, const vg_own_queue *queue)
{
    /* A' light fence: the push is visible before the word is read; pairs with C. Where somebody searches or sleeps, or the class
       is not called ready yet, or light fences are not to be had (then no word equals `busy`), vg_announce makes it a full one
       (A). */
    vg_fence_light(VG_FENCE_MEMBARRIER);
    uint64_t word = atomic_load_explicit(&worker->pool->idle.word, memory_order_relaxed);
    return (word & queue->busy_mask) == queue->busy;
}

static inline void vg_announce_own(const vg_worker *worker, const vg_own_queue *queue)
{
    if (__builtin_expect(!vg_announced(worker, queue), 0))
        vg_announce_own_slow(worker->pool, queue->class_);
}

/* Push a task of the worker's own. */
static inline void vg_push_own(vg_worker *worker, vg_own_queue *queue, vigil_task *task)
{
    if (__builtin_expect(!vg_deque_push(&queue->own, task), 0))
        vg_push_own_slow(worker, queue, task);
    else
        vg_announce_own(worker, queue);
}

/* worker.c */
void vg_worker_loop(vg_worker *worker, const vg_wait *wait, bool searching);
int vg_worker_help(vg_worker *worker, const vg_wait *wait); /* 0 over; -ETIMEDOUT */
vigil_task *vg_take(vg_worker *worker, unsigned *looked_at);
void vg_worker_state(vg_worker *worker, vigil_worker_state state);
void vg_unpark(vg_seat *seat);
void vg_give_away_own_work(vg_worker *worker);
vigil_task *vg_steal_class(vg_worker *thief, unsigned class_);

/* run.c */
void vg_run(vg_worker *worker, vigil_task *task);
int vg_run_guarded(vigil_task *task);           /* its function, with a way out for vigil_raise; returns the status */
void vg_mark_raised(void);                      /* the running task is left by vigil_raise */
void *vg_task_function(const vigil_task *task); /* what the user knows it by */
void vg_task_failed(vg_worker *worker, unsigned class_, int status, void *function); /* counts and reports it */
void vg_run_claimed(vg_worker *worker, vigil_task *task); /* the job's state says already that we run it */
void vg_discard(vigil_pool *pool, vigil_task *task); /* any thread: the task's cancel callback instead of its run */
void vg_discard_claimed(vigil_pool *pool, vigil_task *task);
void vg_count_cancelled(vigil_pool *pool, unsigned class_);
void vg_room_release(vigil_pool *pool); /* one counted task has left its queue */
void vg_room_signal(vigil_pool *pool);  /* there is room, or the pool closes */
bool vg_cap_enter(vg_worker *worker, unsigned class_);
void vg_cap_leave(vg_worker *worker, unsigned class_);
/* A task that waits gives its places up meanwhile: what it waits for may need them. It takes them again whatever the cap says. */
void vg_caps_suspend(vg_worker *worker, unsigned held[VG_CLASSES]);
void vg_caps_resume(vg_worker *worker, const unsigned held[VG_CLASSES]);

/* submit.c */
int vg_submit_one(vigil_pool *pool, vigil_task *task, unsigned class_); /* fields are set, the state is QUEUED */
void vg_submit_due(vigil_pool *pool, vigil_task *task); /* a delayed task whose time has come; it is accepted already */
int vg_submit_delayed(vigil_pool *pool, vigil_task *task, unsigned class_, int64_t delay_ns);

/* call.c */
size_t vg_pool_call_size(void);
void *vg_pool_call_function(const vigil_task *task);

/* job.c */
size_t vg_job_size(void);
bool vg_job_claim(vigil_task *task); /* false: it was cancelled, or runs or ran elsewhere */
void vg_job_due(vigil_task *task);   /* its delay is over */
void vg_job_finish(vigil_pool *pool, vigil_task *task, int status, bool cancelled);
void vg_job_leave_queue(vigil_pool *pool, vigil_task *task); /* the queue's reference */
void vg_job_husk(vigil_pool *pool, vigil_task *task);
bool vg_job_is_husk(
    const vigil_task *task); /* of a job that was taken from a queue, or that the holder of draining has */
/* run.c: drop a task from a queue if it is a husk */
bool vg_drop_husk(vigil_pool *pool, vigil_task *task);
void *vg_job_function(const vigil_task *task);
uint64_t vg_job_id(const vigil_task *task);

/* waits.c: the worker says for whom it waits. vg_wait_note_begin gives the number of the wait. */
uint64_t vg_wait_note_begin(vg_worker *worker, vg_wait_what what, const void *object, const void *function,
                            uint64_t deadline_ns, const void *word);
void vg_wait_note_end(vg_worker *worker);
static inline bool vg_wait_rejected(const vg_worker *worker, uint64_t number)
{
    /* relaxed: whoever rejects calls the worker afterwards, which orders it */
    return atomic_load_explicit(&worker->seat.rejected, memory_order_relaxed) == number;
}
unsigned vg_job_chain(const vg_worker *worker, uintptr_t *jobs, unsigned room); /* job.c: those it runs */

/* blocking.c: a worker that does not say that it is blocked is taken for one, and no longer; the watchdog's. 0; -EAGAIN */
void vg_offer_credit(vigil_pool *pool); /* a credit is there: is there work for a spare? */
int vg_credit_lend(vigil_pool *pool);
void vg_credit_take_back(vigil_pool *pool);

/* watched.c */
extern const vg_subject_calls vg_pool_subject_calls;
void vg_rewake(vg_seat *seat); /* idle.c: wake a parked worker whatever the protocol believes; the watchdog's */

/* group.c */
void vg_group_member_moved(
    vigil_task *task); /* it goes from a deque to an injector: its waiter cannot find it any more */
void vg_group_finish(vigil_pool *pool, vg_worker *worker, vigil_group *group, int status);

/* seats.c: threads */
int vg_seat_start(vigil_pool *pool, unsigned index);       /* under admin; the caller has counted its token */
int vg_spare_start(vigil_pool *pool);                      /* likewise, but it locks by itself; 0 or a negative errno */
void vg_seats_quit(vigil_pool *pool);                      /* tell all to go; under admin */
int vg_seats_wait(vigil_pool *pool, uint64_t deadline_ns); /* until the last has come to its end; 0 or -ETIMEDOUT */
void vg_seats_join(vigil_pool *pool);                      /* under admin, after that */
void vg_seats_free(vigil_pool *pool);

/* stats.c */
typedef struct vg_books {
    uint64_t accepted;
    uint64_t begun; /* started, or cancelled before that */
    uint64_t ended;
} vg_books;
void vg_pool_books(vigil_pool *pool, vg_books *books); /* of all classes */
bool vg_pool_is_idle(vigil_pool *pool);
int vg_wait_until_idle(vigil_pool *pool, uint64_t deadline_ns); /* 0; -ETIMEDOUT */
void vg_quiescence_signal(vigil_pool *pool); /* after the caller's fence: tell wait_idle if the pool is idle */

/* delay.c */
int vg_delay_add(vigil_pool *pool, vigil_task *task, int64_t delay_ns);
void vg_delay_close(vigil_pool *pool);      /* no more; what is there stays till it is due */
void vg_delay_cancel_all(vigil_pool *pool); /* discard what is there */
void vg_delay_stop(vigil_pool *pool);       /* end the thread; nothing may be there but husks */
void vg_delay_free(vigil_pool *pool);       /* without the thread, after fork */

#endif
