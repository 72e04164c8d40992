/* SPDX-License-Identifier: MIT */
/* Cancel sources and tokens: abort once, handlers in order and once, exact removal, any-of, timeouts. */
#include "promise_test.h"

struct listener {
    vigil_cancel_handler handler; /* first */
    const char *word;
    int calls, status;
    struct gate *gate;
    vigil_cancel_token *token;
    vigil_cancel_handler *removes;
    int answer;
};

static void listen(vigil_cancel_handler *handler, int status)
{
    struct listener *it = (struct listener *)handler;
    it->calls++;
    it->status = status;
    if (it->word != NULL)
        say(it->word);
    if (it->gate != NULL)
        gate_pass(it->gate);
    if (it->removes != NULL)
        it->answer = vigil_cancel_remove(it->token, it->removes);
}

static vigil_cancel_source *source_new(void)
{
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    return source;
}

static void abort_is_once_and_says_why(void **state)
{
    (void)state;
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    must_equal(vigil_cancel_status(token), 0);
    must(strcmp(vigil_cancel_text(token), "") == 0);
    must_equal(vigil_cancel_abort(source, -EINTR, "the user has pressed stop"), 0);
    must_equal(vigil_cancel_abort(source, -EIO, "too late"), -EALREADY);
    must_equal(vigil_cancel_status(token), -EINTR);
    must(strcmp(vigil_cancel_text(token), "the user has pressed stop") == 0);
    (void)vigil_cancel_ref(token);
    vigil_cancel_destroy(source);
    must_equal(vigil_cancel_status(token), -EINTR); /* it outlives its source */
    vigil_cancel_unref(token);
    source = source_new();
    char text[200];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    must_equal(vigil_cancel_abort(source, 7, text), 0); /* no negative status: -ECANCELED; the text is cut */
    must_equal(vigil_cancel_status(vigil_cancel_token_of(source)), -ECANCELED);
    must_equal(strlen(vigil_cancel_text(vigil_cancel_token_of(source))), VIGIL_CANCEL_TEXT - 1);
    vigil_cancel_destroy(source);
    must_equal(vigil_cancel_status(NULL), 0);
    must_equal(vigil_cancel_create(NULL), -EINVAL);
    must_equal(vigil_cancel_abort(NULL, 0, NULL), -EINVAL);
    vigil_cancel_destroy(NULL);
}

static void handlers_run_in_order_once(void **state)
{
    (void)state;
    journal[0] = '\0';
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    struct listener them[] = {{.word = "a"}, {.word = "b"}, {.word = "c"}, {.word = "d"}};
    for (int i = 0; i < 4; i++) {
        them[i].handler.fn = listen;
        must_equal(vigil_cancel_add(token, &them[i].handler), 0);
    }
    must_equal(vigil_cancel_remove(token, &them[1].handler), 0);
    must_equal(vigil_cancel_remove(token, &them[1].handler), -EALREADY);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_have_said("a c d");
    for (int i = 0; i < 4; i++)
        must_equal(them[i].calls, i != 1);
    must_equal(them[0].status, -EINTR);
    must_equal(vigil_cancel_remove(token, &them[0].handler), -EALREADY);
    must_equal(vigil_cancel_add(token, &them[0].handler), -ECANCELED); /* and is not called */
    must_equal(them[0].calls, 1);
    must_equal(vigil_cancel_add(token, NULL), -EINVAL);
    vigil_cancel_destroy(source);
}

static void a_handler_may_remove_itself_and_the_next(void **state)
{
    (void)state;
    journal[0] = '\0';
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    struct listener them[] = {{.word = "a"}, {.word = "b"}, {.word = "c"}};
    for (int i = 0; i < 3; i++) {
        them[i].handler.fn = listen;
        them[i].token = token;
        must_equal(vigil_cancel_add(token, &them[i].handler), 0);
    }
    them[0].removes = &them[1].handler; /* not yet run: it will not */
    them[2].removes = &them[2].handler; /* itself: does not wait for its own end */
    must_equal(vigil_cancel_abort(source, 0, NULL), 0);
    must_have_said("a c");
    must_equal(them[0].answer, 0);
    must_equal(them[2].answer, -EALREADY);
    vigil_cancel_destroy(source);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *abort_it(void *arg)
{
    (void)vigil_cancel_abort(arg, -EINTR, NULL);
    return NULL;
}

struct remover {
    vigil_cancel_token *token;
    struct listener *listener;
    struct event removed;
};

static void *remove_it(void *arg)
{
    struct remover *it = arg;
    must_equal(vigil_cancel_remove(it->token, &it->listener->handler), -EALREADY);
    must_equal(it->listener->status, -EINTR); /* it has run to its end: what it wrote is seen */
    event_set(&it->removed);
    return NULL;
}

static void remove_waits_for_a_handler_that_runs(void **state)
{
    (void)state;
    vigil_cancel_source *source = source_new();
    struct gate gate = {0};
    struct listener it = {.handler = {.fn = listen}, .gate = &gate};
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    must_equal(vigil_cancel_add(token, &it.handler), 0);
    pthread_t aborter = start_thread(abort_it, source);
    gate_wait_entered(&gate, 1);
    struct remover remover = {.token = token, .listener = &it};
    pthread_t thread = start_thread(remove_it, &remover);
    must(!event_wait_for(&remover.removed, 2000000)); /* it is still inside */
    gate_open(&gate);
    join_thread(thread);
    join_thread(aborter);
    vigil_cancel_destroy(source);
}

struct storm {
    struct meeting start;
    vigil_cancel_source *source;
    uint64_t rounds;
    _Atomic int aborts, numbers;
};

static void *storm_thread(void *arg)
{
    struct storm *storm = arg;
    int number = atomic_fetch_add(&storm->numbers, 1);
    for (uint64_t i = 0; i < storm->rounds; i++) {
        (void)meeting_join(&storm->start);
        vigil_cancel_token *token = vigil_cancel_token_of(storm->source);
        struct listener them[3];
        int added[3];
        for (int k = 0; k < 3; k++) {
            them[k] = (struct listener){.handler = {.fn = listen}};
            added[k] = vigil_cancel_add(token, &them[k].handler);
        }
        if (vigil_cancel_abort(storm->source, -EINTR, NULL) == 0)
            atomic_fetch_add(&storm->aborts, 1);
        for (int k = 0; k < 3; k++) {
            int removed = added[k] == 0 ? vigil_cancel_remove(token, &them[k].handler) : 0;
            must_equal(them[k].calls, added[k] == 0 && removed == -EALREADY); /* exact, and they lie on this stack */
        }
        (void)meeting_join(&storm->start);
        if (number == 0) {
            must_equal(atomic_exchange(&storm->aborts, 0), 1);
            vigil_cancel_destroy(storm->source);
            storm->source = source_new();
        }
        (void)meeting_join(&storm->start);
    }
    return NULL;
}

static void adds_removes_and_aborts_may_race(void **state)
{
    (void)state;
    static struct storm storm;
    storm = (struct storm){.start = {.size = 4}, .source = source_new(), .rounds = scaled(20000, 100)};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(storm_thread, &storm);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    vigil_cancel_destroy(storm.source);
}

/* ---- any-of ------------------------------------------------------------------------------------------------------ */

static void any_follows_the_first(void **state)
{
    (void)state;
    journal[0] = '\0';
    vigil_cancel_source *a = source_new();
    vigil_cancel_source *b = source_new();
    vigil_cancel_token *tokens[] = {vigil_cancel_token_of(a), vigil_cancel_token_of(b)};
    vigil_cancel_source *any = NULL;
    vigil_cancel_source *outer = NULL;
    must_equal(vigil_cancel_create_any(&any, tokens, 2), 0);
    vigil_cancel_token *inner = vigil_cancel_token_of(any);
    must_equal(vigil_cancel_create_any(&outer, &inner, 1), 0);
    struct listener it = {.handler = {.fn = listen}, .word = "any"};
    must_equal(vigil_cancel_add(vigil_cancel_token_of(outer), &it.handler), 0);
    must_equal(vigil_cancel_abort(b, -EINTR, "why"), 0);
    must_have_said("any");
    must_equal(vigil_cancel_abort(a, -EIO, "later"), 0);
    must_equal(vigil_cancel_status(vigil_cancel_token_of(outer)), -EINTR);
    must(strcmp(vigil_cancel_text(vigil_cancel_token_of(outer)), "why") == 0);
    vigil_cancel_source *late = NULL;
    must_equal(vigil_cancel_create_any(&late, tokens, 2), 0); /* aborted from the start */
    must_equal(vigil_cancel_status(vigil_cancel_token_of(late)), -EIO);
    vigil_cancel_source *none = NULL;
    must_equal(vigil_cancel_create_any(&none, NULL, 0), 0);
    must_equal(vigil_cancel_status(vigil_cancel_token_of(none)), 0);
    must_equal(vigil_cancel_create_any(&none, NULL, 1), -EINVAL);
    vigil_cancel_destroy(a);
    vigil_cancel_destroy(outer);
    vigil_cancel_destroy(b);
    vigil_cancel_destroy(any);
    vigil_cancel_destroy(late);
    vigil_cancel_destroy(none);
}

static void *drop_it(void *arg)
{
    vigil_cancel_destroy(arg);
    return NULL;
}

static void a_follower_may_go_while_its_parent_aborts(void **state)
{
    (void)state;
    for (uint64_t i = scaled(2000, 50); i > 0; i--) {
        vigil_cancel_source *parent = source_new();
        vigil_cancel_token *token = vigil_cancel_token_of(parent);
        vigil_cancel_source *child = NULL;
        must_equal(vigil_cancel_create_any(&child, &token, 1), 0);
        pthread_t threads[] = {start_thread(abort_it, parent), start_thread(drop_it, child)};
        join_thread(threads[0]);
        join_thread(threads[1]);
        vigil_cancel_destroy(parent);
    }
}

/* As AbortSignal.any: whoever hears of the abort of a source sees its dependants aborted too; their handlers run after. */
static vigil_cancel_source *dependants[2];

static void see_dependants(vigil_cancel_handler *handler, int status)
{
    (void)handler;
    (void)status;
    for (int i = 0; i < 2; i++)
        say(vigil_cancel_status(vigil_cancel_token_of(dependants[i])) != 0 ? "marked" : "unmarked");
}

static void dependants_are_aborted_before_the_handlers_of_their_source(void **state)
{
    (void)state;
    journal[0] = '\0';
    vigil_cancel_source *source = source_new();
    vigil_cancel_token *token = vigil_cancel_token_of(source);
    struct listener first = {.handler = {.fn = listen}, .word = "source"};
    vigil_cancel_handler looks = {.fn = see_dependants};
    must_equal(vigil_cancel_add(token, &looks), 0);
    must_equal(vigil_cancel_create_any(&dependants[0], &token, 1), 0);
    vigil_cancel_token *middle = vigil_cancel_token_of(dependants[0]);
    must_equal(vigil_cancel_create_any(&dependants[1], &middle, 1), 0);
    struct listener second = {.handler = {.fn = listen}, .word = "dependant"};
    struct listener third = {.handler = {.fn = listen}, .word = "its-dependant"};
    must_equal(vigil_cancel_add(vigil_cancel_token_of(dependants[1]), &third.handler), 0);
    must_equal(vigil_cancel_add(middle, &second.handler), 0);
    must_equal(vigil_cancel_add(token, &first.handler), 0);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_have_said("marked marked source dependant its-dependant");
    vigil_cancel_destroy(source);
    vigil_cancel_destroy(dependants[0]);
    vigil_cancel_destroy(dependants[1]);
}

/* Each made of the one before; the last keeps them all. */
static vigil_cancel_source *chain_of(vigil_cancel_source *first, size_t length)
{
    vigil_cancel_source *last = first;
    for (size_t i = 0; i < length; i++) {
        vigil_cancel_token *token = vigil_cancel_token_of(last);
        vigil_cancel_source *next = NULL;
        must_equal(vigil_cancel_create_any(&next, &token, 1), 0);
        if (last != first)
            vigil_cancel_destroy(last);
        last = next;
    }
    return last;
}

static void a_chain_of_any_length_is_aborted_and_dropped(void **state)
{
    (void)state;
    journal[0] = '\0';
    for (int aborted = 0; aborted < 2; aborted++) {
        vigil_cancel_source *first = source_new();
        vigil_cancel_source *last = chain_of(first, 500000);
        struct listener it = {.handler = {.fn = listen}, .word = "end"};
        must_equal(vigil_cancel_add(vigil_cancel_token_of(last), &it.handler), 0);
        if (aborted) {
            must_equal(vigil_cancel_abort(first, -EIO, "far away"), 0);
            must_have_said("end");
            must(strcmp(vigil_cancel_text(vigil_cancel_token_of(last)), "far away") == 0);
        } else {
            must_equal(vigil_cancel_remove(vigil_cancel_token_of(last), &it.handler), 0);
        }
        vigil_cancel_destroy(first);
        vigil_cancel_destroy(last);
    }
}

/* ---- timeouts ---------------------------------------------------------------------------------------------------- */

static vigil_cancel_source *timed;
static uint64_t started;
static struct listener rings = {.handler = {.fn = listen}, .word = "time"};

static void timeout_body(void *arg)
{
    started = now_ns();
    must_equal(vigil_cancel_create_timeout(&timed, loop, 2000000), 0);
    must_equal(vigil_cancel_add(vigil_cancel_token_of(timed), &rings.handler), 0);
    (void)vigil_cancel_ref(vigil_cancel_token_of(timed));
    vigil_cancel_destroy(timed); /* the token alone is enough */
    vigil_promise *p = NULL;
    must_equal(vigil_promise_sleep(loop, 10000000, NULL, &p), 0); /* the timeout itself keeps nothing alive */
    drop(p);
    (void)arg;
}

static void a_timeout_aborts_when_its_time_has_come(void **state)
{
    (void)state;
    on_loop_with(timeout_body, NULL);
    must_have_said("time");
    must(now_ns() - started >= 2000000);
    must_equal(vigil_cancel_status(vigil_cancel_token_of(timed)), -ETIMEDOUT);
    vigil_cancel_unref(vigil_cancel_token_of(timed));
}

static void unwanted_body(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        vigil_cancel_source *source = NULL;
        must_equal(vigil_cancel_create_timeout(&source, loop, 3600000000000), 0);
        vigil_cancel_destroy(source); /* its timer goes with it, not in an hour */
    }
    must_equal(vigil_cancel_create_timeout(&timed, loop, 3600000000000), 0); /* this one ends with the loop */
}

static void a_timeout_that_nobody_wants_is_taken_back(void **state)
{
    (void)state;
    loop_open();
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(vigil_loop_call(loop, unwanted_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 1);
    must_equal(promise_stats().in_flight, 1);
    must_equal(vigil_loop_unref(loop), 0);
    loop_close();
    must_equal(vigil_cancel_status(vigil_cancel_token_of(timed)), -ESHUTDOWN);
    vigil_cancel_destroy(timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(abort_is_once_and_says_why),
        test(handlers_run_in_order_once),
        test(a_handler_may_remove_itself_and_the_next),
        test(remove_waits_for_a_handler_that_runs),
        test(adds_removes_and_aborts_may_race),
        test(any_follows_the_first),
        test(a_follower_may_go_while_its_parent_aborts),
        test(dependants_are_aborted_before_the_handlers_of_their_source),
        test(a_chain_of_any_length_is_aborted_and_dropped),
        test(a_timeout_aborts_when_its_time_has_come),
        test(a_timeout_that_nobody_wants_is_taken_back),
    };
    return run_all(tests);
}
