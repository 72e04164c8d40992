/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - a promise resolved with another promise or a thenable (LIFE.md).
 */
#include "adopt.h"
#include "promise.h"
#include "then.h"

#include "base/raise.h"
#include "loop/sleep.h"

/* The other one is settled. */
static void run_adopted(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_promise *other = promise->link.source;
    post->vg_reserved = 0;
    if ((promise->flags & VG_FORCED) == 0)
        vg_promise_pass_on(promise, other);
    vg_promise_unhold(promise);
    vg_promise_unhold(other);
}

/* The loop is closed while the reaction is queued, or the other is gone. */
static void cancel_adopted(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_promise *other = promise->link.source;
    post->vg_reserved = 0;
    if (other == NULL) {
        vg_promise_orphan(promise);
        return;
    }
    run_adopted(post); /* no handler of anybody's runs by it */
}

static void await_other(vigil_promise *promise, vigil_promise *other)
{
    promise->flags |= VG_ADOPTS;
    promise->link.post.run = run_adopted;
    promise->link.post.cancel = cancel_adopted;
    vg_promise_subscribe(other, &promise->link);
}

static void adopt_job(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_promise *other = promise->link.source;
    await_other(promise, other);
    vigil_promise_unref(other); /* if nobody can settle it, ours may be gone now */
}

void vg_promise_adopt(vigil_promise *promise, vigil_promise *other)
{
    promise->flags |= VG_WAITING;
    promise->link.source = other;
    promise->link.post.run = adopt_job;
    promise->link.post.cancel = adopt_job;
    vg_promise_hold(promise);
    vg_promise_queue(promise->realm, &promise->link);
    vg_loop_stir(promise->realm->loop);
}

/* ---- thenables --------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int call_thenable_then(vigil_thenable *thenable, vigil_promise *inner)
{
    vg_raise_frame frame;
    int status;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        thenable->then(thenable, inner);
        status = 0;
    } else {
        status = frame.status;
    }
    vg_raise_pop(&frame);
    return status;
}

static void thenable_job(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_value value = promise->value;
    vigil_promise *inner = vg_promise_new(promise->realm, VG_KIND_ROOT, 2, 0, promise->created);
    if (inner == NULL) {
        vg_promise_resolve(promise, vigil_value_error(-ENOMEM));
        vg_promise_unhold(promise);
        vigil_value_destroy(&value);
        return;
    }
    post->vg_reserved = VG_DIRECT;
    await_other(promise, inner);
    int status = call_thenable_then(value.thenable, inner);
    if (status != 0) {
        (void)vigil_promise_reject(inner, vigil_value_error(status));
        vigil_promise_unref(inner); /* the reference that then() was given */
    }
    vigil_promise_unref(inner);
    vigil_value_destroy(&value);
}

static void cancel_thenable(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_value value = promise->value;
    vg_promise_resolve(promise, vigil_value_error(-ECANCELED));
    vg_promise_unhold(promise);
    vigil_value_destroy(&value);
}

void vg_promise_call_thenable(vigil_promise *promise, vigil_value value)
{
    promise->flags = (uint16_t)((promise->flags | VG_WAITING) & ~VG_HANDLERS);
    promise->value = value;
    promise->link.post.run = thenable_job;
    promise->link.post.cancel = cancel_thenable;
    vg_promise_hold(promise);
    vg_promise_queue(promise->realm, &promise->link);
    vg_loop_stir(promise->realm->loop);
}
