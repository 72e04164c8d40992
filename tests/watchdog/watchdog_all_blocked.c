/* SPDX-License-Identifier: MIT */
/* W6: Every worker is blocked, declared or not, and work waits. */
#include "watchdog_test.h"

#include "reader/reader.h"

#include <unistd.h>

static int blocks(void *arg)
{
    must_equal(vigil_blocking_begin(), 0);
    gate_pass(arg);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static int sleeps(void *arg)
{
    gate_pass(arg);
    return 0;
}

static int note(void *arg)
{
    event_set(arg);
    return 0;
}

static void block(struct timing *timing, bool declared, uint32_t recover)
{
    struct heard heard;
    struct gate gate = {0};
    struct event ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "stuck";
    options.no_spares = recover == 0;
    vigil_pool *pool = pool_with(&options);
    watch_with(&heard, VIGIL_STALL_ALL_BLOCKED, recover);
    watch_settle();
    for (unsigned i = 0; i < 2; i++)
        must_equal(vigil_pool_call(pool, declared ? blocks : sleeps, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 2);
    fault_now(timing);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_CRITICAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_CRITICAL);
    must_say(verdict->reason, "All 2 workers of pool \"stuck\" are blocked");
    must_say(verdict->reason, declared ? "(2 declared, 0 asleep" : "(0 declared, 2 asleep");
    must_say(verdict->evidence, "1 CRITICAL");
    must_say(verdict->advice, declared ? "max_spares" : "vigil_blocking_begin");
    if (recover != 0) {
        must_say(verdict->action, "Let a spare worker stand in");
        event_wait(&ran);
    }
    gate_open(&gate);
    event_wait(&ran);
    event_wait(&heard.cleared[VIGIL_STALL_ALL_BLOCKED]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void workers_that_are_all_blocked_and_said_so_are_found(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        block(&timing, true, 0);
    must_be_in_time(&timing);
}

static void workers_that_all_sleep_without_saying_so_are_found(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        block(&timing, false, 0);
    must_be_in_time(&timing);
}

static void recovery_lets_a_spare_do_what_waits(void **state)
{
    (void)state;
    struct timing timing = {0};
    block(&timing, false, VIGIL_RECOVER_SPARE);
}

/* Each worker has a line, and some a stack; the record has all of it. */
static void evidence_and_stacks_are_whole_in_the_record(void **state)
{
    (void)state;
    if (TEST_SANITIZED)
        skip(); /* their frames are other ones */
    enum {
        MANY = 8
    };
    struct heard heard;
    struct gate gate = {0};
    struct event ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = MANY;
    options.no_spares = true;
    vigil_pool *pool = pool_with(&options);
    watch_with(&heard, VIGIL_STALL_ALL_BLOCKED, 0);
    watch_settle();
    for (unsigned i = 0; i < MANY; i++)
        must_equal(vigil_pool_call(pool, sleeps, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, MANY);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_CRITICAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must(strlen(verdict->evidence) + strlen(verdict->stacks) > 1000);
    must_say(verdict->stacks, "sleeps");
    must(strstr(verdict->stacks, "vg_run") == NULL && strstr(verdict->stacks, "vg_worker") == NULL); /* not ours */
    vg_reader *reader = NULL;
    vg_snapshot *snapshot = NULL;
    bool whole = false;
    must_equal(vg_reader_open_pid(&reader, getpid()), 0);
    must_equal(vg_reader_snapshot(reader, &snapshot), 0);
    for (size_t i = 0; i < snapshot->verdict_count; i++)
        whole = whole || (snapshot->verdicts[i].kind == VIGIL_STALL_ALL_BLOCKED &&
                          strstr(snapshot->verdicts[i].evidence, verdict->stacks) != NULL);
    must(whole);
    vg_snapshot_free(snapshot);
    vg_reader_close(reader);
    gate_open(&gate);
    event_wait(&ran);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(workers_that_are_all_blocked_and_said_so_are_found),
        test(workers_that_all_sleep_without_saying_so_are_found),
        test(recovery_lets_a_spare_do_what_waits),
        test(evidence_and_stacks_are_whole_in_the_record),
    };
    return run_all(tests);
}
