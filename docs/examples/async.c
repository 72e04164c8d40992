/* SPDX-License-Identifier: MIT */
/* Examples of vigil/async.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/async.h>
#include <vigil/channel.h>

/*
 * vigil_frame_alloc: make the frame of an asynchronous function
 * vigil_frame_start: start an asynchronous function
 */
struct nap {
    vigil_frame frame; /* first; then what must survive a wait */
    int left;
};

static void nap_steps(vigil_frame *frame)
{
    struct nap *self = (struct nap *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left > 0) {
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000000,
                                               frame->token,
                                               VIGIL_INTO(frame)));
        self->left--;
    }
    VIGIL_RETURN(frame, vigil_value_int(42));
    VIGIL_ASYNC_OUT(frame); /* every way leads here, once */
    VIGIL_ASYNC_END(frame);
}

static int nap(vigil_loop *loop, int times, vigil_promise **promise)
{
    struct nap *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    if (self == NULL)
        return -ENOMEM;
    self->left = times;
    return vigil_frame_start(&self->frame, nap_steps, promise);
}

/* vigil_frame_free: give back a frame that will not be started */
static int nap_or_not(vigil_loop *loop, int times,
                      vigil_promise **promise)
{
    struct nap *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    if (self == NULL)
        return -ENOMEM;
    if (times < 0) {
        vigil_frame_free(&self->frame);
        return -EINVAL;
    }
    self->left = times;
    return vigil_frame_start(&self->frame, nap_steps, promise);
}

/*
 * vigil_frame_may: ask whether an await may call (for the macros)
 * vigil_frame_wait: wait for the awaited promise (for the macros)
 * vigil_frame_failed: note how the call fails (for the macros)
 * vigil_frame_returned: note what the call returns (for the macros)
 */
static void one_nap_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    /* VIGIL_AWAIT calls vigil_frame_may, then vigil_frame_wait, and
       after a rejection vigil_frame_failed. */
    VIGIL_AWAIT(frame, nap(frame->loop, 1, VIGIL_INTO(frame)));
    /* VIGIL_RETURN calls vigil_frame_returned. */
    VIGIL_RETURN(frame, vigil_value_int(frame->value->integer));
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

/* vigil_frame_borrow: await a promise that you keep (for the macros) */
struct after {
    vigil_frame frame;
    vigil_promise *first;
};

static void after_steps(vigil_frame *frame)
{
    struct after *self = (struct after *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    /* VIGIL_AWAIT_PROMISE calls vigil_frame_borrow. */
    VIGIL_AWAIT_PROMISE(frame, self->first);
    VIGIL_ASYNC_OUT(frame);
    vigil_promise_unref(self->first); /* it is still ours */
    VIGIL_ASYNC_END(frame);
}

/*
 * vigil_frame_send: send at once, or begin to (for the macros)
 * vigil_frame_receive: receive at once, or begin to (for the macros)
 */
struct echo {
    vigil_frame frame;
    vigil_channel *channel;
    int number;
};

static void echo_steps(vigil_frame *frame)
{
    struct echo *self = (struct echo *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    self->number = 7;
    /* VIGIL_AWAIT_SEND calls vigil_frame_send. */
    VIGIL_AWAIT_SEND(frame, self->channel, &self->number);
    self->number = 0;
    /* VIGIL_AWAIT_RECEIVE calls vigil_frame_receive. */
    VIGIL_AWAIT_RECEIVE(frame, self->channel, &self->number);
    assert(self->number == 7);
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static void echo_once(vigil_loop *loop, vigil_channel *channel)
{
    struct echo *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    assert(self != NULL);
    self->channel = channel;
    assert(vigil_frame_start(&self->frame, echo_steps, NULL) == 0);
}

/* ---- all of them ---- */

/* vigil_promise_retry: try again, with growing delays */
static int tries;

static int ask_server(vigil_loop *loop, void *arg,
                      vigil_cancel_token *token,
                      vigil_promise **promise)
{
    (void)arg;
    if (++tries < 3)
        return -EHOSTUNREACH; /* or a promise that is rejected */
    return vigil_promise_sleep(loop, 1000, token, promise);
}

static void ask_until_it_answers(void *loop)
{
    vigil_retry_options options = VIGIL_RETRY_OPTIONS_INIT;
    options.delay_ns = 1000000; /* 1 ms, 2 ms, ... less a jitter */
    vigil_promise *promise;
    if (vigil_promise_retry(loop, ask_server, NULL, &options,
                            &promise) == 0)
        vigil_promise_unref(promise);
}

static void ask_on_a_loop(void)
{
    vigil_loop *loop;
    if (vigil_loop_create(&loop, NULL) < 0)
        return;
    vigil_loop_call(loop, ask_until_it_answers, NULL, loop);
    vigil_loop_run(loop, VIGIL_RUN);
    vigil_loop_destroy(loop);
    assert(tries == 3);
}

int main(void)
{
    ask_on_a_loop();
    vigil_loop *loop;
    vigil_promise *first, *second;
    vigil_value value;
    if (vigil_loop_create(&loop, NULL) < 0)
        return 1;
    assert(nap_or_not(loop, -1, &first) == -EINVAL);
    assert(nap(loop, 3, &first) == 0);
    struct after *after = vigil_frame_alloc(sizeof *after, loop, NULL);
    assert(after != NULL);
    after->first = vigil_promise_ref(first);
    assert(vigil_frame_start(&after->frame, after_steps, NULL) == 0);
    vigil_frame *one = vigil_frame_alloc(sizeof *one, loop, NULL);
    assert(one != NULL);
    assert(vigil_frame_start(one, one_nap_steps, &second) == 0);
    vigil_channel *channel;
    assert(vigil_channel_create(&channel, sizeof(int), 1) == 0);
    echo_once(loop, channel);
    vigil_loop_run(loop, VIGIL_RUN);
    assert(vigil_promise_result(first, &value) == VIGIL_FULFILLED);
    assert(vigil_promise_result(second, &value) == VIGIL_FULFILLED);
    assert(value.integer == 42);
    vigil_promise_unref(first);
    vigil_promise_unref(second);
    vigil_channel_destroy(channel);
    vigil_loop_destroy(loop);
    return 0;
}
