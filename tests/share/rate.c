/* SPDX-License-Identifier: MIT */
/* Rates: never more than the burst and what time has brought; the idle moment and the end of a pool as promises. */
#include "support.h"

#include "dice.h"

#include <vigil/async.h>
#include <vigil/loop.h>
#include <vigil/sync.h>

enum {
    US = 1000
};

static vigil_rate rate;
static vigil_loop *loop;
static uint64_t count;
static _Atomic uint64_t taken;

/* ---- threads ---- */

static void a_burst_is_had_at_once_and_no_more(void **state)
{
    (void)state;
    must_equal(vigil_rate_init(&rate, 1, INT64_C(3600000000000), 5), 0);
    must_equal(vigil_rate_take(&rate, 3, 0, NULL), 0);
    must_equal(vigil_rate_take(&rate, 3, 0, NULL), -ETIMEDOUT);
    must_equal(vigil_rate_take(&rate, 2, VIGIL_FOREVER, NULL), 0);
    must_equal(vigil_rate_take(&rate, 1, 1000000000, NULL), -ETIMEDOUT); /* it comes in an hour: refused at once */
    must_equal(vigil_rate_take(&rate, 0, 0, NULL), 0);
    must_equal(vigil_rate_take(&rate, 6, 0, NULL), -EINVAL);
}

struct taker {
    uint64_t rounds;
    bool gives_up;
};

static void *take_some(void *arg)
{
    const struct taker *self = arg;
    for (uint64_t i = 0; i < self->rounds; i++) {
        const int answer = vigil_rate_take(&rate, 1 + i % 3, self->gives_up && i % 4 == 0 ? 0 : VIGIL_FOREVER, NULL);
        must(answer == 0 || (answer == -ETIMEDOUT && self->gives_up));
        if (answer == 0)
            (void)atomic_fetch_add(&taken, 1 + i % 3);
    }
    return NULL;
}

static void never_more_is_taken_than_has_come(void **state)
{
    (void)state;
    struct taker takers[3] = {{.rounds = scaled(150, 30)}, {.rounds = scaled(150, 30), .gives_up = true}};
    takers[2] = takers[0];
    must_equal(vigil_rate_init(&rate, 1, 20 * US, 10), 0);
    atomic_store(&taken, 0);
    const uint64_t begun = now_ns();
    pthread_t threads[3];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(take_some, &takers[i]);
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    must(atomic_load(&taken) <= 10 + (now_ns() - begun) / (20 * US) + 1);
}

static void *take_in_an_hour(void *token)
{
    must_equal(vigil_rate_take(&rate, 1, VIGIL_FOREVER, token), -EINTR);
    return NULL;
}

static void an_aborted_wait_gives_its_units_back(void **state)
{
    (void)state;
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_rate_init(&rate, 1, INT64_C(3600000000000), 1), 0);
    must_equal(vigil_rate_take(&rate, 1, 0, NULL), 0);
    const uint64_t before = atomic_load(&rate.vg_full);
    const pthread_t thread = start_thread(take_in_an_hour, vigil_cancel_token_of(source));
    while (atomic_load(&rate.vg_full) == before)
        yield();
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    join_thread(thread);
    must_equal(atomic_load(&rate.vg_full), before);
    vigil_cancel_destroy(source);
}

/* A model of the bucket in exact arithmetic beside random calls that do not wait. */
static void a_rate_counts_as_its_model_does(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    for (uint64_t round = scaled(100, 10); round > 0; round--) {
        const uint64_t units = 1 + roll(&dice, 50);
        const uint64_t burst = 1 + roll(&dice, 20);
        must_equal(vigil_rate_init(&rate, units, INT64_C(3600000000000) * 24, burst), 0); /* none comes meanwhile */
        uint64_t model = burst;
        for (int step = 0; step < 100; step++) {
            const uint64_t wanted = roll(&dice, (uint32_t)burst + 2);
            const int answer = vigil_rate_take(&rate, wanted, 0, NULL);
            must_equal(answer, wanted > burst ? -EINVAL : wanted <= model ? 0 : -ETIMEDOUT);
            model -= answer == 0 ? wanted : 0;
        }
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    must_equal(vigil_rate_init(NULL, 1, 1, 1), -EINVAL);
    must_equal(vigil_rate_init(&rate, 0, 1, 1), -EINVAL);
    must_equal(vigil_rate_init(&rate, 1, 0, 1), -EINVAL);
    must_equal(vigil_rate_init(&rate, 1000, 1, 1), -EINVAL);
    must_equal(vigil_rate_init(&rate, 1, 1, 0), -EINVAL);
    must_equal(vigil_rate_init(&rate, 1, 1, UINT64_MAX), -EINVAL);
}

/* ---- asynchronous functions ---- */

static void rate_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    for (;;) {
        VIGIL_AWAIT(frame, vigil_promise_rate(frame->loop, &rate, 1, frame->token, VIGIL_INTO(frame)));
        count++;
    }
    VIGIL_ASYNC_OUT(frame);
    must(frame->error == -ESHUTDOWN || frame->error == -ECANCELED);
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static void stop_loop(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    (void)arg;
    must_equal(vigil_loop_pause(of), 0);
}

static void start_rates(void *token)
{
    vigil_timer timer;
    for (int i = 0; i < 3; i++) {
        vigil_frame *frame = vigil_frame_alloc(sizeof *frame, loop, token);
        must(frame != NULL);
        must_equal(vigil_frame_start(frame, rate_steps, NULL), 0);
    }
    must_equal(vigil_timer_start(loop, 20000 * US, stop_loop, NULL, &timer), 0);
}

static void functions_take_what_has_come(void **state)
{
    (void)state;
    must_equal(vigil_loop_create(&loop, NULL), 0);
    must_equal(vigil_rate_init(&rate, 1, 1000 * US, 4), 0);
    count = 0;
    const uint64_t begun = now_ns();
    must_equal(vigil_loop_call(loop, start_rates, NULL, NULL), 0);
    must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
    const uint64_t most = 4 + (now_ns() - begun) / (1000 * US) + 1;
    must(count >= 5 && count <= most);
    must_equal(vigil_loop_destroy(loop), 0);
    /* The three reservations are back. */
    must(atomic_load(&rate.vg_full) / 64 <= begun + (count + 1) * 1000 * US + (now_ns() - begun));
}

/* ---- pools ---- */

static vigil_pool *pool;
static struct event gate;
static uint64_t tasks_done;

static int wait_at_gate(void *arg)
{
    (void)arg;
    event_wait(&gate);
    tasks_done++;
    return 0;
}

static void pool_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_pool_idle(frame->loop, pool, frame->token, VIGIL_INTO(frame)));
    must_equal(tasks_done, 1);
    VIGIL_AWAIT(frame, vigil_promise_pool_idle(frame->loop, pool, frame->token, VIGIL_INTO(frame))); /* idle already */
    count++;
    VIGIL_AWAIT(frame, vigil_promise_pool_stop(frame->loop, pool, frame->token, VIGIL_INTO(frame)));
    must_equal(vigil_pool_call(pool, wait_at_gate, NULL, NULL, VIGIL_NORMAL), -ESHUTDOWN);
    count++;
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, 0);
    VIGIL_ASYNC_END(frame);
}

static void open_gate(void *arg)
{
    (void)arg;
    must_equal(count, 0);
    event_set(&gate);
}

static void start_pool_steps(void *arg)
{
    (void)arg;
    vigil_frame *frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    must(frame != NULL);
    must_equal(vigil_frame_start(frame, pool_steps, NULL), 0);
}

static void the_idle_moment_and_the_end_of_a_pool_are_promises(void **state)
{
    (void)state;
    for (uint64_t i = scaled(50, 5); i > 0; i--) {
        must_equal(vigil_loop_create(&loop, NULL), 0);
        must_equal(vigil_pool_create(&pool, NULL), 0);
        gate = (struct event){0};
        count = tasks_done = 0;
        must_equal(vigil_pool_call(pool, wait_at_gate, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_loop_call(loop, start_pool_steps, NULL, NULL), 0);
        must_equal(vigil_loop_call(loop, open_gate, NULL, NULL), 0);
        must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
        must_equal(count, 2);
        vigil_pool_destroy(pool);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static void wait_and_pause(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_pool_idle(loop, pool, NULL, &promise), 0);
    vigil_promise_mark_handled(promise);
    vigil_promise_unref(promise);
    must_equal(vigil_loop_pause(loop), 0);
}

static void a_wait_for_an_idle_pool_ends_with_its_loop(void **state)
{
    (void)state;
    for (uint64_t i = scaled(50, 5); i > 0; i--) {
        must_equal(vigil_loop_create(&loop, NULL), 0);
        must_equal(vigil_pool_create(&pool, NULL), 0);
        gate = (struct event){0};
        must_equal(vigil_pool_call(pool, wait_at_gate, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_loop_call(loop, wait_and_pause, NULL, NULL), 0);
        must(vigil_loop_run(loop, VIGIL_RUN) >= 0);
        event_set(&gate); /* the task ends while the loop does */
        must_equal(vigil_loop_destroy(loop), 0);
        vigil_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_burst_is_had_at_once_and_no_more),
        test(never_more_is_taken_than_has_come),
        test(an_aborted_wait_gives_its_units_back),
        test(a_rate_counts_as_its_model_does),
        test(what_cannot_be_is_refused),
        test(functions_take_what_has_come),
        test(the_idle_moment_and_the_end_of_a_pool_are_promises),
        test(a_wait_for_an_idle_pool_ends_with_its_loop),
    };
    return run_all(tests);
}
