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

#define VG_JOB_STATE_MASK   0xfU
#define VG_JOB_WAIT_OUTSIDE 0x10U /* threads sleep on the state word */
#define VG_JOB_WAIT_WORKER  0x20U /* workers wait; their seats name the job */
#define VG_JOB_WATCHED      0x40U /* `watches` was used */

/* Three cache lines. Submit writes all of them; a worker that runs the job touches the first two. */
typedef struct vg_job {
    alignas(64) vg_handle_slot slot; /* first */
    vigil_task task;

    alignas(64) int (*fn)(void *arg);
    void *arg;
    vigil_task *member;       /* of a group; then fn, cancel and arg are unused */
    _Atomic uintptr_t runner; /* whose stack runs it or its cancel callback: job_caller */
    struct vg_job *outer;     /* the job that its worker ran before */
    uint64_t id;              /* names it in records; 0: a member */
    int status;               /* written before the state says that it ended */
    _Atomic uint32_t state;
    _Atomic uint32_t due;      /* its delay is over: a waiter may run it */
    _Atomic uint32_t released; /* the user has given up the handle */

    void (*cancel)(void *arg);
    struct vg_job *next;          /* in the group's list of members; written before the push */
    struct vg_job_watch *watches; /* under the pool's watch_lock */
    const vigil_pool *everywhere; /* it is a call on every worker of this pool, and in no queue; else NULL */
} vg_job;

static inline vg_job *vg_job_of(vigil_task *task)
{
    return vg_container_of(task, vg_job, task);
}

#endif
