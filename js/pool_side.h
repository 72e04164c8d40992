/* SPDX-License-Identifier: MIT */
/*
 * What a host keeps for vigil:pool, and what the files behind it share:
 *   work.c         what the work itself may call
 *   pool_piece.c   a piece of work: to the pool, on it, and back
 *   pool_names.c   a function of its own for each kind of work and for each task of the embedder's
 *   pool_times.c   how long it waited and ran
 *   bind_pool.c    what lib/pool.js sees
 */
#ifndef VG_JS_POOL_SIDE_H
#define VG_JS_POOL_SIDE_H

#include "port.h"
#include "work.h"

#define VG_TIMES_BUCKETS 40 /* powers of two of microseconds */

/* A C function that the embedder has given a name in vigil:pool. */
typedef struct vg_exposed {
    struct vg_exposed *next;
    vigil_js_task_fn fn;
    void *data;
    unsigned flags, number;
    unsigned slot; /* which function of ours runs it: counted over all hosts */
    char name[64];
} vg_exposed;

typedef struct vg_times {
    uint64_t count, sum_ns, longest_ns;
    uint32_t buckets[VG_TIMES_BUCKETS];
} vg_times;

typedef struct vg_pool_side {
    struct vg_piece *under_way;
    vg_exposed *tasks;
    unsigned task_count;
    vg_times waited[VIGIL_PRIORITIES], ran[VIGIL_PRIORITIES];
} vg_pool_side;

typedef struct vg_piece {
    vg_done done;
    vg_work work;
    vg_port *port;
    vigil_pool *pool;
    vigil_job job;
    struct vg_piece *next, **back;
    double id;
    vigil_priority priority;
    vg_work_fn fn;
    vigil_js_task_fn task; /* instead of fn; the host may go before the work does, so it is no pointer into its list */
    bool blocks;
    uint64_t submitted_ns, started_ns, ended_ns;
    int status;
    vigil_js_datum args[]; /* their data are ours */
} vg_piece;

typedef int (*vg_job_fn)(void *it);

#endif
