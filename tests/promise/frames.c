/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous functions in plain C (vigil/async.h): the steps come in order, errors go to OUT, OUT comes exactly once.
 */
#include "promise_test.h"

#include <vigil/async.h>

#include <unistd.h>

static int frames_ended; /* how often the part behind OUT has run */

/* ---- in order ---------------------------------------------------------------------------------------------------- */

struct counter {
    vigil_frame frame;
    int rounds, round;
};

static void count_steps(vigil_frame *frame)
{
    struct counter *self = (struct counter *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (self->round = 0; self->round < self->rounds; self->round++) {
        switch (self->round % 3) {
        case 0:
            VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000, frame->token, VIGIL_INTO(frame)));
            must_equal(frame->value->kind, VIGIL_NONE);
            break;
        case 1:
            VIGIL_AWAIT(frame, vigil_promise_resolved(frame->loop, counted(self->round), VIGIL_INTO(frame)));
            must_equal(number_in(frame->value), self->round);
            break;
        default:
            /* The arguments of the next call may look at the last value. */
            VIGIL_AWAIT(frame, vigil_promise_resolved(frame->loop, vigil_value_int(5), VIGIL_INTO(frame)));
            VIGIL_AWAIT(frame, vigil_promise_resolved(frame->loop, vigil_value_int(number_in(frame->value) + 1),
                                                      VIGIL_INTO(frame)));
            must_equal(number_in(frame->value), 6);
        }
    }
    VIGIL_RETURN(frame, counted(self->round));
    must(false && "reached");
    VIGIL_ASYNC_OUT(frame);
    frames_ended++;
    VIGIL_ASYNC_END(frame);
}

static int count(int rounds, vigil_cancel_token *token, vigil_promise **promise)
{
    struct counter *self = vigil_frame_alloc(sizeof *self, loop, token);
    must(self != NULL);
    self->rounds = rounds;
    return vigil_frame_start(&self->frame, count_steps, promise);
}

static void in_sequence(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    must_equal(count(7, NULL, &promise), 0);
    must_equal(vigil_promise_state_get(promise), VIGIL_PENDING);
    then(promise, say_value, NULL, "counted");
    drop(promise);
    must_equal(count(2, NULL, NULL), 0); /* nobody wants to know */
}

static void steps_come_in_order_and_values_arrive(void **state)
{
    (void)state;
    frames_ended = 0;
    on_loop_with(in_sequence, NULL);
    must_have_said("counted=7");
    must_equal(frames_ended, 2);
}

/* ---- one awaits another; errors ---------------------------------------------------------------------------------- */

struct caller {
    vigil_frame frame;
    int what;
    vigil_promise *held;
};

enum {
    CALL_FAILS,
    PROMISE_REJECTED,
    RICH_REASON,
    THROWN,
    CHECKED,
    RAISED,
    FORGIVEN,
    TRIED,
    RAISED_BEHIND_OUT,
    AWAITS_BEHIND_OUT,
    FORGOT_INTO,
    WAYS
};

static void counted_reason_end(void *pointer)
{
    counted_end(pointer);
}

static int reject_richly(vigil_promise **promise)
{
    vigil_value reason = counted(1);
    *promise = pending();
    must_equal(vigil_promise_reject(*promise, vigil_value_error_with(-ENOSPC, reason.pointer, counted_reason_end)), 0);
    return 0;
}

static void caller_steps(vigil_frame *frame)
{
    struct caller *self = (struct caller *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, count(2, frame->token, VIGIL_INTO(frame)));
    must_equal(number_in(frame->value), 2);
    switch (self->what) {
    case CALL_FAILS:
        VIGIL_AWAIT(frame, vigil_promise_fd(frame->loop, -1, VIGIL_FD_READ, NULL, VIGIL_INTO(frame)));
        must(false && "reached");
        break;
    case PROMISE_REJECTED:
        self->held = pending();
        reject(self->held, -EILSEQ);
        VIGIL_AWAIT_PROMISE(frame, self->held);
        must(false && "reached");
        break;
    case RICH_REASON:
        VIGIL_AWAIT(frame, reject_richly(VIGIL_INTO(frame)));
        must(false && "reached");
        break;
    case THROWN:
        VIGIL_THROW(frame, -EDOM);
        must(false && "reached");
        break;
    case CHECKED:
        VIGIL_TRY(frame, 3);
        VIGIL_TRY(frame, -ERANGE);
        must(false && "reached");
        break;
    case RAISED:
        vigil_raise(-ENXIO);
        break;
    case FORGIVEN:
        VIGIL_THROW(frame, -EDOM);
        break;
    case TRIED:
        VIGIL_TRY_AWAIT(frame, vigil_promise_fd(frame->loop, -1, VIGIL_FD_READ, NULL, VIGIL_INTO(frame)));
        must(frame->status < 0 && frame->error == 0);
        VIGIL_TRY_AWAIT(frame, reject_richly(VIGIL_INTO(frame)));
        must_equal(frame->status, -ENOSPC);
        must_equal(frame->error, 0);
        must(vigil_value_is_error(frame->value));
        break;
    case FORGOT_INTO:
        VIGIL_AWAIT(frame, 0);
        must(false && "reached");
        break;
    default:
        break;
    }
    VIGIL_RETURN(frame, counted(100 + self->what));
    VIGIL_ASYNC_OUT(frame);
    frames_ended++;
    drop(self->held);
    self->held = NULL;
    if (self->what == FORGIVEN)
        frame->error = 0;
    if (self->what == RAISED_BEHIND_OUT)
        vigil_raise(-EBADMSG);
    if (self->what == AWAITS_BEHIND_OUT) {
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000, NULL, VIGIL_INTO(frame)));
        VIGIL_AWAIT(frame, reject_richly(VIGIL_INTO(frame)));
        must_equal(frame->status, -ENOSPC); /* and nothing jumps */
        VIGIL_THROW(frame, -EDOM);
        VIGIL_RETURN(frame, vigil_value_int(7)); /* the last word */
        say("behind");
    }
    VIGIL_ASYNC_END(frame);
}

static void all_ways(void *arg)
{
    (void)arg;
    for (int what = 0; what < WAYS; what++) {
        struct caller *self = vigil_frame_alloc(sizeof *self, loop, NULL);
        must(self != NULL);
        self->what = what;
        vigil_promise *promise = NULL;
        must_equal(vigil_frame_start(&self->frame, caller_steps, &promise), 0);
        static char names[WAYS][16];
        snprintf(names[what], sizeof names[what], "%d", what);
        then(promise, say_value, say_value, names[what]);
        drop(promise);
    }
}

static bool said(const char *word)
{
    size_t length = strlen(word);
    for (const char *at = journal; (at = strstr(at, word)) != NULL; at++) {
        if ((at == journal || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void every_error_goes_to_out_once(void **state)
{
    (void)state;
    frames_ended = 0;
    on_loop_with(all_ways, NULL);
    must_equal(frames_ended, 2 * WAYS); /* and each has awaited one */
    char word[32];
    snprintf(word, sizeof word, "%d!%d", CALL_FAILS, -EBADF);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", PROMISE_REJECTED, -EILSEQ);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", RICH_REASON, -ENOSPC);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", THROWN, -EDOM);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", CHECKED, -ERANGE);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", RAISED, -ENXIO);
    must(said(word));
    snprintf(word, sizeof word, "%d", FORGIVEN);
    must(said(word));
    snprintf(word, sizeof word, "%d=%d", TRIED, 100 + TRIED);
    must(said(word));
    snprintf(word, sizeof word, "%d!%d", RAISED_BEHIND_OUT, -EBADMSG);
    must(said(word));
    snprintf(word, sizeof word, "%d=7", AWAITS_BEHIND_OUT);
    must(said(word) && said("behind"));
    snprintf(word, sizeof word, "%d!%d", FORGOT_INTO, -EINVAL);
    must(said(word));
}

/* ---- a reason that says more -------------------------------------------------------------------------------------- */

static vigil_value see_reason(vigil_value *value, void *arg)
{
    (void)arg;
    must_equal(value->status, -ENOSPC);
    must(value->pointer != NULL);
    must_equal(*(int64_t *)value->pointer, 1);
    say("rich");
    return vigil_value_none();
}

static void one_with_a_rich_reason(void *arg)
{
    (void)arg;
    struct caller *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    must(self != NULL);
    self->what = RICH_REASON;
    vigil_promise *promise = NULL;
    must_equal(vigil_frame_start(&self->frame, caller_steps, &promise), 0);
    then(promise, must_not_run, see_reason, NULL);
    drop(promise);
}

static void a_reason_keeps_what_it_carries(void **state)
{
    (void)state;
    on_loop_with(one_with_a_rich_reason, NULL);
    must_have_said("rich");
}

/* ---- cancellation --------------------------------------------------------------------------------------------------- */

static vigil_cancel_source *source;

static void abort_it(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    must_equal(vigil_cancel_abort(source, -EINTR, "enough"), 0);
}

struct sleeper {
    vigil_frame frame;
    bool deaf; /* what it awaits does not know the token */
    bool cleaned;
};

static void sleeper_steps(vigil_frame *frame)
{
    struct sleeper *self = (struct sleeper *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    for (;;)
        VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, self->deaf ? 1000000 : UINT64_C(3600000000000),
                                               self->deaf ? NULL : frame->token, VIGIL_INTO(frame)));
    VIGIL_ASYNC_OUT(frame);
    must_equal(frame->error, vigil_cancel_status(frame->token) != 0 ? -EINTR : frame->error);
    must(!self->cleaned);
    self->cleaned = true;
    frames_ended++;
    /* A clean-up may wait, abort or not. */
    VIGIL_AWAIT(frame, vigil_promise_sleep(frame->loop, 1000, NULL, VIGIL_INTO(frame)));
    must(frame->status == 0 || frame->status == -ESHUTDOWN || frame->status == -ECANCELED);
    VIGIL_ASYNC_END(frame);
}

static void sleep_for_ever(bool deaf)
{
    struct sleeper *self = vigil_frame_alloc(sizeof *self, loop, source == NULL ? NULL : vigil_cancel_token_of(source));
    must(self != NULL);
    self->deaf = deaf;
    vigil_promise *promise = NULL;
    must_equal(vigil_frame_start(&self->frame, sleeper_steps, &promise), 0);
    then(promise, must_not_run, say_value, "ended");
    drop(promise);
}

static void sleep_and_abort(void *arg)
{
    (void)arg;
    sleep_for_ever(false);
    sleep_for_ever(true);
    must_equal(vigil_timer_start(loop, 2000000, abort_it, NULL, NULL), 0);
}

static void an_abort_ends_it_and_cleans_up_once(void **state)
{
    (void)state;
    frames_ended = 0;
    must_equal(vigil_cancel_create(&source), 0);
    on_loop_with(sleep_and_abort, NULL);
    must_have_said("ended!-4 ended!-4");
    must_equal(frames_ended, 2);
    vigil_cancel_destroy(source);
    source = NULL;
}

/* ---- the end of the loop ---------------------------------------------------------------------------------------------- */

static void sleep_and_stop(void *arg)
{
    (void)arg;
    sleep_for_ever(false);
    sleep_for_ever(true);
    must_equal(vigil_loop_pause(loop), 0);
}

static void the_end_of_the_loop_cleans_up_too(void **state)
{
    (void)state;
    for (int abrupt = 0; abrupt < 2; abrupt++) {
        frames_ended = 0;
        loop_open();
        must_equal(vigil_loop_call(loop, sleep_and_stop, NULL, NULL), 0);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 1);
        must_equal(frames_ended, 0);
        must_equal(abrupt ? vigil_loop_close(loop, VIGIL_FOREVER) : vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        must_equal(frames_ended, 2);
        if (!abrupt) /* a closed loop keeps what it could not report until it is destroyed */
            must_equal(promise_stats().alive, 0);
        /* Nothing begins on a loop that has ended, and the frame is used up all the same. */
        must_equal(count(1, NULL, NULL), -ESHUTDOWN);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* ---- at the edges --------------------------------------------------------------------------------------------------------- */

static void *start_elsewhere(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    must_equal(count(1, NULL, &promise), -EPERM);
    must(promise == NULL);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    return NULL;
}

static void start_a_thread(void *arg)
{
    *(pthread_t *)arg = start_thread(start_elsewhere, NULL);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    loop_open();
    must(vigil_frame_alloc(sizeof(vigil_frame) - 1, loop, NULL) == NULL);
    must(vigil_frame_alloc(sizeof(vigil_frame), NULL, NULL) == NULL);
    must_equal(vigil_frame_start(NULL, count_steps, NULL), -EINVAL);
    must_equal(vigil_frame_start(vigil_frame_alloc(sizeof(vigil_frame), loop, NULL), NULL, NULL), -EINVAL);
    vigil_frame_free(vigil_frame_alloc(sizeof(vigil_frame), loop, NULL));
    vigil_frame_free(NULL);
    pthread_t thread;
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(vigil_loop_call(loop, start_a_thread, NULL, &thread), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    join_thread(thread);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void raise_at_once(vigil_frame *frame)
{
    (void)frame;
    vigil_raise(-EBADE);
}

static void begin_with_a_raise(void *arg)
{
    (void)arg;
    vigil_promise *promise = NULL;
    vigil_frame *frame = vigil_frame_alloc(sizeof *frame, loop, NULL);
    must_equal(vigil_frame_start(frame, raise_at_once, &promise), 0);
    then(promise, must_not_run, say_value, "ended");
    drop(promise);
}

static void a_raise_before_the_beginning_rejects(void **state)
{
    (void)state;
    on_loop_with(begin_with_a_raise, NULL);
    must_have_said("ended!-52");
}

static void many(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < scaled(20000, 500); i++)
        must_equal(count(5, NULL, NULL), 0);
}

static void many_at_a_time_leave_nothing_behind(void **state)
{
    (void)state;
    frames_ended = 0;
    on_loop_with(many, NULL);
    must_equal(frames_ended, (int)scaled(20000, 500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(steps_come_in_order_and_values_arrive), test(every_error_goes_to_out_once),
        test(a_reason_keeps_what_it_carries),        test(an_abort_ends_it_and_cleans_up_once),
        test(the_end_of_the_loop_cleans_up_too),     test(bad_calls_are_refused),
        test(a_raise_before_the_beginning_rejects),  test(many_at_a_time_leave_nothing_behind),
    };
    return run_all(tests);
}
