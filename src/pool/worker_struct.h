/* SPDX-License-Identifier: MIT */
/*
 * worker_struct.h - a worker is two structs. Its seat is shared: the deques' stealing ends, the word it sleeps on,
 * mailbox, counters. The rest of vg_worker is private to its thread.
 */
#ifndef VG_POOL_WORKER_STRUCT_H
#define VG_POOL_WORKER_STRUCT_H

#include "base/fence.h"
#include "base/handles.h"
#include "base/raise.h"
#include "base/slab.h"
#include "record/facts.h"
#include "record/format_pool.h"
#include "record/record.h"
#include "deque.h"
#include "task_struct.h"

#include <pthread.h>
#include <stdalign.h>

#define VG_GROUP_COUNT_ZERO (UINT64_C(1) << 45) /* vigil_group.vg_open of an empty group; see group.c */

/* vg_seat.wake */
enum {
    VG_WAKE_NONE = 0,
    VG_WAKE_SLEEPING = 1,
    VG_WAKE_CALLED = 2
};
/* vg_seat.waiter: the worker sleeps in a wait and will work if no spare is to be had, WILLING at anything, URGENT at
   what workers of other pools wait for; it was asked to */
enum {
    VG_WAITER_NONE = 0,
    VG_WAITER_WILLING = 1,
    VG_WAITER_CALLED = 2,
    VG_WAITER_URGENT = 3
};
/* vg_worker.age_kind: how the running task counts for ageing */
enum {
    VG_AGE_NONE = 0,  /* no lower class waited when it was taken */
    VG_AGE_ABOVE = 1, /* a lower class waited */
    VG_AGE_PICK = 2   /* it was picked from a lower class */
};
/* vg_worker.hook: the user hook the worker is in */
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
}; /* LEFT: the thread has ended or is about to; not joined */

/*
 * A wait on the worker's stack, for the watchdog: what it waits for. The watchdog follows none of the pointers
 * (waits.c).
 */
enum {
    VG_WAIT_NOTES = VIGIL_HELP_DEPTH + 8, /* deeper waits are only counted */
    VG_NOTE_GROUPS = 6                    /* of one wait: the task's group and its parents */
};
typedef struct vg_wait_note {
    _Atomic uint64_t number; /* 0: being written */
    _Atomic uint32_t what;   /* vg_wait_what */
    _Atomic uint16_t limited;
    _Atomic uint16_t holds;     /* of seat.holds: what this wait and those below it hold up */
    _Atomic uint64_t since;     /* ns */
    _Atomic uintptr_t object;   /* job, group, or what else it waits for */
    _Atomic uintptr_t function; /* of the job */
    _Atomic uintptr_t word;     /* where it sleeps, if not on the seat's own word; an address to wake, no more */
    _Atomic uintptr_t owner;    /* the word with the thread id of a lock's holder; 0: none */
} vg_wait_note;

typedef struct vg_seat {
    alignas(64) _Atomic uint32_t wake;
    _Atomic uint32_t retire;    /* the worker must leave after its task */
    _Atomic uint64_t called_at; /* ticks when it was last woken; in the line that the waker writes anyway */
    _Atomic uintptr_t mailbox;  /* tasks for this worker alone, newest first; lowest bit: closed */
    _Atomic uint32_t waiter;
    _Atomic uint32_t mail_waits;  /* parked with mail of these full classes (bits) */
    _Atomic uintptr_t waiting_on; /* the job it waits for */
    _Atomic uint64_t handling;    /* odd: between a queue and a counter (moving.h) */
    _Atomic uint64_t mail_pushed; /* tasks ever pushed to the mailbox */
    _Atomic uint64_t mail_taken;  /* of these: taken out */
    vigil_pool *pool;
    unsigned index;
    bool spare;
    bool guest; /* a spare's seat for threads from outside (guest.c) */
    uint32_t life;
    pthread_t thread;
    _Atomic int thread_id;       /* the system's; 0: none */
    _Atomic uint64_t rejected;   /* the number of a wait that must end with -EDEADLK; set by the watchdog */
    _Atomic uint32_t note_count; /* waits on the stack */
    _Atomic uint64_t age_debt; /* what lower classes have had in advance, as in vg_worker.age_owed; for the watchdog */
    vg_wait_note notes[VG_WAIT_NOTES];
    _Atomic uintptr_t holds[VG_FACT_HOLDS]; /* jobs that run, and groups of tasks, under the noted waits */
    vg_file_worker *counts;                 /* its slot in the recorder */
    vg_deque *deques[VG_CLASSES];           /* in the worker's queues; written before the seat is shown */
} vg_seat;

typedef struct vg_worker vg_worker;

/* What a worker needs to push and pop tasks of one class. vigil/join.h has the same fields, down to joins_left. */
typedef struct vg_own_queue {
    vg_deque_owner own;
    uint64_t busy; /* the masked idle word that leaves a publisher nothing to do: vg_queue_busy */
    uint64_t busy_mask;
    vigil_pool *pool;
    const _Atomic uint64_t *idle; /* the pool's word */
    vg_raise_links links;         /* the joins that are under way */
    vigil_group **group;          /* the worker's */
    uint32_t joins_left;          /* before the joins are counted (join.c) */
    unsigned class_;
    vg_class_counts *counts;
    vg_worker *worker;
    vg_task_tail tail; /* of a queued plain task of this class */
} vg_own_queue;

/* past.h */
enum {
    VG_PAST_WAITS = 96
};
typedef struct vg_past {
    uint64_t next;                             /* ticks when a step is due; UINT64_MAX: never */
    uint64_t count;                            /* steps written */
    uint32_t waits[VG_CLASSES][VG_PAST_WAITS]; /* since the last step */
} vg_past;

struct vg_worker {
    vg_seat seat; /* first: the table of seats points to it */
    alignas(64) vigil_pool *pool;
    vg_fence_mode fences;
    vg_raise_frame **raise_top; /* the thread's vg_raise_top */
    vg_own_queue *queue;        /* of the running task's class */
    vigil_group *group;         /* of the running task */
    unsigned depth;             /* tasks on this thread's stack */
    unsigned announced;         /* classes whose deque is in the table (bits) */
    unsigned last_class;        /* of the last task that it found */
    uint64_t moves;             /* the last value of seat.handling but 1 (moving.h) */
    vg_own_queue queues[VG_CLASSES];
    vigil_task *mail_first[VG_CLASSES]; /* from the mailbox, oldest first */
    vigil_task *mail_last[VG_CLASSES];
    unsigned mail_ready;           /* classes with mail (bits) */
    unsigned turn;                 /* takes, to begin with the injector periodically */
    int64_t age_owed;              /* time that the lower classes are owed, in ticks * 1000 (take.c) */
    uint64_t age_since;            /* when the last task that counts for it was taken */
    uint8_t age_kind;              /* vg_age_kind of that task */
    unsigned ageing_next;          /* the class whose turn is next */
    unsigned misses[VG_CLASSES];   /* looks in a row that found a ready class empty */
    unsigned cap_held[VG_CLASSES]; /* places of a capped class on this stack */
    unsigned caps_left;            /* full classes left since vg_caps_look (bits) */
    unsigned blocking;             /* depth of blocking sections */
    unsigned helping;              /* waits on this stack that run strangers */
    bool compensated;              /* the outermost section has given a credit */
    bool raised;                   /* the last task left by vigil_raise */
    bool thread_ended;             /* it left by pthread_exit or cancellation */
    bool woken;                    /* woken, and no task found yet */
    bool guest_here;               /* under spare_lock: a guest's seat is in use */
    uint8_t hook;                  /* in a hook: not a task of the pool */
    vg_raise_frame *hook_frame;    /* while it is in a hook: contain.c */
    void *apart;                   /* likewise */
    struct vg_job *job;            /* the innermost it runs */
    uint64_t waits;                /* numbers given to waits */
    uint64_t spin_ns;              /* how long the next spin lasts */
    unsigned spins_skipped;
    uint64_t random;
    uint8_t level; /* of the recorder: vigil_record_level */
    bool hists_shared;
    vg_file_pool_hists *hists; /* NULL when the recorder is off */
    /* Not recorded yet (trace.h): `unread` tasks of one class, the first with batch_id, since last_end. */
    uint64_t last_end;  /* 0: not known */
    uint64_t batch_key; /* of function and class; 0: the next task begins a batch */
    uint64_t batch_id;
    uint64_t usual; /* ticks of a short task */
    unsigned batch_class;
    unsigned unread;
    unsigned interval;
    vg_past past;
    vg_handle_batch free_jobs; /* of the pool's jobs */
    vg_slab_cache calls;
};

extern _Thread_local vg_worker *vg_current_worker;

#endif
