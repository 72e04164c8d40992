/* SPDX-License-Identifier: MIT */
/* L11: blocking work on the pool that settles on the loop: results, tokens, times, limits, and every order of ending. */
#include "promise_test.h"

#include "record/record.h"

#include <unistd.h>

static vigil_pool *pool;
static pthread_t owner;

#define on_loop(body) on_loop_with(body, NULL)

static vigil_cancel_source *source_new(void)
{
    vigil_cancel_source *source = NULL;
    must_equal(vigil_cancel_create(&source), 0);
    return source;
}

static vigil_promise *async_with(vigil_async_fn fn, void *arg, const vigil_async_options *options)
{
    vigil_promise *p = NULL;
    must_equal(vigil_async(loop, pool, fn, arg, options, &p), 0);
    return p;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static vigil_value elsewhere(void *arg)
{
    must(!pthread_equal(pthread_self(), owner));
    must(vigil_pool_current() == pool);
    return counted(*(int *)arg);
}

static vigil_value on_owner_again(vigil_value *value, void *arg)
{
    must(pthread_equal(pthread_self(), owner));
    return say_value(value, arg);
}

static vigil_value fails(void *arg)
{
    return vigil_value_error(*(int *)arg);
}

static vigil_value raises(void *arg)
{
    vigil_raise(*(int *)arg);
}

static void results_body(void *arg)
{
    static int seven = 7;
    static int status = -EPROTO;
    (void)arg;
    owner = pthread_self();
    vigil_promise *p = async_with(elsewhere, &seven, NULL);
    must_equal(vigil_promise_resolve(p, vigil_value_none()), -EPERM);
    then(p, on_owner_again, must_not_run, "value");
    drop(p);
    p = async_with(fails, &status, NULL);
    then(p, must_not_run, on_owner_again, "error");
    drop(p);
    p = async_with(raises, &status, NULL);
    then(p, must_not_run, on_owner_again, "raise");
    drop(p);
    drop(async_with(elsewhere, &seven, NULL)); /* nobody looks */
    must_equal(vigil_async(NULL, pool, elsewhere, NULL, NULL, &p), -EINVAL);
    must_equal(vigil_async(loop, NULL, elsewhere, NULL, NULL, &p), -EINVAL);
    must_equal(vigil_async(loop, pool, NULL, NULL, NULL, &p), -EINVAL);
    must_equal(vigil_async(loop, pool, elsewhere, NULL, NULL, NULL), -EINVAL);
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.priority = (vigil_priority)9;
    must_equal(vigil_async(loop, pool, elsewhere, NULL, &options, &p), -EINVAL);
}

static void a_call_runs_on_a_worker_and_settles_on_the_loop(void **state)
{
    (void)state;
    pool = pool_of(1);     /* so that the order is that of the queue */
    on_loop(results_body); /* which is kept alive by what is in flight */
    must_have_said("value=7 error!-71 raise!-71");
    pool_close(pool);
}

static vigil_value note_priority(void *arg)
{
    say(arg); /* one worker: one at a time */
    return vigil_value_none();
}

static struct hold hold;

static void priorities_body(void *arg)
{
    (void)arg;
    static const char *const words[] = {"critical", "high", "normal", "low", "idle"};
    for (int i = 4; i >= 0; i--) {
        vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
        options.priority = (vigil_priority)i;
        drop(async_with(note_priority, (void *)(uintptr_t)words[i], &options));
    }
    hold_release(&hold);
}

static void a_call_has_a_priority(void **state)
{
    (void)state;
    pool = pool_of(1);
    hold_workers(&hold, pool, 1);
    on_loop(priorities_body);
    must_have_said("critical high normal low idle");
    pool_close(pool);
}

/* The loop ends before a call that still runs: the pool is closed first, then it is looked that nothing is left. */
static void on_loop_then_close_pool(void (*body)(void *arg))
{
    loop_open();
    must_equal(vigil_loop_call(loop, body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    pool_close(pool);
    must_equal(promise_stats().alive, 0);
    must_equal(promise_stats().in_flight, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- early ends -------------------------------------------------------------------------------------------------- */

static struct gate gate;
static _Atomic int done_calls;
static _Atomic int ran;

static vigil_value blocked(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
    gate_pass(&gate);
    return counted(1);
}

static vigil_value must_not_start(void *arg)
{
    (void)arg;
    support_fail("a call started that must not", __FILE__, __LINE__);
    return vigil_value_none();
}

static void count_done(void *arg)
{
    must(arg == &gate);
    atomic_fetch_add(&done_calls, 1);
}

static void reset(unsigned workers)
{
    gate = (struct gate){0};
    atomic_store(&done_calls, 0);
    atomic_store(&ran, 0);
    pool = pool_of(workers);
}

static vigil_async_options with_done(void)
{
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.done = count_done;
    return options;
}

static vigil_value open_the_gate(vigil_value *value, void *arg)
{
    (void)say_value(value, arg);
    gate_open(&gate);
    return vigil_value_none();
}

static void token_body(void *arg)
{
    (void)arg;
    vigil_cancel_source *source = source_new();
    vigil_async_options options = with_done();
    options.token = vigil_cancel_token_of(source);
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, must_not_run, say_value, "running");
    drop(p);
    p = async_with(must_not_start, &gate, &options); /* behind it */
    then(p, must_not_run, open_the_gate, "queued");
    drop(p);
    gate_wait_entered(&gate, 1);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_equal(promise_stats().in_flight, 0);
    must_equal(vigil_async(loop, pool, must_not_start, &gate, &options, &p), -ECANCELED);
    vigil_cancel_destroy(source);
}

static void an_aborted_call_is_rejected_at_once_and_does_not_start(void **state)
{
    (void)state;
    reset(1);
    on_loop_then_close_pool(token_body); /* the loop does not wait for the one that runs */
    must_have_said("running!-4 queued!-4");
    must_equal(atomic_load(&done_calls), 2); /* not that of the call that was refused */
}

static void timeout_body(void *arg)
{
    (void)arg;
    vigil_async_options options = with_done();
    options.timeout_ns = 2000000;
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, must_not_run, say_value, "running");
    drop(p);
    gate_wait_entered(&gate, 1); /* it holds the worker, however late that was */
    p = async_with(must_not_start, &gate, &options);
    then(p, must_not_run, open_the_gate, "queued");
    drop(p);
    options.timeout_ns = 3600000000000;
    p = async_with(blocked, &gate, &options); /* in time */
    then(p, say_value, must_not_run, "later");
    drop(p);
}

static void a_call_whose_time_is_up_is_rejected(void **state)
{
    (void)state;
    reset(1);
    on_loop_then_close_pool(timeout_body);
    must_have_said("running!-110 queued!-110 later=1");
    must_equal(atomic_load(&done_calls), 3);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static _Atomic int at_once, most_at_once;

static vigil_value measure(void *arg)
{
    (void)arg;
    int now = atomic_fetch_add(&at_once, 1) + 1;
    int most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
    yield();
    atomic_fetch_sub(&at_once, 1);
    return vigil_value_none();
}

static vigil_limit *limit;
static int settled;

static vigil_value count_settled(vigil_value *value, void *arg)
{
    (void)value;
    must_equal(settled, (int)(intptr_t)arg); /* FIFO, as long as only one is at work */
    settled++;
    return vigil_value_none();
}

static void limit_body(void *arg)
{
    (void)arg;
    must_equal(vigil_limit_create(&limit, loop, 0, VIGIL_LIMIT_QUEUE), -EINVAL);
    must_equal(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE), 0);
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.limit = limit;
    for (intptr_t i = 0; i < 50; i++) {
        vigil_promise *p = async_with(measure, NULL, &options);
        then(p, count_settled, must_not_run, (void *)i);
        drop(p);
    }
    vigil_limit_destroy(limit); /* those that wait keep it */
}

static void a_limit_queues_what_is_too_much(void **state)
{
    (void)state;
    reset(4);
    settled = 0;
    atomic_store(&most_at_once, 0);
    on_loop(limit_body);
    must_equal(settled, 50);
    must_equal(atomic_load(&most_at_once), 1);
    pool_close(pool);
}

static void refusing_body(void *arg)
{
    (void)arg;
    must_equal(vigil_limit_create(&limit, loop, 2, VIGIL_LIMIT_REFUSE), 0);
    vigil_cancel_source *source = source_new();
    vigil_async_options options = with_done();
    options.limit = limit;
    options.token = vigil_cancel_token_of(source);
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, must_not_run, say_value, "a");
    drop(p);
    gate_wait_entered(&gate, 1);
    p = async_with(must_not_start, &gate, &options);
    then(p, must_not_run, say_value, "b");
    drop(p);
    vigil_promise *none = NULL;
    must_equal(vigil_async(loop, pool, must_not_start, &gate, &options, &none), -EAGAIN);
    must(none == NULL);
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0); /* frees the place of b, but a runs still */
    options.token = NULL;
    p = async_with(blocked, &gate, &options);
    then(p, say_value, must_not_run, "c");
    drop(p);
    must_equal(vigil_async(loop, pool, must_not_start, &gate, &options, &none), -EAGAIN);
    vigil_limit_destroy(limit);
    vigil_cancel_destroy(source);
    gate_open(&gate);
}

static void a_limit_may_refuse_and_places_come_back(void **state)
{
    (void)state;
    reset(1);
    on_loop_then_close_pool(refusing_body);
    must_have_said("a!-4 b!-4 c=1");
    must_equal(atomic_load(&done_calls), 3);
}

static void cancelled_in_the_queue_body(void *arg)
{
    (void)arg;
    must_equal(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE), 0);
    vigil_cancel_source *source = source_new();
    vigil_async_options options = with_done();
    options.limit = limit;
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, say_value, must_not_run, "a");
    drop(p);
    for (int i = 0; i < 3; i++) {
        options.token = i == 1 ? NULL : vigil_cancel_token_of(source);
        p = async_with(i == 1 ? blocked : must_not_start, &gate, &options);
        then(p, say_value, say_value, "q");
        drop(p);
    }
    must_equal(vigil_cancel_abort(source, -EINTR, NULL), 0);
    must_equal(atomic_load(&done_calls), 0); /* their handlers have not run */
    vigil_limit_destroy(limit);
    vigil_cancel_destroy(source);
    gate_open(&gate);
}

static void a_call_that_waits_for_its_place_can_be_aborted(void **state)
{
    (void)state;
    reset(1);
    on_loop(cancelled_in_the_queue_body);
    must_have_said("q!-4 q!-4 a=1 q=1");
    pool_close(pool);
    must_equal(atomic_load(&done_calls), 4);
}

/* ---- every order of ending --------------------------------------------------------------------------------------- */

static vigil_promise *kept[3];

static void shutdown_with_work_body(void *arg)
{
    vigil_async_options options = with_done();
    kept[0] = async_with(blocked, &gate, &options);
    then(kept[0], must_not_run, say_value, "running");
    kept[1] = async_with(must_not_start, &gate, &options);
    then(kept[1], must_not_run, say_value, "queued");
    must_equal(vigil_limit_create(&limit, loop, 1, VIGIL_LIMIT_QUEUE), 0);
    options.limit = limit;
    drop(async_with(must_not_start, &gate, &options));
    kept[2] = async_with(must_not_start, &gate, &options); /* not even submitted */
    then(kept[2], must_not_run, say_value, "waiting");
    vigil_limit_destroy(limit);
    gate_wait_entered(&gate, 1);
    (void)arg;
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void a_loop_that_ends_first_rejects_and_nothing_starts(void **state)
{
    (void)state;
    for (int pool_first = 0; pool_first < 2; pool_first++) {
        reset(1);
        loop_open();
        must_equal(vigil_loop_call(loop, shutdown_with_work_body, NULL, NULL), 0);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        must_have_said("running!-108 queued!-108 waiting!-108");
        if (pool_first == 0) {
            must_equal(vigil_loop_destroy(loop), 0); /* while the call runs */
            drop(kept[0]);
            gate_open(&gate);
            pool_close(pool);
        } else {
            gate_open(&gate);
            pool_close(pool); /* the results come to a loop that has ended */
            drop(kept[0]);
            must_equal(vigil_loop_destroy(loop), 0);
        }
        drop(kept[1]);
        drop(kept[2]);
        must_equal(atomic_load(&ran), 1);
        must_equal(atomic_load(&done_calls), 4);
        must_equal(atomic_load(&values_alive), 0); /* the result of the one that ran was dropped, and destroyed */
    }
}

static void *stop_pool(void *arg)
{
    (void)arg;
    must_equal(vigil_pool_close(pool, VIGIL_FOREVER), 0);
    return NULL;
}

static pthread_t stopper;

static void stopped_body(void *arg)
{
    (void)arg;
    vigil_async_options options = with_done();
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, say_value, must_not_run, "running");
    drop(p);
    p = async_with(must_not_start, &gate, &options);
    then(p, must_not_run, open_the_gate, "queued");
    drop(p);
    gate_wait_entered(&gate, 1);
    stopper = start_thread(stop_pool, NULL);
}

static void refused_body(void *arg)
{
    (void)arg;
    vigil_promise *p = NULL;
    vigil_async_options options = with_done();
    must_equal(vigil_async(loop, pool, must_not_start, &gate, &options, &p), -ESHUTDOWN);
    must(p == NULL);
    must_equal(promise_stats().in_flight, 0);
}

static void a_pool_that_stops_first_rejects_what_has_not_started(void **state)
{
    (void)state;
    reset(1);
    on_loop(stopped_body);
    join_thread(stopper);
    must_have_said("queued!-125 running=1"); /* -ECANCELED; the one that runs goes on */
    must_equal(atomic_load(&done_calls), 2);
    on_loop(refused_body);
    must_equal(atomic_load(&done_calls), 2);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

/* ---- storms ------------------------------------------------------------------------------------------------------ */

static vigil_value quick(void *arg)
{
    (void)arg;
    return counted(2);
}

static vigil_value any_outcome(vigil_value *value, void *arg)
{
    (void)value;
    ++*(int *)arg;
    return vigil_value_none();
}

static vigil_cancel_source *storm_source;
static int outcomes;

static void *storm_abort(void *arg)
{
    (void)arg;
    (void)vigil_cancel_abort(storm_source, -EINTR, NULL);
    return NULL;
}

static void storm_body(void *arg)
{
    uint64_t round = *(uint64_t *)arg;
    vigil_async_options options = with_done();
    must_equal(vigil_limit_create(&limit, loop, 5, VIGIL_LIMIT_QUEUE), 0);
    for (int i = 0; i < 40; i++) {
        options.token = i % 2 == 0 ? vigil_cancel_token_of(storm_source) : NULL;
        options.timeout_ns = i % 3 == 0 ? 1 + (int64_t)i * 1000 : VIGIL_FOREVER;
        options.limit = i % 5 == 0 ? limit : NULL;
        vigil_promise *p = NULL;
        int rc = vigil_async(loop, pool, quick, &gate, &options, &p);
        if (rc != 0) {
            must_equal(rc, -ECANCELED); /* the only one that can fail here */
            atomic_fetch_add(&done_calls, 1);
            outcomes++;
            continue;
        }
        then(p, any_outcome, any_outcome, &outcomes);
        drop(p);
        if (i == 5)
            stopper = start_thread(storm_abort, NULL);
    }
    vigil_limit_destroy(limit);
    if (round % 3 == 1)
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
}

static void tokens_times_limits_and_ends_may_race(void **state)
{
    (void)state;
    for (uint64_t round = scaled(300, 20); round > 0; round--) {
        reset(2);
        outcomes = 0;
        storm_source = source_new();
        loop_open();
        must_equal(vigil_loop_call(loop, storm_body, NULL, &round), 0);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        must_equal(outcomes, 40); /* each is settled once */
        join_thread(stopper);
        if (round % 2 == 0) {
            must_equal(vigil_loop_destroy(loop), 0);
            pool_close(pool);
        } else {
            pool_close(pool);
            must_equal(vigil_loop_destroy(loop), 0);
        }
        must_equal(atomic_load(&done_calls), 40);
        must_equal(atomic_load(&values_alive), 0);
        vigil_cancel_destroy(storm_source);
    }
}

/* ---- the recorder ------------------------------------------------------------------------------------------------ */

/* The newest event of that kind in this thread's ring. */
static const vg_event *newest(vg_event_kind kind)
{
    for (uint64_t i = vg_my_ring.head; i > 0; i--) {
        const vg_event *event = &vg_my_ring.events[(i - 1) & vg_my_ring.mask];
        if (vg_event_kind_of(event) == kind)
            return event;
    }
    return NULL;
}

static void recorded_body(void *arg)
{
    vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
    options.priority = VIGIL_HIGH;
    vigil_promise *p = async_with(quick, arg, &options);
    then(p, say_value, must_not_run, "call");
    drop(p);
}

static void a_call_and_its_end_are_recorded(void **state)
{
    (void)state;
    reset(1);
    loop_open();
    must_equal(vigil_loop_call(loop, recorded_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    if (vg_my_ring.events == NULL) {
        loop_close();
        pool_close(pool);
        skip(); /* the recorder is off here */
    }
    const vg_event *call = newest(VG_EVENT_PROMISIFY);
    const vg_event *end = newest(VG_EVENT_SETTLE);
    must(call != NULL && end != NULL);
    must_equal(vg_event_small(call), VIGIL_HIGH);
    must_equal(vg_event_address(call), (uint64_t)(uintptr_t)quick);
    must_equal(vg_event_small(end), 1);
    must_equal(end->a, call->a);
    const vg_event *submit = newest(VG_EVENT_SUBMIT);
    must(submit != NULL);
    must_equal(end->b, submit->ticks); /* the task's id */
    pool_close(pool);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void fork_child(void *arg)
{
    (void)arg;
    if (vigil_loop_fork(loop) != 0)
        _exit(1);
    journal[0] = '\0';
    if (vigil_loop_run(loop, VIGIL_RUN) != 0)
        _exit(2);
    if (strcmp(journal, "a!-10 b!-10") != 0) /* -ECHILD: the worker has stayed with the parent */
        _exit(3);
    _exit(0);
}

static void a_child_does_not_wait_for_the_parents_workers(void **state)
{
    (void)state;
    reset(1);
    loop_open();
    vigil_async_options options = with_done();
    vigil_promise *p = async_with(blocked, &gate, &options);
    then(p, say_value, say_value, "a");
    drop(p);
    p = async_with(blocked, &gate, &options);
    then(p, say_value, say_value, "b");
    drop(p);
    gate_wait_entered(&gate, 1);
    int status = in_child(fork_child, NULL);
    gate_open(&gate);
    loop_close();
    must_have_said("a=1 b=1");
    pool_close(pool);
    must_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_call_runs_on_a_worker_and_settles_on_the_loop),
        test(a_call_has_a_priority),
        test(an_aborted_call_is_rejected_at_once_and_does_not_start),
        test(a_call_whose_time_is_up_is_rejected),
        test(a_limit_queues_what_is_too_much),
        test(a_limit_may_refuse_and_places_come_back),
        test(a_call_that_waits_for_its_place_can_be_aborted),
        test(a_loop_that_ends_first_rejects_and_nothing_starts),
        test(a_pool_that_stops_first_rejects_what_has_not_started),
        test(tokens_times_limits_and_ends_may_race),
        test(a_call_and_its_end_are_recorded),
        test(a_child_does_not_wait_for_the_parents_workers),
    };
    return run_all(tests);
}
