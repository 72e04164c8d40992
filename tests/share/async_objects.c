/* SPDX-License-Identifier: MIT */
/* Rwlock, condition, once, latch, barrier and select for asynchronous functions, beside threads that use them too. */
#include "support.h"

#include <vigil/async.h>
#include <vigil/channel.h>
#include <vigil/loop.h>
#include <vigil/sync.h>

static vigil_loop *loop;
static uint64_t rounds, count;
static int readers, writers;

struct worker {
    vigil_frame frame;
    uint64_t left;
    int number;
    int value;
    vigil_channel_case cases[2];
};

static void start_with(vigil_frame_fn steps, int number, vigil_cancel_token *token)
{
    struct worker *self = vigil_frame_alloc(sizeof *self, loop, token);
    must(self != NULL);
    self->left = rounds;
    self->number = number;
    must_equal(vigil_frame_start(&self->frame, steps, NULL), 0);
}

/* Run what `first` starts until nothing keeps the loop. */
static void run(void (*first)(void *arg), void *arg)
{
    must_equal(vigil_loop_call(loop, first, NULL, arg), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
}

static void begin(void)
{
    must_equal(vigil_loop_create(&loop, NULL), 0);
    count = 0;
}

static void end(void)
{
    must_equal(vigil_loop_destroy(loop), 0);
}

static void ended_well(vigil_frame *frame)
{
    must_equal(frame->error, 0);
}

/* ---- rwlock ---- */

static vigil_rwlock rwlock;

static void enter(bool write)
{
    must_equal(writers, 0);
    must(!write || readers == 0);
    writers += write;
    readers += !write;
}

static void leave(bool write)
{
    writers -= write;
    readers -= !write;
}

static void rwlock_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left-- > 0) {
        if (self->number == 0)
            VIGIL_AWAIT(frame, vigil_promise_write_lock(frame->loop, &rwlock, frame->token, VIGIL_INTO(frame)));
        else
            VIGIL_AWAIT(frame, vigil_promise_read_lock(frame->loop, &rwlock, frame->token, VIGIL_INTO(frame)));
        enter(self->number == 0);
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 0, frame->token, VIGIL_INTO(frame)));
        leave(self->number == 0);
        count += self->number == 0;
        VIGIL_TRY(frame, vigil_rwlock_unlock(&rwlock));
    }
    VIGIL_ASYNC_OUT(frame);
    ended_well(frame);
    VIGIL_ASYNC_END(frame);
}

static void start_rwlock(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++)
        start_with(rwlock_steps, i % 3, NULL);
}

static void *write_in_thread(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < rounds; i++) {
        must_equal(vigil_rwlock_write(&rwlock, VIGIL_FOREVER, NULL), 0);
        enter(true);
        count++;
        leave(true);
        must_equal(vigil_rwlock_unlock(&rwlock), 0);
    }
    return NULL;
}

static void functions_and_a_thread_share_a_rwlock(void **state)
{
    (void)state;
    begin();
    rounds = scaled(300, 30);
    rwlock = (vigil_rwlock)VIGIL_RWLOCK_INIT;
    const pthread_t thread = start_thread(write_in_thread, NULL);
    run(start_rwlock, NULL);
    join_thread(thread);
    must_equal(count, 3 * rounds);
    must_equal(atomic_load(&rwlock.vg_waiters.vg_word), 0);
    must_equal(vigil_rwlock_write(&rwlock, 0, NULL), 0);
    end();
}

/* ---- condition ---- */

static vigil_mutex mutex;
static vigil_condition condition;
static uint64_t queue; /* under the mutex */
static vigil_cancel_source *source;

static void take_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left-- > 0) {
        VIGIL_AWAIT(frame, vigil_promise_lock(frame->loop, &mutex, frame->token, VIGIL_INTO(frame)));
        while (queue == 0)
            VIGIL_AWAIT(frame,
                        vigil_promise_condition(frame->loop, &condition, &mutex, frame->token, VIGIL_INTO(frame)));
        queue--;
        count++;
        VIGIL_TRY(frame, vigil_mutex_unlock(&mutex));
    }
    VIGIL_ASYNC_OUT(frame);
    ended_well(frame);
    VIGIL_ASYNC_END(frame);
}

static void *take_in_thread(void *arg)
{
    (void)arg;
    uint64_t taken = 0;
    for (; taken < rounds; taken++) {
        must_equal(vigil_mutex_lock(&mutex), 0);
        while (queue == 0)
            must_equal(vigil_condition_wait(&condition, &mutex, VIGIL_FOREVER, NULL), 0);
        queue--;
        must_equal(vigil_mutex_unlock(&mutex), 0);
    }
    return NULL;
}

static void *put_in_thread(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < 3 * rounds; i++) {
        must_equal(vigil_mutex_lock(&mutex), 0);
        queue++;
        must_equal(vigil_mutex_unlock(&mutex), 0);
        if (i % 7 == 0)
            must(vigil_condition_broadcast(&condition) >= 0);
        else
            must(vigil_condition_signal(&condition) >= 0);
    }
    return NULL;
}

static void start_takers(void *arg)
{
    (void)arg;
    start_with(take_steps, 0, NULL);
    start_with(take_steps, 1, NULL);
}

static void functions_and_threads_wait_for_a_condition(void **state)
{
    (void)state;
    begin();
    rounds = scaled(1000, 50);
    queue = 0;
    const pthread_t taker = start_thread(take_in_thread, NULL);
    const pthread_t putter = start_thread(put_in_thread, NULL);
    run(start_takers, NULL);
    join_thread(taker);
    join_thread(putter);
    must_equal(count, 2 * rounds);
    must_equal(queue, 0);
    must_equal(atomic_load(&mutex.vg_waiters.vg_word), 0);
    end();
}

/* Awaits the condition until its token is aborted, and has the mutex then. */
static void aborted_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_lock(frame->loop, &mutex, NULL, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame, vigil_promise_condition(frame->loop, &condition, &mutex, frame->token, VIGIL_INTO(frame)));
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, -ECANCELED);
    must_equal(vigil_condition_signal(&condition), 0);
    must_equal(vigil_mutex_lock_timed(&mutex, 0, NULL), -ETIMEDOUT);
    must_equal(vigil_mutex_unlock(&mutex), 0);
    count++;
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void *abort_it(void *arg)
{
    (void)arg;
    must_equal(vigil_cancel_abort(source, -ECANCELED, NULL), 0);
    return NULL;
}

enum abort_way {
    ABORT_HERE,
    ABORT_BESIDE_HOLDER, /* the function waits for the mutex */
    ABORT_IN_THREAD
};

static enum abort_way way;
static pthread_t aborter;

static void start_aborted(void *arg)
{
    (void)arg;
    start_with(aborted_steps, 0, vigil_cancel_token_of(source));
}

/* By now it waits for the condition. */
static void abort_wait(void *arg)
{
    (void)arg;
    if (way == ABORT_IN_THREAD) {
        aborter = start_thread(abort_it, NULL);
        return;
    }
    if (way == ABORT_BESIDE_HOLDER)
        must_equal(vigil_mutex_lock(&mutex), 0);
    (void)abort_it(NULL);
    must_equal(count, 0);
    if (way == ABORT_BESIDE_HOLDER)
        must_equal(vigil_mutex_unlock(&mutex), 0);
}

static void an_aborted_wait_for_a_condition_has_the_mutex(void **state)
{
    (void)state;
    for (way = ABORT_HERE; way <= ABORT_IN_THREAD; way++) {
        begin();
        must_equal(vigil_cancel_create(&source), 0);
        must_equal(vigil_loop_call(loop, start_aborted, NULL, NULL), 0);
        run(abort_wait, NULL);
        if (way == ABORT_IN_THREAD)
            join_thread(aborter);
        must_equal(count, 1);
        must_equal(atomic_load(&mutex.vg_waiters.vg_word), 0);
        vigil_cancel_destroy(source);
        end();
    }
}

static void wait_without_mutex(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_condition(loop, &condition, &mutex, NULL, &promise), -EPERM);
    must(strstr(vigil_why(), "holds the mutex") != NULL);
}

static void a_condition_is_refused_without_its_mutex(void **state)
{
    (void)state;
    begin();
    run(wait_without_mutex, NULL);
    end();
}

/* ---- once ---- */

static vigil_once once;
static int attempts, fail_first;

static int attempt(vigil_loop *on, void *arg, vigil_cancel_token *token, vigil_promise **promise)
{
    (void)arg;
    attempts++;
    return attempts <= fail_first ? -EIO : vigil_promise_sleep(on, 1000, token, promise);
}

static void once_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_once(frame->loop, &once, attempt, NULL, frame->token, VIGIL_INTO(frame)));
    count++;
    VIGIL_ASYNC_OUT(frame);
    must(frame->error == 0 || (frame->error == -EIO && fail_first > 0));
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void start_once(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++)
        start_with(once_steps, i, NULL);
}

static int attempt_in_thread(void *arg)
{
    (void)arg;
    attempts++;
    return 0;
}

static void *once_in_thread(void *arg)
{
    (void)arg;
    must_equal(vigil_once_run(&once, attempt_in_thread, NULL, VIGIL_FOREVER, NULL), 0);
    return NULL;
}

static void an_asynchronous_call_happens_once(void **state)
{
    (void)state;
    for (fail_first = 0; fail_first <= 2; fail_first++) {
        begin();
        attempts = 0;
        once = (vigil_once)VIGIL_ONCE_INIT;
        pthread_t thread = pthread_self();
        if (fail_first == 0)
            thread = start_thread(once_in_thread, NULL);
        run(start_once, NULL);
        if (fail_first == 0)
            join_thread(thread);
        must_equal(attempts, fail_first + 1);
        must_equal(count, 4 - fail_first);
        must_equal(vigil_once_run(&once, attempt_in_thread, NULL, 0, NULL), 0);
        must_equal(attempts, fail_first + 1);
        end();
    }
}

/* ---- latch and barrier ---- */

static vigil_latch latch;
static vigil_barrier barrier;
static uint64_t lasts;

static void latch_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_latch(frame->loop, &latch, frame->token, VIGIL_INTO(frame)));
    must_equal(queue, 7);
    count++;
    VIGIL_AWAIT(frame, vigil_promise_latch(frame->loop, &latch, frame->token, VIGIL_INTO(frame))); /* it stays open */
    VIGIL_ASYNC_OUT(frame);
    ended_well(frame);
    VIGIL_ASYNC_END(frame);
}

static void *open_latch(void *arg)
{
    (void)arg;
    queue = 7;
    must_equal(vigil_latch_down(&latch, 1), 0);
    return NULL;
}

static void start_latch(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        start_with(latch_steps, i, NULL);
}

static void a_latch_opens_for_functions(void **state)
{
    (void)state;
    for (uint64_t i = scaled(100, 10); i > 0; i--) {
        begin();
        must_equal(vigil_latch_init(&latch, 1), 0);
        const pthread_t thread = start_thread(open_latch, NULL);
        run(start_latch, NULL);
        join_thread(thread);
        must_equal(count, 3);
        end();
    }
}

static void barrier_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    while (self->left-- > 0) {
        VIGIL_AWAIT(frame, vigil_promise_barrier(frame->loop, &barrier, frame->token, VIGIL_INTO(frame)));
        lasts += (uint64_t)frame->value->integer;
        count++;
    }
    VIGIL_ASYNC_OUT(frame);
    ended_well(frame);
    VIGIL_ASYNC_END(frame);
}

static void start_barrier(void *arg)
{
    (void)arg;
    start_with(barrier_steps, 0, NULL);
    start_with(barrier_steps, 1, NULL);
}

static void *arrive_in_thread(void *arg)
{
    for (uint64_t i = 0; i < rounds; i++) {
        const int answer = vigil_barrier_wait(&barrier, VIGIL_FOREVER, NULL);
        must(answer == 0 || answer == 1);
        *(uint64_t *)arg += (uint64_t)answer;
    }
    return NULL;
}

static void functions_and_a_thread_meet_at_a_barrier(void **state)
{
    (void)state;
    begin();
    rounds = scaled(500, 50);
    lasts = 0;
    uint64_t thread_last = 0;
    must_equal(vigil_barrier_init(&barrier, 3), 0);
    const pthread_t thread = start_thread(arrive_in_thread, &thread_last);
    run(start_barrier, NULL);
    join_thread(thread);
    must_equal(count, 2 * rounds);
    must_equal(lasts + thread_last, rounds); /* one is the last of each round */
    end();
}

/* ---- select ---- */

static vigil_channel *channels[2];
static uint64_t sums[2];

static void select_steps(vigil_frame *frame)
{
    struct worker *self = (struct worker *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    self->cases[0] = (vigil_channel_case){.channel = channels[0], .receive = &self->value};
    self->cases[1] = (vigil_channel_case){.channel = channels[1], .receive = &self->value};
    while (self->cases[0].channel != NULL || self->cases[1].channel != NULL) {
        VIGIL_AWAIT(frame, vigil_promise_select(frame->loop, self->cases, 2, frame->token, VIGIL_INTO(frame)));
        const int64_t done = frame->value->integer;
        if (self->cases[done].status == -EPIPE)
            self->cases[done].channel = NULL;
        else
            sums[done] += (uint64_t)self->value;
    }
    count++;
    VIGIL_ASYNC_OUT(frame);
    ended_well(frame);
    VIGIL_ASYNC_END(frame);
}

static void *send_to(void *arg)
{
    for (int i = 1; (uint64_t)i <= rounds; i++)
        must_equal(vigil_channel_send(arg, &i, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_channel_close(arg), 0);
    return NULL;
}

static void start_selects(void *arg)
{
    (void)arg;
    start_with(select_steps, 0, NULL);
    start_with(select_steps, 1, NULL);
}

static void a_function_selects_among_channels(void **state)
{
    (void)state;
    static const size_t capacities[] = {0, 1, 8, VIGIL_CHANNEL_UNBOUNDED};
    for (size_t c = 0; c < count_of(capacities); c++) {
        begin();
        rounds = scaled(1000, 50);
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) {
            sums[i] = 0;
            must_equal(vigil_channel_create(&channels[i], sizeof(int), i == 0 ? capacities[c] : 0), 0);
            threads[i] = start_thread(send_to, channels[i]);
        }
        run(start_selects, NULL);
        for (int i = 0; i < 2; i++) {
            join_thread(threads[i]);
            must_equal(sums[i], rounds * (rounds + 1) / 2);
            vigil_channel_destroy(channels[i]);
        }
        must_equal(count, 2);
        end();
    }
}

static void select_nothing(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    vigil_channel_case none = {.channel = NULL};
    must_equal(vigil_promise_select(loop, &none, 1, NULL, &promise), -EINVAL);
    must_equal(vigil_promise_select(loop, NULL, 1, NULL, &promise), -EINVAL);
    must_equal(vigil_promise_select(loop, &none, 65, NULL, &promise), -EINVAL);
}

static void a_select_without_channels_is_refused(void **state)
{
    (void)state;
    begin();
    run(select_nothing, NULL);
    end();
}

/* ---- nothing is left of waits that end with the loop ---- */

static void wait_for_everything(void *arg)
{
    (void)arg;
    static vigil_channel_case cases[2];
    static int message;
    vigil_promise *made[6];
    cases[0] = (vigil_channel_case){.channel = channels[0], .receive = &message};
    cases[1] = (vigil_channel_case){.channel = channels[1], .send = &message};
    must_equal(vigil_promise_read_lock(loop, &rwlock, NULL, &made[0]), 0);
    must_equal(vigil_promise_write_lock(loop, &rwlock, NULL, &made[1]), 0);
    must_equal(vigil_promise_latch(loop, &latch, NULL, &made[2]), 0);
    must_equal(vigil_promise_barrier(loop, &barrier, NULL, &made[3]), 0);
    must_equal(vigil_promise_select(loop, cases, 2, NULL, &made[4]), 0);
    must_equal(vigil_promise_once(loop, &once, attempt, NULL, NULL, &made[5]), 0);
    for (size_t i = 0; i < count_of(made); i++) {
        vigil_promise_mark_handled(made[i]);
        vigil_promise_unref(made[i]);
    }
    must_equal(vigil_loop_pause(loop), 0);
}

static void nothing_is_left_of_waits_that_end_with_the_loop(void **state)
{
    (void)state;
    for (int graceful = 0; graceful <= 1; graceful++) {
        begin();
        rwlock = (vigil_rwlock)VIGIL_RWLOCK_INIT;
        once = (vigil_once)VIGIL_ONCE_INIT;
        attempts = fail_first = 0;
        must_equal(vigil_rwlock_write(&rwlock, 0, NULL), 0);
        must_equal(vigil_latch_init(&latch, 1), 0);
        must_equal(vigil_barrier_init(&barrier, 2), 0);
        for (int i = 0; i < 2; i++)
            must_equal(vigil_channel_create(&channels[i], sizeof(int), 0), 0);
        run(wait_for_everything, NULL);
        if (graceful)
            must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        end();
        must_equal(vigil_rwlock_unlock(&rwlock), 0);
        must_equal(atomic_load(&rwlock.vg_waiters.vg_word), 0);
        must_equal(vigil_latch_down(&latch, 1), 0);
        must_equal(vigil_barrier_wait(&barrier, 0, NULL), -ETIMEDOUT);
        must_equal(vigil_once_run(&once, attempt_in_thread, NULL, 0, NULL), 0);
        must_equal(attempts, 2); /* the first did not come to its end */
        for (int i = 0; i < 2; i++) {
            int message = 0;
            must_equal(vigil_channel_send(channels[i], &message, 0, NULL), -ETIMEDOUT);
            must_equal(vigil_channel_receive(channels[i], 0, NULL, &message), -ETIMEDOUT);
            vigil_channel_destroy(channels[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(functions_and_a_thread_share_a_rwlock),
        test(functions_and_threads_wait_for_a_condition),
        test(an_aborted_wait_for_a_condition_has_the_mutex),
        test(a_condition_is_refused_without_its_mutex),
        test(an_asynchronous_call_happens_once),
        test(a_latch_opens_for_functions),
        test(functions_and_a_thread_meet_at_a_barrier),
        test(a_function_selects_among_channels),
        test(a_select_without_channels_is_refused),
        test(nothing_is_left_of_waits_that_end_with_the_loop),
    };
    return run_all(tests);
}
