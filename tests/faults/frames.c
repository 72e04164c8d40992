/* SPDX-License-Identifier: MIT */
/* Every allocation in the life of asynchronous functions (vigil/async.h) fails once, in turn: the call is refused and nothing of it
   has run, or it ends by the one way out, once; and nothing leaks (the address sanitizer looks). */
#include "faults.h"
#include "promise/promise_test.h"

#include <vigil/async.h>

static struct {
    int refused; /* calls that answered -ENOMEM */
    int begun, cleaned;
    int ended; /* handlers that have run */
} life;

struct outer {
    vigil_frame frame;
    int round;
};

static int inner(vigil_cancel_token *token, vigil_promise **promise);

static void steps(vigil_frame *frame)
{
    struct outer *self = (struct outer *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    life.begun++;
    for (self->round = 0; self->round < 3; self->round++) {
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000, frame->token, VIGIL_INTO(frame)));
        VIGIL_AWAIT(frame, inner(frame->token, VIGIL_INTO(frame)));
        must_equal(number_in(frame->value), 7);
    }
    VIGIL_ASYNC_OUT(frame);
    must(frame->error == 0 || frame->error == -ENOMEM);
    life.cleaned++;
    VIGIL_TRY_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000, NULL, VIGIL_INTO(frame)));
    must(frame->status == 0 || frame->status == -ENOMEM);
    VIGIL_ASYNC_END(frame);
}

static void inner_steps(vigil_frame *frame)
{
    VIGIL_ASYNC_BEGIN(frame);
    life.begun++;
    VIGIL_AWAIT(frame, vigil_promise_resolved(frame->loop, vigil_value_int(7), VIGIL_INTO(frame)));
    VIGIL_RETURN(frame, *frame->value);
    VIGIL_ASYNC_OUT(frame);
    life.cleaned++;
    VIGIL_ASYNC_END(frame);
}

static int begin(size_t size, vigil_frame_fn fn, vigil_cancel_token *token, vigil_promise **promise)
{
    vigil_frame *frame = vigil_frame_alloc(size, loop, token);
    return frame == NULL ? -ENOMEM : vigil_frame_start(frame, fn, promise);
}

static int inner(vigil_cancel_token *token, vigil_promise **promise)
{
    return begin(sizeof(vigil_frame), inner_steps, token, promise);
}

static vigil_value ended(vigil_value *value, void *arg)
{
    (void)arg;
    must(!vigil_value_is_error(value) || value->status == -ENOMEM);
    life.ended++;
    return vigil_value_none();
}

static void start_two(void *arg)
{
    for (int i = 0; i < 2; i++) {
        vigil_promise *promise = NULL;
        int rc = begin(sizeof(struct outer), steps, arg, &promise);
        must(rc == 0 || rc == -ENOMEM);
        life.refused += rc != 0;
        if (rc == 0 && vigil_promise_then(promise, ended, ended, NULL, NULL) != 0)
            life.ended++; /* nobody will tell */
        drop(promise);
    }
}

static void run_with_one_failure(uint64_t k, uint64_t *calls)
{
    memset(&life, 0, sizeof life);
    vigil_cancel_source *source = NULL;
    loop_open();
    must_equal(vigil_cancel_create(&source), 0);
    must_equal(vigil_loop_call(loop, start_two, NULL, vigil_cancel_token_of(source)), 0);
    faults_reset();
    if (k != 0)
        faults_fail_at(FAULT_ALLOC, k);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    *calls = faults_calls(FAULT_ALLOC);
    faults_reset();
    must_equal(life.refused + life.ended, 2);
    must_equal(life.begun, life.cleaned);
    if (k == 0)
        must_equal(life.begun, 2 + 6);
    must_equal(promise_stats().alive, 0);
    must_equal(vigil_loop_destroy(loop), 0);
    vigil_cancel_destroy(source);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    uint64_t calls = 0;
    run_with_one_failure(0, &calls);
    must(calls > 8);
    for (uint64_t k = 1, seen = calls; k <= seen; k++)
        run_with_one_failure(k, &calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(each_allocation_fails_once)};
    return run_all(tests);
}
