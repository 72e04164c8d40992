/* SPDX-License-Identifier: MIT */
/* L13: the loop ends when nothing keeps it alive; what races that end is run or refused; explain says what keeps it. */
#include "loop_test.h"

#include <unistd.h>

static void count(void *arg)
{
    atomic_fetch_add_explicit((_Atomic uint64_t *)arg, 1, memory_order_relaxed);
}

static void an_empty_loop_ends_at_once(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0); /* does not block */
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
    must_equal(vigil_loop_destroy(loop), 0);
}

struct race {
    vigil_loop *loop;
    _Atomic uint64_t ran, accepted;
};

static void *post_a_few(void *arg)
{
    struct race *race = arg;
    for (;;) {
        int rc = vigil_loop_call(race->loop, count, NULL, &race->ran);
        if (rc == -ESHUTDOWN)
            return NULL;
        must_equal(rc, 0);
        atomic_fetch_add_explicit(&race->accepted, 1, memory_order_relaxed);
        yield();
    }
}

static void a_post_that_races_the_exit_runs_or_is_refused(void **state)
{
    (void)state;
    uint64_t rounds = scaled(2000, 50);
    for (uint64_t i = 0; i < rounds; i++) {
        struct race race = {.loop = loop_plain()};
        pthread_t threads[3];
        for (int k = 0; k < 3; k++)
            threads[k] = start_thread(post_a_few, &race);
        must_equal(vigil_loop_run(race.loop, VIGIL_RUN), 0);
        for (int k = 0; k < 3; k++)
            join_thread(threads[k]);
        must_equal(atomic_load_explicit(&race.ran, memory_order_relaxed),
                   atomic_load_explicit(&race.accepted, memory_order_relaxed));
        must_equal(loop_stats(race.loop).posts_cancelled, 0);
        must_equal(vigil_loop_destroy(race.loop), 0);
    }
}

struct holder {
    vigil_loop *loop;
    struct event got_it;
    int rc;
};

static void *hold_it(void *arg)
{
    struct holder *holder = arg;
    holder->rc = vigil_loop_ref(holder->loop);
    if (holder->rc == 0) {
        for (int i = 0; i < 100; i++)
            yield();
        must(vigil_loop_state_get(holder->loop) <= VIGIL_LOOP_SLEEPING); /* it is kept alive */
        must_equal(vigil_loop_unref(holder->loop), 0);
    } else {
        must_equal(holder->rc, -ESHUTDOWN);
    }
    return NULL;
}

static void a_reference_that_races_the_exit_holds_or_is_refused(void **state)
{
    (void)state;
    uint64_t rounds = scaled(2000, 50);
    for (uint64_t i = 0; i < rounds; i++) {
        struct holder holder = {.loop = loop_plain()};
        pthread_t thread = start_thread(hold_it, &holder);
        must_equal(vigil_loop_run(holder.loop, VIGIL_RUN), 0);
        join_thread(thread);
        must_equal(vigil_loop_destroy(holder.loop), 0);
    }
}

static int exits;
static vigil_loop *leaving;
static _Atomic uint64_t ran_late;

static void before_exit(void *user)
{
    must(user == &exits);
    if (++exits < 3)
        must_equal(vigil_loop_immediate_call(leaving, count, NULL, &ran_late), 0);
}

static void before_exit_may_bring_more_work(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_before_exit = before_exit;
    options.user = &exits;
    exits = 0;
    leaving = loop_with(&options);
    must_equal(vigil_loop_run(leaving, VIGIL_RUN), 0);
    must_equal(exits, 3);
    must_equal(atomic_load_explicit(&ran_late, memory_order_relaxed), 2);
    must_equal(vigil_loop_destroy(leaving), 0);
}

/* ---- explain ----------------------------------------------------------------------------------------------------- */

static void ignore_watch(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void ignore_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    (void)arg;
}

static void explain_names_everything_that_keeps_it(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.name = "kept";
    vigil_loop *loop = loop_with(&options);
    char text[2048];
    must(vigil_loop_explain(loop, text, sizeof text) > 0);
    must(strstr(text, "nothing keeps kept alive") != NULL);
    int pipes[2];
    _Atomic uint64_t number = 0;
    must_equal(pipe(pipes), 0);
    must_equal(vigil_loop_ref(loop), 0);
    must_equal(vigil_loop_call(loop, count, NULL, &number), 0);
    must_equal(vigil_loop_microtask_call(loop, count, NULL, &number), 0);
    must_equal(vigil_loop_immediate_call(loop, count, NULL, &number), 0);
    must_equal(vigil_loop_defer_call(loop, count, NULL, &number), 0);
    must_equal(vigil_timer_start(loop, 3600000000000U, ignore_timer, NULL, NULL), 0);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, ignore_watch, NULL, NULL, NULL), 0);
    must_equal(vigil_watch_add(loop, pipes[1], VIGIL_FD_READ, VIGIL_WATCH_UNREF, ignore_watch, NULL, NULL, NULL), 0);
    vigil_keeper keepers[16];
    int found = vigil_loop_keepers(loop, keepers, count_of(keepers));
    must_equal(found, 7);
    vigil_keeper_kind kinds[] = {VIGIL_KEEPER_REF,        VIGIL_KEEPER_POSTS,   VIGIL_KEEPER_MICROTASKS,
                                 VIGIL_KEEPER_IMMEDIATES, VIGIL_KEEPER_CLOSING, VIGIL_KEEPER_TIMER,
                                 VIGIL_KEEPER_WATCH};
    for (int i = 0; i < found; i++)
        must_equal(keepers[i].kind, kinds[i]);
    must_equal(keepers[6].number, pipes[0]);
    must(keepers[5].created != NULL && keepers[6].created != NULL);
    must(keepers[5].number > 3500000000000);
    must(!keepers[6].broken);
    int length = vigil_loop_explain(loop, text, sizeof text);
    must_equal(length, (int)strlen(text));
    must(strstr(text, "kept is kept alive by") != NULL);
    must(strstr(text, "a timer that fires in") != NULL);
    must(strstr(text, "a watch on fd") != NULL);
    must(strstr(text, "created") != NULL);
    char small[10];
    must_equal(vigil_loop_explain(loop, small, sizeof small), length); /* cut, and says how long it would be */
    must_equal(strlen(small), 9);
    close(pipes[0]); /* behind its back */
    must_equal(vigil_loop_keepers(loop, keepers, count_of(keepers)), 7);
    must(keepers[6].broken);
    must(vigil_loop_explain(loop, text, sizeof text) > 0);
    must(strstr(text, "which is closed") != NULL);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(an_empty_loop_ends_at_once),
        test(a_post_that_races_the_exit_runs_or_is_refused),
        test(a_reference_that_races_the_exit_holds_or_is_refused),
        test(before_exit_may_bring_more_work),
        test(explain_names_everything_that_keeps_it),
    };
    return run_all(tests);
}
