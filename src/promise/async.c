/* SPDX-License-Identifier: MIT */
/*
 * async.c - blocking work on the pool, settled on the loop (LIFE.md). A limit is used by the owner alone, so it needs
 * no lock.
 */
#include "base/why.h"
#include "async.h"

#include "calls.h"
#include "promise.h"
#include "then.h"

#include "base/clock.h"
#include "base/options.h"
#include "loop/post.h"
#include "record/ring.h"

#include <vigil/record.h>

#include <stdlib.h>

struct vigil_limit {
    vg_realm *realm;
    size_t most;
    size_t used;
    vigil_limit_policy policy;
    vg_list waiting;     /* calls that wait for a place */
    _Atomic size_t refs; /* the user, and each call that uses or awaits it; the last may be on any thread */
};

static int submit_call(vg_op *op);

/* ---- limits ------------------------------------------------------------------------------------------------------ */

int vigil_limit_create(vigil_limit **out, vigil_loop *loop, size_t most, vigil_limit_policy policy)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (out == NULL || most == 0 || (unsigned)policy > VIGIL_LIMIT_REFUSE)
        return vg_why(-EINVAL, "limit is NULL, most is 0, or policy is not one of vigil_limit_policy");
    vigil_limit *limit = calloc(1, sizeof *limit);
    if (limit == NULL)
        return vg_why(-ENOMEM, "no memory for the limit");
    limit->realm = realm;
    limit->most = most;
    limit->policy = policy;
    vg_list_init(&limit->waiting);
    atomic_init(&limit->refs, 1U);
    *out = limit;
    return 0;
}

static void limit_unref(vigil_limit *limit)
{
    /* release: our last touch; acquire: the others', if we free it */
    if (atomic_fetch_sub_explicit(&limit->refs, 1, memory_order_acq_rel) == 1)
        free(limit);
}

void vigil_limit_destroy(vigil_limit *limit)
{
    if (limit != NULL)
        limit_unref(limit);
}

/* Return the call's place and let the next one have it. */
static void leave_limit(vg_op *op)
{
    vigil_limit *limit = op->limit;
    if (limit == NULL)
        return;
    op->limit = NULL;
    limit->used--;
    while (!vg_list_empty(&limit->waiting) && limit->used < limit->most && !limit->realm->ending) {
        vg_op *next = vg_list_entry(vg_list_pop_front(&limit->waiting), vg_op, in_limit);
        limit->used++;
        int error = submit_call(next);
        if (error == 0)
            continue;
        limit->used--;
        next->limit = NULL;
        (void)atomic_fetch_sub_explicit(&limit->refs, 1, memory_order_relaxed); /* ours is still there */
        vg_op_finish(next, vigil_value_error(error));
    }
    limit_unref(limit);
}

/* ---- on the worker ----------------------------------------------------------------------------------------------- */

static vg_op *op_of_task(vigil_task *task)
{
    return vg_container_of(task, vg_op, task);
}

static bool turn_call(vg_op *op, uint32_t from, uint32_t to)
{
    /* relaxed: the pool's queue publishes fn and arg, the lane the result */
    return atomic_compare_exchange_strong_explicit(&op->call, &from, to, memory_order_relaxed, memory_order_relaxed);
}

static void send_result(vg_op *op)
{
    atomic_store_explicit(&op->call, VG_CALL_OVER, memory_order_relaxed);
    if (vigil_loop_post_internal(op->realm->loop, &op->deliver_post) == 0)
        return;
    vigil_value_destroy(&op->result);
    if (op->limit != NULL) /* the owner has gone: the last word about it is ours */
        limit_unref(op->limit);
    vg_op_unref(op);
}

/* One of the two sides needs arg no more. */
static void leave_arg(vg_op *op)
{
    if (op->done == NULL)
        return;
    /* release: our last use; acquire: the other side's, before done; pairs with the same in the other side's call */
    if (atomic_fetch_sub_explicit(&op->arg_users, 1, memory_order_acq_rel) == 1)
        vg_call_done(op->done, op->arg);
}

static int run_call(vigil_task *task)
{
    vg_op *op = op_of_task(task);
    if (!turn_call(op, VG_CALL_QUEUED, VG_CALL_RUNNING)) {
        leave_arg(op);
        vg_op_unref(op);
        return 0;
    }
    op->result = vg_call_plain(op->fn, op->arg);
    leave_arg(op); /* before the result: afterwards the operation is the owner's */
    send_result(op);
    return 0;
}

/* The pool stops. */
static void cancel_call(vigil_task *task)
{
    vg_op *op = op_of_task(task);
    bool ours = turn_call(op, VG_CALL_QUEUED, VG_CALL_DEAD);
    leave_arg(op);
    if (!ours) {
        vg_op_unref(op);
        return;
    }
    op->result = vigil_value_error(-ECANCELED);
    send_result(op);
}

/* ---- on the owner ------------------------------------------------------------------------------------------------ */

/* For traces: arrows from the call to its task and its end. The promise's address is the id. */
static void note_call(const vg_op *op)
{
    if (op->realm->loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_PROMISIFY, (unsigned)op->priority, (uint64_t)(uintptr_t)op->fn),
                     (uint64_t)(uintptr_t)op->promise, 0);
}

static void note_settle(const vg_op *op, bool fulfilled, uint64_t task)
{
    if (op->realm->loop->level == VIGIL_RECORD_EVENTS)
        vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_SETTLE, fulfilled ? 1 : 2, 0), (uint64_t)(uintptr_t)op->promise,
                     task);
}

static void call_delivered(vigil_post *post)
{
    vg_op *op = vg_container_of(post, vg_op, deliver_post);
    if (!op->finished)
        note_settle(op, !vigil_value_is_error(&op->result), op->task.vg_stamp);
    vg_op_finish(op, op->result);
    leave_limit(op);
    vg_op_unref(op);
}

static int submit_call(vg_op *op)
{
    atomic_store_explicit(&op->call, VG_CALL_QUEUED, memory_order_relaxed); /* the queue publishes it */
    vg_op_ref(op);                                                          /* the pool's */
    note_call(op);
    int error = vigil_pool_submit(op->pool, &op->task, op->priority);
    if (error != 0) {
        atomic_store_explicit(&op->call, VG_CALL_WAITS, memory_order_relaxed);
        vg_op_unref(op);
    }
    return error;
}

/* It is finished, by its result or by something before. */
static void call_stop(vg_op *op)
{
    /* By the token, the time or the end of the loop. */
    if (op->promise != NULL && atomic_load_explicit(&op->call, memory_order_relaxed) != VG_CALL_OVER)
        note_settle(op, false, 0);
    if (atomic_load_explicit(&op->call, memory_order_relaxed) == VG_CALL_WAITS) {
        /* Never submitted. In the queue of its limit it has no place. */
        vigil_limit *limit = op->limit;
        if (limit != NULL && vg_list_linked(&op->in_limit)) {
            vg_list_remove_init(&op->in_limit);
            op->limit = NULL;
            limit_unref(limit);
        } else {
            leave_limit(op);
        }
        leave_arg(op); /* the pool's side never used it */
        return;
    }
    /* If it runs, call_delivered() returns its place, or the worker when the lane is closed: the owner must not
       touch what the worker may be using. */
    if (turn_call(op, VG_CALL_QUEUED, VG_CALL_DEAD))
        leave_limit(op);
}

/* The handlers of its promise have run, or never will. */
static void after_handlers(vigil_post *post)
{
    vg_op *op = vg_container_of(post, vg_op, after.post);
    vigil_promise *source = op->after.source;
    leave_arg(op);
    if (source != NULL)
        vg_promise_unhold(source);
    vg_op_unref(op);
}

void vg_call_settled(vg_op *op, vigil_promise *promise)
{
    if (op->stop != call_stop || op->done == NULL)
        return;
    vigil_post_init(&op->after.post, after_handlers, after_handlers);
    vg_op_ref(op);
    vg_promise_follow(promise, &op->after);
}

bool vg_op_on_pool(const vg_op *op)
{
    return op->stop == call_stop && atomic_load_explicit(&op->call, memory_order_relaxed) != VG_CALL_OVER;
}

/* A forked child: the pool's threads stay with the parent. */
void vg_call_forked(vg_op *op)
{
    uint32_t call = atomic_load_explicit(&op->call, memory_order_relaxed); /* nobody else is here */
    if (call == VG_CALL_WAITS) {
        vg_op_finish(op, vigil_value_error(-ECHILD));
        return;
    }
    atomic_store_explicit(&op->call, VG_CALL_DEAD, memory_order_relaxed);
    leave_limit(op);
    vg_op_finish(op, vigil_value_error(-ECHILD));
    leave_arg(op);
    vg_op_unref(op); /* the pool's */
}

/* 1: it has a place, 0: it waits, or an error. */
static int enter_limit(vigil_limit *limit, vg_op *op)
{
    if (limit == NULL)
        return 1;
    bool free_place = limit->used < limit->most && vg_list_empty(&limit->waiting);
    if (!free_place && limit->policy == VIGIL_LIMIT_REFUSE)
        return vg_why(-EAGAIN, "the limit is reached; try again when a call has ended");
    (void)atomic_fetch_add_explicit(&limit->refs, 1, memory_order_relaxed); /* the caller has one */
    op->limit = limit;
    if (free_place)
        limit->used++;
    else
        vg_list_push_back(&limit->waiting, &op->in_limit);
    return free_place;
}

static int take_async_options(vg_realm *realm, vigil_async_options *taken, const vigil_async_options *given)
{
    int error = given == NULL
                    ? 0
                    : vg_options_take(taken, sizeof *taken, given, given->size,
                                      offsetof(vigil_async_options, priority) + sizeof given->priority, "options");
    if (error != 0 || (unsigned)taken->priority >= VIGIL_PRIORITIES ||
        (taken->limit != NULL && taken->limit->realm != realm))
        return vg_why(-EINVAL, "options.priority is out of range, or options.limit belongs to another loop");
    return 0;
}

/* What a discard needs comes first. */
static void prepare_call(vg_op *op, vigil_pool *pool, vigil_async_fn fn, void *arg, const vigil_async_options *options)
{
    op->stop = call_stop;
    atomic_init(&op->call, VG_CALL_WAITS);
    op->limit = NULL;
    vg_list_link_init(&op->in_limit);
    op->done = NULL; /* not before it has been accepted */
    atomic_init(&op->arg_users, 2U);
    vigil_task_init(&op->task, run_call, cancel_call);
    vigil_post_init(&op->deliver_post, call_delivered, call_delivered);
    op->priority = options->priority;
    op->pool = pool;
    op->fn = fn;
    op->arg = arg;
}

int vigil_async(vigil_loop *loop, vigil_pool *pool, vigil_async_fn fn, void *arg, const vigil_async_options *given,
                vigil_promise **promise)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (pool == NULL || fn == NULL || promise == NULL)
        return vg_why(-EINVAL, "pool, fn or promise is NULL");
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    error = take_async_options(realm, &options, given);
    if (error != 0)
        return error;
    vg_op *op = vg_op_new_of(realm, VG_SLAB_CALLS, options.token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    prepare_call(op, pool, fn, arg, &options);
    error = vg_loop_keep(loop);
    op->kept = error == 0;
    int place = error == 0 ? enter_limit(options.limit, op) : error;
    if (place < 0) {
        vg_op_discard(op);
        return place;
    }
    /* The token first: what follows may start it, and then it cannot be discarded. */
    vigil_promise *made;
    error = vg_op_arm(op, options.token, options.timeout_ns, &made);
    if (error != 0)
        return error;
    op->done = options.done;
    if (place == 1) {
        error = submit_call(op);
        if (error != 0) {
            op->done = NULL;
            vg_op_discard(op);
            return error;
        }
    }
    *promise = made;
    return 0;
}
