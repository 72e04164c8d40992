/* SPDX-License-Identifier: MIT */
/*
 * watchdog_test.h - a watchdog whose verdicts a test can wait for, with the default settings.
 */
#ifndef WATCHDOG_TEST_H
#define WATCHDOG_TEST_H

#include "support.h"

#include "base/fault.h"

#include <vigil/loop.h>
#include <vigil/pool.h>
#include <vigil/watchdog.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many times each fault is injected; WATCHDOG_ROUNDS in the environment says otherwise. */
static inline uint64_t fault_rounds(void)
{
    const char *wanted = getenv("WATCHDOG_ROUNDS");
    return wanted != NULL ? strtoull(wanted, NULL, 10) : scaled(3, 1);
}
#define ROUNDS fault_rounds()

/* WATCHDOG_ONLY in the environment names one test of the program: for faults.py. */
#undef run_all
#define run_all(tests) (cmocka_set_test_filter(getenv("WATCHDOG_ONLY")), cmocka_run_group_tests(tests, NULL, NULL))

struct heard {
    struct event raised[VIGIL_STALLS];
    struct event cleared[VIGIL_STALLS];
    _Atomic uint32_t alarms; /* raised, without NO_CPU, which tells the truth about a loaded machine */
    vigil_verdict first[VIGIL_STALLS];
    vigil_stall want; /* the class that is waited for; others are told when the test fails */
};

static inline void heard_print(const vigil_verdict *verdict)
{
    char text[6000];
    (void)vigil_verdict_text(verdict, text, sizeof text);
    (void)fprintf(stderr, "%s\n", text);
}

static inline void on_verdict(void *user, const vigil_verdict *verdict)
{
    struct heard *heard = user;
    if (getenv("VIGIL_TEST_VERBOSE") != NULL)
        heard_print(verdict);
    must_equal(verdict->size, sizeof *verdict);
    if (verdict->state == VIGIL_VERDICT_CLEARED) {
        event_set(&heard->cleared[verdict->stall]);
        return;
    }
    must(verdict->reason[0] != 0 && verdict->evidence[0] != 0 && verdict->advice[0] != 0);
    must(verdict->since_ns <= verdict->at_ns && verdict->number > 0);
    if (event_is_set(&heard->raised[verdict->stall]))
        return;
    if (verdict->stall != VIGIL_STALL_NO_CPU && verdict->stall != heard->want) {
        (void)atomic_fetch_add_explicit(&heard->alarms, 1, memory_order_relaxed);
        heard_print(verdict);
    }
    heard->first[verdict->stall] = *verdict;
    event_set(&heard->raised[verdict->stall]);
}

static inline void watch_with(struct heard *heard, vigil_stall want, uint32_t recover)
{
    memset(heard, 0, sizeof *heard);
    heard->want = want;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.recover = recover;
    options.on_verdict = on_verdict;
    options.user = heard;
    must_equal(vigil_watchdog_start(&options), 0);
}

/* Until it has looked twice more: it knows what there is, and has stirred those that sleep. */
static inline void watch_settle(void)
{
    vigil_watchdog_stats stats = {.size = sizeof stats};
    must_equal(vigil_watchdog_stats_get(&stats), 0);
    const uint64_t until = stats.looks + 2;
    while (stats.looks < until) {
        yield();
        must_equal(vigil_watchdog_stats_get(&stats), 0);
    }
}

/* Wait for the verdict; it must be the only alarm. */
static inline const vigil_verdict *verdict_of(struct heard *heard)
{
    event_wait(&heard->raised[heard->want]);
    must_equal(atomic_load_explicit(&heard->alarms, memory_order_relaxed), 0);
    return &heard->first[heard->want];
}

static inline void must_say(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        (void)fprintf(stderr, "\"%s\" is not in \"%s\"\n", part, text);
        support_fail("the words are there", __FILE__, __LINE__);
    }
}

/* The bar is two seconds from fault to verdict. What a loaded machine takes away from the whole process is not held against
   the watchdog: the time is told, and judged by the median. */
struct timing {
    uint64_t fault_ns;
    unsigned count;
    uint64_t took_ns[64];
};

static inline void fault_now(struct timing *timing)
{
    timing->fault_ns = now_ns();
}

static inline void verdict_came_at(struct timing *timing, uint64_t at_ns)
{
    const uint64_t took = at_ns - timing->fault_ns;
    (void)fprintf(stderr, "  verdict after %u ms\n", (unsigned)(took / 1000000)); /* for faults.py */
    if (timing->count < count_of(timing->took_ns))
        timing->took_ns[timing->count++] = took;
}

static inline void verdict_came(struct timing *timing, const vigil_verdict *verdict)
{
    verdict_came_at(timing, verdict->at_ns);
}

/* More to do than there are CPUs: then time is not ours to promise. */
static inline bool machine_is_full(void)
{
    double load = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file != NULL) {
        if (fscanf(file, "%lf", &load) != 1) // NOLINT(cert-err34-c)
            load = 0;
        (void)fclose(file);
    }
    return load > 1.5 * vigil_cpu_count();
}

static inline void must_be_in_time(struct timing *timing)
{
    for (unsigned i = 1; i < timing->count; i++) /* in order */
        for (unsigned j = i; j > 0 && timing->took_ns[j - 1] > timing->took_ns[j]; j--) {
            const uint64_t swap = timing->took_ns[j];
            timing->took_ns[j] = timing->took_ns[j - 1];
            timing->took_ns[j - 1] = swap;
        }
    const uint64_t median = timing->took_ns[timing->count / 2];
    const uint64_t worst = timing->took_ns[timing->count - 1];
    (void)fprintf(stderr, "  %u verdicts; from fault to verdict: median %u ms, worst %u ms\n", timing->count,
                  (unsigned)(median / 1000000), (unsigned)(worst / 1000000));
    if (!TEST_SANITIZED && !machine_is_full())
        must(median < UINT64_C(2000000000));
}

#endif
