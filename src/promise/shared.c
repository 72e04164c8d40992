/* SPDX-License-Identifier: MIT */
/*
 * shared.c - waits for locks, units and messages as promises. A wait that ends with its loop puts back what it was
 * given. A message cannot be put back: a wait that has it is fulfilled, as the last thing that the loop does (E4).
 */
#include "shared.h"

#include "base/my_thread.h"
#include "base/why.h"
#include "loop/post.h"
#include "promise.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

size_t vg_shared_size(void)
{
    return sizeof(vg_shared);
}

static vg_shared *wait_of_op(const vg_op *op)
{
    return (vg_shared *)(uintptr_t)op->id;
}

static void shared_free_waits(const vg_shared *wait)
{
    if (wait->kind->several)
        free(wait->waits);
}

static void shared_unref(vg_shared *wait)
{
    /* release: our last touch; acquire: the other's, if we free it */
    if (atomic_fetch_sub_explicit(&wait->refs, 1, memory_order_acq_rel) != 1)
        return;
    shared_free_waits(wait);
    vg_realm_free(wait->realm, VG_SLAB_SHARED, wait);
}

/* Nobody is there to use what was given. */
static void shared_undo(vg_shared *wait)
{
    if (wait->kind->undo != NULL)
        wait->kind->undo(wait);
}

static vigil_value shared_value(const vg_shared *wait, int answer)
{
    if (answer != 0)
        return vigil_value_error(answer);
    return wait->kind->counts ? vigil_value_int(wait->number) : vigil_value_none();
}

/* A waker has ended it with GIVEN or CLOSED. */
static vigil_value shared_ended(vg_shared *wait, uint32_t end)
{
    if (wait->kind->given != NULL)
        wait->kind->given(wait, end);
    else if (end == VG_SLEEP_CLOSED)
        wait->answer = -EPIPE;
    return shared_value(wait, wait->answer);
}

/* Owner. A waker has ended the sleeper. */
static void shared_delivered(vigil_post *post)
{
    vg_shared *wait = (vg_shared *)(void *)post;
    vg_op *op = wait->op;
    if (op == NULL) {
        shared_undo(wait);
        shared_unref(wait);
        return;
    }
    const uint32_t end = atomic_load_explicit(&wait->sleeper.word, memory_order_acquire); /* Z2: pairs with Z1 */
    if (end == VG_SLEEP_RETRY) {
        const int answer = wait->kind->join(wait, true);
        if (answer == VG_CHANNEL_WAIT) { /* the waker's reference is the next waker's */
            /* An abort while the post was in flight came to nobody. */
            if (vigil_cancel_status(op->token) != 0 && !vg_op_was_given(op))
                vg_op_finish(op, vigil_value_error(vigil_cancel_status(op->token)));
            return;
        }
        vg_op_finish(op, shared_value(wait, answer)); /* lets go of the wait */
    } else {
        vg_op_finish(op, shared_ended(wait, end));
    }
    shared_unref(wait);
}

/* Any thread. */
static void shared_notify(vg_sleeper *sleeper)
{
    vg_shared *wait = vg_container_of(sleeper, vg_shared, sleeper);
    if (vg_on_owner(wait->realm)) {
        shared_delivered(&wait->post);
    } else if (vigil_loop_post_internal(wait->realm->loop, &wait->post) != 0) {
        /* The loop ends, and with it the operation. What was handed has come with the operation (vg_op_was_handed). */
        shared_undo(wait);
        shared_unref(wait);
    }
}

/* Owner. The operation is over. */
static void shared_stop(vg_op *op)
{
    vg_shared *wait = wait_of_op(op);
    wait->op = NULL;
    if (vg_sleeper_leave(&wait->sleeper, VG_SLEEP_CANCELLED) ||
        /* relaxed: our own, by vg_op_was_given */
        atomic_load_explicit(&wait->sleeper.word, memory_order_relaxed) == VG_SLEEP_CANCELLED) {
        wait->kind->left(wait);
        shared_unref(wait); /* no waker will come */
    } else if (wait->kind->several) {
        wait->kind->left(wait);
    }
    shared_unref(wait);
}

bool vg_op_was_given(vg_op *op)
{
    if (op->stop != shared_stop)
        return false;
    vg_shared *wait = wait_of_op(op);
    if (!vg_sleeper_leave(&wait->sleeper, VG_SLEEP_CANCELLED))
        return true;
    return wait->kind->abandon != NULL && wait->kind->abandon(wait);
}

bool vg_op_was_handed(vg_op *op, vigil_value *value)
{
    if (op->stop != shared_stop)
        return false;
    vg_shared *wait = wait_of_op(op);
    if (!wait->kind->handed || vg_sleeper_leave(&wait->sleeper, VG_SLEEP_CANCELLED))
        return false;
    /* A waker that has claimed it copies the message, from or to memory that is the caller's again once the promise is
       settled. Z2 acquire: the message; pairs with Z1. */
    uint32_t end = 0;
    while ((end = atomic_load_explicit(&wait->sleeper.word, memory_order_acquire)) < VG_SLEEP_GIVEN)
        vg_thread_yield();
    if (end == VG_SLEEP_RETRY)
        return false;
    *value = shared_ended(wait, end);
    return true;
}

/* Owner. With memory for everything, the wait begins. */
static int shared_wait_for(vg_shared *wait, const vg_shared *with, vg_op *op, vigil_cancel_token *token,
                           vigil_promise **promise)
{
    wait->kind = with->kind;
    wait->answer = with->answer;
    wait->number = with->number;
    memcpy(&wait->channel, &with->channel, sizeof *wait - offsetof(vg_shared, channel)); /* the union */
    vigil_post_init(&wait->post, shared_delivered, shared_delivered);
    atomic_init(&wait->refs, 2U);
    wait->op = op;
    wait->realm = op->realm;
    vg_sleeper_init(&wait->sleeper, with->sleeper.kind, with->sleeper.object);
    wait->sleeper.amount = with->sleeper.amount;
    wait->sleeper.mutex = with->sleeper.mutex;
    wait->sleeper.owner = VG_OWNER_ASYNC | vg_my_thread();
    wait->sleeper.notify = shared_notify;
    /* Armed before it waits: a token that is aborted now finishes an operation that has not begun. */
    const int error = vg_op_arm(op, token, VIGIL_FOREVER, promise);
    if (error != 0)
        return error;
    op->kept = vg_loop_keep(op->realm->loop) == 0;
    op->id = (uint64_t)(uintptr_t)wait;
    op->stop = shared_stop;
    const int answer = wait->kind->join(wait, false);
    if (answer != VG_CHANNEL_WAIT) {
        /* Done at once: no waker has the sleeper, and the stop takes both references. relaxed: as before the join */
        atomic_store_explicit(&wait->sleeper.word, VG_SLEEP_WAITING, memory_order_relaxed);
        vg_op_finish(op, shared_value(wait, answer));
    }
    return 0;
}

int vg_shared_begin(vigil_loop *loop, vg_shared *with, vigil_cancel_token *token, const void *created,
                    vigil_promise **promise)
{
    int error = 0;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm != NULL && promise == NULL)
        error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    else if (realm != NULL)
        error = vg_op_may_begin(realm, token);
    vigil_promise *made = error == 0 ? vg_promise_new(realm, VG_KIND_DERIVED, 2, 0, created) : NULL;
    if (made == NULL) {
        shared_free_waits(with);
        return error != 0 ? error : vg_why(-ENOMEM, "no memory for another promise");
    }
    const int answer = with->kind->attempt != NULL ? with->kind->attempt(with) : VG_CHANNEL_WAIT;
    if (answer != VG_CHANNEL_WAIT) { /* nothing to wait for: no operation */
        shared_free_waits(with);
        *promise = made;
        vg_promise_resolve(made, shared_value(with, answer));
        vigil_promise_unref(made);
        return 0;
    }
    vg_op *op = vg_op_new(realm, token, NULL, &error);
    vg_shared *wait = op != NULL ? vg_realm_alloc(realm, VG_SLAB_SHARED) : NULL;
    if (wait != NULL) {
        op->promise = made;
        error = shared_wait_for(wait, with, op, token, promise);
        if (error == 0)
            return 0;
        vg_realm_free(realm, VG_SLAB_SHARED, wait); /* the operation is discarded, and the promise with it */
    } else {
        if (op != NULL) {
            vg_op_discard(op);
            error = vg_why(-ENOMEM, "no memory for another operation");
        }
        vigil_promise_unref(made);
        vigil_promise_unref(made);
    }
    shared_free_waits(with);
    return error;
}
