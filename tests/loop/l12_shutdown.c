/* SPDX-License-Identifier: MIT */
/* L12: the order of the end (E1 to E6 of src/loop/ending.c), its deadline, and storms against it. */
#include "loop_test.h"

#include "loop/struct.h"

#include <unistd.h>

static struct journal journal;
static vigil_loop *loop;

static void say(void *arg)
{
    journal_add(&journal, *(const char *)arg);
}

static void say_upper(void *arg)
{
    journal_add(&journal, (char)(*(const char *)arg - 'a' + 'A'));
}

struct note {
    vigil_post post;
    char letter;
};

static void say_post(vigil_post *post)
{
    journal_add(&journal, container_of(post, struct note, post)->letter);
}

static void cancel_note(vigil_post *post)
{
    journal_add(&journal, (char)(container_of(post, struct note, post)->letter - 'a' + 'A'));
}

static void never_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    support_fail("a timer fired after the shutdown", __FILE__, __LINE__);
}

static void never_watch(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)of;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
    support_fail("a watch fired after the shutdown", __FILE__, __LINE__);
}

static struct note internal_note = {.letter = 'i'};
static int pipes[2];

static void in_end_hook(vg_end_hook *hook, vigil_loop *of)
{
    (void)hook;
    must_equal(vigil_loop_state_get(of), VIGIL_LOOP_TERMINATED);
    must(of->poller.poll_fd >= 0); /* the poller is closed after this */
    must_equal(atomic_load_explicit(&of->done, memory_order_relaxed), 0);
    journal_add(&journal, 'h');
    static char m = 'n';
    must_equal(vigil_loop_microtask_call(of, say, NULL, &m), 0); /* rejections have handlers */
}

static vg_end_hook end_hook = {.run = in_end_hook};

static void begin(void *arg)
{
    (void)arg;
    static const char letters[] = "abcdefg";
    journal_add(&journal, 's');
    must_equal(vigil_loop_call(loop, say, NULL, (void *)&letters[0]), 0); /* accepted before: runs */
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);              /* from a callback it returns at once */
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);              /* and again */
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATING);
    must_equal(vigil_loop_call(loop, say, NULL, NULL), -ESHUTDOWN); /* E1 */
    must_equal(vigil_timer_start(loop, 0, never_timer, NULL, NULL), -ESHUTDOWN);
    must_equal(vigil_loop_ref(loop), -ESHUTDOWN);
    must_equal(vigil_loop_pause(loop), -ESHUTDOWN);
    vigil_post_init(&internal_note.post, say_post, cancel_note);
    must_equal(vigil_loop_post_internal(loop, &internal_note.post), 0); /* the lane is open till all is drained */
    must_equal(vigil_loop_immediate_call(loop, say, NULL, (void *)&letters[1]), 0);
    must_equal(vigil_loop_defer_call(loop, say, NULL, (void *)&letters[3]), 0);
    must_equal(vigil_loop_microtask_call(loop, say, NULL, (void *)&letters[4]), 0);
    must_equal(vigil_loop_tick_call(loop, say, NULL, (void *)&letters[5]), 0);
}

static void the_end_comes_in_the_written_order(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.fast_path = VIGIL_FAST_PATH_DISABLED;
    loop = loop_with(&options);
    must_equal(pipe(pipes), 0);
    static char closed_letter = 'c';
    loop->end_hooks = &end_hook;
    must_equal(vigil_timer_start(loop, 3600000000000U, never_timer, NULL, NULL), 0);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, never_watch, say, &closed_letter, NULL), 0);
    must_equal(vigil_loop_call(loop, begin, NULL, NULL), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    /* tick f, microtask e; the turn goes on: immediate b, deferred d; then the drain: internal i, post a, closed c; hook, its
       microtask */
    must_read(&journal, "sfebdiachn");
    must_equal(vigil_loop_state_get(loop), VIGIL_LOOP_TERMINATED);
    must_equal(loop->poller.poll_fd, -1);
    must_equal(atomic_load_explicit(&loop->poller.wake_fd, memory_order_relaxed), -1);
    must_equal(vigil_loop_wait(loop, 0), 0);
    must_equal(vigil_loop_post_internal(loop, &internal_note.post), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void close_cancels_what_has_not_run(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    static char letters[] = "abcdef";
    static struct note notes[2] = {{.letter = 'x'}, {.letter = 'y'}};
    must_equal(vigil_loop_call(loop, say, say_upper, &letters[0]), 0);
    must_equal(vigil_loop_call(loop, say, NULL, &letters[1]), 0); /* no cancel callback: nobody is told */
    vigil_post_init(&notes[0].post, say_post, cancel_note);
    vigil_post_init(&notes[1].post, say_post, cancel_note);
    must_equal(vigil_loop_post(loop, &notes[0].post), 0);
    must_equal(vigil_loop_post_internal(loop, &notes[1].post), 0);
    must_equal(vigil_loop_microtask_call(loop, say, say_upper, &letters[2]), 0);
    must_equal(vigil_loop_tick_call(loop, say, say_upper, &letters[3]), 0);
    must_equal(vigil_loop_immediate_call(loop, say, say_upper, &letters[4]), 0);
    must_equal(vigil_loop_defer_call(loop, say, say_upper, &letters[5]), 0);
    must_equal(vigil_timer_start(loop, 0, never_timer, NULL, NULL), 0);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_read(&journal, "YAXEFDC");
    vigil_loop_stats stats = loop_stats(loop);
    must_equal(stats.posts_accepted, 3);
    must_equal(stats.posts_cancelled, 3);
    must_equal(stats.posts_run, 0);
    must_equal(stats.internal_cancelled, 1);
    must_equal(vigil_loop_close(loop, VIGIL_FOREVER), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void destroy_closes_first(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    static char a = 'a';
    must_equal(vigil_loop_call(loop, say, say_upper, &a), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_read(&journal, "A");
}

static void shutdown_of_a_loop_that_nobody_runs_drains_it_here(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    static char a = 'a';
    must_equal(vigil_loop_call(loop, say, say_upper, &a), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must_read(&journal, "a");
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- the deadline ------------------------------------------------------------------------------------------------ */

static struct gate gate;

static void hold(void *arg)
{
    (void)arg;
    gate_pass(&gate);
}

static void *shutdown_in_no_time(void *arg)
{
    (void)arg;
    must_equal(vigil_loop_shutdown(loop, 1000000), -ETIMEDOUT); /* the callback does not return */
    must_equal(vigil_loop_wait(loop, 0), -ETIMEDOUT);
    gate_open(&gate);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    return NULL;
}

static void count(void *arg)
{
    tally_add(arg, 1);
}

static void at_its_deadline_a_shutdown_becomes_a_close(void **state)
{
    (void)state;
    memset(&gate, 0, sizeof gate);
    loop = loop_plain();
    struct tally cancelled = {0};
    must_equal(vigil_loop_call(loop, hold, NULL, NULL), 0);
    for (int i = 0; i < 100; i++)
        must_equal(vigil_loop_call(loop, count, count, &cancelled), 0);
    pthread_t owner = start_thread(loop_runner, loop);
    gate_wait_entered(&gate, 1);
    pthread_t ender = start_thread(shutdown_in_no_time, NULL);
    join_thread(ender);
    join_thread(owner);
    must_equal(tally_get(&cancelled), 100); /* each once, one way or the other */
    must_equal(loop_stats(loop).posts_cancelled, 100);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- storms ------------------------------------------------------------------------------------------------------ */

enum {
    PRODUCERS = 16
};

struct storm {
    vigil_loop *loop;
    _Atomic uint64_t accepted, refused, ran, cancelled;
    struct tally started;
};

static void on_run(void *arg)
{
    atomic_fetch_add_explicit(&((struct storm *)arg)->ran, 1, memory_order_relaxed);
}

static void on_cancel(void *arg)
{
    atomic_fetch_add_explicit(&((struct storm *)arg)->cancelled, 1, memory_order_relaxed);
}

static void *post_until_refused(void *arg)
{
    struct storm *storm = arg;
    tally_add(&storm->started, 1);
    for (;;) {
        int rc = vigil_loop_call(storm->loop, on_run, on_cancel, storm);
        if (rc != 0) {
            must_equal(rc, -ESHUTDOWN);
            atomic_fetch_add_explicit(&storm->refused, 1, memory_order_relaxed);
            return NULL;
        }
        atomic_fetch_add_explicit(&storm->accepted, 1, memory_order_relaxed);
    }
}

static void storm_against(bool graceful, vigil_fast_path path)
{
    uint64_t rounds = scaled(30, 3);
    for (uint64_t round = 0; round < rounds; round++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = true;
        options.fast_path = path;
        struct storm storm = {.loop = loop_with(&options)};
        pthread_t owner = start_thread(loop_runner, storm.loop);
        pthread_t producers[PRODUCERS];
        for (int i = 0; i < PRODUCERS; i++)
            producers[i] = start_thread(post_until_refused, &storm);
        tally_wait(&storm.started, PRODUCERS / 2);
        if (graceful)
            must_equal(vigil_loop_shutdown(storm.loop, VIGIL_FOREVER), 0);
        else
            must_equal(vigil_loop_close(storm.loop, VIGIL_FOREVER), 0);
        /* done: no callback runs any more, so what is counted now is final */
        uint64_t ran = atomic_load_explicit(&storm.ran, memory_order_relaxed);
        uint64_t cancelled = atomic_load_explicit(&storm.cancelled, memory_order_relaxed);
        for (int i = 0; i < PRODUCERS; i++)
            join_thread(producers[i]);
        join_thread(owner);
        uint64_t accepted = atomic_load_explicit(&storm.accepted, memory_order_relaxed);
        must_equal(ran + cancelled, accepted);
        if (graceful)
            must_equal(ran, accepted);
        must_equal(atomic_load_explicit(&storm.ran, memory_order_relaxed), ran);
        must_equal(loop_stats(storm.loop).posts_accepted, accepted);
        must_equal(vigil_loop_destroy(storm.loop), 0);
    }
}

static void shutdown_while_sixteen_producers_post(void **state)
{
    (void)state;
    storm_against(true, VIGIL_FAST_PATH_AUTO);
    storm_against(true, VIGIL_FAST_PATH_DISABLED);
}

static void close_while_sixteen_producers_post(void **state)
{
    (void)state;
    storm_against(false, VIGIL_FAST_PATH_AUTO);
}

static void *shut(void *arg)
{
    must_equal(vigil_loop_shutdown(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void *shut_hard(void *arg)
{
    must_equal(vigil_loop_close(arg, VIGIL_FOREVER), 0);
    return NULL;
}

static void many_may_end_it_at_once(void **state)
{
    (void)state;
    uint64_t rounds = scaled(300, 10);
    for (uint64_t i = 0; i < rounds; i++) {
        loop = loop_that_stays();
        pthread_t owner = start_thread(loop_runner, loop);
        pthread_t enders[4];
        for (int k = 0; k < 4; k++)
            enders[k] = start_thread(k % 2 == 0 ? shut : shut_hard, loop);
        for (int k = 0; k < 4; k++)
            join_thread(enders[k]);
        join_thread(owner);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* One turn at a time: the shutdown may come between two turns, when nobody is inside. */
static void *turn_by_turn(void *arg)
{
    int rc;
    do
        rc = vigil_loop_run(arg, VIGIL_RUN_NOWAIT);
    while (rc >= 0);
    must_equal(rc, -ESHUTDOWN);
    return NULL;
}

static void shutdown_between_two_turns_is_finished_by_the_owner(void **state)
{
    (void)state;
    uint64_t rounds = scaled(500, 20);
    for (uint64_t i = 0; i < rounds; i++) {
        loop = loop_that_stays();
        struct tally ran = {0};
        must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
        pthread_t owner = start_thread(turn_by_turn, loop);
        must_equal(vigil_loop_call(loop, count, NULL, &ran), 0);
        must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
        must_equal(tally_get(&ran), 1);
        join_thread(owner);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* Another thread keeps the internal lane from ever being empty: each internal post waits on the loop until the next one is there. */
static _Atomic int internal_sent;
static _Atomic int internal_ran;
static _Atomic bool internal_refused;

static void wait_for_the_next(vigil_post *post)
{
    free(post);
    int ran = atomic_fetch_add(&internal_ran, 1) + 1;
    while (atomic_load(&internal_sent) <= ran && !atomic_load(&internal_refused))
        yield();
}

static void *send_without_end(void *arg)
{
    while (!atomic_load(&internal_refused)) {
        if (atomic_load(&internal_sent) > atomic_load(&internal_ran)) {
            yield();
            continue;
        }
        vigil_post *post = malloc(sizeof *post);
        must(post != NULL);
        vigil_post_init(post, wait_for_the_next, NULL);
        int rc = vigil_loop_post_internal(arg, post);
        if (rc == 0) {
            (void)atomic_fetch_add(&internal_sent, 1);
            continue;
        }
        must_equal(rc, -ESHUTDOWN);
        free(post);
        atomic_store(&internal_refused, true);
    }
    return NULL;
}

static void others_who_post_without_end_do_not_keep_a_shutdown_from_its_end(void **state)
{
    (void)state;
    loop = loop_that_stays();
    pthread_t owner = start_thread(loop_runner, loop);
    pthread_t sender = start_thread(send_without_end, loop);
    while (atomic_load(&internal_ran) < 100)
        yield();
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    join_thread(sender);
    must_equal(internal_ran, internal_sent); /* what was accepted has run */
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_end_comes_in_the_written_order),
        test(close_cancels_what_has_not_run),
        test(destroy_closes_first),
        test(shutdown_of_a_loop_that_nobody_runs_drains_it_here),
        test(at_its_deadline_a_shutdown_becomes_a_close),
        test(shutdown_while_sixteen_producers_post),
        test(close_while_sixteen_producers_post),
        test(many_may_end_it_at_once),
        test(shutdown_between_two_turns_is_finished_by_the_owner),
        test(others_who_post_without_end_do_not_keep_a_shutdown_from_its_end),
    };
    return run_all(tests);
}
