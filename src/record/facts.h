/* SPDX-License-Identifier: MIT */
/*
 * facts.h - what a pool or loop tells the watchdog (subject.h): counters, states and waits of one moment.
 */
#ifndef VG_RECORD_FACTS_H
#define VG_RECORD_FACTS_H

#include "format_hist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VG_FACT_CLASSES = 5, /* priorities, CRITICAL first */
    VG_FACT_HOLDS = 64   /* jobs and groups on one stack */
};

typedef enum vg_doing {
    VG_DOING_NOTHING,  /* no thread, or it ends */
    VG_DOING_START,    /* before its first look (a start hook) */
    VG_DOING_TASK,     /* inside a task */
    VG_DOING_BLOCKED,  /* the same, in a blocking section or a sleeping wait */
    VG_DOING_SEARCH,   /* looks, steals, spins */
    VG_DOING_PARKED,   /* sleeps */
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

/* The innermost wait on a worker's stack; what lies below it waits too. */
typedef struct vg_wait_fact {
    vg_wait_what what;
    bool rejectable;      /* vg_subject_calls.reject can end it */
    bool limited;         /* has a timeout */
    uint64_t number;      /* unique on its worker */
    uint64_t since_ns;    /* CLOCK_MONOTONIC */
    uint64_t object;      /* address of the job or group, never followed; of a promise: its loop's serial */
    uint64_t id;          /* the job's; 0: a group, or unknown */
    const void *function; /* of the job, or NULL */
    int owner;            /* thread that holds the lock; 0: unknown */
    bool on_others;       /* other waits lie below it on the stack */
} vg_wait_fact;

typedef struct vg_worker_fact {
    const void *self; /* names the worker among all pools */
    unsigned index;
    bool spare;
    bool called; /* parked and woken */
    bool shown;  /* parked, and its bit says so to wakers */
    vg_doing doing;
    int thread;           /* 0: unknown */
    uint64_t progress;    /* changes with each start and end of a task */
    uint64_t changes;     /* changes with its state */
    uint64_t activity;    /* changes with each submit, spawn and steal */
    uint64_t queued;      /* in its own deques and mailbox */
    uint64_t mail;        /* of these: nobody else can take them */
    uint64_t age_debt_ns; /* of higher tasks before ageing picks a lower one: they pay for past picks */
    const void *function;
    uint64_t job;                        /* id of the job that runs; 0: none */
    uint64_t group_word;                 /* where the running task's group is named; may be gone */
    char label[8 * VG_FILE_LABEL_WORDS]; /* of the task (vigil_task_label); "": none */
    vg_wait_fact wait;
    unsigned hold_count;
    uint64_t holds[VG_FACT_HOLDS]; /* jobs, and groups of tasks, under its innermost wait */
} vg_worker_fact;

typedef struct vg_pool_facts {
    char name[32];
    unsigned workers; /* as asked for */
    unsigned searching;
    int credits;      /* blocked workers without a spare that may have one */
    unsigned visible; /* classes (bits) with work that could be taken now */
    unsigned full;    /* classes whose cap is reached */
    bool calls;       /* a submit is in flight and does not wait for room */
    bool spins;       /* option: one worker never parks */
    bool small_stacks;
    bool stopping;
    unsigned max_spares;
    uint64_t queued[VG_FACT_CLASSES]; /* accepted, not started, due */
    uint64_t started[VG_FACT_CLASSES];
    uint64_t oldest_ns[VG_FACT_CLASSES]; /* age of the oldest in the shared queue; 0: none */
    uint64_t all_queued, all_submitted, all_started, all_ended, delayed;
    uint64_t ageing_picks; /* of lower classes */
    uint64_t steals_tried, steals_won;
    uint64_t work_ns; /* summed over the workers */
    size_t count;
    vg_worker_fact *worker;
    size_t room; /* of worker[]; the owner of the facts lets it grow */
} vg_pool_facts;

typedef struct vg_loop_facts {
    char name[32];
    int thread; /* of its owner; 0: nobody, or unknown */
    bool runs;  /* inside a turn, awake */
    bool sleeps;
    bool waiting; /* posts are queued */
    bool ending;
    unsigned phase;
    uint64_t progress; /* changes with each callback and turn */
    uint64_t taken, accepted;
    uint64_t turns, poll_ticks, fd_events, timers_fired, microtasks, breaches; /* since the loop was made */
    int poll_fd;                                                               /* epoll descriptor; -1: none */
    const void *function;                                                      /* of the callback that runs, or NULL */
    uint64_t open_since_ns; /* asleep: when the oldest promise was made that only the program can settle; 0: none */
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
    unsigned class_; /* the first that does not add up; VG_FACT_CLASSES: unknown */
} vg_audit_fact;

#endif
