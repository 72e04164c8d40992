/* SPDX-License-Identifier: MIT */
/*
 * The engine's own tests. Each scenario in findings.c and resources.c must end as it says; a finding must be repeated by
 * its schedule, with the same text; all modes must agree where they can; and each rule of the engine that is broken on purpose
 * must make some scenario end differently.
 */
#include "random.h"
#include <vigil_check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void complain(const char *what, const struct vgc_scenario *s, const char *more)
{
    printf("  FAILED %-26s %s %s\n", s->name, what, more);
    failures++;
}

/* vgc_replay prints; here only what it returns matters. */
static void silent_replay(const struct vgc_scenario *s, const char *schedule, struct vgc_result *r)
{
    fflush(stdout);
    int keep = dup(1), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    vgc_replay(s, NULL, schedule, r);
    fflush(stdout);
    dup2(keep, 1);
    close(keep);
    close(nowhere);
}

static void as_expected(void)
{
    printf("%-28s %-16s %10s   %s\n", "self test", "finding", "executions", "property");
    for (size_t i = 0; i < vgc_scenario_count(); i++) {
        const struct vgc_scenario *s = vgc_scenario_at(i);
        struct vgc_result r, again;
        vgc_explore(s, NULL, &r);
        printf("%-28s %-16s %10llu   %s\n", s->name, vgc_finding_name(r.verdict), (unsigned long long)r.executions,
               s->property);
        if (r.verdict != s->expect)
            complain("ended otherwise:", s, r.message);
        if (r.schedule != NULL) {
            silent_replay(s, r.schedule, &again);
            if (again.verdict != r.verdict || strcmp(again.message, r.message) != 0)
                complain("its schedule gave something else:", s, again.message);
            if (strcmp(again.schedule, r.schedule) != 0)
                complain("its schedule was not followed:", s, again.schedule);
            vgc_result_free(&again);
        }
        vgc_result_free(&r);
    }
}

/* Kinds that random search, or another exhaustive one, must find as well in programs as small as these. */
static void other_modes(void)
{
    const enum vgc_mode modes[] = {VGC_FULL, VGC_PREEMPT, VGC_STATEFUL, VGC_PCT, VGC_RANDOM};
    printf("\n%-28s %10s %10s %10s %10s %10s\n", "other modes: executions", "full", "preempt", "stateful", "pct",
           "random");
    for (size_t i = 0; i < vgc_scenario_count(); i++) {
        const struct vgc_scenario *s = vgc_scenario_at(i);
        if (s->expect == VGC_INCOMPLETE)
            continue;
        printf("%-28s", s->name);
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            struct vgc_options o = s->opt;
            struct vgc_result r;
            if (s->bound != NULL && modes[k] >= VGC_PCT) {
                printf(" %10s", s->bound); /* a run by chance would rarely hit it */
                continue;
            }
            o.mode = modes[k];
            o.runs = 5000;
            o.preemptions = 3;
            vgc_explore(s, &o, &r);
            printf(" %10llu", (unsigned long long)r.executions);
            fflush(stdout);
            if (r.verdict != s->expect) {
                printf("\n");
                complain(vgc_mode_name(modes[k]), s, vgc_finding_name(r.verdict));
            }
            vgc_result_free(&r);
        }
        printf("\n");
    }
}

static const struct {
    const char *name;
    enum vgc_rule rule;
} rules[] = {
    {"futex compares an old value", VGC_RULE_FUTEX_NEWEST},
    {"futex sleeps in a later step", VGC_RULE_FUTEX_ATOMIC},
    {"a wake of one wakes all", VGC_RULE_FUTEX_ONE},
    {"futex never spurious", VGC_RULE_SPURIOUS},
    {"write races not seen", VGC_RULE_RACE_WRITES},
    {"read races not seen", VGC_RULE_RACE_READS},
    {"seq_cst fences synchronise", VGC_RULE_FENCE_NO_HB},
    {"no quarantine", VGC_RULE_QUARANTINE},
    {"join does not order", VGC_RULE_JOIN},
    {"create does not order", VGC_RULE_CREATE},
    {"mutex does not order", VGC_RULE_MUTEX},
    {"static data is not put back", VGC_RULE_STATIC_RESET},
    {"races not reversed", VGC_RULE_REVERSE_RACES},
    {"sleep sets never wake", VGC_RULE_SLEEP_WAKE},
    {"no old values", VGC_RULE_STALE_LOADS},
    {"release publishes nothing", VGC_RULE_RELEASE},
    {"acquire takes nothing", VGC_RULE_ACQUIRE},
};

static void broken_rules(void)
{
    printf("\n%-30s %s\n", "rule broken in the engine", "noticed by");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *by = NULL;
        for (size_t k = 0; k < vgc_scenario_count() && by == NULL; k++) {
            const struct vgc_scenario *s = vgc_scenario_at(k);
            struct vgc_options o = s->opt;
            struct vgc_result r;
            if (s->bound != NULL)
                continue; /* large, and about something else */
            o.broken_rules = rules[i].rule;
            o.time_limit = 5;
            vgc_explore(s, &o, &r);
            if (r.verdict != s->expect)
                by = s->name;
            vgc_result_free(&r);
        }
        printf("%-30s %s\n", rules[i].name, by != NULL ? by : "NOBODY");
        failures += by == NULL;
    }
}

int main(int argc, char **argv)
{
    bool deep = argc > 1 && strcmp(argv[1], "--deep") == 0;
    as_expected();
    other_modes();
    broken_rules();
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    failures += random_programs(deep ? 5000 : 150, seed, false);
    failures += random_programs(deep ? 5000 : 150, seed, true);
    printf("\nself tests: %s\n", failures ? "FAILED" : "all as expected");
    return failures != 0;
}
