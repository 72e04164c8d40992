/* SPDX-License-Identifier: MIT */
/*
 * Rwlock, condition, latch, barrier, select, messages from hand to hand and an idle pool that a loop waits for and
 * another thread gives. Properties: what is given arrives on the loop; when the loop ends, a message that was sent has
 * arrived, and everything else is back where it came from.
 *
 * Each in two forms: the loop at rest when it is given, and the end of the loop racing with it.
 */
#include "loop_common.h"

#include "base/futex.h"

#include <vigil/cancel.h>
#include <vigil/channel.h>
#include <vigil/pool.h>
#include <vigil/promise.h>
#include <vigil/sync.h>

enum object {
    READ = 1,
    WRITE,
    CONDITION,
    LATCH,
    BARRIER,
    HAND_RECEIVE,
    HAND_SEND,
    SELECT_HAND,
    SELECT_RING,
    RING_RECEIVE,
    POOL
};

static vigil_rwlock rwlock;
static vigil_mutex mutex;
static vigil_condition condition;
static vigil_latch latch;
static vigil_barrier barrier;
static vigil_channel *channel, *other;
static vigil_channel_case cases[2];
static vigil_promise *promise;
static vigil_cancel_source *source;
static int message, got, given;
static bool arrived, unlocked;
static vigil_pool *pool;
static _Atomic uint32_t gate;

static int object(void)
{
    return (int)(intptr_t)vgc_arg();
}

static void unlock_mutex(void)
{
    vgc_assert(vigil_mutex_unlock(&mutex) == 0, "it was ours");
    unlocked = true;
}

static vigil_value on_given(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    arrived = true;
    if (object() == CONDITION)
        unlock_mutex();
    return vigil_value_none();
}

static vigil_value on_rejected(vigil_value *value, void *arg)
{
    (void)arg;
    if (object() == CONDITION && value->status == -ECANCELED) /* aborted: it has the mutex also then */
        unlock_mutex();
    return vigil_value_none();
}

static void wait_for_it(void *arg)
{
    (void)arg;
    vigil_cancel_token *token = source != NULL ? vigil_cancel_token_of(source) : NULL;
    int answer = 0;
    if (object() == READ || object() == WRITE) { /* held by a function, so any thread may unlock it */
        vigil_promise *held = NULL;
        vgc_assert(vigil_promise_write_lock(loop, &rwlock, NULL, &held) == 0, "locked");
        vigil_promise_unref(held);
    }
    switch (object()) {
    case READ:
        answer = vigil_promise_read_lock(loop, &rwlock, token, &promise);
        break;
    case WRITE:
        answer = vigil_promise_write_lock(loop, &rwlock, token, &promise);
        break;
    case CONDITION: {
        vigil_promise *locked = NULL;
        vgc_assert(vigil_promise_lock(loop, &mutex, NULL, &locked) == 0, "the mutex is free");
        vigil_promise_unref(locked);
        answer = vigil_promise_condition(loop, &condition, &mutex, token, &promise);
        break;
    }
    case POOL:
        answer = vigil_promise_pool_idle(loop, pool, token, &promise);
        break;
    case LATCH:
        answer = vigil_promise_latch(loop, &latch, token, &promise);
        break;
    case BARRIER:
        answer = vigil_promise_barrier(loop, &barrier, token, &promise);
        break;
    case HAND_RECEIVE:
    case RING_RECEIVE:
        answer = vigil_promise_receive(loop, channel, &got, token, &promise);
        break;
    case HAND_SEND:
        got = 7;
        answer = vigil_promise_send(loop, channel, &got, token, &promise);
        break;
    default:
        cases[0] = (vigil_channel_case){.channel = other, .receive = &got};
        cases[1] = (vigil_channel_case){.channel = channel, .receive = &got};
        answer = vigil_promise_select(loop, cases, 2, token, &promise);
        break;
    }
    vgc_assert(answer == 0, "it waits");
    vigil_promise *derived = NULL;
    vgc_assert(vigil_promise_then(promise, on_given, on_rejected, NULL, &derived) == 0, "a handler is added");
    vigil_promise_mark_handled(derived);
    vigil_promise_unref(derived);
}

/* given: how often; a thing that only somebody who waits can have may be refused. */
static void *give(void *arg)
{
    (void)arg;
    int answer = 0;
    switch (object()) {
    case READ:
    case WRITE:
        answer = vigil_rwlock_unlock(&rwlock);
        vgc_assert(answer == 0, "unlocked");
        break;
    case CONDITION:
        vgc_assert(vigil_mutex_lock(&mutex) == 0, "locked");
        message = 7;
        vgc_assert(vigil_mutex_unlock(&mutex) == 0, "unlocked");
        answer = vigil_condition_signal(&condition) - 1;
        break;
    case POOL:
        atomic_store_explicit(&gate, 1, memory_order_release);
        (void)vg_futex_wake(&gate, 1);
        break;
    case LATCH:
        answer = vigil_latch_down(&latch, 1);
        vgc_assert(answer == 0, "down");
        break;
    case BARRIER:
        answer = vigil_barrier_wait(&barrier, 0, NULL);
        answer = answer == 1 ? 0 : answer;
        break;
    case HAND_SEND:
        answer = vigil_channel_receive(channel, 0, NULL, &message);
        vgc_assert(answer != 0 || message == 7, "what was sent");
        break;
    default:
        message = 7;
        answer = vigil_channel_send(channel, &message, 0, NULL);
        break;
    }
    given = answer == 0;
    return NULL;
}

static int wait_at_gate(void *arg)
{
    (void)arg;
    while (atomic_load_explicit(&gate, memory_order_acquire) == 0)
        (void)vg_futex_wait(&gate, 0, VG_NO_DEADLINE);
    return 0;
}

static void begin(void)
{
    if (object() == POOL) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 1;
        vgc_assert(vigil_pool_create(&pool, &options) == 0, "made");
        vgc_assert(vigil_pool_call(pool, wait_at_gate, NULL, NULL, VIGIL_NORMAL) == 0, "accepted");
    }
    loop_make(VIGIL_FAST_PATH_AUTO, false);
    (void)vigil_latch_init(&latch, 1);
    (void)vigil_barrier_init(&barrier, 2);
    vgc_assert(vigil_channel_create(&channel, sizeof(int), object() >= SELECT_RING) == 0, "made");
    vgc_assert(vigil_channel_create(&other, sizeof(int), 0) == 0, "made");
    vgc_assert(vigil_loop_call(loop, wait_for_it, NULL, NULL) == 0, "a post is accepted");
}

static bool fulfilled(void)
{
    return vigil_promise_state_get(promise) == VIGIL_FULFILLED;
}

/* Nothing waits any more, and what was given to nobody is there. */
static void look_at_rest(void)
{
    int dummy = 0;
    switch (object()) {
    case READ:
    case WRITE:
        if (fulfilled())
            vgc_assert(vigil_rwlock_unlock(&rwlock) == 0, "it was ours");
        vgc_assert(rwlock.vg_waiters.vg_word == 0, "the rwlock is free");
        break;
    case CONDITION:
        if (fulfilled() && !unlocked)
            unlock_mutex();
        vgc_assert(mutex.vg_waiters.vg_word == 0, "the mutex is free");
        vgc_assert(vigil_condition_signal(&condition) == 0, "nobody waits");
        break;
    case BARRIER:
        vgc_assert(vigil_barrier_wait(&barrier, 0, NULL) == -ETIMEDOUT, "nobody has arrived");
        break;
    case POOL:
        vigil_pool_destroy(pool);
        break;
    case LATCH:
        break;
    default:
        vgc_assert(fulfilled() + vigil_channel_count(channel) == (size_t)given, "what was sent has arrived");
        vgc_assert(!fulfilled() || object() == HAND_SEND || got == 7, "and it is what was sent");
        if (object() != SELECT_RING)
            vgc_assert(vigil_channel_send(channel, &dummy, 0, NULL) == -ETIMEDOUT, "nobody receives");
        vgc_assert(vigil_channel_send(other, &dummy, 0, NULL) == -ETIMEDOUT, "nobody receives");
        break;
    }
    vigil_promise_unref(promise);
    vigil_channel_destroy(channel);
    vigil_channel_destroy(other);
    vigil_cancel_destroy(source);
}

static void *run_loop(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end: the wait kept it");
    return NULL;
}

static void at_rest(void)
{
    begin();
    pthread_t runner = vgc_thread_start(run_loop, NULL);
    vgc_quiesce();
    (void)give(NULL);
    vgc_quiesce();
    vgc_assert(given && arrived, "what was given has arrived");
    vgc_thread_join(runner);
    vgc_assert(fulfilled(), "and settles the promise");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    look_at_rest();
}

static void end_races(bool graceful)
{
    begin();
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    pthread_t giver = vgc_thread_start(give, NULL);
    if (graceful)
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_thread_join(giver);
    look_at_rest();
}

static void shutdown_races(void)
{
    end_races(true);
}

static void close_races(void)
{
    end_races(false);
}

static void *abort_wait(void *arg)
{
    (void)arg;
    (void)vigil_cancel_abort(source, -ECANCELED, NULL);
    return NULL;
}

static void abort_races(void)
{
    vgc_assert(vigil_cancel_create(&source) == 0, "made");
    begin();
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    pthread_t giver = vgc_thread_start(give, NULL);
    pthread_t aborter = vgc_thread_start(abort_wait, NULL);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
    vgc_thread_join(giver);
    vgc_thread_join(aborter);
    vgc_assert(object() != CONDITION || unlocked, "a function that waited for a condition has had its mutex");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    look_at_rest();
}

/* Behind the loop waits a thread: what the loop does not take is for it. */
static void *receive_second(void *arg)
{
    int number = 0;
    vgc_assert(vigil_channel_receive(channel, VIGIL_FOREVER, NULL, &number) == 0 && number == 7, "received");
    return arg;
}

static void *send_in_time(void *arg)
{
    message = 7;
    vgc_assert(vigil_channel_send(channel, &message, VIGIL_FOREVER, NULL) == 0, "sent");
    return arg;
}

static void next_in_line(void)
{
    begin();
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    pthread_t receiver = vgc_thread_start(receive_second, NULL);
    pthread_t sender = vgc_thread_start(send_in_time, NULL);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_thread_join(sender);
    if (fulfilled()) {
        vgc_assert(got == 7, "the loop has it");
        (void)send_in_time(NULL);
    }
    vgc_thread_join(receiver);
    vigil_promise_unref(promise);
    vigil_channel_destroy(channel);
    vigil_channel_destroy(other);
}

/* The same for a signal: the loop has it when it ends, and the thread behind it is still asleep. */
static void *wait_second(void *arg)
{
    vgc_assert(vigil_mutex_lock(&mutex) == 0, "locked");
    vgc_assert(vigil_condition_wait(&condition, &mutex, VIGIL_FOREVER, NULL) == 0, "signalled");
    vgc_assert(vigil_mutex_unlock(&mutex) == 0, "unlocked");
    return arg;
}

static void *signal_once(void *arg)
{
    vgc_assert(vigil_condition_signal(&condition) == 1, "somebody waits");
    return arg;
}

static void condition_next(void)
{
    begin();
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
    pthread_t second = vgc_thread_start(wait_second, NULL);
    vgc_quiesce();
    pthread_t signaller = vgc_thread_start(signal_once, NULL);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_thread_join(signaller);
    if (fulfilled()) { /* it came in time */
        if (!unlocked)
            unlock_mutex();
        (void)signal_once(NULL);
    }
    vgc_thread_join(second);
    vigil_promise_unref(promise);
    vigil_channel_destroy(channel);
    vigil_channel_destroy(other);
}

#define FORM(id, function, words, kind)                                                                        \
    VGC_REGISTER(id, #id, function, words, .bound = "1 waits, 1 gives", .arg = (const void *)(intptr_t)(kind), \
                 .opt.mode = VGC_PCT, .opt.runs = 1500)
#define OBJECT(name, kind)                                                                                            \
    FORM(promise_##name##_rest, at_rest, "what is given arrives on a loop that waits for it", kind);                  \
    FORM(promise_##name##_end, shutdown_races, "what is given when the loop ends is there or has arrived", kind);     \
    FORM(promise_##name##_close, close_races, "what is given when the loop is closed is there or has arrived", kind); \
    FORM(promise_##name##_abort, abort_races, "what is given when the wait is aborted is there or has arrived", kind)
OBJECT(read, READ);
OBJECT(write, WRITE);
OBJECT(condition, CONDITION);
OBJECT(latch, LATCH);
OBJECT(pool_idle, POOL);
OBJECT(barrier, BARRIER);
OBJECT(hand_receive, HAND_RECEIVE);
OBJECT(hand_send, HAND_SEND);
OBJECT(select_hand, SELECT_HAND);
OBJECT(select_ring, SELECT_RING);
FORM(promise_hand_next, next_in_line, "a message that a loop does not take is for the next receiver", HAND_RECEIVE);
FORM(promise_ring_next, next_in_line, "a message that a loop does not take is for the next receiver", RING_RECEIVE);
FORM(promise_select_next, next_in_line, "a message that a select does not take is for the next receiver", SELECT_RING);
FORM(promise_condition_next, condition_next, "a signal that a loop does not take is for the next that waits",
     CONDITION);
