/* SPDX-License-Identifier: MIT */
/* Messages between asynchronous functions of one loop. */
#include "harness.h"

#include "../peer/peer.h"

#include <vigil/async.h>
#include <vigil/channel.h>

static vigil_loop *loop;
static vigil_channel *channel;
static uint64_t total;
static unsigned pairs;
static long messages;

struct worker {
    vigil_frame frame; /* first */
    long at;
    uint64_t message, sum;
};

static void send_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->at = 1; self->at <= messages; self->at++) {
        self->message = (uint64_t)self->at;
        VIGIL_AWAIT_SEND(frame, channel, &self->message);
    }
    VIGIL_ASYNC_OUT(frame);
    bench_must(frame->error == 0, "a send");
    VIGIL_ASYNC_END(frame);
}

static void receive_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->at = 0; self->at < messages; self->at++) {
        VIGIL_AWAIT_RECEIVE(frame, channel, &self->message);
        self->sum += self->message;
    }
    VIGIL_ASYNC_OUT(frame);
    bench_must(frame->error == 0, "a receive");
    total += self->sum;
    VIGIL_ASYNC_END(frame);
}

static void start_all(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2 * pairs; i++) {
        struct worker *self = vigil_frame_alloc(sizeof *self, loop, NULL);
        bench_must(self != NULL && vigil_frame_start(&self->frame, i % 2 == 0 ? send_steps : receive_steps, NULL) == 0,
                   "an asynchronous function");
    }
}

double share_green(size_t capacity, unsigned so_many, long each);

double share_green(size_t capacity, unsigned so_many, long each)
{
    pairs = so_many;
    messages = each;
    bench_must(vigil_loop_create(&loop, NULL) == 0 && vigil_channel_create(&channel, sizeof(uint64_t), capacity) == 0,
               "a loop and a channel");
    bench_must(vigil_loop_call(loop, start_all, NULL, NULL) == 0, "a post");
    const uint64_t begin = bench_now();
    bench_must(vigil_loop_run(loop, VIGIL_RUN) >= 0, "a run");
    const double took = (double)(bench_now() - begin);
    bench_must(total == (uint64_t)each * (uint64_t)(each + 1) / 2 * so_many, "each message arrives once");
    return took;
}
