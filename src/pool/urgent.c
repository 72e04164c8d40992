/* SPDX-License-Identifier: MIT */
/*
 * urgent.c - what workers of other pools wait for, and who runs it when all workers of the pool wait as well.
 * WAITING.md, "Waits across pools", holds the argument.
 */
#include "urgent.h"

#include "group_word.h"
#include "idle.h"
#include "job.h"
#include "member.h"

void vg_urgent_begin(vigil_pool *pool, vg_urgent *it)
{
    vg_mutex_lock(&pool->urgent_lock);
    vg_list_push_back(&pool->urgent, &it->link);
    (void)atomic_fetch_add_explicit(&pool->urgent_count, 1, memory_order_relaxed); /* ordered by U1 */
    vg_mutex_unlock(&pool->urgent_lock);
    vg_urgent_call(pool);
}

void vg_urgent_end(vigil_pool *pool, vg_urgent *it)
{
    vg_mutex_lock(&pool->urgent_lock);
    vg_list_remove(&it->link);
    (void)atomic_fetch_sub_explicit(&pool->urgent_count, 1, memory_order_relaxed);
    vg_mutex_unlock(&pool->urgent_lock);
}

/* A worker that is free, or a spare that can be had, takes the work from its queue. */
static bool somebody_is_free(vigil_pool *pool)
{
    const uint64_t word = atomic_load_explicit(&pool->idle.word, memory_order_relaxed);
    return vg_idle_searching(word) != 0 || vg_idle_parked(word) != 0 || vg_idle_credits(word) > 0;
}

void vg_urgent_call(vigil_pool *pool)
{
    /* U1 full fence: the urgent thing shows before the sleepers are looked for; pairs with U2 */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pool->urgent_count, memory_order_relaxed) != 0 &&
        atomic_load_explicit(&pool->urgent_sleepers, memory_order_relaxed) != 0 && !somebody_is_free(pool))
        (void)vg_call_waiter(pool, VG_WAITER_URGENT);
}

void vg_urgent_sleeper_begin(vg_worker *worker)
{
    atomic_store_explicit(&worker->seat.waiter, VG_WAITER_URGENT, memory_order_relaxed); /* ordered by U2 */
    (void)atomic_fetch_add_explicit(&worker->pool->urgent_sleepers, 1, memory_order_relaxed);
    /* U2 full fence: the sleeper shows before it looks at what is urgent; pairs with U1 */
    atomic_thread_fence(memory_order_seq_cst);
}

void vg_urgent_sleeper_end(vg_worker *worker)
{
    (void)atomic_fetch_sub_explicit(&worker->pool->urgent_sleepers, 1, memory_order_relaxed);
    atomic_store_explicit(&worker->seat.waiter, VG_WAITER_NONE, memory_order_relaxed);
}

/* Under urgent_lock. */
static vg_urgent *find_one(vigil_pool *pool)
{
    vg_list_each (link, &pool->urgent) {
        vg_urgent *it = vg_list_entry(link, vg_urgent, link);
        if (it->job != NULL ? vg_job_may_be_run(it->job) : vg_members_below(it->group, VG_ANY_CLASS))
            return it;
    }
    return NULL;
}

bool vg_urgent_visible(vigil_pool *pool)
{
    if (atomic_load_explicit(&pool->urgent_count, memory_order_relaxed) == 0)
        return false;
    vg_mutex_lock(&pool->urgent_lock);
    /* U2 again: a thread that makes an entry fit to begin after our look sees us and the entry */
    atomic_thread_fence(memory_order_seq_cst);
    const bool visible = find_one(pool) != NULL;
    vg_mutex_unlock(&pool->urgent_lock);
    return visible;
}

/* One more task, unless all have ended: then the waiter may leave at any time. */
static bool group_open_again(vigil_group *group)
{
    uint64_t open = atomic_load_explicit(&group->vg_open, memory_order_relaxed);
    do {
        if ((open & VG_GROUP_COUNT_MASK) == VG_GROUP_COUNT_ZERO)
            return false;
        /* relaxed: urgent_lock orders what we read of the group */
    } while (!atomic_compare_exchange_weak_explicit(&group->vg_open, &open, open + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

void vg_urgent_run(vg_worker *worker)
{
    vigil_pool *pool = worker->pool;
    vg_job *job = NULL;
    vigil_group *group = NULL;
    vg_mutex_lock(&pool->urgent_lock);
    const vg_urgent *it = find_one(pool);
    if (it != NULL && it->job != NULL) {
        job = it->job;
        vg_handles_hold(job); /* as the waiter does */
    } else if (it != NULL && group_open_again(it->group))
        group = it->group;
    vg_mutex_unlock(&pool->urgent_lock);
    if (job != NULL) {
        (void)vg_job_run_here(worker, job);
        (void)vg_handles_release(&pool->jobs, job);
    }
    if (group != NULL) {
        (void)vg_members_run(worker, group);
        vg_group_finish(pool, NULL, group, 0); /* the last touch */
    }
}
