/* SPDX-License-Identifier: MIT */
/* A stall that comes and goes: RAISED and CLEARED alternate and are counted, and the record shows it whenever it stands. */
#include "watchdog_test.h"

#include "reader/reader.h"

#include <unistd.h>

enum {
    RETURNS = 4
};

struct sequence {
    struct event raised[RETURNS], cleared[RETURNS];
    unsigned raises, clears; /* the watchdog's thread */
    uint64_t number;
};

static void in_order(void *user, const vigil_verdict *verdict)
{
    struct sequence *all = user;
    if (verdict->stall != VIGIL_STALL_ALL_BLOCKED)
        return;
    must(all->raises < RETURNS || verdict->state != VIGIL_VERDICT_RAISED);
    if (verdict->state == VIGIL_VERDICT_RAISED) {
        must_equal(all->raises, all->clears); /* they alternate */
        must(all->number == 0 || all->number == verdict->number);
        all->number = verdict->number;
        must_equal(verdict->times, all->raises + 1);
        event_set(&all->raised[all->raises++]);
    } else if (verdict->state == VIGIL_VERDICT_CLEARED) {
        must_equal(all->raises, all->clears + 1);
        event_set(&all->cleared[all->clears++]);
    }
}

static int hangs(void *arg)
{
    gate_pass(arg);
    return 0;
}

/* What `vigil report` would say. */
static bool stands_in_record(void)
{
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    bool stands = false;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &snapshot), 0);
    for (size_t i = 0; i < snapshot->verdict_count; i++)
        stands = stands || (snapshot->verdicts[i].kind == VIGIL_STALL_ALL_BLOCKED && !snapshot->verdicts[i].over &&
                            snapshot->verdicts[i].severity >= VIGIL_SEVERITY_ERROR);
    vg_snapshot_free(snapshot);
    vg_reader_close(reader);
    return stands;
}

static void a_stall_that_returns_is_raised_again_each_time(void **state)
{
    (void)state;
    struct sequence all = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = in_order;
    options.user = &all;
    options.interval_ms = 20;
    options.hog_ms = 150;
    options.stuck_ms = 100; /* and repeat_ms is ten seconds, as by default */
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_watchdog_start(&options), 0);
    vigil_watchdog_stats stats = {.size = sizeof stats};
    struct timing timing = {0};
    for (unsigned i = 0; i < RETURNS; i++) {
        struct gate gate = {0};
        fault_now(&timing);
        for (int t = 0; t < 3; t++) /* the third is queued */
            must_equal(vigil_pool_call(pool, hangs, NULL, &gate, VIGIL_NORMAL), 0);
        event_wait(&all.raised[i]);
        verdict_came_at(&timing, now_ns());
        while (!stands_in_record()) /* a look that falls into the writing of a verdict sees none */
            yield();
        must_equal(vigil_watchdog_stats_get(&stats), 0);
        must(stats.standing >= 1 && stats.standing <= 64);
        gate_open(&gate);
        event_wait(&all.cleared[i]);
        while (stands_in_record())
            yield();
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    }
    must_equal(vigil_watchdog_stats_get(&stats), 0);
    must(stats.standing <= 64); /* never below zero */
    must_equal(stats.raised[VIGIL_STALL_ALL_BLOCKED], RETURNS);
    must_equal(stats.cleared[VIGIL_STALL_ALL_BLOCKED], RETURNS);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

/* The text that stands in the record is that of the last look, not of the first. */
static void durations_are_those_of_now(void **state)
{
    (void)state;
    struct heard heard = {.want = VIGIL_STALL_HOG};
    struct gate gate = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.interval_ms = 20;
    options.hog_ms = 900;
    options.repeat_ms = 60000; /* neither time nor severity is a reason to say it again */
    vigil_pool *pool = pool_of(2);
    must_equal(vigil_watchdog_start(&options), 0);
    must_equal(vigil_pool_call(pool, hangs, NULL, &gate, VIGIL_NORMAL), 0);
    const vigil_verdict *first = verdict_of(&heard);
    static vigil_verdict later = {.size = sizeof later};
    do {
        yield();
        must_equal(vigil_watchdog_verdicts(&later, 1), 1);
    } while (later.at_ns < first->at_ns + UINT64_C(400000000));
    must_equal(later.number, first->number);
    must_equal(later.state, VIGIL_VERDICT_RAISED);
    must_say(later.reason, " s in "); /* seconds by now */
    must(strcmp(later.reason, first->reason) != 0);
    must_equal(strcmp(later.stacks, first->stacks), 0);
    gate_open(&gate);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static _Atomic bool labels;

static int is_labelled(void *arg)
{
    if (atomic_exchange_explicit(&labels, false, memory_order_relaxed))
        must_equal(vigil_task_label("bot 17\n\x1b[31m and more than thirty-nine bytes"), 0);
    return hangs(arg);
}

/* A thousand tasks of one function can be told apart. */
static void a_label_is_in_the_verdict_and_in_the_record(void **state)
{
    (void)state;
    struct heard heard = {.want = VIGIL_STALL_HOG};
    struct gate gate = {0};
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.interval_ms = 20;
    options.hog_ms = 200;
    vigil_pool *pool = pool_of(1);
    must_equal(vigil_task_label("nobody"), -EPERM);
    must_equal(vigil_watchdog_start(&options), 0);
    atomic_store_explicit(&labels, true, memory_order_relaxed);
    must_equal(vigil_pool_call(pool, is_labelled, NULL, &gate, VIGIL_NORMAL), 0);
    must_say(verdict_of(&heard)->reason, "is_labelled \"bot 17\\x0a\\x1b[31m and");
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &snapshot), 0);
    must_say(snapshot->pools[0].workers[0].label, "bot 17\\x0a\\x1b[31m and");
    vg_snapshot_free(snapshot);
    gate_open(&gate);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    struct gate again = {0};
    /* It ends with its task: the next one of the same function has none. */
    must_equal(vigil_pool_call(pool, is_labelled, NULL, &again, VIGIL_NORMAL), 0);
    do {
        yield();
        must_equal(vg_reader_snapshot(reader, &snapshot), 0);
        const bool inside = snapshot->pools[0].workers[0].in_task;
        must_equal(snapshot->pools[0].workers[0].label[0], 0);
        vg_snapshot_free(snapshot);
        if (inside)
            break;
    } while (true);
    vg_reader_close(reader);
    gate_open(&again);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_stall_that_returns_is_raised_again_each_time),
        test(durations_are_those_of_now),
        test(a_label_is_in_the_verdict_and_in_the_record),
    };
    return run_all(tests);
}
