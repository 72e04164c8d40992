/* SPDX-License-Identifier: MIT */
/* The same objects for asynchronous functions: locks, units and messages as promises. */
#include "support.h"

#include <vigil/async.h>
#include <vigil/channel.h>
#include <vigil/loop.h>
#include <vigil/sync.h>

static vigil_loop *loop;
static vigil_mutex mutex;
static vigil_semaphore semaphore;
static vigil_channel *channel;
static uint64_t rounds, count, inside, most;

static void begin(void)
{
    must_equal(vigil_loop_create(&loop, NULL), 0);
    mutex = (vigil_mutex)VIGIL_MUTEX_INIT;
    count = inside = most = 0;
}

static void end(void)
{
    vigil_loop_destroy(loop);
}

struct worker {
    vigil_frame frame;
    uint64_t left;
    int value;
};

static void start(vigil_frame_fn steps)
{
    struct worker *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    must(self != NULL);
    self->left = rounds;
    must_equal(vigil_frame_start(&self->frame, steps, NULL), 0);
}

/* ---- a mutex between functions and a thread ---- */

static void lock_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left-- > 0) {
        VIGIL_AWAIT(frame, vigil_promise_lock(frame->loop, &mutex, frame->token, VIGIL_INTO(frame)));
        count++;
        VIGIL_TRY(frame, vigil_mutex_unlock(&mutex));
    }
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    VIGIL_ASYNC_END(frame);
}

static void *lock_in_thread(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < rounds; i++) {
        must_equal(vigil_mutex_lock(&mutex), 0);
        count++;
        must_equal(vigil_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

static void start_lockers(void *arg)
{
    (void)arg;
    start(lock_steps);
    start(lock_steps);
}

static void functions_and_threads_share_a_mutex(void **state)
{
    (void)state;
    begin();
    rounds = scaled(2000, 100);
    const pthread_t thread = start_thread(lock_in_thread, NULL);
    must_equal(vigil_loop_call(loop, start_lockers, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    join_thread(thread);
    must_equal(count, 3 * rounds);
    end();
}

/* ---- at most so many at a time ---- */

static void unit_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left-- > 0) {
        VIGIL_AWAIT(frame, vigil_promise_acquire(frame->loop, &semaphore, 1, frame->token, VIGIL_INTO(frame)));
        inside++;
        most = inside > most ? inside : most;
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 0, frame->token, VIGIL_INTO(frame)));
        inside--;
        count++;
        VIGIL_TRY(frame, vigil_semaphore_post(&semaphore, 1));
    }
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    VIGIL_ASYNC_END(frame);
}

static void start_users(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++)
        start(unit_steps);
}

static void at_most_so_many_functions_have_units(void **state)
{
    (void)state;
    begin();
    rounds = scaled(100, 10);
    must_equal(vigil_semaphore_init(&semaphore, 2, 2), 0);
    must_equal(vigil_loop_call(loop, start_users, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    must_equal(count, 5 * rounds);
    must_equal(most, 2);
    must_equal(vigil_semaphore_units(&semaphore), 2);
    end();
}

/* ---- channels ---- */

static void send_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->value = 1; (uint64_t)self->value <= rounds; self->value++)
        VIGIL_AWAIT(frame, vigil_promise_send(frame->loop, channel, &self->value, frame->token, VIGIL_INTO(frame)));
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    must_equal(vigil_channel_close(channel), 0);
    VIGIL_ASYNC_END(frame);
}

static void receive_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT(frame, vigil_promise_receive(frame->loop, channel, &self->value, frame->token, VIGIL_INTO(frame)));
        count += (uint64_t)self->value;
    }
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, -EPIPE);
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void quick_send_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->value = 1; (uint64_t)self->value <= rounds; self->value++)
        VIGIL_AWAIT_SEND(frame, channel, &self->value);
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    must_equal(vigil_channel_close(channel), 0);
    VIGIL_ASYNC_END(frame);
}

static void quick_receive_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT_RECEIVE(frame, channel, &self->value);
        count += (uint64_t)self->value;
    }
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, -EPIPE);
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void *send_in_thread(void *arg)
{
    (void)arg;
    for (int i = 1; (uint64_t)i <= rounds; i++)
        must_equal(vigil_channel_send(channel, &i, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_channel_close(channel), 0);
    return NULL;
}

static void *receive_in_thread(void *arg)
{
    (void)arg;
    for (int value; vigil_channel_receive(channel, VIGIL_FOREVER, NULL, &value) == 0;)
        count += (uint64_t)value;
    return NULL;
}

static void start_sender(void *quick)
{
    start(quick != NULL ? quick_send_steps : send_steps);
}

static void start_receiver(void *quick)
{
    start(quick != NULL ? quick_receive_steps : receive_steps);
}

static void messages_go_between_functions_and_threads(void **state)
{
    (void)state;
    static const size_t capacities[] = {0, 1, 64, VIGIL_CHANNEL_UNBOUNDED};
    for (size_t c = 0; c < count_of(capacities); c++)
        for (int way = 0; way < 6; way++) {
            const int who = way % 3;
            begin();
            void *quick = way >= 3 ? loop : NULL;
            rounds = scaled(2000, 100);
            must_equal(vigil_channel_create(&channel, sizeof(int), capacities[c]), 0);
            pthread_t thread;
            if (who != 0)
                thread = start_thread(who == 1 ? send_in_thread : receive_in_thread, NULL);
            if (who != 1)
                must_equal(vigil_loop_call(loop, start_sender, NULL, quick), 0);
            if (who != 2)
                must_equal(vigil_loop_call(loop, start_receiver, NULL, quick), 0);
            must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
            if (who != 0)
                join_thread(thread);
            must_equal(count, rounds * (rounds + 1) / 2);
            vigil_channel_destroy(channel);
            end();
        }
}

/* ---- turns of others ---- */

static void hog_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->value = 0; inside == 0; self->value++)
        VIGIL_AWAIT_SEND(frame, channel, &self->value);
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    VIGIL_ASYNC_END(frame);
}

static void turn_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 0, frame->token, VIGIL_INTO(frame)));
    inside = 1;
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static void start_hog(void *arg)
{
    (void)arg;
    start(turn_steps);
    start(hog_steps);
}

static void a_function_that_never_waits_lets_others_have_their_turn(void **state)
{
    (void)state;
    begin();
    must_equal(vigil_channel_create(&channel, sizeof(int), VIGIL_CHANNEL_UNBOUNDED), 0);
    must_equal(vigil_loop_call(loop, start_hog, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    vigil_channel_destroy(channel);
    end();
}

/* ---- aborts, and the end of the loop ---- */

static vigil_cancel_source *source;
static int message;

static void wait_with_token(void *arg)
{
    (void)arg;
    vigil_promise *promise[3];
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    must_equal(vigil_promise_lock(loop, &mutex, token, &promise[0]), 0);
    must_equal(vigil_promise_acquire(loop, &semaphore, 1, token, &promise[1]), 0);
    must_equal(vigil_promise_receive(loop, channel, &message, token, &promise[2]), 0);
    for (size_t i = 0; i < count_of(promise); i++) {
        vigil_promise_mark_handled(promise[i]);
        vigil_promise_unref(promise[i]);
    }
}

static void *abort_it(void *arg)
{
    (void)arg;
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    return NULL;
}

static void abort_in_thread(void *arg)
{
    join_thread(start_thread(abort_it, arg));
}

static void pause_loop(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_pause(loop), 0);
}

static void nothing_is_left_of_a_wait_that_was_aborted(void **state)
{
    (void)state;
    for (int at_end = 0; at_end <= 1; at_end++) {
        begin();
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_semaphore_init(&semaphore, 0, 0), 0);
        must_equal(vigil_channel_create(&channel, sizeof(int), 0), 0);
        must_equal(vigil_mutex_lock(&mutex), 0);
        must_equal(vigil_loop_call(loop, wait_with_token, NULL, NULL), 0);
        must_equal(vigil_loop_call(loop, at_end ? pause_loop : abort_in_thread, NULL, NULL), 0);
        must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
        if (at_end)
            end();
        must_equal(vigil_mutex_unlock(&mutex), 0);
        must_equal(atomic_load(&mutex.vg_waiters.vg_word), 0);
        must_equal(vigil_semaphore_post(&semaphore, 1), 0);
        must_equal(vigil_semaphore_units(&semaphore), 1);
        must_equal(vigil_channel_send(channel, &message, 0, NULL), -ETIMEDOUT);
        vigil_channel_destroy(channel);
        vigil_cancel_destroy(source);
        if (!at_end)
            end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(functions_and_threads_share_a_mutex),        test(at_most_so_many_functions_have_units),
        test(messages_go_between_functions_and_threads),  test(a_function_that_never_waits_lets_others_have_their_turn),
        test(nothing_is_left_of_a_wait_that_was_aborted),
    };
    return run_all(tests);
}
