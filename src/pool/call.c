/* SPDX-License-Identifier: MIT */
/*
 * call.c - a function and its argument as a task from the pool's slab. A worker has its own cache; other threads share
 * those of the stripes, under a lock.
 */
#include "refuse.h"
#include "call.h"

#include "run.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>

typedef struct vg_pool_call {
    vigil_task task; /* first */
    vigil_pool *pool;
    int (*fn)(void *arg);
    void (*cancel)(void *arg);
    void *arg;
} vg_pool_call;

size_t vg_pool_call_size(void)
{
    return sizeof(vg_pool_call);
}

static vg_pool_call *call_alloc(vigil_pool *pool)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL)
        return vg_slab_alloc(&worker->calls);
    vg_stripe *stripe = vg_stripe_of_caller(pool);
    vg_mutex_lock(&stripe->slab_lock);
    vg_pool_call *call = vg_slab_alloc(&stripe->calls);
    vg_mutex_unlock(&stripe->slab_lock);
    return call;
}

static void call_free(vigil_pool *pool, vg_pool_call *call)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL) {
        vg_slab_free(&worker->calls, call);
        return;
    }
    vg_stripe *stripe = vg_stripe_of_caller(pool);
    vg_mutex_lock(&stripe->slab_lock);
    vg_slab_free(&stripe->calls, call);
    vg_mutex_unlock(&stripe->slab_lock);
}

static int call_run(vigil_task *task)
{
    vg_pool_call *call = (vg_pool_call *)(void *)task;
    int (*fn)(void *arg) = call->fn;
    void *arg = call->arg;
    call_free(call->pool, call);
    return fn(arg);
}

static void call_cancel(vigil_task *task)
{
    vg_pool_call *call = (vg_pool_call *)(void *)task;
    void (*cancel)(void *arg) = call->cancel;
    void *arg = call->arg;
    call_free(call->pool, call);
    if (cancel != NULL)
        cancel(arg);
}

void *vg_pool_call_function(const vigil_task *task)
{
    return (void *)(uintptr_t)((const vg_pool_call *)(const void *)task)->fn;
}

static int call_submit(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg), void *arg, unsigned class_,
                       int (*submit)(vigil_pool *pool, vigil_task *task, unsigned class_))
{
    vg_pool_call *call = call_alloc(pool);
    if (call == NULL)
        return -ENOMEM;
    vigil_task_init(&call->task, call_run, call_cancel);
    call->task.vg_kind = VG_KIND_CALL;
    atomic_store_explicit(&call->task.vg_state, VG_TASK_QUEUED, memory_order_relaxed);
    call->pool = pool;
    call->fn = fn;
    call->cancel = cancel;
    call->arg = arg;
    const int error = submit(pool, &call->task, class_);
    if (error != 0)
        call_free(pool, call);
    return error;
}

int vigil_pool_call(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg), void *arg,
                    vigil_priority priority)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (fn == NULL)
        return VG_WHY_NULL("fn");
    if ((unsigned)priority >= VG_CLASSES)
        return vg_refuse_priority(priority);
    return call_submit(pool, fn, cancel, arg, (unsigned)priority, vg_submit_one);
}

int vg_pool_call_beyond(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg), void *arg, unsigned class_)
{
    return call_submit(pool, fn, cancel, arg, class_, vg_submit_beyond);
}
