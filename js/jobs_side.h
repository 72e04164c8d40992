/* SPDX-License-Identifier: MIT */
/* What the files of vigil:jobs share. */
#ifndef VG_JS_JOBS_SIDE_H
#define VG_JS_JOBS_SIDE_H

#include <vigil/jobs.h>

#include "host.h"
#include "port.h"

/*
 * A queue that JavaScript has opened. The host's list and each operation under way have a reference; the last one closes it. Its
 * runs belong to the owner.
 */
typedef struct vg_queue {
    _Atomic uint32_t refs;
    struct vg_queue *next; /* in the host's list; owner */
    vg_port *port;
    vigil_jobs *jobs; /* set before the operation that opens it has ended */
    struct vg_job_run *runs;
    struct vg_job_op *waits; /* owner */
    double id;
    pthread_mutex_t lock;
    bool shut;                  /* what ends now is given back, and no error of the job; under the lock */
    struct vg_job_run *orphans; /* that the host could not take, until it is shut; under the lock */
    bool running;               /* started, and not shut down; owner */
    bool kept;                  /* keeps the loop alive; owner */
} vg_queue;

typedef struct vg_jobs_side {
    vg_queue *queues;
    vg_val receive; /* of JavaScript: a run has started, or is to stop */
    double ids;
} vg_jobs_side;

void vg_queue_hold(vg_queue *queue);
void vg_queue_release(vg_queue *queue);
/* The queue that argument 0 names; NULL: it is closed. */
vg_queue *vg_queue_of(vg_call *call);

/* ---- jobs_run.c: runs. Owner, except for the handler. */
int vg_job_run_begin(vigil_jobs_run *run, void *arg);
vg_val vg_job_run_progress(vg_call *call);
vg_val vg_job_run_checkpoint(vg_call *call);
vg_val vg_job_run_finish(vg_call *call);
/* The queue has been shut down, which has given back the jobs of all runs: end them. */
void vg_job_runs_abandon(vg_queue *queue);

/* ---- jobs_op.c: what may block, on the pool. Each takes (number for the answer, queue, ...) and gives 0 or a negative errno. */
vg_val vg_job_op_open(vg_call *call);
vg_val vg_job_op_verb(vg_call *call);
vg_val vg_job_op_enqueue(vg_call *call);
vg_val vg_job_op_look(vg_call *call);
vg_val vg_job_op_schedule(vg_call *call);
vg_val vg_job_op_wait(vg_call *call);
vg_val vg_job_op_unwait(vg_call *call);

/* A property of an object, or the default. */
double vg_option_number(vg_engine *engine, vg_val object, const char *name, double otherwise);
char *vg_option_text(vg_engine *engine, vg_val object, const char *name); /* to be freed; NULL: none */
bool vg_option_bool(vg_engine *engine, vg_val object, const char *name);
/* Milliseconds as nanoseconds. */
int64_t vg_option_ns(vg_engine *engine, vg_val object, const char *name);
void vg_set_text(vg_engine *engine, vg_val object, const char *name, const char *text);
void vg_set_id(vg_engine *engine, vg_val object, const char *name, uint64_t id);
/* A copy of the bytes, as a Uint8Array; undefined for NULL. */
void vg_set_bytes(vg_engine *engine, vg_val object, const char *name, const void *bytes, size_t length);

#endif
