/* SPDX-License-Identifier: MIT */
/*
 * job_struct.h - a job: a task with a handle. Members that a task submits to a group are jobs without a handle
 * (member.c).
 */
#ifndef VG_POOL_JOB_STRUCT_H
#define VG_POOL_JOB_STRUCT_H

#include "base/container.h"
#include "pool_struct.h"

#include <stdalign.h>
#include <stddef.h>

#define VG_JOB_STATE_MASK   0xfU
#define VG_JOB_WAIT_OUTSIDE 0x10U /* threads sleep on the state word */
#define VG_JOB_WAIT_WORKER  0x20U /* workers wait; their seats name the job */
#define VG_JOB_WATCHED      0x40U /* `watches` was used */

typedef enum vg_job_kind {
    VG_JOB_CALL = 0,
    VG_JOB_MEMBER = 1,    /* a task of the user that is a member of a group; it has no handle */
    VG_JOB_EVERYWHERE = 2 /* a call on every worker, in no queue */
} vg_job_kind;

/*
 * Two cache lines. The worker that runs a job whose handle was given up touches the first alone; the second stays with
 * the thread that submits. So the first line holds function, argument and state in fields of the task that a job does
 * not need otherwise: `cancel` is the function, `run` the argument (of a member: the user's task), `vg_state` the
 * state.
 */
typedef struct vg_job {
    alignas(64) vg_handle_slot slot; /* first */
    vigil_task task;

    union {
        void (*cancel)(void *arg);
        const vigil_pool *everywhere; /* the pool of these workers */
    };
    struct vg_job *next;          /* in the group's list of members; written before the push */
    _Atomic uintptr_t runner;     /* whose stack runs it or its cancel callback: job_caller */
    struct vg_job *outer;         /* the job that its worker ran before */
    struct vg_job_watch *watches; /* under the pool's watch_lock */
    int status;                   /* written before the state says that it ended */
    _Atomic uint32_t due;         /* its delay is over: a waiter may run it */
    uint8_t kind;                 /* vg_job_kind */
} vg_job;
#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(vg_job) == 128, "two cache lines");
_Static_assert(offsetof(vg_job, cancel) == 64, "the second line begins behind the task");
#endif

/* vigil_job_state and the bits above. Nobody submits a job's task a second time, so its own state is not needed. */
static inline _Atomic uint32_t *vg_job_state(vg_job *job)
{
    return &job->task.vg_state;
}

static inline void *vg_job_arg(const vg_job *job)
{
    return (void *)(uintptr_t)job->task.run;
}

static inline void vg_job_set_arg(vg_job *job, void *arg)
{
    job->task.run = (vigil_task_fn)(uintptr_t)arg;
}

static inline vg_job *vg_job_of(vigil_task *task)
{
    return vg_container_of(task, vg_job, task);
}

#endif
