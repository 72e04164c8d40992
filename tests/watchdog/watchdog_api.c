/* SPDX-License-Identifier: MIT */
/* W7: What vigil/watchdog.h promises besides the verdicts themselves: options, ends, hooks, the log, the record, signals, forks. */
#include "watchdog_test.h"

#include "reader/reader.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void bad_options_are_refused(void **state)
{
    (void)state;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.interval_ms = 9;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.interval_ms = 10001;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.interval_ms = 0;
    options.hog_ms = 86400001;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.hog_ms = 0;
    options.recover = 16;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.recover = VIGIL_RECOVER_CALL; /* and nobody to call */
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.recover = 0;
    options.max_spares = 65;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.max_spares = 0;
    options.least = (vigil_severity)4;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.least = VIGIL_SEVERITY_INFO;
    options.stack_signal = SIGKILL;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.stack_signal = 1000;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.stack_signal = -2;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    options.stack_signal = 0;
    options.size = 4;
    must_equal(vigil_watchdog_start(&options), -EINVAL);
    must_equal(vigil_watchdog_stop(), -ENOENT);
    must_equal(vigil_watchdog_stats_get(NULL), -EINVAL);
    must_equal(vigil_watchdog_verdicts(NULL, 1), -EINVAL);
    vigil_verdict none = {0};
    must_equal(vigil_watchdog_verdicts(&none, 1), -EINVAL); /* it has no size */
    must_equal(vigil_verdict_text(NULL, NULL, 0), -EINVAL);
}

static void there_is_one_and_it_starts_again_after_its_stop(void **state)
{
    (void)state;
    vigil_watchdog_stats stats = {.size = sizeof stats};
    for (int i = 0; i < 20; i++) {
        must_equal(vigil_watchdog_start(NULL), 0);
        must_equal(vigil_watchdog_start(NULL), -EALREADY);
        must_equal(vigil_watchdog_stats_get(&stats), 0);
        must(stats.running);
        must_equal(vigil_watchdog_stop(), 0);
        must_equal(vigil_watchdog_stop(), -ENOENT);
        must_equal(vigil_watchdog_stats_get(&stats), 0);
        must(!stats.running);
    }
}

static void *start_and_stop(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        int rc = vigil_watchdog_start(NULL);
        must(rc == 0 || rc == -EALREADY);
        rc = vigil_watchdog_stop();
        must(rc == 0 || rc == -ENOENT);
    }
    return NULL;
}

static void starts_stops_pools_and_loops_may_race(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (size_t i = 0; i < count_of(threads); i++)
        threads[i] = start_thread(start_and_stop, NULL);
    for (int i = 0; i < 30; i++) {
        vigil_loop *loop = NULL;
        vigil_pool *pool = pool_of(2);
        must_equal(vigil_loop_create(&loop, NULL), 0);
        pool_close(pool);
        must_equal(vigil_loop_destroy(loop), 0);
    }
    for (size_t i = 0; i < count_of(threads); i++)
        join_thread(threads[i]);
    (void)vigil_watchdog_stop();
}

/* ---- a verdict, from the hook to the record ---- */

struct hooks {
    struct heard heard;
    _Atomic int stopped; /* what stop said inside the hook */
    _Atomic int recovered;
    vigil_pool *made; /* inside the hook */
};

static void in_hook(void *user, const vigil_verdict *verdict)
{
    struct hooks *hooks = user;
    atomic_store_explicit(&hooks->stopped, vigil_watchdog_stop(), memory_order_relaxed);
    if (hooks->made == NULL) { /* no lock is held: everything else may be called */
        must_equal(vigil_pool_create(&hooks->made, NULL), 0);
        must_equal(vigil_pool_destroy(hooks->made), 0);
    }
    on_verdict(&hooks->heard, verdict);
}

static int recover(void *user, const vigil_verdict *verdict)
{
    struct hooks *hooks = user;
    must_equal(verdict->stall, VIGIL_STALL_HOG);
    (void)atomic_fetch_add_explicit(&hooks->recovered, 1, memory_order_relaxed);
    return 7;
}

static int waits(void *arg)
{
    gate_pass(arg);
    return 0;
}

/* The same sentence, for as long as both go on: log and record show the durations of the last look, and a look may come in
   between. */
static bool same_words(const char *one, const char *other)
{
    for (;;) {
        one += strspn(one, "0123456789.");
        other += strspn(other, "0123456789.");
        if (*one == 0 || *other == 0)
            return true;
        if (*one++ != *other++)
            return false;
    }
}

static void hooks_log_and_record_tell_the_same(void **state)
{
    (void)state;
    struct hooks hooks = {0};
    struct gate gate = {0};
    hooks.heard.want = VIGIL_STALL_HOG;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = in_hook;
    options.on_recover = recover;
    options.recover = VIGIL_RECOVER_CALL;
    options.user = &hooks;
    options.hog_ms = 300;
    options.interval_ms = 50;
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_watchdog_start(&options), 0);
    must_equal(vigil_pool_call(pool, waits, NULL, &gate, VIGIL_NORMAL), 0);
    const vigil_verdict *told = verdict_of(&hooks.heard);
    must_equal(atomic_load_explicit(&hooks.stopped, memory_order_relaxed), -EDEADLK);
    must_say(told->action, "The program's own recovery was called and returned 7");

    /* The log. */
    static vigil_verdict logged[2];
    logged[0].size = sizeof logged[0];
    logged[1].size = offsetof(vigil_verdict, reason); /* an older header: what it does not know is not written */
    logged[1].reason[0] = 'x';
    must(vigil_watchdog_verdicts(logged, 2) >= 1);
    must_equal(logged[0].number, told->number);
    must(logged[0].reason[0] != 0 && same_words(logged[0].reason, told->reason));
    must_equal(logged[1].reason[0], 'x');

    /* The record, as another process would read it. */
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    if (vg_reader_open_pid(&reader, getpid()) == 0) {
        must_equal(vg_reader_snapshot(reader, &snapshot), 0);
        must(snapshot->verdict_count >= 1 && snapshot->act_count >= 1);
        must_equal(snapshot->verdicts[0].number, told->number);
        must_equal(snapshot->verdicts[0].kind, VIGIL_STALL_HOG);
        must(snapshot->verdicts[0].reason[0] != 0 && same_words(snapshot->verdicts[0].reason, told->reason));
        must(!snapshot->verdicts[0].over);
        must_equal(snapshot->acts[0].verdict, told->number);
        must_equal(snapshot->acts[0].kind, VIGIL_RECOVER_CALL);
        must(snapshot->watch_age_ns != UINT64_MAX);
        vg_snapshot_free(snapshot);
    }
    gate_open(&gate);
    event_wait(&hooks.heard.cleared[VIGIL_STALL_HOG]);
    if (reader != NULL) {
        must_equal(vg_reader_snapshot(reader, &snapshot), 0);
        must(snapshot->verdicts[0].over);
        vg_snapshot_free(snapshot);
        vg_reader_close(reader);
    }
    must_equal(atomic_load_explicit(&hooks.recovered, memory_order_relaxed), 1);
    must_equal(vigil_watchdog_stop(), 0);
    must(vigil_watchdog_verdicts(logged, 1) == 1); /* also after the stop */
    must_equal(logged[0].state, VIGIL_VERDICT_CLEARED);

    char text[64];
    const int whole = vigil_verdict_text(told, text, sizeof text);
    must(whole > (int)sizeof text && strlen(text) == sizeof text - 1);
    must_equal(vigil_verdict_text(told, NULL, 0), whole);
    pool_close(pool);
}

static void what_is_less_than_least_is_not_told(void **state)
{
    (void)state;
    struct heard heard = {.want = VIGIL_STALL_HOG};
    struct gate gate = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.least = VIGIL_SEVERITY_WARNING;
    options.hog_ms = 100;
    options.interval_ms = 20;
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_watchdog_start(&options), 0);
    must_equal(vigil_pool_call(pool, waits, NULL, &gate, VIGIL_NORMAL), 0);
    vigil_watchdog_stats stats = {.size = sizeof stats};
    while (stats.raised[VIGIL_STALL_HOG] == 0) { /* a remark: counted and logged, not told */
        yield();
        must_equal(vigil_watchdog_stats_get(&stats), 0);
    }
    watch_settle();
    must(!event_is_set(&heard.raised[VIGIL_STALL_HOG]));
    gate_open(&gate);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

/* ---- signals ---- */

static _Atomic int urgent;

static void on_urgent(int number)
{
    (void)number;
    (void)atomic_fetch_add_explicit(&urgent, 1, memory_order_relaxed);
}

static void the_users_own_handler_still_gets_the_users_own_signals(void **state)
{
    (void)state;
    struct sigaction ours = {.sa_handler = on_urgent};
    struct sigaction before;
    struct sigaction after;
    must_equal(sigaction(SIGURG, &ours, &before), 0);
    must_equal(vigil_watchdog_start(NULL), 0);
    must_equal(raise(SIGURG), 0);
    must_equal(atomic_load_explicit(&urgent, memory_order_relaxed), 1);
    must_equal(pthread_kill(pthread_self(), SIGURG), 0);
    must_equal(atomic_load_explicit(&urgent, memory_order_relaxed), 2);
    must_equal(vigil_watchdog_stop(), 0);
    must_equal(sigaction(SIGURG, &before, &after), 0);
    must(after.sa_handler == on_urgent); /* and it is back in its place */
}

static int spins(void *arg)
{
    struct event *end = arg;
    while (!event_is_set(end)) {
    }
    return 0;
}

static void without_a_signal_threads_that_run_have_no_stacks(void **state)
{
    (void)state;
    struct heard heard = {.want = VIGIL_STALL_HOG};
    struct event end = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.stack_signal = -1;
    options.hog_ms = 300;
    options.interval_ms = 50;
    must_equal(vigil_watchdog_start(&options), 0);
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_pool_call(pool, spins, NULL, &end, VIGIL_NORMAL), 0);
    must_say(verdict_of(&heard)->stacks, "switched off");
    event_set(&end);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

/* ---- forks ---- */

static void child_begins_anew(void *arg)
{
    (void)arg;
    vigil_watchdog_stats stats = {.size = sizeof stats};
    static vigil_verdict logged[1];
    logged[0].size = sizeof logged[0];
    must_equal(vigil_watchdog_stop(), -ENOENT);
    must_equal(vigil_watchdog_stats_get(&stats), 0);
    must(!stats.running);
    must_equal(vigil_watchdog_verdicts(logged, 1), 0);
#if !TEST_SANITIZED /* tsan lets no threads start after such a fork; asan's allocator keeps the locks that others held */
    must_equal(vigil_watchdog_start(NULL), 0);
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, NULL), 0);
    watch_settle();
    must_equal(vigil_pool_destroy(pool), 0);
    must_equal(vigil_watchdog_stop(), 0);
#endif
    _exit(0);
}

static void the_child_of_a_fork_has_none_until_it_starts_one(void **state)
{
    (void)state;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.interval_ms = 10; /* so that some of the forks come in the middle of a look */
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_watchdog_start(&options), 0);
    for (uint64_t i = scaled(20, 3); i > 0; i--) {
        const int status = in_child(child_begins_anew, NULL);
        must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(bad_options_are_refused),
        test(there_is_one_and_it_starts_again_after_its_stop),
        test(starts_stops_pools_and_loops_may_race),
        test(hooks_log_and_record_tell_the_same),
        test(what_is_less_than_least_is_not_told),
        test(the_users_own_handler_still_gets_the_users_own_signals),
        test(without_a_signal_threads_that_run_have_no_stacks),
        test(the_child_of_a_fork_has_none_until_it_starts_one),
    };
    return run_all(tests);
}
