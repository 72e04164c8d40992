/* SPDX-License-Identifier: MIT */
/*
 * call.c - a function and its argument as a task from the pool's slab. A worker has its own cache; other threads share
 * those of the stripes.
 */
#include "refuse.h"
#include "call.h"

#include "base/thread.h"
#include "run.h"
#include "submit.h"

#include <errno.h>
#include <stddef.h>

/* One cache line: the submitter writes it, the worker reads it and gives it back. */
typedef struct vg_pool_call {
    vigil_task task; /* first; its `cancel` is the function of the call */
    void (*cancel)(void *arg);
    void *arg;
} vg_pool_call;
#if UINTPTR_MAX > UINT32_MAX
_Static_assert(sizeof(vg_pool_call) == 64, "a cache line");
#endif

typedef int (*call_fn)(void *arg);

size_t vg_pool_call_size(void)
{
    return sizeof(vg_pool_call);
}

static call_fn call_function(const vg_pool_call *call)
{
    return (call_fn)(void (*)(void))call->task.cancel;
}

/* A stripe whose cache nobody uses: the caller's, or the next that is free. An exchange and a store, where a lock with
   sleepers costs two exchanges; a holder that lost its core keeps only those waiting who find all stripes so. */
static vg_stripe *stripe_borrow(vigil_pool *pool)
{
    for (unsigned i = vg_thread_number();; i++) {
        vg_stripe *stripe = &pool->stripes[i % VG_STRIPES];
        /* acquire: the cache as the last user left it; pairs with the release in stripe_return */
        if (atomic_exchange_explicit(&stripe->borrowed, 1, memory_order_acquire) == 0)
            return stripe;
        if ((i + 1 - vg_thread_number()) % VG_STRIPES == 0)
            vg_thread_yield();
    }
}

static void stripe_return(vg_stripe *stripe)
{
    /* release: what we did with the cache; pairs with the acquire in stripe_borrow */
    atomic_store_explicit(&stripe->borrowed, 0, memory_order_release);
}

static vg_pool_call *call_alloc(vigil_pool *pool)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL)
        return vg_slab_alloc(&worker->calls);
    vg_stripe *stripe = stripe_borrow(pool);
    vg_pool_call *call = vg_slab_alloc(&stripe->calls);
    stripe_return(stripe);
    return call;
}

static void call_free(vigil_pool *pool, vg_pool_call *call)
{
    vg_worker *worker = vg_worker_of(pool);
    if (worker != NULL) {
        vg_slab_free(&worker->calls, call);
        return;
    }
    vg_stripe *stripe = stripe_borrow(pool);
    vg_slab_free(&stripe->calls, call);
    stripe_return(stripe);
}

static int call_run(vigil_task *task)
{
    vg_pool_call *call = (vg_pool_call *)(void *)task;
    const call_fn fn = call_function(call);
    void *arg = call->arg;
    vg_slab_free(&vg_current_worker->calls, call); /* tasks run on workers of their pool alone */
    return fn(arg);
}

void vg_pool_call_cancel(vigil_pool *pool, vigil_task *task)
{
    vg_pool_call *call = (vg_pool_call *)(void *)task;
    void (*cancel)(void *arg) = call->cancel;
    void *arg = call->arg;
    call_free(pool, call);
    if (cancel != NULL)
        cancel(arg);
}

void *vg_pool_call_function(const vigil_task *task)
{
    return (void *)(uintptr_t)call_function((const vg_pool_call *)(const void *)task);
}

static int call_submit(vigil_pool *pool, int (*fn)(void *arg), void (*cancel)(void *arg), void *arg, unsigned class_,
                       int (*submit)(vigil_pool *pool, vigil_task *task, unsigned class_))
{
    vg_pool_call *call = call_alloc(pool);
    if (call == NULL)
        return -ENOMEM;
    vigil_task_init(&call->task, call_run, (vigil_task_cancel_fn)(void (*)(void))fn);
    call->task.vg_kind = VG_KIND_CALL;
    atomic_store_explicit(&call->task.vg_state, VG_TASK_QUEUED, memory_order_relaxed);
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
