/* SPDX-License-Identifier: MIT */
/* L12, the side of the promises: when the loop ends, nothing stays pending, nothing leaks, and what is asked later is refused. */
#include "promise_test.h"

#include <unistd.h>

static vigil_promise *kept[4];

static void drop_it(void *promise)
{
    drop(promise);
}

/* ---- shutdown ---------------------------------------------------------------------------------------------------- */

static vigil_value say_and_look(vigil_value *value, void *arg)
{
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED); /* the order of L12 */
    return say_value(value, arg);
}

static vigil_value promise_more(vigil_value *value, void *arg)
{
    (void)value;
    say(arg);
    kept[3] = pending(); /* while the loop ends: it is rejected too */
    then(kept[3], must_not_run, say_and_look, "more");
    return vigil_value_none();
}

static void shutdown_body(void *arg)
{
    (void)arg;
    vigil_promise *p = pending();
    then(p, must_not_run, say_and_look, "a");
    kept[0] = derive(p, must_not_run, NULL, NULL); /* -ESHUTDOWN is passed on to it */
    then(kept[0], must_not_run, say_and_look, "b");
    kept[1] = p;
    p = NULL;
    must_equal(vigil_promise_sleep(loop, 1000000000000, NULL, &p), 0);
    then(p, must_not_run, say_and_look, "sleep");
    drop(p);
    p = pending();
    then(p, must_not_run, promise_more, "c");
    kept[2] = p;
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    say("body");
}

static void what_is_pending_is_rejected_at_the_end_and_handlers_run(void **state)
{
    (void)state;
    loop_open();
    must_equal(vigil_loop_call(loop, shutdown_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_have_said("body sleep!-108 a!-108 c b!-108 more!-108"); /* -ESHUTDOWN */
    for (int i = 0; i < 4; i++) {
        must_equal(vigil_promise_state_get(kept[i]), VIGIL_REJECTED);
        must_equal(vigil_promise_resolve(kept[i], vigil_value_none()), i == 0 ? -EPERM : -ESHUTDOWN);
    }
    vigil_promise *p = NULL;
    must_equal(vigil_promise_create(&p, loop), -ESHUTDOWN);
    must_equal(vigil_promise_then(kept[1], NULL, NULL, NULL, NULL), -ESHUTDOWN);
    must_equal(vigil_promise_sleep(loop, 1, NULL, &p), -ESHUTDOWN);
    must_equal(promise_stats().unhandled, 0); /* the end is nobody's mistake */
    for (int i = 0; i < 4; i++)
        drop(kept[i]);
    must_equal(promise_stats().alive, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- close ------------------------------------------------------------------------------------------------------- */

static int done_count;

static void count_done(void *arg)
{
    (void)arg;
    done_count++;
}

static void cancelled(vigil_reaction *reaction)
{
    (void)reaction;
    say("cancelled");
}

static void must_not_react(vigil_reaction *reaction, vigil_promise_state state, vigil_value *value)
{
    (void)reaction;
    (void)state;
    (void)value;
    support_fail("a reaction ran after close", __FILE__, __LINE__);
}

static vigil_reaction reaction = {.run = must_not_react, .cancel = cancelled};
static struct gate gate;

static void with_done(vigil_promise *p)
{
    vigil_handlers handlers = VIGIL_HANDLERS_INIT;
    handlers.fulfilled = must_not_run;
    handlers.rejected = must_not_run;
    handlers.done = count_done;
    must_equal(vigil_promise_then_with(p, &handlers, NULL), 0);
}

static vigil_value must_not_finally(void *arg)
{
    (void)arg;
    support_fail("finally ran after close", __FILE__, __LINE__);
    return vigil_value_none();
}

static void close_body(void *arg)
{
    (void)arg;
    done_count = 0;
    kept[0] = pending();
    with_done(kept[0]);
    kept[1] = resolved(counted(1));
    with_done(kept[1]); /* queued, and never run */
    kept[2] = derive(kept[1], NULL, NULL, NULL);
    must_equal(vigil_promise_reaction_add(kept[0], &reaction), 0);
    vigil_promise *all = NULL;
    must_equal(vigil_promise_all(loop, kept, 3, &all), 0);
    with_done(all);
    drop(all);
    vigil_promise *f = NULL;
    must_equal(vigil_promise_finally(kept[1], must_not_finally, NULL, &f), 0);
    with_done(f);
    drop(f);
    kept[3] = pending();
    resolve(kept[3], vigil_value_promise(vigil_promise_ref(kept[1]))); /* adopts: no handler of anybody's runs by it */
    with_done(kept[3]);
    gate_pass(&gate);
}

static void *closer(void *arg)
{
    (void)arg;
    gate_wait_entered(&gate, 1);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    return NULL;
}

static void *opener(void *arg)
{
    (void)arg;
    gate_wait_entered(&gate, 1);
    while (vigil_loop_state_get(loop) < VIGIL_LOOP_TERMINATING)
        yield();
    gate_open(&gate);
    return NULL;
}

static void close_settles_all_and_runs_no_handler(void **state)
{
    (void)state;
    loop_open();
    gate = (struct gate){0};
    must_equal(vigil_loop_call(loop, close_body, NULL, NULL), 0);
    pthread_t threads[] = {start_thread(closer, NULL), start_thread(opener, NULL)};
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    join_thread(threads[0]);
    join_thread(threads[1]);
    must_have_said("cancelled");
    must_equal(done_count, 5);
    must_equal(vigil_promise_state_get(kept[0]), VIGIL_REJECTED);
    must_equal(vigil_promise_state_get(kept[1]), VIGIL_FULFILLED);
    must_equal(vigil_promise_state_get(kept[2]), VIGIL_REJECTED); /* its reaction was cancelled */
    must_equal(vigil_promise_state_get(kept[3]), VIGIL_FULFILLED);
    for (int i = 0; i < 4; i++)
        drop(kept[i]);
    must_equal(promise_stats().alive, 0);
    must_equal(atomic_load(&values_alive), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- cycles ------------------------------------------------------------------------------------------------------ */

static vigil_value give_kept(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_promise(vigil_promise_ref(kept[1]));
}

/* a waits for b, and b for a: nobody can settle them but the end. */
static void cycle_body(void *arg)
{
    (void)arg;
    vigil_promise *start = resolved(vigil_value_none());
    kept[0] = derive(start, give_kept, NULL, NULL);
    kept[1] = derive(kept[0], must_not_run, NULL, NULL);
    then(kept[1], must_not_run, say_value, "b");
    drop(start);
    must_equal(vigil_loop_immediate_call(loop, drop_it, NULL, kept[0]), 0);
}

static void promises_that_wait_for_each_other_end_with_the_loop(void **state)
{
    (void)state;
    loop_open();
    must_equal(vigil_loop_call(loop, cycle_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_have_said("b!-108");
    drop(kept[1]);
    must_equal(promise_stats().alive, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- after the loop ---------------------------------------------------------------------------------------------- */

static void outlive_body(void *arg)
{
    (void)arg;
    kept[0] = resolved(counted(3));
    kept[1] = derive(kept[0], NULL, NULL, NULL); /* shares the value */
    kept[2] = pending();
}

static void *use_afterwards(void *arg)
{
    vigil_promise *p = arg;
    vigil_value value;
    must_equal(vigil_promise_wait(p, VIGIL_FOREVER, &value), VIGIL_REJECTED);
    must_equal(value.status, -ESHUTDOWN);
    must_equal(vigil_promise_reject(p, vigil_value_error(-EIO)), -ESHUTDOWN);
    drop(p);
    return NULL;
}

static void promises_outlive_their_loop(void **state)
{
    (void)state;
    loop_open();
    must_equal(vigil_loop_call(loop, outlive_body, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    vigil_value value;
    must_equal(vigil_promise_result(kept[1], &value), VIGIL_FULFILLED);
    must_equal(number_in(&value), 3);
    must_equal(vigil_promise_resolve(kept[2], vigil_value_none()), -ESHUTDOWN);
    must_equal(vigil_promise_then(kept[2], NULL, NULL, NULL, NULL), -ESHUTDOWN);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(use_afterwards, vigil_promise_ref(kept[2]));
    drop(kept[0]);
    must_equal(atomic_load(&values_alive), 1);
    must_equal(vigil_promise_take(kept[1], &value), VIGIL_FULFILLED);
    drop(kept[1]);
    vigil_value_destroy(&value);
    drop(kept[2]);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    must_equal(atomic_load(&values_alive), 0);
}

/* ---- storms ------------------------------------------------------------------------------------------------------ */

struct storm {
    struct meeting start;
    _Atomic int refused, accepted;
    bool close;
};

static vigil_value any_outcome(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_none();
}

static void storm_then(void *arg)
{
    vigil_promise *p = arg;
    int rc = vigil_promise_then(p, any_outcome, any_outcome, NULL, NULL);
    must(rc == 0 || rc == -ESHUTDOWN);
    drop(p);
}

static void *storm_settler(void *arg)
{
    struct storm *storm = arg;
    (void)meeting_join(&storm->start);
    for (int i = 0; i < 200; i++) {
        vigil_promise *p = NULL;
        if (vigil_promise_create(&p, loop) != 0) {
            atomic_fetch_add(&storm->refused, 1);
            continue;
        }
        if (vigil_loop_call(loop, storm_then, drop_it, vigil_promise_ref(p)) != 0)
            drop(p);
        vigil_value value = counted(i);
        if (i % 3 != 0 && vigil_promise_resolve(p, value) == 0)
            atomic_fetch_add(&storm->accepted, 1);
        else
            vigil_value_destroy(&value);
        drop(p);
    }
    return NULL;
}

static void *storm_runner(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    return NULL;
}

static void settling_may_race_the_end(void **state)
{
    (void)state;
    for (uint64_t round = scaled(400, 20); round > 0; round--) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = true;
        must_equal(vigil_loop_create(&loop, &options), 0);
        struct storm storm = {.start = {.size = 4}, .close = round % 2 == 0};
        pthread_t run = start_thread(storm_runner, NULL);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            threads[i] = start_thread(storm_settler, &storm);
        (void)meeting_join(&storm.start);
        for (uint64_t i = 0; i < round % 7; i++)
            yield();
        must_equal(storm.close ? vigil_loop_close(loop, VIGIL_FOREVER) : vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        join_thread(run);
        for (int i = 0; i < 3; i++)
            join_thread(threads[i]);
        must_equal(promise_stats().alive, 0);
        must_equal(atomic_load(&values_alive), 0);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void child_body(void *arg)
{
    vigil_promise *p = arg;
    vigil_promise *q = NULL;
    if (vigil_promise_resolve(p, vigil_value_int(1)) != -ECHILD || vigil_promise_create(&q, loop) != -ECHILD ||
        vigil_promise_then(p, NULL, NULL, NULL, NULL) != -ECHILD)
        _exit(1);
    if (vigil_loop_fork(loop) != 0)
        _exit(2);
    journal[0] = '\0';
    if (vigil_promise_resolve(p, vigil_value_int(2)) != 0 || vigil_loop_run(loop, VIGIL_RUN) != 0)
        _exit(3);
    _exit(strcmp(journal, "a=2") == 0 ? 0 : 4);
}

static void a_child_gets_echild_until_it_takes_the_loop_over(void **state)
{
    (void)state;
    loop_open();
    vigil_promise *p = pending();
    then(p, say_value, NULL, "a");
    must_equal(in_child(child_body, p), 0);
    resolve(p, vigil_value_int(3));
    drop(p);
    loop_close();
    must_have_said("a=3"); /* the parent's is another one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_pending_is_rejected_at_the_end_and_handlers_run),
        test(close_settles_all_and_runs_no_handler),
        test(promises_that_wait_for_each_other_end_with_the_loop),
        test(promises_outlive_their_loop),
        test(settling_may_race_the_end),
        test(a_child_gets_echild_until_it_takes_the_loop_over),
    };
    return run_all(tests);
}
