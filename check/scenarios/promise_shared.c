/* SPDX-License-Identifier: MIT */
/*
 * Locks, units and messages that a loop waits for and another thread gives. Properties: what is given arrives on the loop, or is back
 * where it came from when the wait was aborted or the loop has ended; the memory of the wait is freed once.
 */
#include "loop_common.h"

#include <vigil/cancel.h>
#include <vigil/channel.h>
#include <vigil/promise.h>
#include <vigil/sync.h>

static vigil_mutex mutex;
static vigil_semaphore units;
static vigil_channel *channel;
static vigil_cancel_source *source;
static int message, got;
static bool locked, acquired, received;

static vigil_value on_locked(vigil_value *value, void *arg)
{
    (void)value;
    *(bool *)arg = true;
    if (arg == &locked)
        vgc_assert(vigil_mutex_unlock(&mutex) == 0, "unlocked");
    return vigil_value_none();
}

static void handle(vigil_promise *promise, bool *flag)
{
    vigil_promise *derived = NULL;
    vgc_assert(vigil_promise_then(promise, on_locked, NULL, flag, &derived) == 0, "a handler is added");
    vigil_promise_mark_handled(derived);
    vigil_promise_unref(derived);
    vigil_promise_unref(promise);
}

static void wait_for_it(void *arg)
{
    vigil_promise *promise = NULL;
    vigil_cancel_token *token = source != NULL ? vigil_cancel_token_of(source) : NULL;
    if (arg == &locked)
        vgc_assert(vigil_promise_lock(loop, &mutex, token, &promise) == 0, "it waits");
    else if (arg == &acquired)
        vgc_assert(vigil_promise_acquire(loop, &units, 1, token, &promise) == 0, "it waits");
    else
        vgc_assert(vigil_promise_receive(loop, channel, &got, token, &promise) == 0, "it waits");
    handle(promise, arg);
}

static void *give(void *arg)
{
    if (arg == &locked) {
        vgc_assert(vigil_mutex_lock(&mutex) == 0, "locked");
        vgc_assert(vigil_mutex_unlock(&mutex) == 0, "unlocked");
    } else if (arg == &acquired) {
        vgc_assert(vigil_semaphore_post(&units, 1) == 0, "posted");
    } else {
        message = 7;
        vgc_assert(vigil_channel_send(channel, &message, 0, NULL) == 0, "sent");
    }
    return NULL;
}

static void begin(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    (void)vigil_semaphore_init(&units, 0, 0);
    vgc_assert(vigil_channel_create(&channel, sizeof(int), 1) == 0, "made");
}

static void finish(void)
{
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vigil_channel_destroy(channel);
    vigil_cancel_destroy(source);
}

static void *kind_of_scenario(void)
{
    return (void *)(uintptr_t)vgc_arg();
}

static void given_to_loop(void)
{
    void *kind = kind_of_scenario();
    begin();
    vgc_assert(vigil_loop_call(loop, wait_for_it, NULL, kind) == 0, "a post is accepted");
    pthread_t giver = vgc_thread_start(give, kind);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end: the wait kept it");
    vgc_thread_join(giver);
    vgc_assert(*(bool *)kind, "what was given has arrived");
    vgc_assert(kind != &received || got == 7, "and it is what was sent");
    vgc_assert(mutex.vg_waiters.vg_word == 0 && vigil_semaphore_units(&units) == 0, "nothing is left");
    finish();
}

static void *abort_wait(void *arg)
{
    (void)arg;
    (void)vigil_cancel_abort(source, -ECANCELED, NULL);
    return NULL;
}

static void abort_races(void)
{
    void *kind = kind_of_scenario();
    begin();
    vgc_assert(vigil_cancel_create(&source) == 0, "made");
    vgc_assert(vigil_loop_call(loop, wait_for_it, NULL, kind) == 0, "a post is accepted");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    pthread_t giver = vgc_thread_start(give, kind);
    pthread_t aborter = vgc_thread_start(abort_wait, NULL);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_thread_join(giver);
    vgc_thread_join(aborter);
    vgc_assert(mutex.vg_waiters.vg_word == 0, "the mutex is free");
    vgc_assert(vigil_semaphore_units(&units) + acquired == (kind == &acquired), "the unit is there or used");
    vgc_assert(vigil_channel_count(channel) + received == (kind == &received), "the message is there or received");
    finish();
}

#define SHARED(id, function, kind, words)                                                                    \
    VGC_REGISTER(id, #id, function, words, .bound = "1 waits, 1 gives", .arg = &(kind), .opt.mode = VGC_PCT, \
                 .opt.runs = 3000)
SHARED(promise_shared_lock, given_to_loop, locked, "a mutex comes to a loop that waits for it");
SHARED(promise_shared_units, given_to_loop, acquired, "units come to a loop that waits for them");
SHARED(promise_shared_message, given_to_loop, received, "a message comes to a loop that waits for it");
SHARED(promise_shared_units_abort, abort_races, acquired, "units are not lost with a wait that is aborted");
SHARED(promise_shared_message_abort, abort_races, received, "a message is not lost with a wait that is aborted");
