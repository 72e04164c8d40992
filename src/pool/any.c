/* SPDX-License-Identifier: MIT */
/*
 * any.c - wait for the first of several jobs and groups.
 *
 * The waiter registers with all of them, looks, and sleeps: a worker on its seat, any other thread on a bell of its
 * own. A job calls the watch that it was given, under watch_lock, so a watch that was removed is not called. A group
 * has one waiter, and its last task calls that (group.c).
 */
#include "elsewhere.h"
#include "group_word.h"
#include "idle.h"
#include "inherit.h"
#include "job.h"
#include "job_watch.h"
#include "rule.h"
#include "trace.h"
#include "urgent.h"
#include "waits.h"

#include <errno.h>
#include <stddef.h>
#include <vigil/flow.h>

typedef struct any_one {
    struct vg_job_watch watch; /* first */
    vg_job *job;               /* NULL: a group */
    vigil_group *group;
    struct any_wait *of;
    vg_urgent urgent; /* of a worker of another pool */
    bool down;        /* the group had ended when we registered: nobody sets vg_told */
} any_one;

typedef struct any_wait {
    vigil_pool *pool;
    vg_seat *seat; /* of a waiter inside the pool */
    vg_bell bell;  /* of another */
    size_t count;
    any_one one[VIGIL_WAIT_ANY_MOST];
} any_wait;

static void any_job_ended(struct vg_job_watch *watch)
{
    any_wait *it = ((any_one *)(void *)watch)->of;
    if (it->seat != NULL)
        vg_unpark(it->seat);
    else
        vg_bell_ring(&it->bell);
}

/* The first that has ended; count: none. */
static size_t any_first_ended(any_wait *it, vg_worker *worker)
{
    size_t i = 0;
    for (; i < it->count; i++) {
        any_one *one = &it->one[i];
        if (one->job != NULL ? vg_job_ended(one->job)
                             : (worker != NULL ? vg_group_is_over(worker, one->group) : vg_group_all_done(one->group)))
            break;
    }
    return i;
}

/* false: one of the jobs has ended. */
static bool any_register(any_wait *it)
{
    bool all = true;
    for (size_t i = 0; i < it->count; i++) {
        any_one *one = &it->one[i];
        if (one->job == NULL) {
            if (it->seat != NULL)
                vg_group_register(one->group, it->seat->index + 1U);
            else
                one->down = vg_group_begin_outside(one->group, &it->bell);
            continue;
        }
        vg_mutex_lock(&it->pool->watch_lock);
        all = vg_job_watch_add(one->job, &one->watch) && all;
        vg_mutex_unlock(&it->pool->watch_lock);
    }
    return all;
}

static void any_unregister(any_wait *it)
{
    for (size_t i = 0; i < it->count; i++) {
        any_one *one = &it->one[i];
        if (one->job == NULL) {
            if (it->seat != NULL)
                (void)vg_group_unregister(one->group, it->seat->index + 1U);
            else
                (void)vg_group_end_outside(one->group, one->down);
            continue;
        }
        vg_mutex_lock(&it->pool->watch_lock);
        vg_job_watch_remove(one->job, &one->watch);
        vg_mutex_unlock(&it->pool->watch_lock);
    }
}

/* ---- inside a task of the pool ---- */

/* Over also when one of the jobs has become due: then it is run here. */
static bool any_is_over(vg_worker *worker, void *arg)
{
    any_wait *it = arg;
    if (any_first_ended(it, worker) < it->count)
        return true;
    for (size_t i = 0; i < it->count; i++)
        if (it->one[i].job != NULL && vg_job_may_be_run(it->one[i].job))
            return true;
    return false;
}

/* Steps 1 and 2 of the rule. */
static bool any_run_some(vg_worker *worker, any_wait *it)
{
    for (size_t i = 0; i < it->count; i++) {
        any_one *one = &it->one[i];
        if (one->job != NULL ? vg_job_run_here(worker, one->job) : vg_group_run_some(worker, one->group))
            return true;
    }
    return false;
}

static int any_sleep(vg_worker *worker, any_wait *it, uint64_t deadline_ns, const void *where)
{
    int error = 0;
    bool help = false;
    for (size_t i = 0; i < it->count; i++)
        help = help || (it->one[i].job == NULL && (it->one[i].group->vg_flags & VIGIL_GROUP_HELP_ANY) != 0);
    if (any_register(it)) {
        const vg_wait wait = {.over = any_is_over, .arg = it, .deadline_ns = deadline_ns};
        const vg_waiting waiting =
            vg_trace_wait(it->pool, worker, VG_WAIT_GROUP, (uint64_t)(uintptr_t)it->one[0].group, where);
        (void)vg_wait_note_begin(worker, VG_WAITS_OTHER, it, NULL, deadline_ns, NULL);
        error = vg_wait_by_rule(worker, &wait, help);
        vg_wait_note_end(worker);
        vg_trace_waited(it->pool, &waiting);
    }
    any_unregister(it);
    return error;
}

static int any_on_worker(vg_worker *worker, any_wait *it, uint64_t deadline_ns, size_t *index, const void *where)
{
    it->seat = &worker->seat;
    for (;;) {
        *index = any_first_ended(it, worker);
        if (*index < it->count)
            return 0;
        if (any_run_some(worker, it))
            continue;
        const int error = any_sleep(worker, it, deadline_ns, where);
        if (error != 0)
            return error;
    }
}

/* ---- elsewhere ---- */

static int any_outside(any_wait *it, uint64_t deadline_ns, size_t *index)
{
    bool in_time = true;
    while ((*index = any_first_ended(it, NULL)) == it->count) {
        if (!in_time)
            return -ETIMEDOUT;
        in_time = vg_futex_wait(&it->bell.rung, 0, deadline_ns) == 0;
        /* Y2 acquire: the next look sees what rang; pairs with Y1 */
        (void)atomic_exchange_explicit(&it->bell.rung, 0, memory_order_acquire);
    }
    return 0;
}

static bool any_elsewhere_is_over(vg_worker *worker, void *arg)
{
    (void)worker;
    any_wait *it = arg;
    return any_first_ended(it, NULL) < it->count;
}

/* On a worker of another pool. */
static int any_elsewhere(vg_worker *worker, any_wait *it, uint64_t deadline_ns, size_t *index)
{
    const vg_wait wait = {.over = any_elsewhere_is_over, .arg = it, .deadline_ns = deadline_ns};
    (void)vg_wait_note_begin(worker, VG_WAITS_OTHER, it, NULL, deadline_ns, NULL);
    for (size_t i = 0; i < it->count; i++) {
        any_one *one = &it->one[i];
        one->urgent = (vg_urgent){.job = one->job, .group = one->group};
        vg_urgent_begin(it->pool, &one->urgent);
        if (one->job != NULL)
            vg_job_inherit(it->pool, one->job);
    }
    const int error = vg_wait_elsewhere(worker, &wait);
    for (size_t i = 0; i < it->count; i++)
        vg_urgent_end(it->pool, &it->one[i].urgent);
    *index = any_first_ended(it, NULL);
    vg_wait_note_end(worker);
    return *index < it->count ? 0 : error;
}

static int any_of_another_pool(any_wait *it, uint64_t deadline_ns, size_t *index, const void *where)
{
    vg_worker *worker = vg_worker_elsewhere();
    it->bell.seat = worker != NULL ? &worker->seat : NULL;
    const vg_waiting waiting =
        vg_trace_wait(it->pool, worker, VG_WAIT_GROUP, (uint64_t)(uintptr_t)it->one[0].group, where);
    (void)any_register(it);
    const int error =
        worker != NULL ? any_elsewhere(worker, it, deadline_ns, index) : any_outside(it, deadline_ns, index);
    any_unregister(it);
    vg_trace_waited(it->pool, &waiting);
    return error;
}

static int any_add(any_wait *it, const vigil_awaited *awaited)
{
    any_one *one = &it->one[it->count];
    *one = (any_one){.watch = {.ended = any_job_ended}, .group = awaited->group, .of = it};
    if (one->group == NULL) {
        const int error = vg_job_acquire(it->pool, awaited->job, &one->job);
        if (error != 0)
            return error;
        it->count++;
        return !vg_job_ended(one->job) && vg_job_runs_here(one->job) ? -EDEADLK : 0;
    }
    if (one->group->vg_pool != it->pool)
        return vg_why_say(-EINVAL, "awaited[%zu].group belongs to %s", it->count,
                          one->group->vg_pool == NULL ? "no pool; vigil_group_init makes one" : "another pool");
    for (size_t i = 0; i < it->count; i++)
        if (it->one[i].group == one->group)
            return vg_why_say(-EINVAL, "awaited[%zu] and awaited[%zu] are one group", i, it->count);
    it->count++;
    return 0;
}

int vigil_wait_any(vigil_pool *pool, const vigil_awaited *awaited, size_t count, int64_t timeout_ns, size_t *index)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (awaited == NULL || index == NULL)
        return awaited == NULL ? VG_WHY_NULL("awaited") : VG_WHY_NULL("index");
    if (count == 0 || count > VIGIL_WAIT_ANY_MOST)
        return vg_why_say(-EINVAL, "count is %zu; it must be 1 to VIGIL_WAIT_ANY_MOST (%d)", count,
                          VIGIL_WAIT_ANY_MOST);
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    vg_worker *worker = vg_worker_of(pool);
    size_t found = 0;
    any_wait it = {.pool = pool};
    for (size_t i = 0; i < count && error == 0; i++)
        error = any_add(&it, &awaited[i]);
    if (error == 0)
        error = worker != NULL ? any_on_worker(worker, &it, deadline, &found, __builtin_return_address(0))
                               : any_of_another_pool(&it, deadline, &found, __builtin_return_address(0));
    if (error == 0)
        *index = found;
    for (size_t i = 0; i < it.count; i++)
        if (it.one[i].job != NULL)
            (void)vg_handles_release(&pool->jobs, it.one[i].job);
    return error;
}
