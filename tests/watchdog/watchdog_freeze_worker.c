/* SPDX-License-Identifier: MIT */
/* W6: A worker stands still between taking a task and starting it. */
#include "watchdog_test.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int yields;

/* In place of libc's. On a full machine a watchdog that yields is away for a tenth of a second each time. */
int sched_yield(void)
{
    char name[16] = "";
    if (prctl(PR_GET_NAME, name) == 0 && strcmp(name, "vigil/watchdog") == 0)
        atomic_fetch_add(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

static int note(void *arg)
{
    tally_add(arg, 1);
    return 0;
}

static void freeze(struct timing *timing, uint32_t recover)
{
    struct heard heard;
    struct tally ran = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "frozen";
    vigil_pool *pool = pool_with(&options);
    watch_with(&heard, VIGIL_STALL_FROZEN_WORKER, recover);
    watch_settle();
    pool_wait_all_parked(pool);
    vg_fault_inject(VG_FAULT_FREEZE_WORKER, 1, 0);
    fault_now(timing);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(atomic_load(&yields), 0);
    must(verdict->severity >= VIGIL_SEVERITY_ERROR);
    must(verdict->worker >= 0 && verdict->thread > 0);
    must_say(verdict->reason, "of pool \"frozen\" has stood still for");
    must_say(verdict->evidence, "asleep");
#if !TEST_TSAN
    must_say(verdict->stacks, "vg_fault"); /* _freeze may be part of its caller */
#endif
    /* The other worker goes on. */
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_NORMAL), 0);
    tally_wait(&ran, 1);
    vg_fault_thaw();
    tally_wait(&ran, 2);
    event_wait(&heard.cleared[VIGIL_STALL_FROZEN_WORKER]);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void a_worker_that_stands_between_two_tasks_is_found_with_its_stack(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        freeze(&timing, 0);
    must_be_in_time(&timing);
}

static void recovery_puts_a_spare_beside_it(void **state)
{
    (void)state;
    struct heard heard;
    struct tally ran = {0};
    vigil_pool *pool = pool_of(1);
    watch_with(&heard, VIGIL_STALL_FROZEN_WORKER, VIGIL_RECOVER_SPARE);
    watch_settle();
    pool_wait_all_parked(pool);
    vg_fault_inject(VG_FAULT_FREEZE_WORKER, 1, 0);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_NORMAL), 0);
    while (vg_fault_count(VG_FAULT_FREEZE_WORKER) == 0)
        yield();
    must_equal(vigil_pool_call(pool, note, NULL, &ran, VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_say(verdict->action, "Let a spare worker stand in");
    tally_wait(&ran, 1); /* the second task, by the spare */
    vg_fault_thaw();
    tally_wait(&ran, 2);
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_worker_that_stands_between_two_tasks_is_found_with_its_stack),
        test(recovery_puts_a_spare_beside_it),
    };
    return run_all(tests);
}
