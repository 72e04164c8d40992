/* SPDX-License-Identifier: MIT */
#include "op.h"

#include "async.h"
#include "awaits.h"
#include "promise.h"
#include "shared.h"

#include "loop/post.h"

size_t vg_op_size(int slab)
{
    const size_t above = offsetof(vg_op, above);
    return slab == VG_SLAB_CALLS   ? sizeof(vg_op)
           : slab == VG_SLAB_WAITS ? above + sizeof(((vg_op *)0)->above[0])
                                   : above + sizeof(((vg_op *)0)->above);
}

void vg_op_ref(vg_op *op)
{
    (void)atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed); /* relaxed: the caller has one already */
}

void vg_op_unref(vg_op *op)
{
    /* release: our last touch; acquire: the others', if we free it */
    if (atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) == 1)
        vg_realm_free(op->realm, op->slab, op);
}

/* ---- aborted ----------------------------------------------------------------------------------------------------- */

static void op_abort_delivered(vigil_post *post)
{
    vg_op *op = (vg_op *)(void *)post;
    if (!op->finished && !vg_op_is_served(op))
        vg_op_finish(op, vigil_value_error(vigil_cancel_status(op->token)));
    vg_op_unref(op);
}

/* The token is aborted, on whatever thread. */
static void op_aborted(vigil_cancel_handler *handler, int status)
{
    vg_op *op = vg_container_of(handler, vg_op, handler);
    if (vg_on_owner(op->realm)) {
        if (!vg_op_is_served(op))
            vg_op_finish(op, vigil_value_error(status));
        return;
    }
    vg_op_ref(op);
    if (vigil_loop_post_internal(op->realm->loop, &op->abort_post) != 0)
        vg_op_unref(op); /* the loop ends, and finishes it */
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

int vg_op_may_begin(const vg_realm *realm, vigil_cancel_token *token)
{
    if (vigil_cancel_status(token) != 0)
        return vg_why(-ECANCELED, "the token is aborted already");
    if (vg_state(realm->loop) >= VIGIL_LOOP_TERMINATING)
        return vg_why(-ESHUTDOWN, "the loop is ending and starts nothing new");
    return 0;
}

vg_op *vg_op_new_of(vg_realm *realm, uint8_t slab, vigil_cancel_token *token, const void *created, int *error)
{
    *error = vg_op_may_begin(realm, token);
    if (*error != 0)
        return NULL;
    vg_op *op = vg_realm_alloc(realm, slab);
    vigil_promise *promise = NULL;
    if (op != NULL && created != NULL) {
        promise = vg_promise_new(realm, VG_KIND_DERIVED, 2, 0, created);
        if (promise == NULL)
            vg_realm_free(realm, slab, op);
    }
    if (op == NULL || (created != NULL && promise == NULL)) {
        *error = vg_why(-ENOMEM, "no memory for another operation");
        return NULL;
    }
    vigil_post_init(&op->abort_post, op_abort_delivered, op_abort_delivered);
    atomic_init(&op->refs, 1U);
    op->finished = false;
    op->kept = false;
    op->slab = slab;
    op->realm = realm;
    op->promise = promise;
    op->token = NULL;
    op->stop = NULL;
    op->timer.id = 0;
    op->id = 0;
    vg_list_push_front(&realm->ops, &op->in_realm);
    vg_tally(&realm->in_flight, 1);
    return op;
}

static void op_time_is_up(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vg_op *op = arg;
    (void)loop;
    (void)timer;
    op->timer.id = 0;
    if (!vg_op_is_served(op))
        vg_op_finish(op, vigil_value_error(-ETIMEDOUT));
}

int vg_op_arm(vg_op *op, vigil_cancel_token *token, int64_t timeout_ns, vigil_promise **promise)
{
    int error = 0;
    if (timeout_ns >= 0) {
        vigil_timer_options options = {.size = sizeof options, .delay_ns = timeout_ns, .flags = VIGIL_TIMER_UNREF};
        error = vigil_timer_start_with(op->realm->loop, &options, op_time_is_up, op, &op->timer);
    }
    if (error == 0 && token != NULL) {
        op->handler = (vigil_cancel_handler){.fn = op_aborted};
        op->token = vigil_cancel_ref(token);
        error = vigil_cancel_add(token, &op->handler);
        if (error != 0) {
            op->token = NULL;
            vigil_cancel_unref(token);
        }
    }
    if (error != 0)
        vg_op_discard(op);
    else
        *promise = op->promise;
    return error;
}

static void op_leave_list(vg_op *op)
{
    vg_realm *realm = op->realm;
    op->finished = true;
    vg_list_remove(&op->in_realm);
    vg_tally(&realm->in_flight, UINT64_MAX); /* one less */
    if (op->stop != NULL)
        op->stop(op);
    if (op->timer.id != 0)
        (void)vigil_timer_cancel(realm->loop, op->timer);
    if (op->kept)
        vg_loop_unkeep(realm->loop);
}

static void op_leave_token(vg_op *op)
{
    vigil_cancel_token *token = op->token;
    if (token == NULL)
        return;
    /* If the handler runs on another thread, this waits until it has posted. */
    (void)vigil_cancel_remove(token, &op->handler);
    op->token = NULL;
    vigil_cancel_unref(token);
}

void vg_op_discard(vg_op *op)
{
    vigil_promise *promise = op->promise;
    op->promise = NULL;
    op_leave_list(op);
    op_leave_token(op);
    if (promise != NULL) {
        vigil_promise_unref(promise); /* the caller's */
        vigil_promise_unref(promise); /* nobody can settle it: it is gone */
    }
    vg_op_unref(op);
}

void vg_op_forget(vg_op *op)
{
    vigil_promise *promise = op->promise;
    op->promise = NULL;
    op_leave_list(op);
    op_leave_token(op);
    vigil_promise_unref(promise);
    vg_op_unref(op);
}

void vg_op_finish(vg_op *op, vigil_value value)
{
    if (op->finished) {
        vigil_value_destroy(&value);
        return;
    }
    vigil_promise *promise = op->promise;
    op_leave_list(op);
    op_leave_token(op);
    op->promise = NULL;
    if (promise != NULL) {
        vg_promise_resolve(promise, value);
        vg_call_settled(op, promise);
        vigil_promise_unref(promise);
    }
    vg_op_unref(op);
}

static vg_op *oldest_op(const vg_realm *realm)
{
    vg_list_link *last = vg_list_last(&realm->ops);
    return last == NULL ? NULL : vg_list_entry(last, vg_op, in_realm);
}

bool vg_realm_end_ops(vg_realm *realm)
{
    bool any = !vg_list_empty(&realm->ops);
    vg_op *op;
    /* A finish may finish others that share a token. New ones are refused. */
    while ((op = oldest_op(realm)) != NULL) {
        vigil_value value = vigil_value_error(-ESHUTDOWN);
        (void)vg_op_was_handed(op, &value);
        vg_op_finish(op, value);
    }
    return any;
}

void vg_realm_fork_ops(vg_realm *realm)
{
    vg_list_link *link = realm->ops.head.previous;
    while (link != &realm->ops.head) {
        vg_op *op = vg_list_entry(link, vg_op, in_realm);
        if (vg_op_on_pool(op)) {
            vg_call_forked(op); /* may finish others as well */
            link = realm->ops.head.previous;
        } else {
            link = link->previous;
        }
    }
}
