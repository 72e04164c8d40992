/* SPDX-License-Identifier: MIT */
/*
 * retry.c - try again after a while: an asynchronous function over attempts and sleeps; and deadlines, which are a
 * timeout and a token in one.
 */
#include "base/clock.h"
#include "base/options.h"
#include "base/why.h"

#include <stddef.h>
#include <vigil/async.h>

typedef struct retry_frame {
    vigil_frame frame; /* first */
    vigil_retry_options options;
    vigil_promise_start_fn start;
    void *arg;
    vigil_promise *attempt; /* a reference, or NULL */
    unsigned number;
    int64_t delay_ns;
    uint64_t dice;
} retry_frame;

/* The delay, shortened by a random part of at most options.jitter percent. */
static int64_t retry_delay(retry_frame *self)
{
    uint64_t x = self->dice;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    self->dice = x;
    const int64_t part = self->delay_ns / 100 * (int64_t)self->options.jitter;
    const int64_t delay = self->delay_ns - (part > 0 ? (int64_t)(x >> 1) % (part + 1) : 0);
    const int64_t most = self->options.max_delay_ns;
    self->delay_ns = self->delay_ns > most / 2 ? most : self->delay_ns * 2;
    return delay;
}

static bool retry_again(const retry_frame *self, int status)
{
    if (self->number >= self->options.attempts || vigil_cancel_status(self->frame.token) != 0)
        return false;
    return self->options.again == NULL || self->options.again(status, self->arg);
}

static void retry_steps(vigil_frame *frame)
{
    retry_frame *self = (retry_frame *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        self->number++;
        frame->status = self->start(frame->loop, self->arg, frame->token, &self->attempt);
        if (frame->status >= 0) {
            VIGIL_TRY_AWAIT(frame, vigil_frame_borrow(frame, self->attempt));
            if (frame->status >= 0 || !retry_again(self, frame->status)) {
                vigil_promise *last = self->attempt;
                self->attempt = NULL;
                VIGIL_RETURN(frame, vigil_value_promise(last)); /* settled as the attempt is, reason and all */
            }
            vigil_promise_unref(self->attempt);
            self->attempt = NULL;
        } else if (!retry_again(self, frame->status)) {
            VIGIL_THROW(frame, frame->status);
        }
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, retry_delay(self), frame->token, VIGIL_INTO(frame)));
    }
    VIGIL_ASYNC_OUT(frame);
    vigil_promise_unref(self->attempt);
    self->attempt = NULL;
    VIGIL_ASYNC_END(frame);
}

int vigil_promise_retry(vigil_loop *loop, vigil_promise_start_fn start, void *arg, const vigil_retry_options *options,
                        vigil_promise **promise)
{
    if (start == NULL || promise == NULL)
        return start == NULL ? VG_WHY_NULL("start") : VG_WHY_NULL("promise");
    vigil_retry_options taken = VIGIL_RETRY_OPTIONS_INIT;
    int error = 0;
    if (options != NULL)
        error = vg_options_take(&taken, sizeof taken, options, options->size,
                                offsetof(vigil_retry_options, again) + sizeof taken.again, "options");
    if (error != 0)
        return error;
    if (taken.attempts == 0 || taken.jitter > 100)
        return vg_why(-EINVAL,
                      taken.attempts == 0 ? "options->attempts is 0" : "options->jitter is more than 100 percent");
    if (taken.delay_ns < 0 || taken.max_delay_ns < 0)
        return vg_why(-EINVAL, "options->delay_ns and options->max_delay_ns are 0 or more");
    retry_frame *self = vigil_frame_alloc(sizeof *self, loop, taken.token);
    if (self == NULL)
        return vg_why(-ENOMEM, "no memory for another call, or loop is NULL");
    self->options = taken;
    self->start = start;
    self->arg = arg;
    self->delay_ns = taken.delay_ns < taken.max_delay_ns ? taken.delay_ns : taken.max_delay_ns;
    self->dice = vg_ticks() * UINT64_C(0x9e3779b97f4a7c15) | 1;
    return vigil_frame_start(&self->frame, retry_steps, promise);
}

int vigil_cancel_create_deadline(vigil_cancel_source **source, vigil_loop *loop, int64_t timeout_ns,
                                 vigil_cancel_token *token)
{
    if (token == NULL)
        return vigil_cancel_create_timeout(source, loop, timeout_ns);
    vigil_cancel_source *timeout = NULL;
    int error = source == NULL ? VG_WHY_NULL("source") : vigil_cancel_create_timeout(&timeout, loop, timeout_ns);
    if (error != 0)
        return error;
    vigil_cancel_token *both[] = {token, vigil_cancel_token_of(timeout)};
    error = vigil_cancel_create_any(source, both, 2);
    vigil_cancel_destroy(timeout); /* the new source keeps its token */
    return error;
}
