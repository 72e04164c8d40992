/* SPDX-License-Identifier: MIT */
/*
 * job_watch.h - what happens when a job ends, besides the waits of vigil_job_wait.
 */
#ifndef VG_POOL_JOB_WATCH_H
#define VG_POOL_JOB_WATCH_H

#include "job_struct.h"

/* In a list of the job, under the pool's watch_lock, from its add to its call or its removal. */
struct vg_job_watch {
    struct vg_job_watch *next;
    void (*ended)(struct vg_job_watch *watch); /* once, under watch_lock; takes no lock and calls no user */
};

/* Under watch_lock. false: the job has ended, and the watch is not called. */
bool vg_job_watch_add(vg_job *job, struct vg_job_watch *watch);
void vg_job_watch_remove(vg_job *job, struct vg_job_watch *watch); /* likewise; nothing if it was called */
void vg_job_watches_call(vigil_pool *pool, vg_job *job);           /* the job has ended */

#endif
