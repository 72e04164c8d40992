/* SPDX-License-Identifier: MIT */
/*
 * job.h - tasks with a handle.
 */
#ifndef VG_POOL_JOB_H
#define VG_POOL_JOB_H

#include "pool_struct.h"

/* What a job calls. */
typedef struct vg_job_work {
    int (*fn)(void *arg);
    void *arg;
} vg_job_work;

size_t vg_job_size(void);
bool vg_job_claim(vigil_task *task);                 /* false: cancelled, running or done */
void vg_job_due(vigil_pool *pool, vigil_task *task); /* its delay is over */
void vg_job_finish(vigil_pool *pool, vigil_task *task, int status, bool cancelled);
void vg_job_leave_queue(vigil_pool *pool, vigil_task *task); /* the queue's reference */
void vg_job_husk(vigil_pool *pool, vigil_task *task);
bool vg_job_is_husk(const vigil_task *task); /* for a job taken from a queue, or for the holder of draining */
void *vg_job_function(const vigil_task *task);
vg_job_work vg_job_work_of(vigil_task *task);
void vg_job_cancel(vigil_task *task);         /* its cancel callback */
uint64_t vg_job_id(const vigil_task *task);   /* names it in records; 0: nobody has its handle */
bool vg_job_is_alone(const vigil_task *task); /* of a claimed one: nobody else has its handle, or watches it */

/* A job as it is before its submit, held `references` times. NULL: no memory. *name: its handle. */
struct vg_job *vg_job_make(vigil_pool *pool, uint32_t references, uint64_t *name);

/* Check and copy the user's options, which may be NULL. */
int vg_job_options(vigil_job_options *taken, const vigil_job_options *options);
void vg_job_set(struct vg_job *job, int (*fn)(void *arg), void *arg, const vigil_job_options *with);

/* The job with one more reference. 0; -ESTALE */
int vg_job_acquire(vigil_pool *pool, vigil_job handle, struct vg_job **job);
bool vg_job_ended(struct vg_job *job);
bool vg_job_may_be_run(struct vg_job *job);                                           /* due, and nobody has begun it */
bool vg_job_runs_here(const struct vg_job *job);                                      /* on the caller's stack */
void vg_job_settle(vigil_pool *pool, struct vg_job *job, int status, bool cancelled); /* keep the status, wake all */

/* The calling worker runs the job if it is due and nobody has begun it: step 1 of a wait. false: it has not run
   here. */
bool vg_job_run_here(vg_worker *worker, struct vg_job *job);

#endif
