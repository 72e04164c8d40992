/* SPDX-License-Identifier: MIT */
/* L5: the order of a turn (T1 to T10 of docs/loop.md), snapshots, and the checkpoint after every callback. */
#include "loop_test.h"

#include <unistd.h>

static struct journal journal;
static vigil_loop *loop;

static void micro(void *arg)
{
    (void)arg;
    journal_add(&journal, '.');
}

/* Each callback leaves its letter and a microtask, whose dot must come before the next letter. */
static void letter(char it)
{
    journal_add(&journal, it);
    must_equal(vigil_loop_microtask_call(loop, micro, NULL, NULL), 0);
}

static void on_internal(vigil_post *post)
{
    (void)post;
    letter('i');
}

static void on_post(void *arg)
{
    (void)arg;
    letter('p');
}

static void on_timer(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)of;
    (void)timer;
    (void)arg;
    letter('t');
}

static void on_closed(void *arg)
{
    (void)arg;
    letter('c');
}

static void on_readable(vigil_loop *of, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)arg;
    must_equal(events, VIGIL_FD_READ);
    char byte;
    must_equal(read(fd, &byte, 1), 1);
    letter('r');
    must_equal(vigil_watch_remove(of, watch), 0);
}

static int64_t on_prepare(vigil_loop *of, void *arg)
{
    (void)of;
    (void)arg;
    letter('b');
    return -1;
}

static void on_check(vigil_loop *of, void *arg)
{
    (void)of;
    (void)arg;
    letter('k');
}

static void on_immediate(void *arg)
{
    (void)arg;
    letter('m');
}

static void on_deferred(void *arg)
{
    (void)arg;
    letter('d');
}

static void one_turn_runs_its_phases_in_the_written_order(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    loop = loop_plain();
    int pipes[2];
    vigil_post internal;
    vigil_hook hook;
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = on_prepare, .check = on_check};
    must_equal(pipe(pipes), 0);
    must_equal(write(pipes[1], "x", 1), 1);
    must_equal(vigil_loop_defer_call(loop, on_deferred, NULL, NULL), 0);
    must_equal(vigil_loop_immediate_call(loop, on_immediate, NULL, NULL), 0);
    must_equal(vigil_hook_add(loop, &calls, NULL, &hook), 0);
    must_equal(vigil_watch_add(loop, pipes[0], VIGIL_FD_READ, 0, on_readable, on_closed, NULL, NULL), 0);
    must_equal(vigil_timer_start(loop, 0, on_timer, NULL, NULL), 0);
    must_equal(vigil_loop_call(loop, on_post, NULL, NULL), 0);
    vigil_post_init(&internal, on_internal, NULL);
    must_equal(vigil_loop_post_internal(loop, &internal), 0);
    must_equal(vigil_loop_microtask_call(loop, micro, NULL, NULL), 0); /* T1 */
    must_equal(vigil_loop_run(loop, VIGIL_RUN_NOWAIT), 0);
    must_read(&journal, ".i.p.t.b.r.k.m.c.d.");
    must_equal(vigil_hook_remove(loop, hook), 0);
    must_equal(vigil_hook_remove(loop, hook), -ESTALE);
    must_equal(vigil_loop_destroy(loop), 0);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static int depth;

static void post_more(void *arg)
{
    journal_add(&journal, *(char *)arg);
    if (depth-- > 0)
        must_equal(vigil_loop_call(loop, post_more, NULL, arg), 0);
}

static void immediate_more(void *arg)
{
    journal_add(&journal, *(char *)arg);
    if (depth-- > 0)
        must_equal(vigil_loop_immediate_call(loop, immediate_more, NULL, arg), 0);
}

static void defer_more(void *arg)
{
    journal_add(&journal, *(char *)arg);
    if (depth-- > 0)
        must_equal(vigil_loop_defer_call(loop, defer_more, NULL, arg), 0);
}

static void timer_more(vigil_loop *of, vigil_timer timer, void *arg)
{
    (void)timer;
    journal_add(&journal, *(char *)arg);
    if (depth-- > 0)
        must_equal(vigil_timer_start(of, 0, timer_more, arg, NULL), 0);
}

static void what_a_callback_adds_to_its_own_phase_waits_for_the_next_turn(void **state)
{
    (void)state;
    static char letters[] = "abcd";
    for (int kind = 0; kind < 4; kind++) {
        memset(&journal, 0, sizeof journal);
        loop = loop_plain();
        depth = 3;
        if (kind == 0)
            must_equal(vigil_loop_call(loop, post_more, NULL, &letters[0]), 0);
        if (kind == 1)
            must_equal(vigil_loop_immediate_call(loop, immediate_more, NULL, &letters[1]), 0);
        if (kind == 2)
            must_equal(vigil_loop_defer_call(loop, defer_more, NULL, &letters[2]), 0);
        if (kind == 3)
            must_equal(vigil_timer_start(loop, 0, timer_more, &letters[3], NULL), 0);
        for (size_t turn = 1; turn <= 4; turn++) {
            must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), turn < 4);
            must_equal(journal.length, turn);
        }
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

static void posts_per_turn_are_budgeted(void **state)
{
    (void)state;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.post_budget = 10;
    loop = loop_with(&options);
    memset(&journal, 0, sizeof journal);
    static char x = 'x';
    depth = 0;
    for (int i = 0; i < 25; i++)
        must_equal(vigil_loop_call(loop, post_more, NULL, &x), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(journal.length, 10);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 1);
    must_equal(journal.length, 20);
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(journal.length, 25);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

struct library {
    int64_t most;
    bool has_work;
    int rechecks, prepares, checks;
};

static int64_t prepare(vigil_loop *of, void *arg)
{
    (void)of;
    struct library *library = arg;
    library->prepares++;
    return library->most;
}

static bool recheck(vigil_loop *of, void *arg)
{
    must_equal(vigil_loop_state_get(of),
               VIGIL_LOOP_SLEEPING); /* the last look comes after the loop has said it sleeps */
    struct library *library = arg;
    library->rechecks++;
    return library->has_work;
}

static void check(vigil_loop *of, void *arg)
{
    (void)of;
    ((struct library *)arg)->checks++;
}

static void hooks_bound_the_sleep_and_have_the_last_look(void **state)
{
    (void)state;
    loop = loop_that_stays();
    struct library library = {.most = 1000000, .has_work = false};
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = prepare, .recheck = recheck, .check = check};
    vigil_hook hook;
    must_equal(vigil_hook_add(loop, &calls, &library, &hook), 0);
    uint64_t before = now_ns();
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0); /* sleeps for the millisecond that prepare allows */
    must(now_ns() - before >= 1000000);
    must_equal(library.rechecks, 1);
    library.most = -1;
    library.has_work = true;
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0); /* would sleep for ever, but for the last look */
    must_equal(library.rechecks, 2);
    library.most = 0;
    must_equal(vigil_loop_run(loop, VIGIL_RUN_ONCE), 0);
    must_equal(library.rechecks, 2); /* no sleep, no last look */
    must_equal(library.prepares, 3);
    must_equal(library.checks, 3);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(one_turn_runs_its_phases_in_the_written_order),
        test(what_a_callback_adds_to_its_own_phase_waits_for_the_next_turn),
        test(posts_per_turn_are_budgeted),
        test(hooks_bound_the_sleep_and_have_the_last_look),
    };
    return run_all(tests);
}
