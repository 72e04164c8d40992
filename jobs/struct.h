/* SPDX-License-Identifier: MIT */
/* struct.h - a queue and its runs, as the files of this folder share them. */
#ifndef VG_JOBS_STRUCT_H
#define VG_JOBS_STRUCT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "engine.h"
#include "identity.h"

struct vg_jobs_handler {
    vigil_jobs_fn fn;
    void *arg;
    vigil_jobs_kind options;
    char *name;
};

enum vg_jobs_phase {
    VG_JOBS_QUEUED, /* claimed; its task waits in the pool */
    VG_JOBS_WORKS,  /* inside the handler, or later */
    VG_JOBS_ENDED,  /* its end waits for the runner */
};

/* One run. `seen` is first: the handler's pointer is ours. In flight from the claim until the engine has recorded the
   end. */
struct vg_jobs_run {
    vigil_jobs_run seen;
    vigil_task task;
    vigil_jobs *jobs;
    const struct vg_jobs_handler *handler;
    struct vg_jobs_end end;
    struct vg_jobs_run *next_end;        /* in the stack of ends */
    struct vg_jobs_run *next, *previous; /* in flight; under the queue's lock */
    _Atomic int phase;
    _Atomic int aborted;                   /* why, as a negative errno; 0: not */
    _Atomic(vigil_cancel_source *) source; /* made when somebody asks for the token */
    unsigned max_errors;
    bool quarantined;
    bool given_back;     /* the engine has it back while the handler still runs; under the lock */
    bool returned;       /* it has waited too long for a worker, and will not start; under the lock */
    uint64_t claimed_ms; /* CLOCK_MONOTONIC */
    int64_t limit_ms;
    uint64_t started_ms; /* CLOCK_MONOTONIC; 0: not yet; under the lock */
    _Atomic int thread;  /* that the handler runs on; 0: none. A hint for verdicts: relaxed */
    char *verdict;       /* about it when it reached its limit; under the lock, the run's own when it has ended */
    /* What the next beat carries; under the lock. */
    double progress;
    char *text;
    void *checkpoint;
    size_t checkpoint_length;
    bool beat_due;
    /* Kept for the end; the run's own. */
    void *result;
    size_t result_length;
    char *error;
};

struct vigil_jobs {
    const struct vg_jobs_engine *engine;
    struct vg_jobs_site *site;
    struct vg_jobs_conn *client; /* of all threads that enqueue, look and steer; under client_lock */
    pthread_mutex_t client_lock;
    /* Jobs that may be enqueued until the waiting ones are counted again; under client_lock. */
    uint64_t room, room_until_ms;
    struct vg_jobs_own own;      /* the process that opened it */
    struct vg_jobs_fleet *fleet; /* several servers (fleet.h): then there is no engine here */
    uint64_t tag;                /* of a member: what its ids have in front */
    vigil_jobs_options options;
    void *library;                 /* of a loaded engine */
    struct vg_jobs_spool *spool;   /* NULL: none */
    struct vg_jobs_waiter *waiter; /* NULL until a promise needs it; under client_lock */

    vigil_pool *pool;
    bool own_pool;
    unsigned width; /* handlers at a time */
    struct vg_jobs_handler *handlers;
    unsigned handler_count;
    struct vg_jobs_kind_want *kinds; /* the same for the engine */

    /* The runner's thread, and what a round of it needs: under round_lock. NULL before and after. */
    pthread_t runner;
    pthread_mutex_t round_lock;
    struct vg_jobs_round *round;
    bool started;         /* under client_lock */
    _Atomic int stopping; /* 1: claims no more; 2: gives back what runs; 3: ends when nothing is in flight */
    _Atomic(struct vg_jobs_run *) ends;
    _Atomic unsigned pushing; /* threads inside vg_jobs_run_push */
    _Atomic uint32_t drained; /* futex: 1 when nothing is in flight while it stops; 2 when the thread is about to end */
    _Atomic uint64_t run_ns;  /* how long handlers take, smoothed */

    /* Runs in flight, and the heart's thread. */
    pthread_mutex_t lock;
    struct vg_jobs_run *flying;
    bool heart_sleeps; /* until it is rung */
    _Atomic unsigned flying_count;
    pthread_t heart;
    _Atomic uint32_t heart_word; /* futex: counts reasons to look */
    _Atomic int heart_stop, heart_asked;

    _Atomic uint64_t pinned_ms; /* what vg_jobs_alarm_look has found */
    _Atomic uint64_t bad_rows;  /* what the last rescue has left */
    _Atomic uint64_t claimed, completed, failed, dead, cancelled, given_back, refused, rescued, exchanges, beats,
        outages, spooled, replayed;
};

/* CLOCK_MONOTONIC. */
uint64_t vg_jobs_now_ms(void);
/* 0, or -EINVAL or -ECHILD with the reason. */
int vg_jobs_guard(vigil_jobs *jobs);
/* Enqueue items of checked number; gives how many. *holder may be NULL. */
int vg_jobs_enqueue(vigil_jobs *jobs, vigil_jobs_item *items, size_t count, uint64_t *holder);
/* Check a job that is to be enqueued. */
int vg_jobs_read_item(const vigil_jobs *jobs, const vigil_jobs_item *item, struct vg_jobs_new *to);

#endif
