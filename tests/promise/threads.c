/* SPDX-License-Identifier: MIT */
/* L10: Promises and other threads: settled exactly once from many, waited for, made, given back and taken elsewhere. */
#include "promise_test.h"

enum {
    THREADS = 16
};

static pthread_t runner;

static void *run_loop(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    return NULL;
}

/* A loop that another thread runs until close_running. */
static void open_running(void)
{
    loop_open();
    must_equal(vigil_loop_ref(loop), 0);
    runner = start_thread(run_loop, NULL);
}

static void close_running(void)
{
    must_equal(vigil_loop_unref(loop), 0);
    join_thread(runner);
    must_equal(promise_stats().alive, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* Call body(arg) on the loop and wait for its end. */
struct visit {
    void (*body)(void *arg);
    void *arg;
    struct event over;
};

static void visit_run(void *arg)
{
    struct visit *visit = arg;
    visit->body(visit->arg);
    event_set(&visit->over);
}

static void on_owner(void (*body)(void *arg), void *arg)
{
    struct visit visit = {.body = body, .arg = arg};
    must_equal(vigil_loop_call(loop, visit_run, NULL, &visit), 0);
    event_wait(&visit.over);
}

/* ---- the race to settle ------------------------------------------------------------------------------------------ */

struct race {
    struct meeting start;
    vigil_promise *promise;
    uint64_t rounds;
    _Atomic uint32_t winners;
    _Atomic int64_t winner;
    _Atomic uint32_t number;
    _Atomic int handled;
    struct event settled;
};

static vigil_value race_handler(vigil_value *value, void *arg)
{
    struct race *race = arg;
    int64_t number = vigil_value_is_error(value) ? -(int64_t)value->status : number_in(value);
    must_equal(number, atomic_load(&race->winner)); /* who was told 0 has won, and nobody else */
    atomic_fetch_add(&race->handled, 1);
    event_set(&race->settled);
    return vigil_value_none();
}

static void race_add_handler(void *arg)
{
    struct race *race = arg;
    then(race->promise, race_handler, race_handler, race);
}

static void settle_once(struct race *race, int64_t me, uint64_t round)
{
    bool rejects = (uint64_t)me % 3 == round % 3;
    vigil_value value = rejects ? vigil_value_error((int)-me) : counted(me);
    int rc = vigil_promise_resolve(race->promise, value);
    if (rc == 0) {
        must_equal(atomic_fetch_add(&race->winners, 1), 0);
        atomic_store(&race->winner, me);
    } else {
        must_equal(rc, -EALREADY);
        vigil_value_destroy(&value);
    }
}

static void *racer(void *arg)
{
    struct race *race = arg;
    int64_t me = 1 + (int64_t)atomic_fetch_add(&race->number, 1);
    for (uint64_t i = 0; i < race->rounds; i++) {
        (void)meeting_join(&race->start);
        settle_once(race, me, i);
        (void)meeting_join(&race->start);
        if (me == 1) {
            must_equal(atomic_load(&race->winners), 1);
            on_owner(race_add_handler, race); /* after the winner has written its name */
            event_wait(&race->settled);
            must_equal(atomic_load(&race->handled), (int)i + 1);
            drop(race->promise);
            atomic_store(&race->winners, 0);
            race->settled = (struct event){0};
            must_equal(vigil_promise_create(&race->promise, loop), 0);
        }
        (void)meeting_join(&race->start);
    }
    return NULL;
}

static void of_16_threads_one_settles_it(void **state)
{
    (void)state;
    open_running();
    static struct race race;
    race = (struct race){.start = {.size = THREADS}, .rounds = scaled(2000, 20)};
    must_equal(vigil_promise_create(&race.promise, loop), 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(racer, &race);
    for (int i = 0; i < THREADS; i++)
        join_thread(threads[i]);
    drop(race.promise);
    close_running();
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static void *wait_and_take(void *arg)
{
    vigil_promise *p = arg;
    vigil_value value;
    must_equal(vigil_promise_wait(p, VIGIL_FOREVER, &value), VIGIL_FULFILLED);
    must_equal(number_in(&value), 9);
    must(value.destroy == NULL);
    int taken = vigil_promise_take(p, &value);
    must(taken == VIGIL_FULFILLED || taken == -ENODATA);
    if (taken == VIGIL_FULFILLED)
        vigil_value_destroy(&value);
    drop(p);
    return NULL;
}

static void a_thread_can_wait_for_a_promise(void **state)
{
    (void)state;
    open_running();
    for (uint64_t i = scaled(2000, 50); i > 0; i--) {
        vigil_promise *p = pending();
        must_equal(vigil_promise_wait(p, 0, NULL), -ETIMEDOUT);
        must_equal(vigil_promise_wait(p, 1000, NULL), -ETIMEDOUT);
        (void)vigil_promise_ref(p);
        pthread_t waiter = start_thread(wait_and_take, p);
        resolve(p, counted(9));
        join_thread(waiter);
        drop(p);
    }
    close_running();
}

static void *wait_many(void *arg)
{
    must_equal(vigil_promise_wait(arg, VIGIL_FOREVER, NULL), VIGIL_REJECTED);
    return NULL;
}

static void many_threads_wait_for_one_rejection_and_that_handles_it(void **state)
{
    (void)state;
    open_running();
    for (uint64_t i = scaled(100, 5); i > 0; i--) {
        vigil_promise *p = pending();
        pthread_t waiters[THREADS];
        for (int k = 0; k < THREADS; k++)
            waiters[k] = start_thread(wait_many, p);
        reject(p, -EIO);
        for (int k = 0; k < THREADS; k++)
            join_thread(waiters[k]);
        drop(p);
    }
    /* Some waiters came after the rejection and before the end of its checkpoint, or all too late for it: then it is counted. */
    close_running();
}

/* On a worker a wait counts as blocking: with one worker, what the promise waits for still runs. */
struct nested {
    vigil_pool *pool;
    vigil_promise *promise;
    struct event waits;
};

static int settles_it(void *arg)
{
    struct nested *nested = arg;
    resolve(nested->promise, vigil_value_int(4));
    return 0;
}

static int waits_for_it(void *arg)
{
    struct nested *nested = arg;
    must_equal(vigil_pool_call(nested->pool, settles_it, NULL, nested, VIGIL_NORMAL), 0); /* behind us in the queue */
    vigil_value value;
    must_equal(vigil_promise_wait(nested->promise, VIGIL_FOREVER, &value), VIGIL_FULFILLED);
    must_equal(value.integer, 4);
    event_set(&nested->waits);
    return 0;
}

static void a_worker_that_waits_is_replaced(void **state)
{
    (void)state;
    open_running();
    struct nested nested = {.pool = pool_of(1), .promise = pending()};
    must_equal(vigil_pool_call(nested.pool, waits_for_it, NULL, &nested, VIGIL_NORMAL), 0);
    event_wait(&nested.waits);
    pool_close(nested.pool);
    drop(nested.promise);
    close_running();
}

/* ---- made and given back elsewhere ------------------------------------------------------------------------------- */

static _Atomic uint64_t handled_count;

static vigil_value count_it(vigil_value *value, void *arg)
{
    (void)arg;
    must(value->kind == VIGIL_POINTER);
    atomic_fetch_add(&handled_count, 1);
    return vigil_value_none();
}

static void add_counter(void *arg)
{
    then(arg, count_it, must_not_run, NULL);
    drop(arg);
}

static void *make_and_settle(void *arg)
{
    uint64_t rounds = *(uint64_t *)arg;
    for (uint64_t i = 0; i < rounds; i++) {
        vigil_promise *p = pending();
        must_equal(vigil_loop_call(loop, add_counter, NULL, vigil_promise_ref(p)), 0);
        if (i % 2 == 0)
            resolve(p, counted(1)); /* before or after the handler is added */
        else
            drop(vigil_promise_ref(p));
        if (i % 2 != 0)
            resolve(p, counted(2));
        drop(p);
        drop(pending()); /* abandoned here, freed there */
    }
    return NULL;
}

static void promises_may_be_made_and_dropped_by_any_thread(void **state)
{
    (void)state;
    open_running();
    atomic_store(&handled_count, 0);
    uint64_t rounds = scaled(20000, 200);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(make_and_settle, &rounds);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    close_running();
    must_equal(atomic_load(&handled_count), 4 * rounds);
}

static void look_in(void *arg)
{
    (void)arg;
}

static void owners_calls_answer_eperm_elsewhere(void **state)
{
    (void)state;
    open_running();
    on_owner(look_in, NULL); /* it has an owner now */
    vigil_promise *p = pending();
    vigil_promise *q = NULL;
    vigil_reaction reaction = {.run = NULL};
    must_equal(vigil_promise_then(p, NULL, NULL, NULL, &q), -EPERM);
    must_equal(vigil_promise_catch(p, NULL, NULL, &q), -EPERM);
    must_equal(vigil_promise_finally(p, NULL, NULL, &q), -EPERM);
    must_equal(vigil_promise_reaction_add(p, &reaction), -EPERM);
    must_equal(vigil_promise_resolved(loop, vigil_value_none(), &q), -EPERM);
    must_equal(vigil_promise_all(loop, &p, 1, &q), -EPERM);
    must_equal(vigil_promise_sleep(loop, 1, NULL, &q), -EPERM);
    must_equal(vigil_promise_mark_handled(p), -EPERM);
    must(q == NULL);
    drop(p);
    close_running();
}

/* ---- looking, while the owner goes on ---------------------------------------------------------------------------- */

static vigil_promise *looked_at;
static _Atomic bool looked_enough;

static void share_it(void *arg)
{
    vigil_promise *p = resolved(counted(7));
    looked_at = derive(p, NULL, NULL, NULL); /* shares the value */
    drop(p);
    (void)arg;
}

static void *look_at_it(void *arg)
{
    (void)arg;
    while (!atomic_load(&looked_enough)) {
        vigil_value value;
        if (vigil_promise_result(looked_at, &value) == VIGIL_FULFILLED)
            must_equal(number_in(&value), 7);
        drop(vigil_promise_ref(looked_at));
    }
    return NULL;
}

static void handle_it(void *arg)
{
    (void)arg;
    then(looked_at, NULL, must_not_run, NULL);
    must_equal(vigil_promise_mark_handled(looked_at), 0);
}

static void looking_does_not_disturb_the_owner(void **state)
{
    (void)state;
    open_running();
    atomic_store(&looked_enough, false);
    on_owner(share_it, NULL);
    pthread_t thread = start_thread(look_at_it, NULL);
    for (uint64_t i = scaled(5000, 50); i > 0; i--)
        on_owner(handle_it, NULL);
    atomic_store(&looked_enough, true);
    join_thread(thread);
    drop(looked_at);
    close_running();
}

/* ---- before anybody runs it -------------------------------------------------------------------------------------- */

static void a_promise_may_be_settled_before_the_loop_runs(void **state)
{
    (void)state;
    loop_open();
    vigil_promise *p = pending();
    then(p, say_value, NULL, "a");
    resolve(p, counted(1));
    then(p, say_value, NULL, "b");
    must_equal(vigil_promise_state_get(p), VIGIL_PENDING); /* nobody is there to do it */
    drop(p);
    drop(pending());
    vigil_promise *q = resolved(vigil_value_int(2));
    must_equal(vigil_promise_state_get(q), VIGIL_FULFILLED);
    then(q, say_value, NULL, "c");
    drop(q);
    loop_close();
    must_have_said("c=2 a=1 b=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(of_16_threads_one_settles_it),
        test(a_thread_can_wait_for_a_promise),
        test(many_threads_wait_for_one_rejection_and_that_handles_it),
        test(a_worker_that_waits_is_replaced),
        test(promises_may_be_made_and_dropped_by_any_thread),
        test(looking_does_not_disturb_the_owner),
        test(owners_calls_answer_eperm_elsewhere),
        test(a_promise_may_be_settled_before_the_loop_runs),
    };
    return run_all(tests);
}
