/* SPDX-License-Identifier: MIT */
/*
 * submit.c - the ways into the pool. README.md, "File by file".
 */
#include "refuse.h"
#include "submit.h"

#include "bound.h"
#include "counter.h"
#include "delay.h"
#include "idle.h"
#include "injector.h"
#include "job.h"
#include "mail.h"
#include "moving.h"
#include "quiescence.h"
#include "run.h"
#include "seats.h"
#include "trace.h"

#include <errno.h>
#include <stddef.h>

typedef struct submitter {
    vigil_pool *pool;
    vg_worker *worker; /* NULL: not a worker */
    vg_stripe *stripe; /* of a caller that is not a worker */
} submitter;

static submitter submit_enter(vigil_pool *pool)
{
    submitter by = {.pool = pool, .worker = vg_worker_of(pool), .stripe = NULL};
    if (by.worker != NULL) {
        vg_handling(by.worker, 1);
    } else {
        by.stripe = vg_visit_begin(pool); /* the push publishes it together with the task (J1, M1) */
    }
    return by;
}

static void count_submitted(submitter by, unsigned class_, uint64_t count)
{
    if (by.worker != NULL)
        vg_count_release(&by.worker->queues[class_].counts->submitted, count);
    else /* release: an audit that sees the number sees that we have entered; pairs with its fences */
        (void)atomic_fetch_add_explicit(&by.stripe->counts->submitted[class_], count, memory_order_release);
}

/* A counted task is not accepted after all. */
static void withdraw_submitted(submitter by, unsigned class_, uint64_t count)
{
    if (by.worker != NULL)
        vg_count_release(&by.worker->queues[class_].counts->withdrawn, count);
    else /* release, as vg_count_release: a reader of the withdrawal sees the submit */
        (void)atomic_fetch_add_explicit(&by.stripe->counts->withdrawn[class_], count, memory_order_release);
    /* F full fence: the withdrawal is counted before waiters are looked for, who may have seen the task as
       accepted; pairs with G in quiescence.c */
    atomic_thread_fence(memory_order_seq_cst);
    vg_quiescence_signal(by.pool);
}

static int submit_leave(submitter by, unsigned class_, uint64_t count, int error)
{
    if (error != 0) {
        if (by.worker != NULL)
            vg_count_release(&by.worker->queues[class_].counts->refused, count);
        else
            (void)atomic_fetch_add_explicit(&by.stripe->counts->refused[class_], count, memory_order_relaxed);
    }
    if (by.worker == NULL)
        vg_visit_end(by.stripe);
    else if (error == 0)
        vg_handled_and_counted(by.worker);
    else
        vg_handling(by.worker, 0);
    return error;
}

static uint16_t submit_flags(const vigil_pool *pool)
{
    return pool->max_queue != 0 ? VG_FLAG_COUNTED | VG_FLAG_STAMPED : VG_FLAG_STAMPED;
}

/* counted: the tasks take places of max_queue. */
static inline __attribute__((always_inline)) int push_chain_of(vigil_pool *pool, vigil_task *newest, vigil_task *oldest,
                                                               uint64_t count, unsigned class_, uint64_t deadline_ns,
                                                               bool counted)
{
    submitter by = submit_enter(pool);
    int error = counted ? vg_bound_wait(by.pool, count, deadline_ns) : 0;
    if (error == 0) {
        count_submitted(by, class_, count);
        vg_trace_submit(pool, oldest, vg_task_function(oldest), class_, count);
        /* A task of a draining pool may still submit. */
        error = vg_injector_push(&pool->injectors[class_], newest, oldest, vg_in_task(by.worker));
        if (error == 0) {
            vg_announce(pool, class_);
        } else {
            withdraw_submitted(by, class_, count);
            if (counted)
                vg_bound_give_back(pool, count);
        }
    }
    return submit_leave(by, class_, count, error);
}

static inline __attribute__((always_inline)) int push_chain_within(vigil_pool *pool, vigil_task *newest,
                                                                   vigil_task *oldest, uint64_t count, unsigned class_,
                                                                   uint64_t deadline_ns)
{
    return push_chain_of(pool, newest, oldest, count, class_, deadline_ns, pool->max_queue != 0);
}

static int push_chain(vigil_pool *pool, vigil_task *newest, vigil_task *oldest, uint64_t count, unsigned class_)
{
    return push_chain_within(pool, newest, oldest, count, class_, VG_NO_DEADLINE);
}

int vg_submit_one(vigil_pool *pool, vigil_task *task, unsigned class_)
{
    task->vg_class = (uint8_t)class_;
    task->vg_flags = submit_flags(pool);
    task->vg_stamp = vg_ticks();
    return push_chain(pool, task, task, 1, class_);
}

int vg_submit_beyond(vigil_pool *pool, vigil_task *task, unsigned class_)
{
    task->vg_class = (uint8_t)class_;
    task->vg_flags = VG_FLAG_STAMPED;
    task->vg_stamp = vg_ticks();
    return push_chain_of(pool, task, task, 1, class_, VG_NO_DEADLINE, false);
}

/* The checks of every submit; on success the task is the pool's. */
static int begin_submit(vigil_pool *pool, vigil_task *task, vigil_priority priority)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (task == NULL || task->run == NULL || (unsigned)priority >= VG_CLASSES)
        return vg_refuse_task_or_priority(task, priority);
    if (!vg_task_take(task))
        return -EBUSY;
    task->vg_group = NULL;
    task->vg_kind = VG_KIND_PLAIN;
    task->vg_class = (uint8_t)priority;
    return 0;
}

static int end_submit(vigil_task *task, int error)
{
    if (error != 0)
        vg_task_give_back(task);
    return error;
}

int vigil_pool_submit(vigil_pool *pool, vigil_task *task, vigil_priority priority)
{
    int error = begin_submit(pool, task, priority);
    return error != 0 ? error : end_submit(task, vg_submit_one(pool, task, (unsigned)priority));
}

int vigil_pool_submit_for(vigil_pool *pool, vigil_task *task, vigil_priority priority, int64_t timeout_ns)
{
    int error = begin_submit(pool, task, priority);
    if (error != 0)
        return error;
    const uint64_t deadline = vg_deadline_after(timeout_ns);
    task->vg_flags = submit_flags(pool);
    task->vg_stamp = vg_ticks();
    return end_submit(task, push_chain_within(pool, task, task, 1, (unsigned)priority, deadline));
}

int vigil_pool_submit_batch(vigil_pool *pool, vigil_task *const *tasks, size_t count, vigil_priority priority)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (tasks == NULL)
        return VG_WHY_NULL("tasks");
    if ((unsigned)priority >= VG_CLASSES)
        return vg_refuse_priority(priority);
    if (pool->max_queue != 0 && count > pool->max_queue)
        return vg_why_say(-EINVAL, "count is %zu; max_queue is %zu, and a batch is accepted whole", count,
                          pool->max_queue);
    if (count == 0)
        return 0;
    const uint64_t now = vg_ticks();
    size_t taken = 0;
    for (; taken < count && error == 0; taken++) {
        error = begin_submit(pool, tasks[taken], priority);
        if (error != 0)
            break;
        tasks[taken]->vg_flags = submit_flags(pool);
        tasks[taken]->vg_stamp = now;
        tasks[taken]->vg_next = taken > 0 ? tasks[taken - 1] : NULL;
    }
    if (error == 0)
        error = push_chain(pool, tasks[count - 1], tasks[0], count, (unsigned)priority);
    for (size_t i = 0; error != 0 && i < taken; i++)
        vg_task_give_back(tasks[i]);
    return error;
}

int vigil_pool_submit_to(vigil_pool *pool, unsigned worker, vigil_task *task, vigil_priority priority)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (worker >= atomic_load_explicit(&pool->target, memory_order_relaxed))
        return -ENOENT;
    vg_seat *seat = vg_seat_at(pool, worker);
    if (seat == NULL)
        return -ENOENT; /* its thread could not be started */
    error = begin_submit(pool, task, priority);
    if (error != 0)
        return error;
    /* A place that only this worker can free must not be what the worker waits for, itself or through others. */
    const bool counted = pool->max_queue != 0 && pool->when_full == VIGIL_FULL_REFUSE;
    return end_submit(task, vg_submit_mail(pool, seat, task, (unsigned)priority, counted));
}

int vg_submit_mail(vigil_pool *pool, vg_seat *seat, vigil_task *task, unsigned class_, bool counted)
{
    task->vg_class = (uint8_t)class_;
    task->vg_flags = counted ? VG_FLAG_COUNTED | VG_FLAG_STAMPED : VG_FLAG_STAMPED;
    task->vg_stamp = vg_ticks();
    submitter by = submit_enter(pool);
    int error = counted ? vg_bound_take(by.pool, 1) : 0;
    if (error == 0) {
        count_submitted(by, class_, 1);
        vg_trace_submit(pool, task, (void *)(uintptr_t)task->run, class_, 1);
        error = vg_mail_push(pool, seat, task);
        if (error != 0) {
            withdraw_submitted(by, class_, 1);
            if (counted)
                vg_bound_give_back(pool, 1);
        }
    }
    return submit_leave(by, class_, 1, error);
}

typedef struct delayed_submit {
    vigil_pool *pool;
    vigil_task *task;
    int64_t delay_ns;
} delayed_submit;

static int add_delayed(void *arg)
{
    const delayed_submit *it = arg;
    return vg_delay_add(it->pool, it->task, it->delay_ns);
}

int vg_submit_delayed(vigil_pool *pool, vigil_task *task, unsigned class_, int64_t delay_ns)
{
    delayed_submit it = {.pool = pool, .task = task, .delay_ns = delay_ns};
    return vg_submit_pending(pool, task, class_, add_delayed, &it);
}

int vg_submit_pending(vigil_pool *pool, vigil_task *task, unsigned class_, int (*add)(void *arg), void *arg)
{
    task->vg_class = (uint8_t)class_;
    task->vg_flags = submit_flags(pool);
    submitter by = submit_enter(pool);
    int error = vg_bound_take(by.pool, 1);
    if (error == 0) {
        count_submitted(by, class_, 1);
        error = add(arg);
        if (error != 0) {
            withdraw_submitted(by, class_, 1);
            vg_bound_give_back(pool, 1);
        }
    }
    return submit_leave(by, class_, 1, error);
}

void vg_submit_due(vigil_pool *pool, vigil_task *task)
{
    const unsigned class_ = task->vg_class;
    task->vg_stamp = vg_ticks();
    if (task->vg_kind == VG_KIND_JOB)
        vg_job_due(pool, task);
    vg_trace_submit(pool, task, vg_task_function(task), class_, 1);
    (void)vg_injector_push(&pool->injectors[class_], task, task, true); /* already accepted */
    vg_announce(pool, class_);
}

int vigil_pool_submit_after(vigil_pool *pool, vigil_task *task, vigil_priority priority, int64_t delay_ns)
{
    if (delay_ns < 0)
        return vg_why_say(-EINVAL, "delay_ns is %lld; a delay is 0 or more", (long long)delay_ns);
    int error = begin_submit(pool, task, priority);
    return error != 0 ? error : end_submit(task, vg_submit_delayed(pool, task, (unsigned)priority, delay_ns));
}
