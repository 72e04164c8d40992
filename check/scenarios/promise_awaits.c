/* SPDX-License-Identifier: MIT */
/*
 * What a loop can wait for by promises, on one thread: time, descriptors, signals, rates, other promises within limits, several at once, locks and
 * messages. Each is waited for until it comes, until its token is aborted, and until the loop ends; and what is refused changes nothing.
 * There is one execution of each, but for allocations that fail.
 */
#include "loop_common.h"

#include <vigil/cancel.h>
#include <vigil/channel.h>
#include <vigil/pool.h>
#include <vigil/promise.h>
#include <vigil/sync.h>

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REFUSED(call, status) vgc_assert((call) == (status), "the call is refused")
#define MADE(call)            vgc_assert((call) == 0, "the call is accepted")

enum how {
    COMES, /* the thing itself */
    ABORT, /* the token first */
    ENDS,  /* the loop first */
    CLOSES /* the loop is closed */
};

static enum how how(void)
{
    return (enum how)(intptr_t)vgc_arg();
}

static vigil_cancel_source *aborter, *aborted;
static vigil_promise *promise;

static vigil_cancel_token *token(void)
{
    return vigil_cancel_token_of(aborter);
}

/* A token that was aborted before: nothing begins. */
static vigil_cancel_token *too_late(void)
{
    return vigil_cancel_token_of(aborted);
}

static void begin(void)
{
    loop_make(VIGIL_FAST_PATH_DISABLED, false);
    MADE(vigil_cancel_create(&aborter));
    MADE(vigil_cancel_create(&aborted));
    MADE(vigil_cancel_abort(aborted, -EDOM, NULL));
}

static void turn(void)
{
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "a turn");
}

static void is_settled(vigil_promise *it, int status)
{
    vigil_value value = vigil_value_none();
    const vigil_promise_state state = vigil_promise_result(it, &value);
    vgc_assert(state == (status == 0 ? VIGIL_FULFILLED : VIGIL_REJECTED), "it is settled as it must be");
    vgc_assert(status == 0 || value.status == status, "with its reason");
}

static int64_t number_in(vigil_promise *it)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(it, &value) == VIGIL_FULFILLED && value.kind == VIGIL_INT, "it has a number");
    return value.integer;
}

/* The wait has begun: let it end as the scenario says. Returns the status that it must have. */
static int end_wait(void (*make_it_come)(void))
{
    int status = 0;
    (void)vigil_promise_mark_handled(promise);
    turn();
    vgc_assert(vigil_promise_state_get(promise) == VIGIL_PENDING, "it waits");
    if (how() == COMES) {
        make_it_come();
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the wait keeps the loop until it comes");
    } else if (how() == ABORT) {
        status = -ECONNABORTED;
        MADE(vigil_cancel_abort(aborter, status, "no more"));
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "nothing keeps the loop any more");
    } else {
        status = -ESHUTDOWN;
        vgc_assert((how() == ENDS ? vigil_loop_shutdown(loop, VIGIL_FOREVER) : vigil_loop_close(loop, VIGIL_FOREVER)) ==
                       0,
                   "the loop ends");
    }
    is_settled(promise, status);
    return status;
}

static void end(void)
{
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    if (how() < ENDS) {
        MADE(vigil_promise_stats_get(loop, &stats));
        vgc_assert(stats.in_flight == 0, "no operation is left behind");
    }
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vigil_promise_unref(promise);
    vigil_cancel_destroy(aborter);
    vigil_cancel_destroy(aborted);
}

#define AWAIT_AS(id, form, function, property_text, kind)                                                   \
    VGC_REGISTER(id##_##form, "promise_await_" #id "_" #form, function, property_text, .bound = "1 thread", \
                 .opt.max_steps = 30000, .arg = (const void *)(intptr_t)(kind))
#define AWAIT(id, function, property_text)               \
    AWAIT_AS(id, comes, function, property_text, COMES); \
    AWAIT_AS(id, abort, function, property_text, ABORT); \
    AWAIT_AS(id, end, function, property_text, ENDS);    \
    AWAIT_AS(id, close, function, property_text, CLOSES)

/* ---- time ---- */

static uint64_t due;

static void let_time_pass(void)
{
    due = vgc_clock_now();
}

static void wait_for_time(void)
{
    begin();
    REFUSED(vigil_promise_sleep(NULL, 1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_sleep(loop, 1, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_sleep(loop, -1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_sleep(loop, 1, too_late(), &promise), -ECANCELED);
    MADE(vigil_promise_sleep(loop, 5000, token(), &promise));
    if (end_wait(let_time_pass) == 0)
        vgc_assert(vgc_clock_now() >= due + 4000, "it does not come early");
    end();
}
AWAIT(sleep, wait_for_time, "a time is over when it is, or its wait ends");

/* ---- a rate ---- */

static vigil_rate rate;

static void wait_for_rate(void)
{
    vigil_promise *at_once = NULL;
    begin();
    MADE(vigil_rate_init(&rate, 1, 1000000, 2));
    REFUSED(vigil_promise_rate(loop, NULL, 1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_rate(loop, &rate, 3, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_rate(NULL, &rate, 1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_rate(loop, &rate, 1, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_rate(loop, &rate, 1, too_late(), &promise), -ECANCELED);
    MADE(vigil_promise_rate(loop, &rate, 2, NULL, &at_once));
    is_settled(at_once, 0);
    vigil_promise_unref(at_once);
    MADE(vigil_promise_rate(loop, &rate, 1, token(), &promise));
    const int status = end_wait(let_time_pass);
    if (status == 0)
        vgc_assert(vgc_clock_now() >= due + 900000, "units do not come early");
    vgc_clock_advance(1000000); /* one unit has come since, or two */
    const int second = vigil_rate_take(&rate, 1, 0, NULL);
    vgc_assert(second == 0, "what was reserved and not used is for those who come later");
    end();
}
AWAIT(rate, wait_for_rate, "units of a rate come in time, and go back if nobody waits for them");

/* ---- descriptors ---- */

static int ends[2];

static void make_readable(void)
{
    vgc_assert(write(ends[1], "x", 1) == 1, "a byte");
}

static void wait_for_descriptor(void)
{
    begin();
    vgc_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "two ends");
    REFUSED(vigil_promise_fd(loop, ends[0], VIGIL_FD_READ, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_fd(loop, -1, VIGIL_FD_READ, NULL, &promise), -EBADF);
    REFUSED(vigil_promise_fd(loop, ends[0], VIGIL_FD_READ, too_late(), &promise), -ECANCELED);
    MADE(vigil_promise_fd(loop, ends[0], VIGIL_FD_READ, token(), &promise));
    if (end_wait(make_readable) == 0)
        vgc_assert((number_in(promise) & VIGIL_FD_READ) != 0, "it can be read");
    end();
    (void)close(ends[0]);
    (void)close(ends[1]);
}
AWAIT(fd, wait_for_descriptor, "a descriptor's event settles its promise once");

/* ---- another promise, within limits ---- */

static vigil_promise *guarded;

static void settle_guarded(void)
{
    MADE(vigil_promise_resolve(guarded, vigil_value_int(4)));
}

static void guard(void)
{
    vigil_promise *late[2], *settled = NULL;
    begin();
    REFUSED(vigil_promise_guard(NULL, NULL, 1, &promise), -EINVAL);
    MADE(vigil_promise_create(&guarded, loop));
    REFUSED(vigil_promise_guard(guarded, NULL, 1, NULL), -EINVAL);
    REFUSED(vigil_promise_guard(guarded, too_late(), 1, &promise), -ECANCELED);
    MADE(vigil_promise_guard(guarded, NULL, 0, &late[0])); /* at once */
    MADE(vigil_promise_guard(guarded, token(), 1000, &late[1]));
    MADE(vigil_promise_resolved(loop, vigil_value_int(8), &settled));
    vigil_promise *in_time = NULL;
    MADE(vigil_promise_guard(settled, NULL, 0, &in_time)); /* settled already: in time */
    MADE(vigil_promise_mark_handled(late[0]));
    MADE(vigil_promise_mark_handled(late[1]));
    turn();
    vgc_clock_advance(2000);
    turn();
    is_settled(late[0], -ETIMEDOUT);
    is_settled(late[1], -ETIMEDOUT);
    vgc_assert(number_in(in_time) == 8, "what was settled before is in time");
    MADE(vigil_promise_guard(guarded, token(), VIGIL_FOREVER, &promise));
    if (end_wait(settle_guarded) == 0)
        vgc_assert(number_in(promise) == 4, "its value is shared");
    vigil_promise_unref(late[0]);
    vigil_promise_unref(late[1]);
    vigil_promise_unref(settled);
    vigil_promise_unref(in_time);
    vigil_promise_unref(guarded);
    end();
}
AWAIT(guard, guard, "a guard settles as its promise does, or ends in time");

/* Nobody can settle it any more: nor what guards it, but in time. Both may be closed while they are queued. */
static void guard_nothing(void)
{
    vigil_promise *with_limit = NULL, *queued = NULL, *other = NULL;
    vigil_promise_stats stats = VIGIL_PROMISE_STATS_INIT;
    begin();
    MADE(vigil_promise_create(&guarded, loop));
    MADE(vigil_promise_guard(guarded, NULL, VIGIL_FOREVER, &promise));
    MADE(vigil_promise_guard(guarded, NULL, 1000, &with_limit));
    (void)vigil_promise_mark_handled(with_limit);
    vigil_promise_unref(guarded);
    vigil_promise_unref(promise);
    promise = NULL;
    if (how() == CLOSES) {
        MADE(vigil_promise_create(&other, loop));
        MADE(vigil_promise_guard(other, NULL, VIGIL_FOREVER, &queued));
        MADE(vigil_promise_resolve(other, vigil_value_int(1)));
        vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop is closed");
        vgc_assert(vigil_promise_state_get(queued) == VIGIL_REJECTED, "what was queued is cancelled");
        is_settled(with_limit, -ESHUTDOWN);
        vigil_promise_unref(other);
        vigil_promise_unref(queued);
    } else {
        turn();
        vgc_clock_advance(2000);
        turn();
        is_settled(with_limit, -ETIMEDOUT);
        MADE(vigil_promise_stats_get(loop, &stats));
        vgc_assert(stats.alive == 1 && stats.in_flight == 0, "what can never be settled is gone");
    }
    vigil_promise_unref(with_limit);
    end();
}
AWAIT_AS(lost, comes, guard_nothing, "a guard of what is never settled is gone, or ends in time", COMES);
AWAIT_AS(lost, close, guard_nothing, "a guard of what is never settled is gone, or ends in time", CLOSES);

/* ---- a source that aborts itself ---- */

static void clock_of_source(void)
{
    vigil_cancel_source *never = NULL, *soon = NULL, *unwanted = NULL;
    begin();
    REFUSED(vigil_cancel_create_timeout(NULL, loop, 1), -EINVAL);
    REFUSED(vigil_cancel_create_timeout(&soon, NULL, 1), -EINVAL);
    MADE(vigil_cancel_create_timeout(&never, loop, VIGIL_FOREVER));
    MADE(vigil_cancel_create_timeout(&soon, loop, 1000));
    MADE(vigil_cancel_create_timeout(&unwanted, loop, 1000));
    MADE(vigil_promise_sleep(loop, 1000000, vigil_cancel_token_of(soon), &promise));
    (void)vigil_promise_mark_handled(promise);
    vigil_cancel_destroy(unwanted);
    turn();
    let_time_pass();
    vgc_assert(vigil_cancel_status(vigil_cancel_token_of(soon)) == 0, "it is not aborted early");
    if (how() == COMES) {
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "the loop runs to its end");
        is_settled(promise, -ETIMEDOUT);
        vgc_assert(vigil_cancel_status(vigil_cancel_token_of(soon)) == -ETIMEDOUT, "the time has aborted it");
        vgc_assert(strcmp(vigil_cancel_text(vigil_cancel_token_of(soon)), "the time is up") == 0, "and says so");
        vgc_assert(vgc_clock_now() < due + 900000, "and nobody waited longer");
    } else {
        vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop is closed");
        vgc_assert(vigil_cancel_status(vigil_cancel_token_of(soon)) == -ESHUTDOWN, "the end has aborted it");
        vgc_assert(vigil_promise_state_get(promise) == VIGIL_REJECTED, "and what it stands for");
    }
    vgc_assert(vigil_cancel_status(vigil_cancel_token_of(never)) == 0, "the other waits for ever");
    vigil_cancel_destroy(never);
    vigil_cancel_destroy(soon);
    end();
}
AWAIT_AS(clock, comes, clock_of_source, "a source with a time aborts itself when it is over", COMES);
AWAIT_AS(clock, close, clock_of_source, "a source with a time aborts itself when its loop ends", CLOSES);

/* ---- several at once ---- */

static int lists_destroyed;

static void count_destroyed(void *pointer)
{
    free(pointer);
    lists_destroyed++;
}

static void look_at_list(vigil_promise *it, size_t count)
{
    vigil_value value = vigil_value_none();
    vgc_assert(vigil_promise_result(it, &value) != VIGIL_PENDING && value.list->count == count, "it has its list");
    for (size_t i = 0; i < count; i++)
        vgc_assert(value.list->items[i].kind == VIGIL_POINTER ? value.list->items[i].pointer != NULL
                                                              : value.list->items[i].status == -EDOM,
                   "with each result");
}

typedef int combination(vigil_loop *of, vigil_promise *const *promises, size_t count, vigil_promise **result);
static combination *const combinations[4] = {vigil_promise_all, vigil_promise_all_settled, vigil_promise_race,
                                             vigil_promise_any};

static void combine_nothing(vigil_loop *other)
{
    vigil_promise *none[4], *foreign = NULL, *result = NULL;
    for (int i = 0; i < 4; i++)
        MADE(combinations[i](loop, NULL, 0, &none[i]));
    look_at_list(none[0], 0);
    look_at_list(none[1], 0);
    vgc_assert(vigil_promise_state_get(none[2]) == VIGIL_PENDING, "the race of none is never won");
    is_settled(none[3], -ENOENT);
    (void)vigil_promise_mark_handled(none[3]);
    MADE(vigil_promise_create(&foreign, other));
    REFUSED(vigil_promise_all(loop, &foreign, 1, &result), -EXDEV);
    REFUSED(vigil_promise_all(loop, NULL, 1, &result), -EINVAL);
    REFUSED(vigil_promise_all(loop, none, 2, NULL), -EINVAL);
    REFUSED(vigil_promise_all(NULL, none, 2, &result), -EINVAL);
    vigil_promise *const with_hole[2] = {none[0], NULL};
    REFUSED(vigil_promise_race(loop, with_hole, 2, &result), -EINVAL);
    REFUSED(vigil_promise_any(loop, none, SIZE_MAX / sizeof(void *) / 4, NULL), -EINVAL);
    vigil_promise_unref(foreign);
    for (int i = 0; i < 4; i++)
        vigil_promise_unref(none[i]);
}

static void combine(void)
{
    vigil_loop *other = NULL;
    vigil_promise *parts[3], *wholes[4];
    begin();
    MADE(vigil_loop_create(&other, NULL));
    combine_nothing(other);
    for (int i = 0; i < 3; i++)
        MADE(vigil_promise_create(&parts[i], loop));
    for (int i = 0; i < 4; i++) {
        MADE(combinations[i](loop, parts, 3, &wholes[i]));
        (void)vigil_promise_mark_handled(wholes[i]);
    }
    MADE(vigil_promise_reject(parts[2], vigil_value_error(-EDOM)));
    void *block = malloc(4);
    vgc_assert(block != NULL, "there is memory");
    MADE(vigil_promise_resolve(parts[1], vigil_value_pointer(block, count_destroyed)));
    if (how() == COMES) {
        turn();
        is_settled(wholes[0], -EDOM);
        is_settled(wholes[2], -EDOM);
        is_settled(wholes[3], 0);
        vgc_assert(vigil_promise_state_get(wholes[1]) == VIGIL_PENDING, "one is missing");
        MADE(vigil_promise_reject(parts[0], vigil_value_error(-EDOM)));
        turn();
        look_at_list(wholes[1], 3);
    } else if (how() == ABORT) { /* the last one is lost */
        turn();
        vigil_promise_unref(parts[0]);
        parts[0] = NULL;
        turn();
        vgc_assert(vigil_promise_state_get(wholes[1]) == VIGIL_PENDING, "a list with a hole never comes");
    } else { /* while reactions are queued */
        vgc_assert((how() == ENDS ? vigil_loop_shutdown(loop, VIGIL_FOREVER) : vigil_loop_close(loop, VIGIL_FOREVER)) ==
                       0,
                   "the loop ends");
        for (int i = 0; i < 4; i++)
            vgc_assert(vigil_promise_state_get(wholes[i]) != VIGIL_PENDING, "all are settled at the end");
    }
    for (int i = 0; i < 3; i++)
        vigil_promise_unref(parts[i]);
    for (int i = 0; i < 4; i++)
        vigil_promise_unref(wholes[i]);
    end();
    vgc_assert(lists_destroyed == 1, "a value in a list is destroyed once");
    vgc_assert(vigil_loop_destroy(other) == 0, "the other loop goes");
}
AWAIT(combine, combine, "several promises settle one as the combination says");

/* ---- locks, units and messages: what is refused, and what is had at once ---- */

static vigil_mutex mutex;
static vigil_rwlock rwlock;
static vigil_condition condition;
static vigil_semaphore semaphore;
static vigil_latch latch;
static vigil_barrier barrier;

static void refuse_shared(vigil_channel *channel)
{
    int word = 0;
    vigil_channel_case none = {0};
    REFUSED(vigil_promise_lock(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_lock(loop, &mutex, NULL, NULL), -EINVAL);
    REFUSED(vigil_promise_lock(NULL, &mutex, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_lock(loop, &mutex, too_late(), &promise), -ECANCELED);
    REFUSED(vigil_promise_read_lock(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_write_lock(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_condition(loop, NULL, &mutex, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_condition(loop, &condition, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_condition(loop, &condition, &mutex, NULL, &promise), -EPERM);
    REFUSED(vigil_promise_acquire(loop, NULL, 1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_acquire(loop, &semaphore, 9, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_latch(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_barrier(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_send(loop, NULL, &word, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_send(loop, channel, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_receive(loop, channel, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_select(loop, NULL, 1, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_select(loop, &none, 1, too_late(), &promise), -EINVAL);
    REFUSED(vigil_promise_pool_idle(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_pool_stop(loop, NULL, NULL, &promise), -EINVAL);
    REFUSED(vigil_promise_group(loop, NULL, NULL, &promise), -EINVAL);
    vigil_group attached = {0};
    REFUSED(vigil_promise_group(loop, &attached, NULL, &promise), -EINVAL);
}

static void had_at_once(int answer)
{
    vgc_assert(answer == 0, "the call is accepted");
    is_settled(promise, 0);
    vigil_promise_unref(promise);
}

static void closed_channel(void)
{
    vigil_channel *channel = NULL;
    int word = 5;
    vigil_promise *reader = NULL, *chooser = NULL;
    MADE(vigil_channel_create(&channel, sizeof word, 0));
    vigil_channel_case one = {.channel = channel, .receive = &word};
    MADE(vigil_promise_receive(loop, channel, &word, NULL, &reader));
    MADE(vigil_promise_select(loop, &one, 1, NULL, &chooser));
    (void)vigil_promise_mark_handled(reader);
    MADE(vigil_channel_close(channel));
    turn();
    is_settled(reader, -EPIPE);
    vgc_assert(number_in(chooser) == 0 && one.status == -EPIPE, "a closed channel ends its waits");
    vigil_promise_unref(reader);
    vigil_promise_unref(chooser);
    vigil_channel_destroy(channel);
}

static void shared_at_once(void)
{
    vigil_channel *channel = NULL;
    vigil_limit *limit = NULL;
    int word = 5, got = 0;
    begin();
    MADE(vigil_semaphore_init(&semaphore, 2, 4));
    MADE(vigil_latch_init(&latch, 0));
    MADE(vigil_barrier_init(&barrier, 1));
    MADE(vigil_channel_create(&channel, sizeof word, 2));
    refuse_shared(channel);
    had_at_once(vigil_promise_lock(loop, &mutex, NULL, &promise));
    MADE(vigil_mutex_unlock(&mutex));
    had_at_once(vigil_promise_read_lock(loop, &rwlock, NULL, &promise));
    MADE(vigil_rwlock_unlock(&rwlock));
    had_at_once(vigil_promise_write_lock(loop, &rwlock, token(), &promise));
    MADE(vigil_rwlock_unlock(&rwlock));
    had_at_once(vigil_promise_acquire(loop, &semaphore, 2, NULL, &promise));
    vgc_assert(vigil_semaphore_units(&semaphore) == 0, "they are taken");
    had_at_once(vigil_promise_latch(loop, &latch, NULL, &promise));
    MADE(vigil_promise_barrier(loop, &barrier, NULL, &promise));
    vgc_assert(number_in(promise) == 1, "the last one at the barrier is told");
    vigil_promise_unref(promise);
    had_at_once(vigil_promise_send(loop, channel, &word, NULL, &promise));
    had_at_once(vigil_promise_receive(loop, channel, &got, NULL, &promise));
    vgc_assert(got == 5, "what was sent is received");
    vigil_channel_case cases[2] = {{.channel = channel, .send = &word}, {0}};
    MADE(vigil_promise_select(loop, cases, 2, NULL, &promise));
    vgc_assert(number_in(promise) == 0 && vigil_channel_count(channel) == 1, "the case that can be done is done");
    vigil_promise_unref(promise);
    promise = NULL;
    closed_channel();
    REFUSED(vigil_limit_create(NULL, loop, 1, VIGIL_LIMIT_QUEUE), -EINVAL);
    REFUSED(vigil_limit_create(&limit, loop, 0, VIGIL_LIMIT_QUEUE), -EINVAL);
    REFUSED(vigil_limit_create(&limit, loop, 1, (vigil_limit_policy)9), -EINVAL);
    REFUSED(vigil_limit_create(&limit, NULL, 1, VIGIL_LIMIT_QUEUE), -EINVAL);
    vigil_limit_destroy(NULL);
    end();
    vigil_channel_destroy(channel);
}
AWAIT_AS(shared, comes, shared_at_once, "what can be had is had at once, and what is refused changes nothing", COMES);

/* ---- each of them waits, and is given by the loop's own thread ---- */

static vigil_channel *hand;
static int sent = 5, received;

static void give_all(void *arg)
{
    (void)arg;
    MADE(vigil_mutex_unlock(&mutex));
    MADE(vigil_rwlock_unlock(&rwlock));
    MADE(vigil_semaphore_post(&semaphore, 2));
    MADE(vigil_latch_down(&latch, 1));
    vgc_assert(vigil_barrier_wait(&barrier, 0, NULL) == 1, "the last one at the barrier");
    MADE(vigil_channel_send(hand, &sent, 0, NULL));
}

static void shared_waits(void)
{
    vigil_promise *held[2], *waits[6];
    begin();
    MADE(vigil_semaphore_init(&semaphore, 1, 4));
    MADE(vigil_latch_init(&latch, 1));
    MADE(vigil_barrier_init(&barrier, 2));
    MADE(vigil_channel_create(&hand, sizeof sent, 0));
    MADE(vigil_promise_lock(loop, &mutex, NULL, &held[0]));
    MADE(vigil_promise_write_lock(loop, &rwlock, NULL, &held[1]));
    MADE(vigil_promise_lock(loop, &mutex, token(), &waits[0]));
    MADE(vigil_promise_read_lock(loop, &rwlock, token(), &waits[1]));
    MADE(vigil_promise_acquire(loop, &semaphore, 3, token(), &waits[2]));
    MADE(vigil_promise_latch(loop, &latch, token(), &waits[3]));
    MADE(vigil_promise_barrier(loop, &barrier, token(), &waits[4]));
    MADE(vigil_promise_receive(loop, hand, &received, token(), &waits[5]));
    for (int i = 0; i < 6; i++) {
        (void)vigil_promise_mark_handled(waits[i]);
        vgc_assert(vigil_promise_state_get(waits[i]) == VIGIL_PENDING, "it waits");
    }
    int status = 0;
    if (how() == COMES) {
        MADE(vigil_loop_call(loop, give_all, NULL, NULL));
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "each wait kept the loop");
        vgc_assert(received == 5, "the message has come");
    } else if (how() == ABORT) {
        status = -ECONNABORTED;
        MADE(vigil_cancel_abort(aborter, status, NULL));
        vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 0, "nothing keeps the loop any more");
    } else {
        status = -ESHUTDOWN;
        vgc_assert((how() == ENDS ? vigil_loop_shutdown(loop, VIGIL_FOREVER) : vigil_loop_close(loop, VIGIL_FOREVER)) ==
                       0,
                   "the loop ends");
    }
    for (int i = 0; i < 6; i++) {
        is_settled(waits[i], status);
        vigil_promise_unref(waits[i]);
    }
    MADE(vigil_mutex_unlock(&mutex));
    MADE(vigil_rwlock_unlock(&rwlock));
    vgc_assert(vigil_semaphore_units(&semaphore) == (status == 0 ? 0 : 1), "the units are where they must be");
    vgc_assert(mutex.vg_waiters.vg_word == 0 && rwlock.vg_waiters.vg_word == 0, "both locks are free");
    vigil_promise_unref(held[0]);
    vigil_promise_unref(held[1]);
    end();
    vigil_channel_destroy(hand);
}
AWAIT(shared_waits, shared_waits, "what is waited for comes, or is left where it was");

/* ---- no memory ---- */

static bool got(int answer)
{
    vgc_assert(answer == 0 || answer == -ENOMEM || answer == -EMFILE, "it is there, or there is no memory");
    return answer == 0;
}

static void keep_or_not(int answer, vigil_promise *it)
{
    if (got(answer)) {
        (void)vigil_promise_mark_handled(it);
        vigil_promise_unref(it);
    }
}

static void awaits_without_memory(void)
{
    vigil_cancel_source *soon = NULL;
    vigil_promise *it = NULL;
    vigil_channel *channel = NULL;
    int word = 0;
    if (vigil_loop_create(&loop, NULL) != 0)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) {
        vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
        return;
    }
    MADE(vigil_semaphore_init(&semaphore, 0, 4));
    MADE(vigil_rate_init(&rate, 1, 1000, 1));
    int answer = vigil_promise_rate(loop, &rate, 1, NULL, &it);
    keep_or_not(answer, it);
    answer = vigil_promise_rate(loop, &rate, 1, NULL, &it);
    keep_or_not(answer, it);
    answer = vigil_promise_fd(loop, ends[0], VIGIL_FD_READ, NULL, &it);
    keep_or_not(answer, it);
    answer = vigil_promise_acquire(loop, &semaphore, 1, NULL, &it);
    keep_or_not(answer, it);
    if (got(vigil_cancel_create_timeout(&soon, loop, 1000)))
        vigil_cancel_destroy(soon);
    if (got(vigil_channel_create(&channel, sizeof word, 0))) {
        vigil_channel_case one = {.channel = channel, .receive = &word};
        answer = vigil_promise_select(loop, &one, 1, NULL, &it);
        keep_or_not(answer, it);
    }
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    if (channel != NULL)
        vigil_channel_destroy(channel);
    (void)close(ends[0]);
    (void)close(ends[1]);
}
VGC_REGISTER(await_no_memory, "promise_await_no_memory", awaits_without_memory,
             "without memory a wait is refused, and nothing leaks", .bound = "1 thread; any 1 allocation fails",
             .opt.max_steps = 30000, .opt.fail_alloc = 1);
