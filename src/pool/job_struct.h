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

typedef enum vg_job_kind {
    VG_JOB_CALL = 0,
    VG_JOB_MEMBER = 1,    /* a task of the user that is a member of a group; it has no handle */
    VG_JOB_EVERYWHERE = 2 /* a call on every worker, in no queue */
} vg_job_kind;

/* Two cache lines: a long queue of jobs passes through memory. */
typedef struct vg_job {
    alignas(64) vg_handle_slot slot; /* first */
    vigil_task task;

    union {
        int (*fn)(void *arg);
        vigil_task *member;
    };
    union {
        void *arg;
        struct vg_job *next; /* in the group's list of members; written before the push */
    };
    union {
        void (*cancel)(void *arg);
        const vigil_pool *everywhere; /* the pool of these workers */
    };
    _Atomic uintptr_t runner;     /* whose stack runs it or its cancel callback: job_caller */
    struct vg_job *outer;         /* the job that its worker ran before */
    struct vg_job_watch *watches; /* under the pool's watch_lock */
    int status;                   /* written before the state says that it ended */
    _Atomic uint32_t state;
    _Atomic uint32_t due; /* its delay is over: a waiter may run it */
    uint8_t kind;         /* vg_job_kind */
    bool alone;           /* its handle was given back before it was claimed; the claimer's */
} vg_job;
#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(vg_job) == 128, "two cache lines");
#endif

static inline vg_job *vg_job_of(vigil_task *task)
{
    return vg_container_of(task, vg_job, task);
}

#endif
