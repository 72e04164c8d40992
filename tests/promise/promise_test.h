/* SPDX-License-Identifier: MIT */
/*
 * promise_test.h - what the tests of promises share: a loop to run a function on, a journal of what happened, and values
 * whose destructors are counted. At the end of each test no promise may be left.
 */
#ifndef VG_TEST_PROMISE_H
#define VG_TEST_PROMISE_H

#include "support.h"

#include <vigil/promise.h>

static vigil_loop *loop;
static char journal[512];
static _Atomic int values_alive;

static inline void say(const char *word)
{
    must(strlen(journal) + strlen(word) + 2 < sizeof journal);
    if (journal[0] != '\0')
        strcat(journal, " ");
    strcat(journal, word);
}

#define must_have_said(expected)                                                 \
    do {                                                                         \
        if (strcmp(journal, expected) != 0) {                                    \
            fprintf(stderr, "said \"%s\", and not \"%s\"\n", journal, expected); \
            support_fail("the order", __FILE__, __LINE__);                       \
        }                                                                        \
    } while (0)

/* ---- values that are counted ------------------------------------------------------------------------------------- */

static inline void counted_end(void *pointer)
{
    free(pointer);
    must(atomic_fetch_sub(&values_alive, 1) > 0);
}

static inline vigil_value counted(int64_t number)
{
    int64_t *it = malloc(sizeof *it);
    must(it != NULL);
    *it = number;
    atomic_fetch_add(&values_alive, 1);
    return vigil_value_pointer(it, counted_end);
}

static inline int64_t number_in(const vigil_value *value)
{
    if (value->kind == VIGIL_INT)
        return value->integer;
    must_equal(value->kind, VIGIL_POINTER);
    return *(int64_t *)value->pointer;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static inline vigil_promise_stats promise_stats(void)
{
    vigil_promise_stats stats = {.size = sizeof stats};
    must_equal(vigil_promise_stats_get(loop, &stats), 0);
    return stats;
}

static inline void loop_open(void)
{
    journal[0] = '\0';
    must_equal(vigil_loop_create(&loop, NULL), 0);
}

/* Run what is there, and look that nothing is left of it. */
static inline void loop_close(void)
{
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(promise_stats().alive, 0);
    must_equal(promise_stats().in_flight, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    loop = NULL;
}

/* Call body(arg) on a loop of its own, and run that to its end. */
static inline void on_loop_with(void (*body)(void *arg), void *arg)
{
    loop_open();
    must_equal(vigil_loop_call(loop, body, NULL, arg), 0);
    loop_close();
}

/* ---- short forms: they must work, and are the owner's ------------------------------------------------------------- */

static inline vigil_promise *pending(void)
{
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_create(&promise, loop), 0);
    return promise;
}

static inline vigil_promise *resolved(vigil_value value)
{
    vigil_promise *promise = NULL;
    must_equal(vigil_promise_resolved(loop, value, &promise), 0);
    return promise;
}

static inline void resolve(vigil_promise *promise, vigil_value value)
{
    must_equal(vigil_promise_resolve(promise, value), 0);
}

static inline void reject(vigil_promise *promise, int status)
{
    must_equal(vigil_promise_reject(promise, vigil_value_error(status)), 0);
}

static inline void drop(vigil_promise *promise)
{
    vigil_promise_unref(promise);
}

/* The derived promise is not wanted. */
static inline void then(vigil_promise *promise, vigil_then_fn fulfilled, vigil_then_fn rejected, void *arg)
{
    must_equal(vigil_promise_then(promise, fulfilled, rejected, arg, NULL), 0);
}

static inline vigil_promise *derive(vigil_promise *promise, vigil_then_fn fulfilled, vigil_then_fn rejected, void *arg)
{
    vigil_promise *derived = NULL;
    must_equal(vigil_promise_then(promise, fulfilled, rejected, arg, &derived), 0);
    return derived;
}

/* Handlers that say their argument. */
static inline vigil_value say_it(vigil_value *value, void *arg)
{
    (void)value;
    say(arg);
    return vigil_value_none();
}

/* ... and the number in the value: "word=7"; or the status: "word!-5". */
static inline vigil_value say_value(vigil_value *value, void *arg)
{
    char text[80];
    if (vigil_value_is_error(value))
        snprintf(text, sizeof text, "%s!%d", (const char *)arg, value->status);
    else if (value->kind == VIGIL_NONE)
        snprintf(text, sizeof text, "%s", (const char *)arg);
    else
        snprintf(text, sizeof text, "%s=%lld", (const char *)arg, (long long)number_in(value));
    say(text);
    return vigil_value_none();
}

static inline vigil_value must_not_run(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    support_fail("a handler ran that must not", __FILE__, __LINE__);
    return vigil_value_none();
}

#endif
