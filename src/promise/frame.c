/* SPDX-License-Identifier: MIT */
/*
 * frame.c - asynchronous functions in plain C (vigil/async.h): a frame, and a function of steps.
 *
 * A frame is inside its steps (run_frame), waiting (its reaction is on a promise), or ending, so it has one owner. The
 * reaction runs or is cancelled exactly once.
 *
 *     F1  vg_out_reached changes once, at OUT. Jumps and raises go to OUT only before: the part behind it begins once.
 *     F2  A raise behind OUT ends the call, and the rest of the clean-up is lost.
 *     F3  Steps never free their own frame: run_frame settles and frees.
 *
 * What was awaited is held until the next call is made, whose arguments may use frame->value.
 */
#include "frame.h"

#include "base/why.h"
#include "base/container.h"
#include "base/raise.h"
#include "loop/guard.h"
#include "promise.h"
#include "shared.h"

#include <vigil/async.h>
#include <vigil/channel.h>

#include <stdlib.h>

enum {
    FRAME_TURNS = 64
};

void *vigil_frame_alloc(size_t size, vigil_loop *loop, vigil_cancel_token *token)
{
    if (size < sizeof(vigil_frame) || loop == NULL)
        return NULL;
    vigil_frame *frame = calloc(1, size);
    if (frame == NULL)
        return NULL;
    frame->loop = loop;
    frame->token = vigil_cancel_ref(token);
    frame->value = &frame->vg_nothing;
    return frame;
}

void vigil_frame_free(vigil_frame *frame)
{
    if (frame == NULL)
        return;
    vigil_promise_unref(frame->vg_next);
    vigil_promise_unref(frame->vg_awaited);
    vigil_promise_unref(frame->vg_reason);
    vigil_promise_unref(frame->vg_promise);
    vigil_value_destroy(&frame->vg_result);
    vigil_cancel_unref(frame->token);
    free(frame);
}

/* The reason, unless somebody took it. */
static int rejection_status(vigil_promise *rejected)
{
    vigil_value reason = vigil_value_none();
    (void)vigil_promise_result(rejected, &reason);
    return reason.status;
}

static void settle_frame(vigil_frame *frame)
{
    vigil_value with = frame->vg_result;
    frame->vg_result = vigil_value_none();
    if (frame->error < 0) {
        vigil_value_destroy(&with);
        with = vigil_value_error(frame->error);
        if (frame->vg_reason != NULL &&
            rejection_status(frame->vg_reason) == frame->error) { /* it says more: as that one does */
            with = vigil_value_promise(frame->vg_reason);
            frame->vg_reason = NULL;
        }
    }
    /* Refused if the end of the loop was first: then the value is ours. */
    if (vigil_promise_resolve(frame->vg_promise, with) < 0)
        vigil_value_destroy(&with);
}

/* False: the steps were left by vigil_raise. */
static __attribute__((noinline)) bool call_frame_steps(vigil_frame *frame, int *raised)
{
    vg_raise_frame way_out;
    vg_raise_push(&way_out);
    bool returned = VG_RAISE_LAND(&way_out) == 0;
    if (returned)
        frame->vg_steps(frame);
    else
        *raised = way_out.status;
    vg_raise_pop(&way_out);
    return returned;
}

static void run_frame(vigil_frame *frame)
{
    int raised = 0;
    while (!call_frame_steps(frame, &raised)) {
        frame->error = raised;
        frame->vg_at = frame->vg_out;
        vigil_promise_unref(frame->vg_next); /* of a call that has made its promise and raised then */
        frame->vg_next = NULL;
        if (frame->vg_out_reached || frame->vg_out == NULL) { /* F2; or it has not even begun */
            frame->vg_over = true;
            break;
        }
    }
    if (!frame->vg_over)
        return;
    settle_frame(frame);
    vigil_frame_free(frame);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static vigil_frame *frame_of(vigil_reaction *reaction)
{
    return vg_container_of(reaction, vigil_frame, vg_reaction);
}

static void on_settled(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    vigil_frame *frame = frame_of(reaction);
    frame->value = value;
    frame->status = 0;
    if (state == VIGIL_REJECTED)
        frame->status =
            value->status < 0 ? value->status : -EIO; /* -EIO: the reason was moved away by another handler */
    run_frame(frame);
}

/* The loop was closed, or nobody can settle the promise. What has come already is not lost: a message, a connection. */
static void on_cancelled(vigil_reaction *reaction)
{
    vigil_frame *frame = frame_of(reaction);
    if (vg_promise_state(frame->vg_awaited) == VIGIL_FULFILLED) {
        on_settled(reaction, VIGIL_FULFILLED, vg_promise_value(frame->vg_awaited));
        return;
    }
    frame->value = &frame->vg_nothing;
    frame->status = -ECANCELED;
    run_frame(frame);
}

static bool nothing_to_wait_for(vigil_frame *frame, int status)
{
    frame->value = &frame->vg_nothing;
    frame->status = status;
    return false;
}

bool vigil_frame_may(vigil_frame *frame)
{
    frame->status = frame->vg_out_reached ? 0 : vigil_cancel_status(frame->token);
    return frame->status == 0;
}

int vg_frame_refused(const vigil_frame *frame, int rc)
{
    const int status = rc == -ECANCELED && !frame->vg_out_reached ? vigil_cancel_status(frame->token) : 0;
    return status != 0 ? status : rc;
}

bool vigil_frame_wait(vigil_frame *frame, int rc)
{
    vigil_promise *next = frame->vg_next;
    frame->vg_next = NULL;
    vigil_promise *before = frame->vg_awaited;
    frame->vg_awaited = next;
    frame->value = &frame->vg_nothing;
    vigil_promise_unref(before);
    if (rc < 0)
        return nothing_to_wait_for(frame, vg_frame_refused(frame, rc));
    if (next == NULL)
        return nothing_to_wait_for(frame, vg_why(-EINVAL, "the awaited call left its promise elsewhere; give it "
                                                          "VIGIL_INTO(frame)")); /* the call was not given VIGIL_INTO */
    frame->vg_reaction.run = on_settled;
    frame->vg_reaction.cancel = on_cancelled;
    rc = vigil_promise_reaction_add(next, &frame->vg_reaction);
    return rc < 0 ? nothing_to_wait_for(frame, rc) : true;
}

void vg_frame_release(vigil_frame *frame)
{
    frame->value = &frame->vg_nothing;
    vigil_promise_unref(frame->vg_awaited);
    frame->vg_awaited = NULL;
}

void vg_frame_resume(vigil_frame *frame, int status, vigil_value *value)
{
    frame->value = value != NULL ? value : &frame->vg_nothing;
    frame->status = status;
    run_frame(frame);
}

/* Whether the next message may pass without an await. */
static bool frame_may_pass(vigil_frame *frame)
{
    frame->value = &frame->vg_nothing;
    return ++frame->vg_turns % FRAME_TURNS != 0;
}

static int pass_or_wait(vigil_frame *frame, const vg_channel_wait *message, int answer, const void *where)
{
    if (answer != -ETIMEDOUT)
        return answer;
    const int error = vg_promise_message(frame->loop, message, frame->token, where, &frame->vg_next);
    return error == 0 ? 1 : vg_frame_refused(frame, error);
}

int vigil_frame_send(vigil_frame *frame, vigil_channel *channel, const void *element)
{
    if (!vigil_frame_may(frame))
        return frame->status;
    const vg_channel_wait message = {.channel = channel, .send = element};
    if (frame_may_pass(frame))
        return pass_or_wait(frame, &message, vigil_channel_send(channel, element, 0, NULL),
                            __builtin_return_address(0));
    const int error = vigil_promise_send(frame->loop, channel, element, frame->token, &frame->vg_next);
    return error == 0 ? 1 : vg_frame_refused(frame, error);
}

int vigil_frame_receive(vigil_frame *frame, vigil_channel *channel, void *element)
{
    if (!vigil_frame_may(frame))
        return frame->status;
    const vg_channel_wait message = {.channel = channel, .receive = element};
    if (frame_may_pass(frame))
        return pass_or_wait(frame, &message, vigil_channel_receive(channel, 0, NULL, element),
                            __builtin_return_address(0));
    const int error = vigil_promise_receive(frame->loop, channel, element, frame->token, &frame->vg_next);
    return error == 0 ? 1 : vg_frame_refused(frame, error);
}

int vigil_frame_borrow(vigil_frame *frame, vigil_promise *promise)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    frame->vg_next = vigil_promise_ref(promise);
    return 0;
}

bool vigil_frame_failed(vigil_frame *frame, int status)
{
    if (frame->vg_out_reached)
        return false; /* behind OUT the steps decide about frame->error themselves */
    frame->error = status < 0 ? status : -EIO;
    /* Does the failed await end the call, with more than a status? */
    if (status == frame->status && vigil_value_is_error(frame->value) && frame->value->pointer != NULL)
        frame->vg_reason = vigil_promise_ref(frame->vg_awaited);
    return true;
}

bool vigil_frame_returned(vigil_frame *frame, vigil_value result)
{
    vigil_value_destroy(&frame->vg_result);
    frame->vg_result = result;
    return !frame->vg_out_reached;
}

/* ---- beginning
   ----------------------------------------------------------------------------------------------------- */

int vigil_frame_start(vigil_frame *frame, vigil_frame_fn steps, vigil_promise **promise)
{
    if (frame == NULL)
        return VG_WHY_NULL("frame");
    int rc = vg_guard_owner(frame->loop);
    if (rc == 0 && steps == NULL)
        rc = vg_why(-EINVAL, "steps is NULL");
    if (rc == 0)
        rc = vigil_promise_create(&frame->vg_promise, frame->loop);
    if (rc < 0) {
        vigil_frame_free(frame);
        return rc;
    }
    if (promise != NULL)
        *promise = vigil_promise_ref(frame->vg_promise);
    frame->vg_steps = steps;
    run_frame(frame);
    return 0;
}
