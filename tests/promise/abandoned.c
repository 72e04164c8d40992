/* SPDX-License-Identifier: MIT */
/* What nobody can settle any more goes, whatever its handlers do; and an end that finishes several operations at once. */
#include "promise_test.h"

#include <vigil/async.h>

#include <signal.h>
#include <unistd.h>

static void stay_clean(void)
{
    must_equal(promise_stats().alive, 0);
    must_equal(promise_stats().in_flight, 0);
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

static void guard_body(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        vigil_promise *guarded = NULL;
        vigil_promise *p = pending();
        must_equal(vigil_promise_guard(p, NULL, VIGIL_FOREVER, &guarded), 0);
        drop(p);
        must_equal(promise_stats().in_flight, 0);
        must_equal(vigil_promise_state_get(guarded), VIGIL_PENDING); /* somebody has it still */
        drop(guarded);
        stay_clean();
    }
}

static void a_guard_without_limits_goes_with_what_it_guards(void **state)
{
    (void)state;
    on_loop_with(guard_body, NULL);
}

static void limited_guard_body(void *arg)
{
    (void)arg;
    vigil_promise *guarded = NULL;
    vigil_promise *p = pending();
    must_equal(vigil_promise_guard(p, NULL, 1000000, &guarded), 0);
    drop(p); /* the time will come */
    then(guarded, NULL, say_it, "time");
    drop(guarded);
    vigil_promise *sleep = NULL;
    must_equal(vigil_promise_sleep(loop, 2000000, NULL, &sleep), 0);
    drop(sleep);
}

static void a_guard_with_a_limit_outlives_what_it_guards(void **state)
{
    (void)state;
    on_loop_with(limited_guard_body, NULL);
    must_have_said("time");
}

/* ---- reactions whose cancel raises --------------------------------------------------------------------------------- */

static int cancels;

static void must_not_come(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    (void)reaction;
    (void)state;
    (void)value;
    must(false);
}

static void cancel_and_raise(vigil_reaction *reaction)
{
    (void)reaction;
    cancels++;
    vigil_raise(-EIO);
}

static void drop_body(void *arg)
{
    static vigil_reaction reactions[2];
    (void)arg;
    vigil_promise *p = pending();
    for (int i = 0; i < 2; i++) {
        reactions[i].run = must_not_come;
        reactions[i].cancel = cancel_and_raise;
        must_equal(vigil_promise_reaction_add(p, &reactions[i]), 0);
    }
    drop(p); /* both are told, and nobody here has to do with what they raise */
    must_equal(cancels, 2);
    stay_clean();
    drop(pending()); /* and the next goes as well */
    stay_clean();
}

static void a_promise_goes_also_if_cancelling_its_reactions_raises(void **state)
{
    (void)state;
    cancels = 0;
    on_loop_with(drop_body, NULL);
}

static void a_raise_in_a_cancelled_reaction_goes_to_the_loop(void **state)
{
    (void)state;
    static vigil_reaction reactions[2];
    cancels = 0;
    loop_open();
    vigil_promise *p = resolved(vigil_value_int(1));
    for (int i = 0; i < 2; i++) {
        reactions[i].run = must_not_come;
        reactions[i].cancel = cancel_and_raise;
        must_equal(vigil_promise_reaction_add(p, &reactions[i]), 0);
    }
    drop(p);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(cancels, 2);
    vigil_loop_stats stats = {.size = sizeof stats};
    must_equal(vigil_loop_stats_get(loop, &stats), 0);
    must_equal(stats.uncaught, 2);
    stay_clean();
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- the end finishes several at once -------------------------------------------------------------------------- */

static void the_end_of_a_timeout_finishes_what_it_was_given_to(void **state)
{
    (void)state;
    loop_open();
    vigil_cancel_source *source = NULL;
    vigil_promise *sleeps[8];
    must_equal(vigil_cancel_create_timeout(&source, loop, UINT64_C(3600000000000)), 0);
    for (size_t i = 0; i < count_of(sleeps); i++)
        must_equal(vigil_promise_sleep(loop, UINT64_C(7200000000000), vigil_cancel_token_of(source), &sleeps[i]), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_cancel_status(vigil_cancel_token_of(source)), -ESHUTDOWN);
    for (size_t i = 0; i < count_of(sleeps); i++) {
        must_equal(vigil_promise_state_get(sleeps[i]), VIGIL_REJECTED);
        drop(sleeps[i]);
    }
    vigil_cancel_destroy(source);
    stay_clean();
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- signals, one after the other -------------------------------------------------------------------------------- */

static int signals_seen;

static vigil_value on_signal(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    must(++signals_seen < 100);
    vigil_promise *next = NULL;
    must_equal(vigil_promise_signal(loop, SIGUSR2, NULL, &next), 0);
    then(next, on_signal, NULL, NULL);
    drop(next);
    return vigil_value_none();
}

static void each_signal_fulfils_one_promise(void **state)
{
    (void)state;
    sigset_t one;
    must_equal(sigemptyset(&one), 0);
    must_equal(sigaddset(&one, SIGUSR2), 0);
    must_equal(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
    loop_open();
    signals_seen = -1;
    vigil_value none = vigil_value_none();
    (void)on_signal(&none, NULL);
    for (int i = 1; i <= 3; i++) {
        must_equal(kill(getpid(), SIGUSR2), 0);
        for (int turn = 0; turn < 3; turn++)
            must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        must_equal(signals_seen, i);
    }
    must_equal(vigil_loop_destroy(loop), 0);
    must_equal(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

struct call {
    vigil_frame frame;
    vigil_promise *awaited;
};

static void raise_behind_out(vigil_frame *frame)
{
    struct call *self = (struct call *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT_PROMISE(frame, self->awaited);
    VIGIL_ASYNC_OUT(frame);
    vigil_raise(-EXDEV);
    VIGIL_ASYNC_END(frame);
}

static void other_error_behind_out(vigil_frame *frame)
{
    struct call *self = (struct call *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT_PROMISE(frame, self->awaited);
    VIGIL_ASYNC_OUT(frame);
    if (frame->error == -ENOENT)
        frame->error = -EXDEV;
    VIGIL_ASYNC_END(frame);
}

static vigil_value must_be_exdev(vigil_value *value, void *arg)
{
    must_equal(value->status, -EXDEV);
    must(value->pointer == NULL);
    return say_it(value, arg);
}

static void frame_body(void *arg)
{
    (void)arg;
    const vigil_frame_fn steps[] = {raise_behind_out, other_error_behind_out};
    for (size_t i = 0; i < count_of(steps); i++) {
        vigil_value rich = counted(1);
        struct call *self = vigil_frame_alloc(sizeof *self, loop, NULL);
        must(self != NULL);
        vigil_promise *p = pending();
        must_equal(vigil_promise_reject(p, vigil_value_error_with(-ENOENT, rich.pointer, rich.destroy)), 0);
        self->awaited = p;
        vigil_promise *ended = NULL;
        must_equal(vigil_frame_start(&self->frame, steps[i], &ended), 0);
        then(ended, NULL, must_be_exdev, "exdev");
        drop(ended);
        drop(p);
    }
}

static void the_last_error_of_a_frame_is_not_dressed_in_an_earlier_reason(void **state)
{
    (void)state;
    on_loop_with(frame_body, NULL);
    must_have_said("exdev exdev");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_guard_without_limits_goes_with_what_it_guards),
        test(a_guard_with_a_limit_outlives_what_it_guards),
        test(a_promise_goes_also_if_cancelling_its_reactions_raises),
        test(a_raise_in_a_cancelled_reaction_goes_to_the_loop),
        test(the_end_of_a_timeout_finishes_what_it_was_given_to),
        test(each_signal_fulfils_one_promise),
        test(the_last_error_of_a_frame_is_not_dressed_in_an_earlier_reason),
    };
    return run_all(tests);
}
