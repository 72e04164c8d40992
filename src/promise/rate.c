/* SPDX-License-Identifier: MIT */
/*
 * rate.c - units of a rate as a promise: a timer for the instant at which they come.
 */
#include "share/rate.h"

#include "base/clock.h"
#include "base/why.h"
#include "op.h"
#include "promise.h"

static void rate_came(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vg_op *op = arg;
    (void)loop;
    (void)timer;
    op->timer.id = 0;
    op->stop = NULL;
    vg_op_finish(op, vigil_value_none());
}

/* Owner. It ends before its instant. */
static void rate_stop(vg_op *op)
{
    vg_rate_put_back(op->above[0], (uint64_t)(uintptr_t)op->above[1]);
}

int vigil_promise_rate(vigil_loop *loop, vigil_rate *rate, uint64_t units, vigil_cancel_token *token,
                       vigil_promise **promise)
{
    int error = vg_rate_check(rate, units);
    vg_realm *realm = error == 0 ? vg_realm_of_owner(loop, &error) : NULL;
    if (realm == NULL)
        return error;
    if (promise == NULL)
        return vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    vg_op *op = vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    uint64_t wait_ns = 0;
    (void)vg_rate_reserve(rate, units, vg_now_ns(), UINT64_MAX, &wait_ns);
    if (wait_ns == 0) {
        *promise = op->promise;
        vg_op_finish(op, vigil_value_none());
        return 0;
    }
    op->above[0] = rate;
    op->above[1] = (void *)(uintptr_t)units;
    op->stop = rate_stop;
    error = vigil_timer_start(loop, (int64_t)(wait_ns < INT64_MAX ? wait_ns : INT64_MAX), rate_came, op, &op->timer);
    if (error != 0) {
        vg_op_discard(op);
        return error;
    }
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}
