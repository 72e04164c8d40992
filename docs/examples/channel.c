/* SPDX-License-Identifier: MIT */
/* Examples of vigil/channel.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/async.h>
#include <vigil/channel.h>

/*
 * vigil_channel_create: make a channel
 * vigil_channel_send: send a message
 * vigil_channel_receive: receive the oldest one
 * vigil_channel_close: no more messages
 * vigil_channel_destroy: free the channel
 */
static void send_and_receive(void)
{
    vigil_channel *numbers;
    if (vigil_channel_create(&numbers, sizeof(int), 8) < 0)
        return;
    for (int i = 1; i <= 3; i++)
        vigil_channel_send(numbers, &i, VIGIL_FOREVER, NULL);
    vigil_channel_close(numbers); /* the three are still there */
    int number, sum = 0;
    while (vigil_channel_receive(numbers, VIGIL_FOREVER, NULL,
                                 &number) == 0)
        sum += number;
    assert(sum == 6);
    vigil_channel_destroy(numbers);
}

/* vigil_channel_count: how many messages wait */
static void show_backlog(vigil_channel *channel)
{
    printf("%zu waiting\n", vigil_channel_count(channel));
}

/* vigil_channel_select: take from whichever channel is first */
static int next_event(vigil_channel *keys, vigil_channel *ticks)
{
    int key = 0, tick = 0;
    vigil_channel_case cases[] = {
        {.channel = keys, .receive = &key},
        {.channel = ticks, .receive = &tick},
    };
    int done = vigil_channel_select(cases, 2, 1000000, NULL);
    if (done < 0)
        return done; /* -ETIMEDOUT: neither within a millisecond */
    return cases[done].status < 0 ? cases[done].status : key + tick;
}

/*
 * vigil_promise_receive: receive in an asynchronous function
 * vigil_promise_send: send in one
 * vigil_promise_select: do whichever can be done first in one
 */
struct echo {
    vigil_frame frame; /* first */
    vigil_channel *in, *out;
    int number;
    vigil_channel_case
        either[2]; /* here, because it outlives the await */
};

static void echo_steps(vigil_frame *frame)
{
    struct echo *self = (struct echo *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    self->either[0] = (vigil_channel_case){.channel = self->in,
                                           .receive = &self->number};
    VIGIL_AWAIT(frame,
                vigil_promise_select(frame->loop, self->either, 2,
                                     frame->token, VIGIL_INTO(frame)));
    printf("case %d: %d\n", (int)frame->value->integer, self->number);
    for (;;) { /* until the channel is closed: -EPIPE */
        VIGIL_AWAIT(frame, vigil_promise_receive(
                               frame->loop, self->in, &self->number,
                               frame->token, VIGIL_INTO(frame)));
        VIGIL_AWAIT(frame, vigil_promise_send(
                               frame->loop, self->out, &self->number,
                               frame->token, VIGIL_INTO(frame)));
    }
    VIGIL_ASYNC_OUT(frame);
    frame->error = frame->error == -EPIPE ? 0 : frame->error;
    VIGIL_ASYNC_END(frame);
}

static vigil_channel *ins, *outs;

static void start_echo(void *loop)
{
    struct echo *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    if (self == NULL)
        return;
    self->in = ins;
    self->out = outs;
    vigil_frame_start(&self->frame, echo_steps, NULL);
}

static void echo_on_a_loop(void)
{
    vigil_loop *loop;
    int number = 5;
    if (vigil_loop_create(&loop, NULL) < 0 ||
        vigil_channel_create(&ins, sizeof(int), 2) < 0 ||
        vigil_channel_create(&outs, sizeof(int), 1) < 0)
        return;
    vigil_channel_send(ins, &number, 0, NULL);
    vigil_channel_send(ins, &number, 0, NULL);
    vigil_channel_close(ins);
    vigil_loop_call(loop, start_echo, NULL, loop);
    vigil_loop_run(loop, VIGIL_RUN);
    number = 0;
    vigil_channel_receive(outs, 0, NULL, &number);
    assert(number == 5);
    vigil_channel_destroy(ins);
    vigil_channel_destroy(outs);
    vigil_loop_destroy(loop);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_channel *keys, *ticks;
    int tick = 7;
    if (vigil_channel_create(&keys, sizeof(int), 1) < 0 ||
        vigil_channel_create(&ticks, sizeof(int),
                             VIGIL_CHANNEL_UNBOUNDED) < 0)
        return 1;
    send_and_receive();
    assert(next_event(keys, ticks) == -ETIMEDOUT);
    vigil_channel_send(ticks, &tick, 0, NULL);
    show_backlog(ticks);
    assert(next_event(keys, ticks) == 7);
    echo_on_a_loop();
    vigil_channel_destroy(keys);
    vigil_channel_destroy(ticks);
    return 0;
}
