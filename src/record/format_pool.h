/* SPDX-License-Identifier: MIT */
/*
 * format_pool.h - the blocks of a pool in the file.
 */
#ifndef VG_RECORD_FORMAT_POOL_H
#define VG_RECORD_FORMAT_POOL_H

#include "format_hist.h"
#include "format_wait.h"

#include <stdalign.h>

/* What a worker counts in one class, in a reader's order: copying upwards, it sees an end only with its start, a
   start only with its submit. */
typedef struct vg_class_counts {
    vg_cell completed;
    vg_cell failed;
    vg_cell cancelled;
    vg_cell started;
    vg_cell withdrawn;  /* of submitted: counted, and then refused by the queue */
    vg_cell refused;    /* for any reason */
    vg_cell husks;      /* dropped queue entries of jobs cancelled or run elsewhere */
    vg_cell husks_made; /* jobs this worker cancelled or ran while queued */
    vg_cell spawned;    /* pushed to the worker's own deque */
    vg_cell submitted;  /* accepted by injector, mailbox or timer */
} vg_class_counts;

/* One worker or spare; its thread is the writer. */
typedef struct vg_file_worker {
    alignas(64) vg_class_counts of[VG_FILE_CLASSES];
    vg_cell steals_tried, steals_won, steals_lost;
    vg_cell parks, wakes_sent, wakes_useful, wakes_spurious;
    vg_cell ageing_picks;
    vg_cell time[VG_FILE_STATES]; /* ticks in each vigil_worker_state, without the present stay */
    vg_cell state, state_since;   /* vigil_worker_state; together they are the history's last entry */
    vg_cell changes;              /* entries that the history has had */
    vg_file_change history[VG_FILE_HISTORY];
    /* The innermost task; a spawn run by its parent counts as the parent. Valid in RUNNING and BLOCKED, or if depth
       is not 0. */
    vg_cell task_function; /* 0: none */
    vg_cell task_since;    /* at the latest when it began: short ones share it */
    vg_cell task_id;       /* its submit stamp; 0: spawned. Of short ones in a row the first's */
    vg_cell task_job;      /* the job's id; 0: no job */
    vg_cell depth;         /* tasks on the stack that wait while the worker helps */
    /* The label is the running task's if label_at >= task_since and the function is the same. */
    vg_cell label_at; /* when it was set; 0: never, or in the making */
    vg_cell label_function;
    vg_cell label[VG_FILE_LABEL_WORDS];
    vg_file_wait wait;
    vg_cell tid;                   /* 0: no thread */
    vg_cell thread;                /* serial of its vg_file_thread; 0: it has no ring */
    uint64_t index;                /* in the pool; from VIGIL_MAX_WORKERS on they are spares */
    alignas(64) vg_cell called_at; /* when it was last woken; written as soon as it is awake */
} vg_file_worker;

/* Counters of threads that are no workers; read-modify-writes, because two may share one. */
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
    /* Written by the thread that last looked into the queues. */
    vg_cell sampled_at;              /* ticks; 0: never */
    vg_cell oldest[VG_FILE_CLASSES]; /* submit stamp of the oldest in the shared queue; 0: none */
    vg_cell audited_at;              /* ticks; 0: never */
    vg_cell audit_settled, audit_expected, audit_found;
    vg_cell audit_lost; /* signed */
    vg_file_stripe stripes[VG_FILE_STRIPES];
} vg_file_pool;

/* Latencies in ticks. Worker i adds to entry i % entries, with read-modify-writes if that is shared. */
typedef struct vg_file_pool_hists {
    vg_file_hist wait[VG_FILE_CLASSES]; /* from submit to start; submitted tasks, not spawns */
    vg_file_hist run[VG_FILE_CLASSES];  /* from start to end */
    vg_file_hist wake;                  /* from the waker's call to the worker's first step */
} vg_file_pool_hists;

#endif
