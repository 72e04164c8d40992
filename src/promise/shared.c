/* SPDX-License-Identifier: MIT */
/*
 * shared.c - locks, units and messages as promises. The sleeper of such a wait lies in memory of its own, with two
 * references: the operation's, and that of the waker, who posts the end to the loop. What was given to an operation
 * that has ended with its loop is put back.
 */
#include "shared.h"

#include "base/my_thread.h"
#include "base/why.h"
#include "loop/post.h"
#include "promise.h"
#include "share/channel.h"
#include "share/mutex.h"
#include "share/semaphore.h"

#include <stdlib.h>
#include <vigil/channel.h>
#include <vigil/sync.h>

typedef struct shared_wait {
    vigil_post post; /* first; the waker's */
    _Atomic uint32_t refs;
    vg_op *op;   /* owner; NULL: it is over */
    vg_op *kept; /* a reference: realm and loop stay as long */
    vg_realm *realm;
    vg_sleeper sleeper;
    vg_channel_wait channel; /* of a channel */
} shared_wait;

static shared_wait *wait_of_op(const vg_op *op)
{
    return (shared_wait *)(uintptr_t)op->id;
}

static void shared_unref(shared_wait *wait)
{
    /* release: our last touch; acquire: the other's, if we free it */
    if (atomic_fetch_sub_explicit(&wait->refs, 1, memory_order_acq_rel) != 1)
        return;
    vg_op_unref(wait->kept);
    free(wait);
}

/* Nobody is there to use what was given. A message that was received is lost with its receiver. */
static void shared_undo(shared_wait *wait)
{
    /* relaxed: the end was acquired by the post, or is our own */
    if (atomic_load_explicit(&wait->sleeper.word, memory_order_relaxed) == VG_SLEEP_RETRY)
        vg_channel_pass_on(&wait->channel);
    else if (wait->sleeper.kind == VG_SHARE_MUTEX)
        (void)vigil_mutex_unlock(wait->sleeper.object);
    else if (wait->sleeper.kind == VG_SHARE_SEMAPHORE)
        (void)vigil_semaphore_post(wait->sleeper.object, wait->sleeper.amount);
}

static void shared_leave_list(shared_wait *wait)
{
    if (wait->sleeper.kind == VG_SHARE_MUTEX)
        vg_share_lock_left(wait->sleeper.object, &wait->sleeper);
    else if (wait->sleeper.kind == VG_SHARE_SEMAPHORE)
        vg_share_acquire_left(wait->sleeper.object, &wait->sleeper);
    else
        vg_channel_leave(&wait->channel, 1);
}

/* Try, or join the list. VG_CHANNEL_WAIT: a waker will notify. */
static int shared_try(shared_wait *wait, bool front)
{
    vg_channel_wait *channel = &wait->channel;
    if (wait->sleeper.kind == VG_SHARE_MUTEX)
        return vg_share_lock_async(wait->sleeper.object, &wait->sleeper) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
    if (wait->sleeper.kind == VG_SHARE_SEMAPHORE)
        return vg_share_acquire_async(wait->sleeper.object, &wait->sleeper) ? VG_CHANNEL_DONE : VG_CHANNEL_WAIT;
    for (;;) {
        const int answer = vg_channel_try(channel->channel, channel->send, channel->receive);
        if (answer != VG_CHANNEL_WAIT)
            return answer;
        if (!vg_channel_join(channel, 1, &wait->sleeper, front) || !vg_sleeper_leave(&wait->sleeper, VG_SLEEP_RETRY))
            return VG_CHANNEL_WAIT;
        vg_channel_leave(channel, 1);
    }
}

/* Owner. A waker has ended the sleeper. */
static void shared_delivered(vigil_post *post)
{
    shared_wait *wait = (shared_wait *)(void *)post;
    vg_op *op = wait->op;
    if (op == NULL) {
        shared_undo(wait);
        shared_unref(wait);
        return;
    }
    int answer = VG_CHANNEL_DONE;
    const uint32_t end = atomic_load_explicit(&wait->sleeper.word, memory_order_acquire); /* Z2: pairs with Z1 */
    if (end == VG_SLEEP_CLOSED)
        answer = VG_CHANNEL_CLOSED;
    else if (end == VG_SLEEP_RETRY)
        answer = shared_try(wait, true);
    if (answer == VG_CHANNEL_WAIT) { /* the waker's reference is the next waker's */
        /* An abort while the post was in flight came to nobody. */
        if (vigil_cancel_status(op->token) != 0 && !vg_op_was_given(op))
            vg_op_finish(op, vigil_value_error(vigil_cancel_status(op->token)));
        return;
    }
    vg_op_finish(op, answer == 0 ? vigil_value_none() : vigil_value_error(answer)); /* lets go of the wait */
    shared_unref(wait);
}

/* Any thread. */
static void shared_notify(vg_sleeper *sleeper)
{
    shared_wait *wait = vg_container_of(sleeper, shared_wait, sleeper);
    if (vg_on_owner(wait->realm)) {
        shared_delivered(&wait->post);
    } else if (vigil_loop_post_internal(wait->realm->loop, &wait->post) != 0) {
        shared_undo(wait); /* the loop ends, and with it the operation */
        shared_unref(wait);
    }
}

/* Owner. The operation is over. */
static void shared_stop(vg_op *op)
{
    shared_wait *wait = wait_of_op(op);
    wait->op = NULL;
    if (vg_sleeper_leave(&wait->sleeper, VG_SLEEP_CANCELLED) ||
        /* relaxed: our own, by vg_op_was_given */
        atomic_load_explicit(&wait->sleeper.word, memory_order_relaxed) == VG_SLEEP_CANCELLED) {
        shared_leave_list(wait);
        shared_unref(wait); /* no waker will come */
    }
    shared_unref(wait);
}

bool vg_op_was_given(vg_op *op)
{
    return op->stop == shared_stop && !vg_sleeper_leave(&wait_of_op(op)->sleeper, VG_SLEEP_CANCELLED);
}

static int shared_begin(vigil_loop *loop, shared_wait *with, vigil_cancel_token *token, const void *created,
                        vigil_promise **promise)
{
    int error = 0;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (promise == NULL)
        return vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    vg_op *op = vg_op_new(realm, token, created, &error);
    shared_wait *wait = op != NULL ? malloc(sizeof *wait) : NULL;
    if (op == NULL)
        return error;
    if (wait == NULL) {
        vg_op_discard(op);
        return vg_why(-ENOMEM, "no memory for another operation");
    }
    vigil_post_init(&wait->post, shared_delivered, shared_delivered);
    atomic_init(&wait->refs, 2U);
    wait->op = op;
    wait->kept = op;
    vg_op_ref(op);
    wait->realm = realm;
    wait->channel = with->channel;
    vg_sleeper_init(&wait->sleeper, with->sleeper.kind, with->sleeper.object);
    wait->sleeper.amount = with->sleeper.amount;
    wait->sleeper.owner = VG_OWNER_ASYNC | vg_my_thread();
    wait->sleeper.notify = shared_notify;
    /* Armed before it waits: a token that is aborted now finishes an operation that has not begun. */
    error = vg_op_arm(op, token, VIGIL_FOREVER, promise);
    if (error != 0) {
        vg_op_unref(op);
        free(wait);
        return error;
    }
    error = vg_loop_keep(loop);
    op->kept = error == 0;
    op->id = (uint64_t)(uintptr_t)wait;
    op->stop = shared_stop;
    const int answer = shared_try(wait, false);
    if (answer != VG_CHANNEL_WAIT) {
        /* Done at once: no waker has the sleeper, and the stop takes both references. relaxed: as before the join */
        atomic_store_explicit(&wait->sleeper.word, VG_SLEEP_WAITING, memory_order_relaxed);
        vg_op_finish(op, answer == 0 ? vigil_value_none() : vigil_value_error(answer));
    }
    return 0;
}

int vigil_promise_lock(vigil_loop *loop, vigil_mutex *mutex, vigil_cancel_token *token, vigil_promise **promise)
{
    if (mutex == NULL)
        return VG_WHY_NULL("mutex");
    shared_wait with = {.sleeper = {.kind = VG_SHARE_MUTEX, .object = mutex}};
    return shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

int vigil_promise_acquire(vigil_loop *loop, vigil_semaphore *semaphore, uint64_t units, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    if (semaphore == NULL)
        return VG_WHY_NULL("semaphore");
    if (units > semaphore->vg_limit)
        return vg_why(-EINVAL, "units is more than the limit of the semaphore");
    shared_wait with = {.sleeper = {.kind = VG_SHARE_SEMAPHORE, .object = semaphore, .amount = units}};
    return shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

int vigil_promise_send(vigil_loop *loop, vigil_channel *channel, const void *element, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    if (channel == NULL || element == NULL)
        return channel == NULL ? VG_WHY_NULL("channel") : VG_WHY_NULL("element");
    shared_wait with = {.sleeper = {.kind = VG_SHARE_CHANNEL, .object = channel},
                        .channel = {.channel = channel, .send = element}};
    return shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}

int vigil_promise_receive(vigil_loop *loop, vigil_channel *channel, void *element, vigil_cancel_token *token,
                          vigil_promise **promise)
{
    if (channel == NULL || element == NULL)
        return channel == NULL ? VG_WHY_NULL("channel") : VG_WHY_NULL("element");
    shared_wait with = {.sleeper = {.kind = VG_SHARE_CHANNEL, .object = channel},
                        .channel = {.channel = channel, .receive = element}};
    return shared_begin(loop, &with, token, __builtin_return_address(0), promise);
}
