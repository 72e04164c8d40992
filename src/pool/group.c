/* SPDX-License-Identifier: MIT */
/*
 * group.c - fork and join. README.md, "Groups", explains the two counts and why a wait cannot deadlock.
 *
 * group_word.h has the bits of vg_open. The decrement is the last touch of the group; its result says whom to wake. A
 * waiter outside the pool stays until vg_told is set (hand_over_group).
 */
#include "refuse.h"
#include "group.h"
#include "group_word.h"

#include "base/futex.h"
#include "counter.h"
#include "deque.h"
#include "elsewhere.h"
#include "guarded.h"
#include "idle.h"
#include "injector.h"
#include "member.h"
#include "moving.h"
#include "own.h"
#include "rule.h"
#include "run.h"
#include "seats.h"
#include "submit.h"
#include "trace.h"
#include "urgent.h"
#include "waits.h"

#include <errno.h>
#include <stddef.h>

#ifdef VIGIL_CHECK
#define VG_LEAPFROG_TRIES 1
#else
#define VG_LEAPFROG_TRIES 2000
#endif

static void group_keep_status(vigil_group *group, int status)
{
    int32_t none = 0;
    /* relaxed: read after the count has come down (acquire) */
    (void)atomic_compare_exchange_strong_explicit(&group->vg_status, &none, status, memory_order_relaxed,
                                                  memory_order_relaxed);
}

/* Nobody is woken: a thread that takes one of its tasks discards it, and that brings the count down. */
static void group_cancel(vigil_group *group)
{
    group_keep_status(group, -ECANCELED);
    /* relaxed: the bit alone decides; a task that misses it has begun */
    (void)atomic_fetch_or_explicit(&group->vg_open, VG_GROUP_CANCELLED, memory_order_relaxed);
}

static void group_task_failed(vigil_group *group, int status)
{
    group_keep_status(group, status);
    if ((group->vg_flags & VIGIL_GROUP_CANCEL_ON_FAILURE) != 0)
        group_cancel(group);
}

static inline void group_make(vigil_group *group, vigil_pool *pool, vg_worker *owner, unsigned flags)
{
    vg_group_prepare(group, pool, owner, 0);
    group->vg_flags = flags;
    if (group->vg_parent != NULL && vg_group_is_cancelled(group->vg_parent))
        group_cancel(group);
}

/* A group without an owner, or a bad argument. */
static __attribute__((noinline)) int group_init_elsewhere(vigil_group *group, vigil_pool *pool, unsigned flags)
{
    if (group == NULL || pool == NULL)
        return group == NULL ? VG_WHY_NULL("group") : VG_WHY_NULL("pool");
    if ((flags & ~(VIGIL_GROUP_HELP_ANY | VIGIL_GROUP_DETACHED | VIGIL_GROUP_CANCEL_ON_FAILURE)) != 0)
        return vg_why_say(-EINVAL,
                          "flags is %u; only VIGIL_GROUP_HELP_ANY, VIGIL_GROUP_DETACHED and "
                          "VIGIL_GROUP_CANCEL_ON_FAILURE are known",
                          flags);
    group_make(group, pool, NULL, flags);
    return 0;
}

int vigil_group_init(vigil_group *group, vigil_pool *pool, unsigned flags)
{
    vg_worker *worker = vg_current_worker;
    if (__builtin_expect(group == NULL || worker == NULL || worker->pool != pool || !vg_in_task(worker) ||
                             (flags & ~(VIGIL_GROUP_HELP_ANY | VIGIL_GROUP_CANCEL_ON_FAILURE)) != 0,
                         0))
        return group_init_elsewhere(group, pool, flags);
    group_make(group, pool, worker, flags);
    return 0;
}

/* What every call with a group begins with. */
static int group_guard(const vigil_group *group)
{
    if (group == NULL)
        return VG_WHY_NULL("group");
    if (group->vg_pool == NULL)
        return vg_why(-EINVAL, "group is all zero; vigil_group_init makes one");
    return vg_pool_guard(group->vg_pool);
}

uint64_t vg_group_open(vigil_group *group, uint64_t amount)
{
    uint64_t open = atomic_load_explicit(&group->vg_open, memory_order_relaxed);
    /* relaxed: the counted task is published later */
    while (!atomic_compare_exchange_weak_explicit(&group->vg_open, &open, (open + 1) | amount, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    return open;
}

int vigil_group_submit(vigil_group *group, vigil_task *task, vigil_priority priority)
{
    int error = group_guard(group);
    if (error != 0)
        return error;
    if (task == NULL || task->run == NULL || (unsigned)priority >= VG_CLASSES)
        return vg_refuse_task_or_priority(task, priority);
    if (!vg_task_take(task))
        return -EBUSY;
    task->vg_group = group;
    task->vg_kind = VG_KIND_PLAIN;
    task->vg_flags = 0;
    /* A task, of this pool or another, can run what it waits for only if a job stands for it in the queue. */
    const bool inside = vg_in_task(vg_current_worker);
    const uint64_t open = vg_group_open(group, inside ? VG_GROUP_MEMBERS : 0);
    vigil_pool *pool = group->vg_pool; /* the group may be gone when the task is queued */
    error = inside ? vg_member_submit(group, task, (unsigned)priority) : -ENOMEM;
    if (error == -ENOMEM)
        error = vg_submit_one(pool, task, (unsigned)priority);
    if (error != 0) {
        vg_group_finish(pool, NULL, group, 0); /* may bring the count down and wake the waiter */
        task->vg_group = NULL;
        vg_task_give_back(task);
    } else if (__builtin_expect(open >> VG_GROUP_WAITER_SHIFT == VG_GROUP_OUTSIDE, 0))
        vg_urgent_call(pool);
    return error;
}

/* The spawn has to wake somebody, or its deque needs room. */
static __attribute__((noinline)) int spawn_and_announce(vg_worker *worker, vigil_task *task, bool pushed)
{
    if (pushed)
        vg_announce_own(worker, worker->queue);
    else
        vg_push_own_slow(worker, worker->queue, task);
    vg_handled_and_counted(worker);
    return 0;
}

/* A spawn by the worker that made the group. Every other call is the last thing it does: so it saves no register. */
static inline __attribute__((always_inline)) int spawn_own(vg_worker *worker, vigil_group *group, vigil_task *task)
{
    if (__builtin_expect(task == NULL || task->run == NULL, 0))
        return vg_refuse_task(task);
    /* A load instead of an exchange: it detects a queued task, but not two workers that spawn one task at once. */
    if (__builtin_expect(atomic_load_explicit(&task->vg_state, memory_order_relaxed) != VG_TASK_FREE, 0))
        return -EBUSY;
    vg_own_queue *queue = worker->queue;
    vg_task_set_tail(task, queue->tail);
    task->vg_group = group;
    group->vg_local++;
    vg_handling(worker, 1);
    vg_count_release(&queue->counts->spawned, 1);
    const bool pushed = vg_deque_push(&queue->own, task);
    if (__builtin_expect(!pushed || !vg_all_busy(worker, queue), 0))
        return spawn_and_announce(worker, task, pushed);
    vg_handled_and_counted(worker);
    return 0;
}

/* A spawn by a thread that did not make the group, or perhaps in the child of a fork. */
static __attribute__((noinline)) int spawn_elsewhere(vigil_group *group, vigil_task *task)
{
    if (group == NULL)
        return VG_WHY_NULL("group");
    vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->pool != group->vg_pool || !vg_in_task(worker))
        return vigil_group_submit(group, task, VIGIL_NORMAL);
    if (vg_forked(&worker->pool->fork_guard))
        return vg_why_forked();
    if (group->vg_owner == worker)
        return spawn_own(worker, group, task);
    if (task == NULL || task->run == NULL)
        return vg_refuse_task(task);
    if (!vg_task_take(task))
        return -EBUSY;
    task->vg_group = group;
    task->vg_class = (uint8_t)worker->queue->class_;
    task->vg_kind = VG_KIND_PLAIN;
    task->vg_flags = 0;
    (void)vg_group_open(group, 0);
    vg_handling(worker, 1);
    vg_count_release(&worker->queue->counts->spawned, 1);
    vg_push_own(worker, worker->queue, task);
    vg_handling(worker, 0);
    return 0;
}

int vigil_group_spawn(vigil_group *group, vigil_task *task)
{
    vg_worker *worker = vg_current_worker;
    if (__builtin_expect(group == NULL || worker == NULL || group->vg_owner != worker, 0) ||
        vg_forked_page(&worker->pool->fork_guard))
        return spawn_elsewhere(group, task);
    return spawn_own(worker, group, task);
}

/* The count is down and an outside thread waits. It stays until vg_told is set, so the group exists; after that
   only the word's address is used. */
static void hand_over_group(vigil_group *group)
{
    /* H1 acquire: the tasks' effects and the waiter's zero in vg_told come before H3; pairs with G1 and H2 through
       the chain of read-modify-writes. The value does not matter. */
    (void)atomic_load_explicit(&group->vg_open, memory_order_acquire);
    /* Before H3: after it the waiter may leave. */
    if (group->vg_bell != NULL)
        vg_bell_ring(group->vg_bell);
    /* H3 release: the waiter sees what all tasks did; pairs with H4 */
    atomic_store_explicit(&group->vg_told, 1, memory_order_release);
    (void)vg_futex_wake(&group->vg_told, VG_WAKE_ALL);
}

void vg_group_finish(vigil_pool *pool, vg_worker *worker, vigil_group *group, int status)
{
    if (__builtin_expect(status < 0, 0))
        group_task_failed(group, status);
    if (__builtin_expect(worker != NULL && group->vg_owner == worker, 1)) {
        group->vg_local--;
        return;
    }
    /* G1 release: the waiter sees the task's effects; pairs with G2. No acquire: a worker is woken through its
       seat alone, and hand_over_group covers the other case. */
    uint64_t open = atomic_fetch_sub_explicit(&group->vg_open, 1, memory_order_release) - 1;
    uint64_t waiter = open >> VG_GROUP_WAITER_SHIFT;
    if (waiter == 0 || (open & VG_GROUP_COUNT_MASK) != VG_GROUP_COUNT_ZERO)
        return;
    if (waiter == VG_GROUP_OUTSIDE)
        hand_over_group(group);
    else
        vg_unpark(vg_seat_at(pool, (unsigned)waiter - 1));
}

static int group_reset(vigil_group *group)
{
    int status = atomic_load_explicit(&group->vg_status, memory_order_relaxed);
    if (__builtin_expect(status != 0, 0))
        atomic_store_explicit(&group->vg_status, 0, memory_order_relaxed);
    group->vg_local = 0;
    if ((atomic_load_explicit(&group->vg_open, memory_order_relaxed) & VG_GROUP_MEMBERS) != 0)
        vg_members_release(group);
    atomic_store_explicit(&group->vg_open, VG_GROUP_COUNT_ZERO,
                          memory_order_relaxed); /* every task has made its last touch */
    atomic_store_explicit(&group->vg_thief, 0, memory_order_relaxed);
    return status;
}

/*
 * Wait on a thread that is not a worker of the pool. If the count is not down when it registers, the last decrement
 * sees it and calls hand_over_group; it stays for that even after a timeout. It cannot sleep on vg_open, which has 64
 * bits and must not be touched after the decrement.
 */
static int group_wait_outside(vigil_group *group, uint64_t deadline_ns)
{
    vg_worker *worker = vg_worker_elsewhere();
    if (worker != NULL) {
        const int error = vg_group_wait_elsewhere(worker, group, deadline_ns);
        return error != 0 ? error : group_reset(group);
    }
    const vg_waiting waiting = vg_trace_wait(group->vg_pool, NULL, VG_WAIT_GROUP, (uint64_t)(uintptr_t)group, NULL);
    const bool down = vg_group_begin_outside(group, NULL);
    bool in_time = true;
    /* H4 acquire: pairs with H3 */
    while (!down && in_time && atomic_load_explicit(&group->vg_told, memory_order_acquire) == 0)
        in_time = vg_futex_wait(&group->vg_told, 0, deadline_ns) == 0;
    const bool ended = vg_group_end_outside(group, down);
    vg_trace_waited(group->vg_pool, &waiting);
    return ended ? group_reset(group) : -ETIMEDOUT;
}

static bool descends_from(const vigil_task *task, const vigil_group *ancestor)
{
    for (const vigil_group *group = task->vg_group; group != NULL; group = group->vg_parent)
        if (group == ancestor)
            return true;
    return false;
}

static inline vigil_task *own_newest(vg_worker *worker, vg_own_queue *queue)
{
    return vg_task_from(worker->pool, worker, &queue->own.deque, vg_deque_pop(&queue->own, worker->fences));
}

/* Steal what the thief of one of our tasks has spawned from it. */
static vigil_task *group_leapfrog(vg_worker *worker, vigil_group *group)
{
    uint32_t thief = atomic_load_explicit(&group->vg_thief, memory_order_relaxed);
    if (thief == 0 || worker->pool->no_stealing)
        return NULL;
    vg_deque *victim = vg_seat_at(worker->pool, thief - 1)->deques[worker->queue->class_];
    if (vg_deque_size(victim) == 0)
        return NULL;
    vigil_task *task = NULL;
    vg_count_release(&worker->seat.counts->steals_tried, 1);
    if (vg_deque_steal(victim, worker->fences, &task) != VG_STEAL_WON)
        return NULL;
    vg_count_release(&worker->seat.counts->steals_won, 1);
    task = vg_task_from(worker->pool, worker, victim, task);
    if (descends_from(task, group))
        return task;
    /* The thief has gone on to other work: this is not a descendant. */
    unsigned class_ = task->vg_class;
    vg_stamp_moved(task);
    (void)vg_injector_push(&worker->pool->injectors[class_], task, task, true);
    vg_announce(worker->pool, class_);
    return NULL;
}

/* Each time, move what the helper itself has run into vg_open, so that the last of the others reaches the bias and
   sees the waiter. */
bool vg_group_is_over(vg_worker *worker, void *arg)
{
    vigil_group *group = arg;
    if (group->vg_owner == worker && group->vg_local != 0)
        vg_group_register(group, 0);
    return vg_group_all_done(group);
}

/* Neither member nor descendant is to be had: steps 3 and 4 of the rule (WAITING.md). */
static int group_wait_by_rule(vg_worker *worker, vigil_group *group, uint64_t deadline_ns)
{
    const uint64_t waiter = worker->seat.index + 1U;
    const vg_wait wait = {.over = vg_group_is_over, .arg = group, .deadline_ns = deadline_ns};
    const vg_waiting waiting = vg_trace_wait(worker->pool, worker, VG_WAIT_GROUP, (uint64_t)(uintptr_t)group, NULL);
    vg_group_register(group, waiter);
    (void)vg_wait_note_begin(worker, VG_WAITS_GROUP, group, NULL, deadline_ns, NULL);
    int error = vg_wait_by_rule(worker, &wait, (group->vg_flags & VIGIL_GROUP_HELP_ANY) != 0);
    vg_wait_note_end(worker);
    vg_trace_waited(worker->pool, &waiting);
    (void)vg_group_unregister(group, waiter);
    return error;
}

bool vg_group_run_some(vg_worker *worker, vigil_group *group)
{
    if ((atomic_load_explicit(&group->vg_open, memory_order_relaxed) & VG_GROUP_MEMBERS) != 0 &&
        vg_members_run(worker, group))
        return true;
    vg_own_queue *queue = worker->queue;
    vg_handling(worker, 1);
    vigil_task *task = own_newest(worker, queue);
    if (task != NULL && !descends_from(task, group)) {
        vg_push_own(worker, queue, task); /* its slot is free */
        task = NULL;
    }
    if (task == NULL)
        task = group_leapfrog(worker, group);
    if (task != NULL)
        vg_run(worker, task);
    else
        vg_handling(worker, 0);
    return task != NULL;
}

static int group_wait_for_stolen(vg_worker *worker, vigil_group *group, uint64_t deadline_ns)
{
    unsigned idle_tries = 0;
    while (!vg_group_all_done(group)) {
        if (vg_group_run_some(worker, group)) {
            idle_tries = 0;
            continue;
        }
        if (idle_tries++ >= VG_LEAPFROG_TRIES || (group->vg_flags & VIGIL_GROUP_HELP_ANY) != 0)
            return group_wait_by_rule(worker, group, deadline_ns);
        vg_spin_pause();
        if (deadline_ns != VG_NO_DEADLINE && vg_now_ns() >= deadline_ns)
            return vg_group_all_done(group) ? 0 : -ETIMEDOUT;
    }
    return 0;
}

/* The child failed, or left a blocking section open. */
static __attribute__((noinline)) void child_ended_badly(vg_worker *worker, vigil_group *group, vigil_task *task,
                                                        int status, unsigned blocking)
{
    while (worker->blocking > blocking)
        (void)vigil_blocking_end(); /* left by vigil_raise, or forgotten */
    if (status >= 0) {
        vg_count_release(&worker->queue->counts->completed, 1);
        return;
    }
    vg_task_failed(worker, worker->queue->class_, status, (void *)(uintptr_t)task->run);
    group_task_failed(group, status);
}

/* The newest task of our deque is not a plain child of this group. false: it is not a descendant. */
static __attribute__((noinline)) bool run_other_task(vg_worker *worker, vigil_group *group, vigil_task *task)
{
    if (descends_from(task, group)) {
        vg_run(worker, task);
        return true;
    }
    vg_push_own(worker, worker->queue, task); /* its slot is free */
    vg_handling(worker, 0);
    return false;
}

/*
 * Run what we spawned last, while it is ours. The short form of vg_run for a plain child that its parent runs; counts
 * everything that vg_run counts.
 */
static inline __attribute__((always_inline)) void run_own_children(vg_worker *worker, vigil_group *group)
{
    while (group->vg_local > 0) {
        vg_own_queue *queue = worker->queue;
        vg_handling(worker, 1);
        vigil_task *task = own_newest(worker, queue);
        if (__builtin_expect(task == NULL, 0)) {
            vg_handling(worker, 0);
            return;
        }
        if (__builtin_expect(task->vg_group != group || vg_group_is_cancelled(group) ||
                                 atomic_load_explicit(&worker->pool->phase, memory_order_relaxed) == VG_DISCARDING,
                             0)) {
            if (!run_other_task(worker, group, task))
                return;
            continue;
        }
        vg_count_release(&queue->counts->started, 1);
        vg_handled_and_counted(worker);
        worker->group = group;
        atomic_store_explicit(&task->vg_state, VG_TASK_FREE, memory_order_relaxed); /* as in vg_run_claimed */
        const unsigned blocking = worker->blocking;
        int status = vg_run_guarded(task);
        worker->group = group->vg_parent;
        if (__builtin_expect(status < 0 || worker->blocking != blocking, 0))
            child_ended_badly(worker, group, task, status, blocking);
        else
            vg_count_release(&worker->queue->counts->completed, 1);
        group->vg_local--;
    }
}

static __attribute__((noinline)) int group_wait_longer(vigil_group *group, uint64_t deadline_ns)
{
    vg_worker *worker = vg_worker_of(group->vg_pool);
    if (worker == NULL)
        return group_wait_outside(group, deadline_ns);
    int error = vg_group_all_done(group) ? 0 : group_wait_for_stolen(worker, group, deadline_ns);
    return error != 0 ? error : group_reset(group);
}

static __attribute__((noinline)) int group_wait_until(vigil_group *group, uint64_t deadline_ns)
{
    int error = group_guard(group);
    if (error != 0)
        return error;
    vg_worker *worker = vg_current_worker;
    if (worker != NULL && group->vg_owner == worker)
        run_own_children(worker, group);
    return group_wait_longer(group, deadline_ns);
}

int vigil_group_wait(vigil_group *group)
{
    vg_worker *worker = vg_current_worker;
    /* A group with an owner has a pool, the owner's. */
    if (__builtin_expect(group == NULL || worker == NULL || group->vg_owner != worker, 0) ||
        vg_forked_page(&worker->pool->fork_guard))
        return group_wait_until(group, VG_NO_DEADLINE);
    run_own_children(worker, group);
    /* No other thread was involved: nothing to wait for or to reset. acquire: G2 */
    if (__builtin_expect(group->vg_local == 0 &&
                             atomic_load_explicit(&group->vg_open, memory_order_acquire) == VG_GROUP_COUNT_ZERO &&
                             atomic_load_explicit(&group->vg_status, memory_order_relaxed) == 0,
                         1))
        return 0;
    return group_wait_longer(group, VG_NO_DEADLINE);
}

int vigil_group_wait_for(vigil_group *group, int64_t timeout_ns)
{
    return group_wait_until(group, vg_deadline_after(timeout_ns));
}

int vigil_group_cancel(vigil_group *group)
{
    int error = group_guard(group);
    if (error == 0)
        group_cancel(group);
    return error;
}

int vigil_group_cancelled(const vigil_group *group)
{
    int error = group_guard(group);
    return error != 0 ? error : vg_group_is_cancelled(group);
}

int vigil_task_cancelled(void)
{
    const vg_worker *worker = vg_current_worker;
    if (worker == NULL || worker->depth == 0)
        return vg_why(-EPERM, "the caller is not inside a task");
    for (const vigil_group *group = worker->group; group != NULL; group = group->vg_parent)
        if (vg_group_is_cancelled(group))
            return 1;
    return 0;
}
