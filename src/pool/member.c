/* SPDX-License-Identifier: MIT */
/*
 * member.c - tasks that a task submits to a group.
 *
 * A member's job has three references: the queue's, the group's and the submitter's. The group's list is pushed to by
 * any thread and taken whole by the one that waits. A job is listed before it is queued, because the group may be gone
 * as soon as its last member has run; `due` keeps a waiter from running it before the queue has accepted it.
 */
#include "member.h"

#include "group.h"
#include "job.h"
#include "job_struct.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>

int vg_member_run(vigil_task *member)
{
    atomic_store_explicit(&member->vg_state, VG_TASK_FREE, memory_order_relaxed); /* as in vg_run_claimed */
    return member->run(member);
}

void vg_member_cancel(vigil_task *member)
{
    atomic_store_explicit(&member->vg_state, VG_TASK_FREE, memory_order_relaxed);
    if (member->cancel != NULL)
        member->cancel(member);
}

static void members_push(vigil_group *group, vg_job *first, vg_job *last)
{
    void *head = atomic_load_explicit(&group->vg_members, memory_order_relaxed);
    do {
        last->next = head;
        /* Q1 release: the waiter sees the job and its link; pairs with Q2 */
    } while (!atomic_compare_exchange_weak_explicit(&group->vg_members, &head, first, memory_order_release,
                                                    memory_order_relaxed));
}

/* All listed jobs, newest first. */
static vg_job *members_take(vigil_group *group)
{
    /* Q2 acquire: pairs with Q1 of every job in the list (read-modify-writes continue a release sequence) */
    return atomic_exchange_explicit(&group->vg_members, NULL, memory_order_acquire);
}

int vg_member_submit(vigil_group *group, vigil_task *task, unsigned class_)
{
    vigil_pool *pool = group->vg_pool;
    uint64_t name = 0;
    vg_job *job = vg_job_make(pool, 3, &name);
    if (job == NULL)
        return -ENOMEM;
    job->kind = VG_JOB_MEMBER;
    vg_job_set_arg(job, task);
    job->task.vg_group = group;
    members_push(group, job, job);
    int error = vg_submit_one(pool, &job->task, class_);
    if (error == 0) {
        /* H5 release: it is queued; pairs with H6. No waiter sleeps for it alone: it is visible in a queue. */
        atomic_store_explicit(&job->due, 1, memory_order_release);
    } else {
        /* Nobody has seen it but the list. */
        atomic_store_explicit(vg_job_state(job), VIGIL_JOB_CANCELLED, memory_order_relaxed);
        (void)vg_handles_release(&pool->jobs, job);
    }
    (void)vg_handles_release(&pool->jobs, job);
    return error;
}

bool vg_members_run(vg_worker *worker, vigil_group *group)
{
    vigil_pool *pool = worker->pool;
    if (atomic_load_explicit(&group->vg_members, memory_order_relaxed) == NULL)
        return false;
    vg_job *oldest_first = NULL;
    for (vg_job *job = members_take(group), *next; job != NULL; job = next) {
        next = job->next;
        job->next = oldest_first;
        oldest_first = job;
    }
    bool ran = false;
    for (vg_job *job = oldest_first, *next; job != NULL; job = next) {
        next = job->next;
        if (vg_job_run_here(worker, job))
            ran = true;
        else if (atomic_load_explicit(&job->due, memory_order_relaxed) == 0 && !vg_job_is_husk(&job->task)) {
            members_push(group, job, job); /* its submit has not returned yet: later */
            continue;
        }
        (void)vg_handles_release(&pool->jobs, job);
    }
    return ran;
}

bool vg_members_below(vigil_group *group, int class_)
{
    bool below = false;
    vg_job *const first = members_take(group);
    if (first == NULL)
        return false;
    vg_job *last = first;
    for (vg_job *job = first; job != NULL; job = job->next) {
        /* the class is written before H5 */
        below = below || (vg_job_may_be_run(job) && (int)job->task.vg_class > class_);
        last = job;
    }
    members_push(group, first, last);
    return below;
}

void vg_members_release(vigil_group *group)
{
    for (vg_job *job = members_take(group), *next; job != NULL; job = next) {
        next = job->next;
        (void)vg_handles_release(&group->vg_pool->jobs, job);
    }
}
