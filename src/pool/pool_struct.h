/* SPDX-License-Identifier: MIT */
/*
 * pool_struct.h - a pool, and the checks that every call begins with.
 */
#ifndef VG_POOL_POOL_STRUCT_H
#define VG_POOL_POOL_STRUCT_H

#include "base/why.h"
#include "base/clock.h"
#include "base/forkguard.h"
#include "base/handles.h"
#include "base/list.h"
#include "base/mutex.h"
#include "base/slab.h"
#include "base/thread.h"
#include "record/format_pool.h"
#include "record/record.h"
#include "record/subject.h"
#include "idle_word.h"
#include "injector.h"
#include "worker_struct.h"

#include <errno.h>
#include <signal.h>

/* Shared by threads that are not workers, spread over a few stripes. `entered` and `left` count calls, so that
   destroy sees the end of a submit whose task has already run. */
typedef struct vg_stripe {
    alignas(64) vg_file_stripe *counts; /* atomic adds: two threads may share one */
    _Atomic uint64_t entered;
    _Atomic uint64_t left;
    _Atomic uint32_t borrowed; /* 1: a thread uses the cache (call.c) */
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

/* Some workers' slots in the recorder. */
typedef struct vg_slot_block {
    vg_record_block block;
    unsigned first;
    unsigned count;
} vg_slot_block;

enum {
    VG_SLOT_BLOCKS = 12 /* spares, 1, 1, 2, 4, ... 512 workers */
};

typedef enum vg_phase {
    VG_OPEN = 0,
    VG_DRAINING = 1,
    VG_DISCARDING = 2
} vg_phase;

typedef struct vg_idle_watch vg_idle_watch; /* quiescence.h */

struct vigil_pool {
    /* written at creation and by stop, read by all */
    vg_forkguard fork_guard;
    vg_fence_mode fences;
    bool no_stealing;
    vigil_idle_policy idle_policy;
    uint64_t max_spin_ns;
    size_t max_queue;
    vigil_full_policy when_full;
    unsigned caps[VG_CLASSES];
    unsigned lower_permille; /* share of time that lower classes get; 0: strict */
    unsigned max_spares;
    unsigned spare_seats; /* for spares and guests */
    size_t stack_size;
    char name[16];
    int *cpus;
    size_t cpu_count;
    void (*on_worker_start)(void *user, unsigned worker);
    void (*on_worker_stop)(void *user, unsigned worker);
    void (*on_failure)(void *user, const vigil_failure *failure);
    void *user;
    vg_thread_origin origin; /* of the thread that created the pool; all others run as its threads do */
    sigset_t signals;        /* blocked in workers: those of the creator, but for faults */
    vg_tick_base born;
    vg_file_pool *shared; /* counters and states without a worker, in the recorder */
    uint8_t level;        /* of the recorder */
    uint32_t record_epoch;
    _Atomic uint32_t phase;      /* vg_phase, only grows */
    _Atomic uint32_t quit;       /* every task has ended: workers leave */
    _Atomic unsigned high;       /* seats 0..high-1 have been used by workers */
    _Atomic unsigned spare_high; /* the same for spares, from VG_MAX_WORKERS */
    _Atomic unsigned target;     /* workers wanted */

    vg_idle idle;
    _Atomic uint64_t spawners[VG_CLASSES][VG_SEAT_WORDS]; /* seats that ever spawned this class; never cleared */
    _Atomic uint32_t cap_used[VG_CLASSES];
    _Atomic uint32_t cap_mail[VG_CLASSES];     /* workers parked with mail of this full class */
    _Atomic int64_t husks_waiting[VG_CLASSES]; /* husks still in a queue; may be negative briefly */
    _Atomic int64_t husks_kept[VG_CLASSES];    /* of these: out of the last sweep's reach */
    alignas(64) vg_injector injectors[VG_CLASSES];

    alignas(64) _Atomic uint64_t queued_places; /* of max_queue */
    _Atomic uint32_t room_waiters;
    _Atomic uint32_t room_seq;
    _Atomic uint32_t room_waking;  /* a wake is in flight */
    _Atomic uint32_t room_batches; /* waiters for several places */

    alignas(64) _Atomic uint32_t idle_waiters; /* threads in wait_idle or stop, and watches */
    _Atomic uint32_t idle_tickets;             /* tickets drawn */
    _Atomic uint32_t idle_seen;                /* the pool was idle after this ticket was drawn */
    vg_mutex idle_lock;
    _Atomic(vg_idle_watch *) idle_watches; /* written under idle_lock */
    _Atomic int64_t idle_debt;             /* discards before the pool can be idle; 0 or less: unknown (quiescence.c) */

    vg_stripe stripes[VG_STRIPES];
    _Atomic(vg_seat *) seats[VG_MAX_SEATS];

    vg_slab call_slab;
    vg_handles jobs;

    vg_mutex admin;         /* seats and threads of workers, resize, the end of stop */
    bool joined;            /* under admin */
    _Atomic uint32_t alive; /* threads that have not ended; the end of stop sleeps on it */
    /* Seats and threads of spares. Its holder acquires no other lock, so wakes are allowed under any lock. */
    vg_mutex spare_lock;
    unsigned spares_made; /* under spare_lock, as the next two */
    unsigned guests_made;
    bool guests_closed;
    _Atomic uint32_t compensated; /* sections that have given a credit, at most max_spares */
    _Atomic uint64_t past_sums;   /* ticks: the next step after it counts the queues */
    struct vg_delay *delay;       /* under delay_lock */
    vg_mutex delay_lock;
    bool delay_closed;
    vg_mutex watch_lock; /* watches of jobs; its holder takes no lock but spare_lock */
    bool watch_closed;   /* under watch_lock: only running tasks may let a job follow */
    /* What workers of other pools wait for (urgent.c). Its holder takes no other lock. */
    vg_mutex urgent_lock;
    vg_list urgent;                   /* under urgent_lock */
    _Atomic uint32_t urgent_count;    /* changes under urgent_lock */
    _Atomic uint32_t urgent_sleepers; /* workers that can be called to run it */
    vg_subject subject;               /* for the watchdog */

    vg_record_block block; /* of shared */
    vg_record_block hists;
    unsigned hist_sets;
    _Atomic unsigned slot_blocks; /* grows under admin, as the next two; read without it to start a spare */
    unsigned slots_covered;       /* workers that have a slot */
    vg_slot_block slots[VG_SLOT_BLOCKS];
};

/* The checks that every public call begins with. */
static inline int vg_pool_guard(const vigil_pool *pool)
{
    if (pool == NULL)
        return VG_WHY_NULL("pool");
    return vg_forked(&pool->fork_guard) ? vg_why_forked() : 0;
}

/* The calling thread's worker if it belongs to this pool, else NULL. */
static inline vg_worker *vg_worker_of(const vigil_pool *pool)
{
    vg_worker *worker = vg_current_worker;
    return worker != NULL && worker->pool == pool ? worker : NULL;
}

/* Is the caller inside a task of the pool? Then what it submits while the pool drains is accepted. */
static inline bool vg_in_task(const vg_worker *worker)
{
    return worker != NULL && worker->hook == VG_HOOK_NONE;
}

static inline vg_stripe *vg_stripe_of_caller(vigil_pool *pool)
{
    return &pool->stripes[vg_thread_number() % VG_STRIPES];
}

#endif
