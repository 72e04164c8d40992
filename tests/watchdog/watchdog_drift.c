/* SPDX-License-Identifier: MIT */
/* W11: Drift against the own past: what is told, with which numbers, and what is not. The judge is fed with seconds made up here. */
#include "watchdog_test.h"

#include "watchdog/drift.h"
#include "watchdog/judge_pool.h"
#include "watchdog/threads.h"

enum {
    LOOKS = 5 /* in a second */
};

/* A pool that exists on paper. */
struct paper {
    vg_pool_history history;
    vg_subject subject;
    vg_look look;
    vg_findings found;
    vg_latencies sums;
    uint64_t seed;
};

static struct paper *paper_of(void *object)
{
    return object;
}

static bool latencies(void *object, vg_latencies *sums)
{
    *sums = paper_of(object)->sums;
    return true;
}

static const vg_subject_calls calls = {.pool = true, .latencies = latencies};

static struct paper *begin(void)
{
    struct paper *it = calloc(1, sizeof *it);
    must(it != NULL);
    it->subject = (vg_subject){.calls = &calls, .object = it, .serial = 1};
    it->look = (vg_look){.now = 1000000000, .real = 1000000000, .interval_ns = 200000000, .found = &it->found};
    it->sums.tick_ns = 1;
    it->seed = 12345;
    (void)snprintf(it->history.facts.name, sizeof it->history.facts.name, "paper");
    return it;
}

static void end(struct paper *it)
{
    vg_pool_history_free(&it->history);
    free(it);
}

/* Between 0.8 and 1.2: no two seconds are alike. */
static double noise(struct paper *it)
{
    it->seed = it->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return 0.8 + 0.4 * (double)(it->seed >> 40) / (double)(1 << 24);
}

struct second {
    uint64_t tasks; /* that ended */
    double wait_ns, run_ns;
    bool loaded;
    uint64_t tried, won;
};

/* Let one second pass; how many findings there are at its end. */
static size_t pass(struct paper *it, struct second of)
{
    vg_pool_facts *facts = &it->history.facts;
    for (uint64_t i = 0; i < of.tasks; i++) {
        it->sums.wait[vg_hist_bucket((uint64_t)(of.wait_ns * noise(it)))]++;
        it->sums.run[vg_hist_bucket((uint64_t)(of.run_ns * noise(it)))]++;
    }
    facts->steals_tried += of.tried;
    facts->steals_won += of.won;
    facts->visible = of.loaded ? 1 : 0;
    for (unsigned i = 0; i < LOOKS; i++) {
        facts->all_ended += of.tasks / LOOKS;
        it->look.now += 200000000;
        it->look.real = it->look.now;
        it->found.count = 0;
        vg_judge_drift(&it->history, &it->subject, &it->look);
    }
    return it->found.count;
}

static void pass_quietly(struct paper *it, struct second of, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++)
        must_equal(pass(it, of), 0);
}

/* What the system says about the one worker of a pool on paper, or about real threads. */
static vg_thread_look told;
void __real_vg_thread_look_at(int thread, vg_thread_look *look); // NOLINT(bugprone-reserved-identifier)
void __wrap_vg_thread_look_at(int thread, vg_thread_look *look); // NOLINT(bugprone-reserved-identifier)

void __wrap_vg_thread_look_at(int thread, vg_thread_look *look) // NOLINT(bugprone-reserved-identifier)
{
    if (told.known)
        *look = told;
    else
        __real_vg_thread_look_at(thread, look);
}

/* Others take the CPU for a while, again and again: that never becomes the usual that throughput is compared with. */
static void less_cpu_for_long_is_not_the_tasks_fault(void **state)
{
    (void)state;
    vg_worker_fact worker = {.thread = 4711};
    for (int accounted = 0; accounted < 2; accounted++) {
        struct paper *it = begin();
        it->history.facts.worker = &worker;
        it->history.facts.count = 1;
        told = (vg_thread_look){.known = true, .timed = true, .state = 'R', .run_ns = 1};
        for (int i = 0; i < 20; i++) {
            it->look.share = 0.9;
            must_equal(pass(it, (struct second){.tasks = 10000, .loaded = true}), 0);
        }
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 25; i++) {
                it->look.share = 0.2;
                told.delay_ns += accounted != 0 ? 600000000 : 0; /* or the kernel has not added it up yet */
                must_equal(pass(it, (struct second){.tasks = 1500, .loaded = true}), 0);
            }
            it->look.share = 0.9;
            must_equal(pass(it, (struct second){.tasks = 10000, .loaded = true}), 0);
        }
        it->history.facts.worker = NULL;
        it->history.facts.count = 0;
        told.known = false;
        end(it);
    }
}

static void tasks_that_run_longer_are_told_with_both_numbers(void **state)
{
    (void)state;
    struct paper *it = begin();
    const struct second usual = {.tasks = 500, .wait_ns = 50e3, .run_ns = 1e6};
    const struct second slow = {.tasks = 500, .wait_ns = 50e3, .run_ns = 5e6};
    pass_quietly(it, usual, 20);
    must_equal(pass(it, slow), 0); /* one second, or two, is no drift */
    must_equal(pass(it, slow), 0);
    size_t found = 0;
    for (int i = 0; i < 2 && found == 0; i++)
        found = pass(it, slow);
    must_equal(found, 1);
    const vigil_verdict *verdict = &it->found.of[0].verdict;
    must_equal(verdict->stall, VIGIL_STALL_DRIFT);
    must_equal(verdict->severity, VIGIL_SEVERITY_INFO);
    must_say(verdict->reason, "In pool \"paper\" tasks run longer than they used to");
    must_say(verdict->reason, "it was ");
    must_say(verdict->evidence, "usual spread");
    /* The same for half a minute is how it is now. */
    for (int i = 0; i < 40; i++)
        found = pass(it, slow);
    must_equal(found, 0);
    end(it);
}

static void waits_that_grow_tenfold_are_a_warning(void **state)
{
    (void)state;
    struct paper *it = begin();
    pass_quietly(it, (struct second){.tasks = 2000, .wait_ns = 2e5, .run_ns = 1e5}, 20);
    for (int i = 0; i < 4; i++)
        (void)pass(it, (struct second){.tasks = 2000, .wait_ns = 5e7, .run_ns = 1e5});
    must_equal(it->found.count, 1); /* the tail has to be longer for longer */
    for (int i = 0; i < 5; i++)
        (void)pass(it, (struct second){.tasks = 2000, .wait_ns = 5e7, .run_ns = 1e5});
    must_equal(it->found.count, 2); /* the median and the tail */
    must_equal(it->found.of[0].verdict.severity, VIGIL_SEVERITY_WARNING);
    must_say(it->found.of[0].verdict.reason, "tasks wait longer");
    must_say(it->found.of[1].verdict.reason, "99th percentile");
    end(it);
}

static void throughput_is_judged_only_while_work_waits(void **state)
{
    (void)state;
    struct paper *it = begin();
    const struct second busy = {.tasks = 5000, .wait_ns = 1e6, .run_ns = 1e5, .loaded = true};
    const struct second less = {.tasks = 500, .wait_ns = 1e6, .run_ns = 1e5};
    const struct second slow = {.tasks = 500, .wait_ns = 1e6, .run_ns = 1e5, .loaded = true};
    pass_quietly(it, busy, 20);
    pass_quietly(it, less, 10); /* there was less to do */
    pass_quietly(it, (struct second){0}, 10);
    for (int i = 0; i < 5; i++)
        (void)pass(it, slow);
    must_equal(it->found.count, 1);
    must_say(it->found.of[0].verdict.reason, "less gets done than before, although work waits");
    must_say(it->found.of[0].verdict.reason, "a second");
    end(it);
}

static void stealing_that_no_longer_succeeds_is_told(void **state)
{
    (void)state;
    struct paper *it = begin();
    pass_quietly(it, (struct second){.tasks = 500, .wait_ns = 5e4, .run_ns = 1e5, .tried = 1000, .won = 900}, 20);
    for (int i = 0; i < 4; i++)
        (void)pass(it, (struct second){.tasks = 500, .wait_ns = 5e4, .run_ns = 1e5, .tried = 1000, .won = 100});
    must_equal(it->found.count, 1);
    must_say(it->found.of[0].verdict.reason, "fewer attempts to steal succeed");
    must_say(it->found.of[0].verdict.reason, "10 %");
    end(it);
}

static void idle_times_bursts_and_noise_are_silent(void **state)
{
    (void)state;
    struct paper *it = begin();
    for (unsigned i = 0; i < 600; i++) {
        const unsigned kind = i % 7;
        const struct second of = {.tasks = kind == 0 ? 0 : 100 * kind,
                                  .wait_ns = 1e5 * noise(it) * (i % 31 == 0 ? 20 : 1), /* now and then a bad second */
                                  .run_ns = 1e5 * noise(it),
                                  .loaded = kind > 3,
                                  .tried = 50 * kind,
                                  .won = 20 * kind};
        must_equal(pass(it, of), 0);
    }
    end(it);
}

/* ---- a real pool ---- */

static _Atomic uint64_t length_ns;

/* It waits rather than works: so its length is its own, and not the machine's. */
static int work(void *arg)
{
    struct event never = {0};
    (void)arg;
    must(!event_wait_for(&never, (int64_t)atomic_load_explicit(&length_ns, memory_order_relaxed)));
    return 0;
}

/* False: the machine made them slower before we did. */
static bool told_when_tasks_become_slower(void)
{
    struct heard heard;
    vigil_pool *pool = pool_of(2);
    atomic_store_explicit(&length_ns, 1000000, memory_order_relaxed);
    watch_with(&heard, VIGIL_STALL_DRIFT, 0);
    const uint64_t begun = now_ns();
    bool slower = false;
    while (!event_is_set(&heard.raised[VIGIL_STALL_DRIFT])) {
        must_equal(vigil_pool_call(pool, work, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        if (now_ns() - begun > UINT64_C(18000000000)) {
            atomic_store_explicit(&length_ns, 15000000, memory_order_relaxed);
            slower = true;
        }
    }
    const vigil_verdict *verdict = verdict_of(&heard);
    if (slower)
        must_say(verdict->reason, "tasks run longer than they used to");
    must_equal(vigil_watchdog_stop(), 0);
    pool_close(pool);
    return slower;
}

static void a_pool_whose_tasks_become_slower_is_told(void **state)
{
    (void)state;
    if (scaled(100, 1) < 100)
        skip(); /* it takes its seconds, whatever the size */
    unsigned tries = 0;
    while (!told_when_tasks_become_slower())
        must(++tries < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(tasks_that_run_longer_are_told_with_both_numbers), test(waits_that_grow_tenfold_are_a_warning),
        test(throughput_is_judged_only_while_work_waits),       test(stealing_that_no_longer_succeeds_is_told),
        test(idle_times_bursts_and_noise_are_silent),           test(less_cpu_for_long_is_not_the_tasks_fault),
        test(a_pool_whose_tasks_become_slower_is_told),
    };
    return run_all(tests);
}
