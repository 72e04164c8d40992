/* SPDX-License-Identifier: MIT */
/* W6: Nobody takes tasks of one class, while others go on. */
#include "watchdog_test.h"

static _Atomic bool over;

/* Keeps the pool busy: each submits itself again. */
static int again(vigil_task *task);

struct self {
    vigil_task task;
    vigil_pool *pool;
    struct tally *gone;
};

static int again(vigil_task *task)
{
    struct self *self = container_of(task, struct self, task);
    if (atomic_load_explicit(&over, memory_order_relaxed))
        tally_add(self->gone, 1);
    else
        must_equal(vigil_pool_submit(self->pool, task, VIGIL_HIGH), 0);
    return 0;
}

static int note(void *arg)
{
    event_set(arg);
    return 0;
}

static void starve(struct timing *timing, unsigned class_)
{
    struct heard heard;
    struct tally gone = {0};
    struct event ran = {0};
    struct self busy[4];
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "unfair";
    vigil_pool *pool = pool_with(&options);
    atomic_store_explicit(&over, false, memory_order_relaxed);
    for (size_t i = 0; i < count_of(busy); i++) {
        busy[i].pool = pool;
        busy[i].gone = &gone;
        vigil_task_init(&busy[i].task, again, NULL);
        must_equal(vigil_pool_submit(pool, &busy[i].task, VIGIL_HIGH), 0);
    }
    watch_with(&heard, VIGIL_STALL_STARVED_CLASS, 0);
    watch_settle();
    vg_fault_inject(VG_FAULT_STARVE_CLASS, -1, class_);
    fault_now(timing);
    must_equal(vigil_pool_call(pool, note, NULL, &ran, (vigil_priority)class_), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    verdict_came(timing, verdict);
    must_equal(verdict->severity, VIGIL_SEVERITY_ERROR);
    must_equal(verdict->priority, class_);
    must_say(verdict->reason, "of pool \"unfair\" starves: not one of its 1 queued tasks was started for");
    must(!event_is_set(&ran));
    vg_fault_inject(VG_FAULT_STARVE_CLASS, 0, 0);
    event_wait(&ran);
    event_wait(&heard.cleared[VIGIL_STALL_STARVED_CLASS]);
    atomic_store_explicit(&over, true, memory_order_relaxed);
    tally_wait(&gone, count_of(busy));
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void a_class_that_nobody_takes_is_starved(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        starve(&timing, i % 2 == 0 ? VIGIL_LOW : VIGIL_NORMAL);
    must_be_in_time(&timing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(a_class_that_nobody_takes_is_starved)};
    return run_all(tests);
}
