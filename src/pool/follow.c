/* SPDX-License-Identifier: MIT */
/*
 * follow.c - jobs that start when others have ended.
 *
 * A job that follows is accepted at once, like a delayed one, and is in no queue until it is released. Its predecessors
 * are jobs of the same pool, which end even when the pool discards them. So it is released before the pool can be idle,
 * unless somebody has cancelled it; then a husk is released.
 */
#include "follow.h"

#include "base/options.h"
#include "job.h"
#include "job_watch.h"
#include "moving.h"
#include "refuse.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <vigil/flow.h>

typedef struct follow_link {
    struct vg_job_watch watch; /* first */
    struct follow_set *of;
} follow_link;

/* All fields under watch_lock once it is shared. */
typedef struct follow_set {
    vigil_pool *pool;
    vg_job *next;
    size_t needed; /* ends until it is released; 0: it was */
    size_t linked; /* watches that have not been called */
    follow_link links[];
} follow_set;

static void follow_release(vigil_pool *pool, vg_job *job)
{
    vg_stripe *call = vg_visit_begin(pool); /* for the audit: the task is in no queue */
    /* release: for the audit, as in delay.c */
    (void)atomic_fetch_sub_explicit(&pool->shared->delayed[job->task.vg_class], 1, memory_order_release);
    vg_submit_due(pool, &job->task);
    vg_visit_end(call);
}

static void follow_ended(struct vg_job_watch *watch)
{
    follow_set *it = ((follow_link *)(void *)watch)->of;
    if (it->needed != 0 && --it->needed == 0)
        follow_release(it->pool, it->next);
    if (--it->linked == 0)
        free(it);
}

void vg_follow_close(vigil_pool *pool)
{
    vg_mutex_lock(&pool->watch_lock);
    pool->watch_closed = true;
    vg_mutex_unlock(&pool->watch_lock);
}

/* Under watch_lock. */
static void follow_link_all(follow_set *it, vg_job *const *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        it->links[i] = (follow_link){.watch = {.ended = follow_ended}, .of = it};
        if (vg_job_watch_add(jobs[i], &it->links[i].watch))
            it->linked++;
        else if (it->needed != 0)
            it->needed--;
    }
}

/* The counted job waits for its predecessors. -ESHUTDOWN */
static int follow_begin(follow_set *it, vg_job *const *jobs, size_t count)
{
    vigil_pool *pool = it->pool;
    vg_mutex_lock(&pool->watch_lock);
    /* The end of the pool waits for what was accepted before it closed this, and for running tasks. */
    if (pool->watch_closed && !vg_in_task(vg_worker_of(pool))) {
        vg_mutex_unlock(&pool->watch_lock);
        return -ESHUTDOWN;
    }
    /* release: for the audit, as in delay.c */
    (void)atomic_fetch_add_explicit(&pool->shared->delayed[it->next->task.vg_class], 1, memory_order_release);
    follow_link_all(it, jobs, count);
    if (it->needed == 0)
        follow_release(pool, it->next);
    const bool unused = it->linked == 0;
    vg_mutex_unlock(&pool->watch_lock);
    if (unused)
        free(it);
    return 0;
}

typedef struct follow_start {
    follow_set *it;
    vg_job *const *jobs;
    size_t count;
} follow_start;

static int follow_start_now(void *arg)
{
    const follow_start *start = arg;
    return follow_begin(start->it, start->jobs, start->count);
}

static int follow_checked(vigil_pool *pool, vg_job *const *jobs, size_t count, size_t needed, int (*fn)(void *arg),
                          void *arg, const vigil_job_options *with, vigil_job *next)
{
    uint64_t name = 0;
    follow_set *it = malloc(sizeof *it + count * sizeof it->links[0]);
    vg_job *job = it != NULL ? vg_job_make(pool, 2, &name) : NULL; /* the user's and the queue's */
    if (job == NULL) {
        free(it);
        return -ENOMEM;
    }
    vg_job_set(job, fn, arg, with);
    *it = (follow_set){.pool = pool, .next = job, .needed = needed};
    follow_start start = {.it = it, .jobs = jobs, .count = count};
    const int error = vg_submit_pending(pool, &job->task, (unsigned)with->priority, follow_start_now, &start);
    if (error != 0) {
        free(it);
        (void)vg_handles_release(&pool->jobs, job);
        (void)vg_handles_release(&pool->jobs, job);
        return error;
    }
    next->id = name;
    return 0;
}

static int follow_jobs(vigil_pool *pool, const vigil_job *handles, size_t count, bool all, int (*fn)(void *arg),
                       void *arg, const vigil_job_options *options, vigil_job *next)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    vigil_job_options taken = VIGIL_JOB_OPTIONS_INIT;
    error = vg_job_options(&taken, options);
    if (error != 0)
        return error;
    if (fn == NULL || next == NULL || (handles == NULL && count != 0))
        return fn == NULL ? VG_WHY_NULL("fn") : next == NULL ? VG_WHY_NULL("next") : VG_WHY_NULL("jobs");
    if (taken.delay_ns != 0)
        return vg_why(-EINVAL, "options->delay_ns is not 0; what follows a job starts when that has ended");
    if (!all && count == 0)
        return vg_why(-EINVAL, "count is 0; the first of no jobs never ends");
    vg_job *one = NULL;
    vg_job **jobs = count <= 1 ? &one : malloc(count * sizeof *jobs);
    if (jobs == NULL)
        return -ENOMEM;
    size_t held = 0;
    while (error == 0 && held < count) {
        error = vg_job_acquire(pool, handles[held], &jobs[held]);
        held += error == 0;
    }
    if (error == 0)
        error = follow_checked(pool, jobs, count, all ? count : 1, fn, arg, &taken, next);
    for (size_t i = 0; i < held; i++)
        (void)vg_handles_release(&pool->jobs, jobs[i]);
    if (jobs != &one)
        free(jobs);
    return error;
}

int vigil_job_then_call(vigil_pool *pool, vigil_job job, int (*fn)(void *arg), void *arg,
                        const vigil_job_options *options, vigil_job *next)
{
    return follow_jobs(pool, &job, 1, true, fn, arg, options, next);
}

int vigil_job_all_call(vigil_pool *pool, const vigil_job *jobs, size_t count, int (*fn)(void *arg), void *arg,
                       const vigil_job_options *options, vigil_job *next)
{
    return follow_jobs(pool, jobs, count, true, fn, arg, options, next);
}

int vigil_job_any_call(vigil_pool *pool, const vigil_job *jobs, size_t count, int (*fn)(void *arg), void *arg,
                       const vigil_job_options *options, vigil_job *next)
{
    return follow_jobs(pool, jobs, count, false, fn, arg, options, next);
}
