/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.c - a worker waits for a job or a group of another pool. It sleeps on its seat, so that its own pool can
 * call it too (WAITING.md, "Waits across pools").
 */
#include "elsewhere.h"

#include "group_word.h"
#include "inherit.h"
#include "job.h"
#include "job_watch.h"
#include "rule.h"
#include "trace.h"
#include "urgent.h"
#include "waits.h"

#include <errno.h>
#include <stddef.h>

vg_worker *vg_worker_elsewhere(void)
{
    vg_worker *worker = vg_current_worker;
    return worker != NULL && worker->depth != 0 ? worker : NULL;
}

/* ---- a job ---- */

typedef struct job_elsewhere {
    struct vg_job_watch watch; /* first */
    vg_job *job;
    vg_seat *seat;
    uint64_t number; /* of the wait */
} job_elsewhere;

static void job_elsewhere_ended(struct vg_job_watch *watch)
{
    vg_unpark(((job_elsewhere *)(void *)watch)->seat);
}

static bool job_elsewhere_is_over(vg_worker *worker, void *arg)
{
    const job_elsewhere *it = arg;
    return vg_job_ended(it->job) || vg_wait_rejected(worker, it->number);
}

int vg_job_wait_elsewhere(vg_worker *worker, vigil_pool *pool, vg_job *job, uint64_t deadline_ns, const void *where)
{
    job_elsewhere it = {.watch = {.ended = job_elsewhere_ended}, .job = job, .seat = &worker->seat};
    vg_urgent urgent = {.job = job};
    vg_mutex_lock(&pool->watch_lock);
    const bool added = vg_job_watch_add(job, &it.watch);
    vg_mutex_unlock(&pool->watch_lock);
    if (!added)
        return 0;
    const vg_waiting waiting = vg_trace_wait(pool, worker, VG_WAIT_JOB, vg_handles_name(job), where);
    it.number = vg_wait_note_begin(worker, VG_WAITS_JOB, job, vg_job_function(&job->task), deadline_ns, NULL);
    vg_job_inherit(pool, job);
    vg_urgent_begin(pool, &urgent);
    const vg_wait wait = {.over = job_elsewhere_is_over, .arg = &it, .deadline_ns = deadline_ns};
    int error = vg_wait_elsewhere(worker, &wait);
    vg_urgent_end(pool, &urgent);
    if (error == 0 && vg_wait_rejected(worker, it.number) && !vg_job_ended(job))
        error = -EDEADLK; /* part of a circle */
    vg_wait_note_end(worker);
    vg_trace_waited(pool, &waiting);
    vg_mutex_lock(&pool->watch_lock);
    vg_job_watch_remove(job, &it.watch);
    vg_mutex_unlock(&pool->watch_lock);
    return error;
}

/* ---- a group ---- */

bool vg_group_begin_outside(vigil_group *group, vg_bell *bell)
{
    const uint64_t local = (uint64_t)group->vg_local;
    group->vg_local = 0;
    group->vg_bell = bell;
    atomic_store_explicit(&group->vg_told, 0, memory_order_relaxed);
    /* H2 release: bell and zero come before H3; pairs with H1. acquire: G2, if the count is already down */
    const uint64_t open = atomic_fetch_add_explicit(
        &group->vg_open, local + (VG_GROUP_OUTSIDE << VG_GROUP_WAITER_SHIFT), memory_order_acq_rel);
    return ((open + local) & VG_GROUP_COUNT_MASK) == VG_GROUP_COUNT_ZERO;
}

bool vg_group_end_outside(vigil_group *group, bool down)
{
    const uint64_t open = vg_group_unregister(group, VG_GROUP_OUTSIDE);
    if (!down && (open & VG_GROUP_COUNT_MASK) != VG_GROUP_COUNT_ZERO)
        return false;
    /* Its last task has seen us and is about to set vg_told; group and bell must stay. H4 acquire: pairs with H3 */
    while (!down && atomic_load_explicit(&group->vg_told, memory_order_acquire) == 0)
        (void)vg_futex_wait(&group->vg_told, 0, VG_NO_DEADLINE);
    return true;
}

static bool group_elsewhere_is_over(vg_worker *worker, void *group)
{
    (void)worker;
    return vg_group_all_done(group);
}

int vg_group_wait_elsewhere(vg_worker *worker, vigil_group *group, uint64_t deadline_ns)
{
    vigil_pool *pool = group->vg_pool;
    vg_bell bell = {.seat = &worker->seat};
    vg_urgent urgent = {.group = group};
    const vg_waiting waiting = vg_trace_wait(pool, worker, VG_WAIT_GROUP, (uint64_t)(uintptr_t)group, NULL);
    (void)vg_wait_note_begin(worker, VG_WAITS_GROUP, group, NULL, deadline_ns, NULL);
    vg_group_inherit(group);
    const bool down = vg_group_begin_outside(group, &bell);
    if (!down) {
        const vg_wait wait = {.over = group_elsewhere_is_over, .arg = group, .deadline_ns = deadline_ns};
        vg_urgent_begin(pool, &urgent);
        (void)vg_wait_elsewhere(worker, &wait);
        vg_urgent_end(pool, &urgent);
    }
    const bool ended = vg_group_end_outside(group, down);
    vg_wait_note_end(worker);
    vg_trace_waited(pool, &waiting);
    return ended ? 0 : -ETIMEDOUT;
}
