/* SPDX-License-Identifier: MIT */
/* Nothing is lost with a loop that ends: what was handed to a function has arrived, the rest goes to others. */
#include "support.h"

#include "dice.h"

#include <vigil/async.h>
#include <vigil/channel.h>
#include <vigil/loop.h>
#include <vigil/sync.h>

static vigil_loop *loop;
static vigil_channel *channel, *other;
static uint64_t got, sent;
static int last;

struct receiver {
    vigil_frame frame;
    int message;
    bool selects;
    vigil_channel_case cases[2];
};

static void receiver_steps(vigil_frame *frame)
{
    struct receiver *self = (struct receiver *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        if (self->selects) {
            self->cases[0] = (vigil_channel_case){.channel = other, .receive = &self->message};
            self->cases[1] = (vigil_channel_case){.channel = channel, .receive = &self->message};
            VIGIL_AWAIT(frame, vigil_promise_select(frame->loop, self->cases, 2, frame->token, VIGIL_INTO(frame)));
            must_equal(frame->value->integer, 1);
            VIGIL_TRY(frame, self->cases[1].status);
        } else {
            VIGIL_AWAIT(frame,
                        vigil_promise_receive(frame->loop, channel, &self->message, frame->token, VIGIL_INTO(frame)));
        }
        last = self->message;
        got++;
    }
    VIGIL_ASYNC_OUT(frame);
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void start_receiver(void *selects)
{
    struct receiver *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    must(self != NULL);
    self->selects = selects != NULL;
    must_equal(vigil_frame_start(&self->frame, receiver_steps, NULL), 0);
}

static void *send_one(void *arg)
{
    must_equal(vigil_channel_send(channel, arg, VIGIL_FOREVER, NULL), 0);
    return NULL;
}

/* The receiver waits; the message is handed over by another thread, and on its way to the loop that ends here. */
static void send_and_pause(void *arg)
{
    join_thread(start_thread(send_one, arg));
    must_equal(vigil_loop_pause(loop), 0);
}

static void a_message_that_was_handed_over_arrives_although_the_loop_ends(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        const bool graceful = (way & 1) != 0;
        int message = 40 + way;
        got = 0;
        must_equal(vigil_loop_create(&loop, NULL), 0);
        must_equal(vigil_channel_create(&channel, sizeof(int), 0), 0);
        must_equal(vigil_channel_create(&other, sizeof(int), 0), 0);
        must_equal(vigil_loop_call(loop, start_receiver, NULL, way >= 2 ? loop : NULL), 0);
        must_equal(vigil_loop_call(loop, send_and_pause, NULL, &message), 0);
        must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
        if (graceful)
            must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        must_equal(vigil_loop_destroy(loop), 0);
        must_equal(got, 1);
        must_equal(last, message);
        must_equal(vigil_channel_send(channel, &message, 0, NULL), -ETIMEDOUT);
        vigil_channel_destroy(channel);
        vigil_channel_destroy(other);
    }
}

/* ---- racing ---- */

static struct event stop;

static void *send_until_stopped(void *arg)
{
    for (int i = 0; !event_is_set(&stop); i++) {
        const int answer = vigil_channel_send(channel, &i, one_in(arg, 2) ? 0 : 20000, NULL);
        must(answer == 0 || answer == -ETIMEDOUT);
        sent += answer == 0;
    }
    return NULL;
}

static void *run_loop(void *arg)
{
    (void)arg;
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    return NULL;
}

static void as_many_arrive_as_were_sent_whenever_the_loop_ends(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    for (uint64_t round = scaled(300, 20); round > 0; round--) {
        got = sent = 0;
        stop = (struct event){0};
        const size_t capacity = one_in(&dice, 2) ? 0 : 3;
        must_equal(vigil_loop_create(&loop, NULL), 0);
        must_equal(vigil_channel_create(&channel, sizeof(int), capacity), 0);
        must_equal(vigil_channel_create(&other, sizeof(int), 0), 0);
        for (int i = 0; i < 2; i++)
            must_equal(vigil_loop_call(loop, start_receiver, NULL, one_in(&dice, 2) ? loop : NULL), 0);
        struct dice theirs = {.state = dice.state | 1};
        const pthread_t sender = start_thread(send_until_stopped, &theirs);
        const pthread_t runner = start_thread(run_loop, NULL);
        for (uint32_t i = roll(&dice, 300); i > 0; i--)
            yield();
        must_equal(one_in(&dice, 2) ? vigil_loop_close(loop, VIGIL_FOREVER) : vigil_loop_shutdown(loop, VIGIL_FOREVER),
                   0);
        event_set(&stop);
        join_thread(runner);
        join_thread(sender);
        must_equal(vigil_loop_destroy(loop), 0);
        must_equal(got + vigil_channel_count(channel), sent);
        vigil_channel_destroy(channel);
        vigil_channel_destroy(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_message_that_was_handed_over_arrives_although_the_loop_ends),
        test(as_many_arrive_as_were_sent_whenever_the_loop_ends),
    };
    return run_all(tests);
}
