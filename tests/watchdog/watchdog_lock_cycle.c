/* SPDX-License-Identifier: MIT */
/* W6, W7: tasks that want each other's vigil_mutex: the circle is named through the owners, and broken if allowed. */
#include "watchdog_test.h"

#include <vigil/sync.h>

struct quarrel {
    vigil_mutex mutex[2];
    struct meeting meeting;
    int answers[2];
};

struct party {
    struct quarrel *quarrel;
    int first;
};

static int lock_both(void *arg)
{
    const struct party *party = arg;
    struct quarrel *quarrel = party->quarrel;
    must_equal(vigil_mutex_lock(&quarrel->mutex[party->first]), 0);
    (void)meeting_join(&quarrel->meeting); /* each holds one */
    quarrel->answers[party->first] = vigil_mutex_lock(&quarrel->mutex[1 - party->first]);
    if (quarrel->answers[party->first] == 0)
        must_equal(vigil_mutex_unlock(&quarrel->mutex[1 - party->first]), 0);
    must_equal(vigil_mutex_unlock(&quarrel->mutex[party->first]), 0);
    return 0;
}

static void a_circle_of_locks_is_named_and_one_wait_gets_edeadlk(void **state)
{
    (void)state;
    struct heard heard;
    struct timing timing = {0};
    vigil_pool *pool = pool_of(2);
    struct quarrel quarrel = {.meeting = {.size = 2}, .answers = {1, 1}};
    struct party parties[2] = {{&quarrel, 0}, {&quarrel, 1}};
    watch_with(&heard, VIGIL_STALL_WAIT_CYCLE, VIGIL_RECOVER_REJECT);
    fault_now(&timing);
    for (int i = 0; i < 2; i++)
        must_equal(vigil_pool_call(pool, lock_both, NULL, &parties[i], VIGIL_NORMAL), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_say(verdict->reason, "wait for each other in a circle");
    must_say(verdict->evidence, "lock");
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must(quarrel.answers[0] + quarrel.answers[1] == -EDEADLK); /* one of them, and the other went on */
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_circle_of_locks_is_named_and_one_wait_gets_edeadlk),
    };
    return run_all(tests);
}
