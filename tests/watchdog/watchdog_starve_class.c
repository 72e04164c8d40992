/* SPDX-License-Identifier: MIT */
/* W6: Nobody takes tasks of one class, while others go on. A class that waits for its share of time does not starve. */
#include "watchdog_test.h"

static _Atomic bool over;

/* Keeps the pool busy: each submits itself again. */
static int again(vigil_task *task);

struct self {
    vigil_task task;
    vigil_pool *pool;
    struct tally *gone;
    vigil_priority priority;
};

static _Atomic bool tasks_sleep;

static int again(vigil_task *task)
{
    struct self *self = container_of(task, struct self, task);
    if (atomic_load_explicit(&tasks_sleep, memory_order_relaxed))
        observe_for_ms(3);
    if (atomic_load_explicit(&over, memory_order_relaxed))
        tally_add(self->gone, 1);
    else
        must_equal(vigil_pool_submit(self->pool, task, self->priority), 0);
    return 0;
}

static int note(void *arg)
{
    event_set(arg);
    return 0;
}

static void keep_busy(struct self *busy, size_t count, vigil_pool *pool, struct tally *gone, vigil_priority priority)
{
    for (size_t i = 0; i < count; i++) {
        busy[i].pool = pool;
        busy[i].gone = gone;
        busy[i].priority = priority;
        vigil_task_init(&busy[i].task, again, NULL);
        must_equal(vigil_pool_submit(pool, &busy[i].task, priority), 0);
    }
}

/* others: another lower class gets what ageing gives. */
static void starve(struct timing *timing, unsigned class_, bool others)
{
    struct heard heard;
    struct tally gone = {0};
    struct event ran = {0};
    struct self busy[4];
    struct self idle[4];
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "unfair";
    vigil_pool *pool = pool_with(&options);
    atomic_store_explicit(&over, false, memory_order_relaxed);
    keep_busy(busy, count_of(busy), pool, &gone, VIGIL_HIGH);
    if (others)
        keep_busy(idle, count_of(idle), pool, &gone, VIGIL_IDLE);
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
    tally_wait(&gone, count_of(busy) + (others ? count_of(idle) : 0));
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

static void a_class_that_nobody_takes_is_starved(void **state)
{
    (void)state;
    struct timing timing = {0};
    for (uint64_t i = ROUNDS; i > 0; i--)
        starve(&timing, i % 2 == 0 ? VIGIL_LOW : VIGIL_NORMAL, false);
    must_be_in_time(&timing);
}

static void a_class_that_nobody_takes_while_another_has_its_share_is_starved(void **state)
{
    (void)state;
    struct timing timing = {0};
    starve(&timing, VIGIL_LOW, true);
    must_be_in_time(&timing);
}

/* They use little CPU because they want little. */
static void a_class_that_nobody_takes_is_starved_also_if_the_others_mostly_sleep(void **state)
{
    (void)state;
    struct timing timing = {0};
    atomic_store_explicit(&tasks_sleep, true, memory_order_relaxed);
    starve(&timing, VIGIL_LOW, false);
    atomic_store_explicit(&tasks_sleep, false, memory_order_relaxed);
    must_be_in_time(&timing);
}

enum {
    LONG_NS = 80000000 /* higher tasks pay for it with four times as much at 200 permille */
};

static int last_long(void *arg)
{
    const uint64_t until = now_ns() + LONG_NS;
    while (now_ns() < until)
        yield();
    event_set(arg);
    return 0;
}

/* The second one waits three times as long as a starved class may. Each round of the watchdog judges it. */
static void a_class_that_waits_for_its_share_of_time_is_not_starved(void **state)
{
    (void)state;
    struct heard heard = {.want = VIGIL_STALL_STARVED_CLASS};
    struct tally gone = {0};
    struct event first = {0};
    struct event second = {0};
    struct self busy[4];
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.lower_permille = 200;
    vigil_pool *pool = pool_with(&options);
    atomic_store_explicit(&over, false, memory_order_relaxed);
    keep_busy(busy, count_of(busy), pool, &gone, VIGIL_HIGH);
    vigil_watchdog_options watch = VIGIL_WATCHDOG_OPTIONS_INIT;
    watch.interval_ms = 20;
    watch.stuck_ms = 100;
    watch.on_verdict = on_verdict;
    watch.user = &heard;
    must_equal(vigil_watchdog_start(&watch), 0);
    watch_settle();
    must_equal(vigil_pool_call(pool, last_long, NULL, &first, VIGIL_LOW), 0);
    must_equal(vigil_pool_call(pool, note, NULL, &second, VIGIL_LOW), 0);
    event_wait(&first);
    event_wait(&second);
    watch_settle(); /* it has judged all of it */
    must(!event_is_set(&heard.raised[VIGIL_STALL_STARVED_CLASS]));
    atomic_store_explicit(&over, true, memory_order_relaxed);
    tally_wait(&gone, count_of(busy));
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_class_that_nobody_takes_is_starved),
        test(a_class_that_nobody_takes_while_another_has_its_share_is_starved),
        test(a_class_that_nobody_takes_is_starved_also_if_the_others_mostly_sleep),
        test(a_class_that_waits_for_its_share_of_time_is_not_starved),
    };
    return run_all(tests);
}
