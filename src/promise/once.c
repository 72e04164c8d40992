/* SPDX-License-Identifier: MIT */
/*
 * once.c - an asynchronous call that happens once: an asynchronous function that waits for its turn (shared_counts.c).
 */
#include "base/why.h"
#include "share/once.h"
#include "shared.h"

#include <vigil/async.h>

typedef struct once_frame {
    vigil_frame frame; /* first */
    vigil_once *once;
    vigil_promise_start_fn start;
    void *arg;
    bool mine;
    bool happened;
} once_frame;

static void once_steps(vigil_frame *frame)
{
    once_frame *self = (once_frame *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vg_promise_once_enter(frame->loop, self->once, frame->token, VIGIL_INTO(frame)));
    self->mine = frame->value->integer == 1;
    if (self->mine) {
        VIGIL_AWAIT(frame, self->start(frame->loop, self->arg, frame->token, VIGIL_INTO(frame)));
        self->happened = true;
    }
    VIGIL_ASYNC_OUT(frame);
    if (self->mine)
        vg_share_once_end(self->once, !self->happened);
    VIGIL_ASYNC_END(frame);
}

int vigil_promise_once(vigil_loop *loop, vigil_once *once, vigil_promise_start_fn start, void *arg,
                       vigil_cancel_token *token, vigil_promise **promise)
{
    if (once == NULL || start == NULL || promise == NULL)
        return once == NULL ? VG_WHY_NULL("once") : start == NULL ? VG_WHY_NULL("start") : VG_WHY_NULL("promise");
    once_frame *self = vigil_frame_alloc(sizeof *self, loop, token);
    if (self == NULL)
        return vg_why(-ENOMEM, "no memory for another call, or loop is NULL");
    self->once = once;
    self->start = start;
    self->arg = arg;
    return vigil_frame_start(&self->frame, once_steps, promise);
}
