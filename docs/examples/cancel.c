/* SPDX-License-Identifier: MIT */
/* Examples of vigil/cancel.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <vigil/cancel.h>
#include <vigil/loop.h>

/* vigil_cancel_create: make a cancel source */
static void make_a_source(void)
{
    vigil_cancel_source *source;
    if (vigil_cancel_create(&source) < 0)
        return;
    /* ... hand vigil_cancel_token_of(source) to the work ... */
    vigil_cancel_destroy(source);
}

/* vigil_cancel_create_any: make a source that follows several tokens */
static void follow_two_tokens(vigil_cancel_token *user,
                              vigil_cancel_token *server)
{
    vigil_cancel_token *both[] = {user, server};
    vigil_cancel_source *either;
    if (vigil_cancel_create_any(&either, both, 2) < 0)
        return;
    /* ... aborted as soon as one of the two is ... */
    vigil_cancel_destroy(either);
}

/* vigil_cancel_create_timeout: make a source that aborts in time */
static void abort_after_a_second(vigil_loop *loop)
{
    vigil_cancel_source *source;
    int rc = vigil_cancel_create_timeout(&source, loop, 1000000000);
    if (rc < 0)
        return;
    /* ... the loop aborts it with -ETIMEDOUT in a second ... */
    vigil_cancel_destroy(source);
}

/* vigil_cancel_create_deadline: a timeout and a token in one */
static void within_a_second(vigil_loop *loop, vigil_cancel_token *token)
{
    vigil_cancel_source *source;
    int rc =
        vigil_cancel_create_deadline(&source, loop, 1000000000, token);
    if (rc < 0)
        return;
    /* ... aborted in a second, or as the token is ... */
    vigil_cancel_destroy(source);
}

/* vigil_cancel_abort: abort, once and for good */
static void abort_once(vigil_cancel_source *source)
{
    int rc = vigil_cancel_abort(source, -ECANCELED, "the user left");
    assert(rc == 0);
    rc = vigil_cancel_abort(source, -ETIMEDOUT, "too late");
    assert(rc == -EALREADY); /* the first one counts */
}

/* vigil_cancel_token_of: get the token of a source */
static int work(vigil_cancel_token *token)
{
    for (int i = 0; i < 1000; i++)
        if (vigil_cancel_status(token) != 0)
            return vigil_cancel_status(token);
    return 0;
}

static void hand_out_the_token(vigil_cancel_source *source)
{
    int rc = work(vigil_cancel_token_of(source));
    printf("%s\n", rc == 0 ? "done" : vigil_strerror(rc));
}

/* vigil_cancel_destroy: give the source back */
static void destroy_a_source(void)
{
    vigil_cancel_source *source;
    if (vigil_cancel_create(&source) < 0)
        return;
    vigil_cancel_token *token =
        vigil_cancel_ref(vigil_cancel_token_of(source));
    vigil_cancel_destroy(source); /* the token stays, unaborted */
    assert(vigil_cancel_status(token) == 0);
    vigil_cancel_unref(token);
}

/*
 * vigil_cancel_ref: take one more reference to a token
 * vigil_cancel_unref: give a reference to a token back
 */
struct request {
    vigil_cancel_token *token;
};

static void begin_request(struct request *request,
                          vigil_cancel_token *token)
{
    request->token = vigil_cancel_ref(token); /* outlives the source */
}

static void end_request(struct request *request)
{
    vigil_cancel_unref(request->token);
}

/* vigil_cancel_status: ask whether a token is aborted */
static long sum_up(const int *numbers, size_t count,
                   vigil_cancel_token *token)
{
    long sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (vigil_cancel_status(token) != 0)
            return -1;
        sum += numbers[i];
    }
    return sum;
}

/* vigil_cancel_text: get the words that came with the abort */
static void say_why(vigil_cancel_token *token)
{
    if (vigil_cancel_status(token) != 0)
        printf("aborted: %s\n", vigil_cancel_text(token));
}

/*
 * vigil_cancel_add: have a function called on abort
 * vigil_cancel_remove: take a handler back
 */
struct transfer {
    vigil_cancel_handler handler; /* first */
    int stopped;
};

static void stop_transfer(vigil_cancel_handler *handler, int status)
{
    ((struct transfer *)handler)->stopped = status;
}

static void stop_on_abort(vigil_cancel_token *token)
{
    struct transfer transfer = {.handler = {.fn = stop_transfer}};
    if (vigil_cancel_add(token, &transfer.handler) < 0)
        return; /* aborted already */
    /* ... transfer ... */
    int rc = vigil_cancel_remove(token, &transfer.handler);
    assert(rc == 0 || transfer.stopped < 0);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_loop *loop;
    vigil_cancel_source *one, *two;
    struct request request;
    const int numbers[] = {1, 2, 3};
    if (vigil_loop_create(&loop, NULL) < 0 ||
        vigil_cancel_create(&one) < 0 || vigil_cancel_create(&two) < 0)
        return 1;
    vigil_cancel_token *token = vigil_cancel_token_of(one);
    make_a_source();
    follow_two_tokens(token, vigil_cancel_token_of(two));
    abort_after_a_second(loop);
    within_a_second(loop, token);
    hand_out_the_token(one);
    destroy_a_source();
    stop_on_abort(token);
    assert(sum_up(numbers, 3, token) == 6);
    abort_once(one);
    assert(sum_up(numbers, 3, token) == -1);
    say_why(token);
    assert(strcmp(vigil_cancel_text(token), "the user left") == 0);
    begin_request(&request, token);
    vigil_cancel_destroy(one);
    end_request(&request);
    vigil_cancel_destroy(two);
    vigil_loop_destroy(loop);
    return 0;
}
