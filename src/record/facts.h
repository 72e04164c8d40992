/* SPDX-License-Identifier: MIT */
/*
 * facts.h - what a pool or loop says about itself when the watchdog asks (subject.h): a photograph of counters, states
 * and waits.
 */
#ifndef VG_RECORD_FACTS_H
#define VG_RECORD_FACTS_H

#include "format_hist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VG_FACT_CLASSES = 5, /* priorities, CRITICAL first */
    VG_FACT_HOLDS = 32   /* jobs and groups that a worker's stack holds up */
};

/* What a worker does, as far as judging needs it. */
typedef enum vg_doing {
    VG_DOING_NOTHING,  /* no thread, or it is on its way out */
    VG_DOING_START,    /* the thread has not come to its first look yet (a start hook) */
    VG_DOING_TASK,     /* inside a task */
    VG_DOING_BLOCKED,  /* the same, in a declared blocking section or a wait that sleeps */
    VG_DOING_SEARCH,   /* looks, steals, spins */
    VG_DOING_PARKED,   /* sleeps until called */
    VG_DOING_HANDLING, /* between a queue and a task */
} vg_doing;

typedef enum vg_wait_what {
    VG_WAITS_NOT = 0,
    VG_WAITS_JOB,
    VG_WAITS_GROUP,
    VG_WAITS_LOCK,    /* it has an owner */
    VG_WAITS_PROMISE, /* of a loop */
    VG_WAITS_OTHER,   /* a channel, room in a queue */
} vg_wait_what;

/* The innermost wait on a worker's stack. Everything below it on that stack stands until it ends. */
typedef struct vg_wait_fact {
    vg_wait_what what;
    bool rejectable;      /* vg_subject_calls.reject can end it */
    bool limited;         /* it has a timeout of its own */
    uint64_t number;      /* of this wait, unique on its worker */
    uint64_t since_ns;    /* CLOCK_MONOTONIC */
    uint64_t object;      /* the job or group, by address: a name, never followed. A promise: the serial of its loop */
    uint64_t id;          /* of the job, as in vg_worker_fact.job; 0: a group, or unknown */
    const void *function; /* of the job, or NULL */
    int owner;            /* thread that holds the lock; 0: none, or not known */
} vg_wait_fact;

typedef struct vg_worker_fact {
    const void *self; /* names the worker among all pools */
    unsigned index;
    bool spare;
    bool called; /* parked, and somebody has called it */
    bool shown;  /* parked, and shows its bit to those who look for somebody to wake */
    vg_doing doing;
    int thread;        /* its id; 0: none, or not known */
    uint64_t progress; /* changes whenever it starts or ends a task */
    uint64_t changes;  /* changes whenever its state does */
    uint64_t activity; /* changes whenever it submits, spawns or steals */
    uint64_t queued;   /* in its own deques and mailbox */
    uint64_t mail;     /* of these: nobody else can take them */
    const void *function;
    uint64_t job;                        /* id of the job that runs; 0: none */
    uint64_t group_word;                 /* where the address of the running task's group lies; read with care */
    char label[8 * VG_FILE_LABEL_WORDS]; /* of the task (vigil_task_label); "": none */
    vg_wait_fact wait;
    unsigned hold_count;
    uint64_t holds[VG_FACT_HOLDS]; /* jobs on its stack, and groups of tasks on its stack, under its innermost wait */
} vg_worker_fact;

typedef struct vg_pool_facts {
    char name[32];
    unsigned workers; /* as asked for */
    unsigned searching;
    int credits;      /* blocked workers for whom a spare may stand in and none does yet */
    unsigned visible; /* classes (bits) with queued work that somebody could take now */
    unsigned full;    /* classes whose cap is reached */
    bool calls;       /* a submit is under way, not one that waits for room */
    bool spins;       /* one worker never parks, by option */
    bool small_stacks;
    bool stopping;
    unsigned max_spares;
    uint64_t queued[VG_FACT_CLASSES]; /* accepted, not started, due */
    uint64_t started[VG_FACT_CLASSES];
    uint64_t oldest_ns[VG_FACT_CLASSES]; /* age of the oldest in the shared queue; 0: none */
    uint64_t all_queued, all_submitted, all_started, all_ended, delayed;
    uint64_t steals_tried, steals_won;
    uint64_t work_ns; /* summed over the workers */
    size_t count;
    vg_worker_fact *worker;
    size_t room; /* of worker[]; it belongs to whoever owns the facts, and grows as needed */
} vg_pool_facts;

typedef struct vg_loop_facts {
    char name[32];
    int thread; /* of its owner; 0: nobody runs it, or not known */
    bool runs;  /* its owner is inside a turn, awake */
    bool sleeps;
    bool waiting; /* something was posted that it has not taken */
    bool ending;
    unsigned phase;
    uint64_t progress; /* changes with each callback and turn */
    uint64_t taken, accepted;
    uint64_t turns, poll_ticks, fd_events, timers_fired, microtasks, breaches; /* since the loop was made */
    int poll_fd;                                                               /* epoll descriptor; -1: none */
    const void *function;                                                      /* of the callback that runs, or NULL */
    uint64_t
        open_since_ns; /* it sleeps, and its oldest promise that only the program can settle was made then; 0: none */
    const void *open_created;
} vg_loop_facts;

/* Histograms of all that a pool has run (format.h), summed over classes and workers. */
typedef struct vg_latencies {
    uint64_t wait[VG_HIST_BUCKETS], run[VG_HIST_BUCKETS];
    double tick_ns;
} vg_latencies;

typedef struct vg_audit_fact {
    bool settled;
    int64_t lost; /* negative: taken twice */
    uint64_t expected, found;
    unsigned class_; /* the first class that does not add up; VG_FACT_CLASSES: not known */
} vg_audit_fact;

#endif
