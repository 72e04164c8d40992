/* SPDX-License-Identifier: MIT */
/* The command line of a check program: picks scenarios, runs them, prints the
 * table, writes JSON. */
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil_check.h>

extern const struct vgc_scenario *__start_vgc_scenarios[], *__stop_vgc_scenarios[];
extern bool vgc_show_progress;
extern const char *vgc_checkpoint_folder;
void checkpoint_fix_addresses(char **argv);
void coverage_begin(void);
void coverage_end(const char *program);

/* The linker makes the two symbols only if there is such a section. */
__attribute__((used, section("vgc_scenarios"))) static const struct vgc_scenario *no_scenario = NULL;

struct settings {
    const char *only, *but, *json, *replay;
    bool list, deep, first, quiet, verbose, has_mode, sc;
    int bound; /* preemptions; 0: each scenario as it is */
    enum vgc_mode mode;
    struct vgc_options given; /* fields that are not zero replace the scenario's */
};

size_t vgc_scenario_count(void)
{
    size_t n = 0;
    for (const struct vgc_scenario **p = __start_vgc_scenarios; p < __stop_vgc_scenarios; p++)
        n += *p != NULL;
    return n;
}

const struct vgc_scenario *vgc_scenario_at(size_t index)
{
    for (const struct vgc_scenario **p = __start_vgc_scenarios; p < __stop_vgc_scenarios; p++)
        if (*p != NULL && index-- == 0)
            return *p;
    return NULL;
}

static void usage(const char *program)
{
    printf("usage: %s [options]\n"
           "  --list                 name the scenarios (those of --only, --but and --bound) and stop\n"
           "  --only TEXT            only scenarios whose name contains TEXT "
           "(several: comma-separated;\n"
           "                         ^TEXT: whose name begins so; =NAME: that one)\n"
           "  --but TEXT             without those; TEXT as for --only\n"
           "  --deep                 also those that take long (one that is named in full "
           "runs without it)\n"
           "  --first                stop at the first finding\n"
           "  --mode MODE            dpor full preempt stateful pct random (instead "
           "of each scenario's own)\n"
           "  --sc                   sequentially consistent memory\n"
           "  --preemptions N        bound for --mode preempt\n"
           "  --bound N              those scenarios that are otherwise run by chance, with at most N preemptions and\n"
           "                         old values together, to the end\n"
           "  --time-limit SECONDS   of CPU, per scenario; more is reported as incomplete\n"
           "  --max-steps N          per execution\n"
           "  --runs N, --seed N     for pct and random\n"
           "  --pct-depth N\n"
           "  --fail-alloc N, --fail-thread N, --spurious N, --weak-cas N, "
           "--early-timeouts N, --reuse N   budgets of faults\n"
           "  --replay STRING        run one execution of the one chosen scenario "
           "and print it\n"
           "  --json FILE            write the results\n"
           "  --verbose              print counterexamples of expected findings "
           "too\n"
           "  --quiet                no counterexamples\n"
           "  --progress             report every five seconds\n"
           "  --checkpoint FOLDER    write now and then how far a search has come, and take up what is there\n",
           program);
}

static bool parse_mode(const char *text, enum vgc_mode *mode)
{
    for (int i = 0; i < VGC_MODES; i++)
        if (strcmp(text, vgc_mode_name((enum vgc_mode)i)) == 0) {
            *mode = (enum vgc_mode)i;
            return true;
        }
    return false;
}

/* How a list as that of --only names a scenario. */
enum named {
    NOT_NAMED,
    NAMED_IN_PART,
    NAMED_IN_FULL
};

static enum named how_named(const char *list, const char *name)
{
    enum named how = NOT_NAMED;
    for (const char *part = list; *part != 0; part += strspn(part, ",")) {
        const char mark = *part == '=' || *part == '^' ? *part++ : 0;
        const size_t length = strcspn(part, ",");
        if (strlen(name) == length && strncmp(name, part, length) == 0)
            return NAMED_IN_FULL;
        for (const char *at = name; length > 0 && mark != '=' && *at != 0; at++) {
            if (strncmp(at, part, length) == 0)
                how = NAMED_IN_PART;
            if (mark == '^')
                break;
        }
        part += length;
    }
    return how;
}

/* Whether the options are about a scenario, deep or not. */
static bool meant(const struct settings *s, const struct vgc_scenario *scenario)
{
    if (s->bound != 0 && scenario->opt.mode != VGC_PCT && scenario->opt.mode != VGC_RANDOM)
        return false;
    if (s->but != NULL && how_named(s->but, scenario->name) != NOT_NAMED)
        return false;
    return s->only == NULL || how_named(s->only, scenario->name) != NOT_NAMED;
}

static bool chosen(const struct settings *s, const struct vgc_scenario *scenario)
{
    return meant(s, scenario) &&
           (s->deep || !scenario->deep || (s->only != NULL && how_named(s->only, scenario->name) == NAMED_IN_FULL));
}

static struct vgc_options options_for(const struct settings *s, const struct vgc_scenario *scenario)
{
    struct vgc_options o = scenario->opt;
    const struct vgc_options *g = &s->given;
    if (s->has_mode)
        o.mode = s->mode;
    if (s->sc)
        o.sc_memory = true;
    if (s->bound != 0) {
        o.mode = VGC_PREEMPT;
        o.preemptions = s->bound;
        o.bound_old = true;
        o.time_limit = 0;
    }
    if (g->preemptions)
        o.preemptions = g->preemptions;
    if (g->time_limit > 0)
        o.time_limit = g->time_limit;
    if (g->max_steps)
        o.max_steps = g->max_steps;
    if (g->runs)
        o.runs = g->runs;
    if (g->seed)
        o.seed = g->seed;
    if (g->pct_depth)
        o.pct_depth = g->pct_depth;
    if (g->fail_alloc)
        o.fail_alloc = g->fail_alloc;
    if (g->fail_thread)
        o.fail_thread = g->fail_thread;
    if (g->spurious)
        o.spurious = g->spurious;
    if (g->weak_cas)
        o.weak_cas = g->weak_cas;
    if (g->early_timeouts)
        o.early_timeouts = g->early_timeouts;
    if (g->reuse)
        o.reuse = g->reuse;
    return o;
}

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *p = text != NULL ? text : ""; *p != 0; p++) {
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if ((unsigned char)*p < 32)
            fprintf(out, "\\u%04x", (unsigned)*p);
        else
            fputc(*p, out);
    }
    fputc('"', out);
}

static void json_result(FILE *out, bool first, const struct vgc_scenario *scenario, const struct vgc_options *o,
                        const struct vgc_result *r, bool ok)
{
    fprintf(out, "%s\n  {\"scenario\": ", first ? "" : ",");
    json_text(out, scenario->name);
    fprintf(out, ", \"property\": ");
    json_text(out, scenario->property);
    fprintf(out, ", \"bound\": ");
    json_text(out, scenario->bound);
    fprintf(out, ", \"mode\": \"%s\", \"memory\": \"%s\"", vgc_mode_name(o->mode), o->sc_memory ? "sc" : "c11");
    fprintf(out, ", \"verdict\": \"%s\", \"expected\": \"%s\", \"ok\": %s", vgc_finding_name(r->verdict),
            vgc_finding_name(scenario->expect), ok ? "true" : "false");
    fprintf(out,
            ", \"executions\": %llu, \"redundant\": %llu, \"truncated\": %llu, "
            "\"states\": %llu",
            (unsigned long long)r->executions, (unsigned long long)r->redundant, (unsigned long long)r->truncated,
            (unsigned long long)r->states);
    fprintf(out, ", \"steps\": %llu, \"longest\": %d, \"threads\": %d, \"seconds\": %.3f", (unsigned long long)r->steps,
            r->longest, r->most_threads, r->seconds);
    if (r->message[0]) {
        fprintf(out, ", \"message\": ");
        json_text(out, r->message);
    }
    if (r->schedule != NULL) {
        fprintf(out, ", \"schedule\": ");
        json_text(out, r->schedule);
    }
    fprintf(out, "}");
}

static int run_all(const char *program, const struct settings *s)
{
    FILE *json = s->json != NULL ? fopen(s->json, "w") : NULL;
    if (s->json != NULL && json == NULL) {
        fprintf(stderr, "%s: cannot write %s\n", program, s->json);
        return 2;
    }
    if (json != NULL)
        fprintf(json, "[");
    size_t failed = 0, ran = 0;
    double total = 0;
    printf("%-34s %-9s %-4s %12s %9s %9s %8s %7s  %s\n", "scenario", "mode", "mem", "executions", "redundant",
           "truncated", "seconds", "longest", "verdict");
    for (size_t i = 0; i < vgc_scenario_count(); i++) {
        const struct vgc_scenario *scenario = vgc_scenario_at(i);
        if (!chosen(s, scenario))
            continue;
        struct vgc_options o = options_for(s, scenario);
        struct vgc_result r;
        vgc_explore(scenario, &o, &r);
        bool ok = r.verdict == scenario->expect;
        char verdict[80];
        snprintf(verdict, sizeof verdict, "%s%s%s", vgc_finding_name(r.verdict),
                 scenario->expect != VGC_PASS && ok ? " (expected)" : "", ok ? "" : "  <-- NOT AS EXPECTED");
        printf("%-34s %-9s %-4s %12llu %9llu %9llu %8.2f %7d  %s\n", scenario->name, vgc_mode_name(o.mode),
               o.sc_memory ? "sc" : "c11", (unsigned long long)r.executions, (unsigned long long)r.redundant,
               (unsigned long long)r.truncated, r.seconds, r.longest, verdict);
        printf("    %s%s%s%s\n", scenario->property, scenario->bound ? " [" : "",
               scenario->bound ? scenario->bound : "", scenario->bound ? "]" : "");
        if (o.mode == VGC_STATEFUL)
            printf("    %llu states\n", (unsigned long long)r.states);
        if (!ok && scenario->expect != VGC_PASS)
            printf("    expected: %s\n", vgc_finding_name(scenario->expect));
        if (r.message[0])
            printf("    %s\n", r.message);
        if (r.schedule != NULL && (!ok || s->verbose)) {
            if (!s->quiet) {
                struct vgc_result again;
                vgc_replay(scenario, &o, r.schedule, &again);
                vgc_result_free(&again);
            }
            printf("    replay: %s --only %s --replay '%s'\n", program, scenario->name, r.schedule);
        }
        fflush(stdout);
        if (json != NULL)
            json_result(json, ran == 0, scenario, &o, &r, ok);
        ran++;
        failed += !ok;
        total += r.seconds;
        const bool found = !ok && r.verdict != VGC_PASS && r.verdict != VGC_INCOMPLETE && r.verdict != VGC_TRUNCATED;
        vgc_result_free(&r);
        if (found && s->first)
            break;
    }
    if (json != NULL) {
        fprintf(json, "\n]\n");
        fclose(json);
    }
    printf("%zu scenarios, %zu as expected, %zu not, %.1f s\n", ran, ran - failed, failed, total);
    if (ran == 0) {
        fprintf(stderr, "%s: no scenario matches; --list names them\n", program);
        return 2;
    }
    return failed != 0;
}

static int run_replay(const char *program, const struct settings *s)
{
    const struct vgc_scenario *found = NULL;
    for (size_t i = 0; i < vgc_scenario_count(); i++) {
        const struct vgc_scenario *scenario = vgc_scenario_at(i);
        if (s->only != NULL && strcmp(scenario->name, s->only) == 0)
            found = scenario;
    }
    if (found == NULL) {
        fprintf(stderr, "%s: --replay needs --only with the full name of one scenario\n", program);
        return 2;
    }
    struct vgc_options o = options_for(s, found);
    struct vgc_result r;
    if (!vgc_replay(found, &o, s->replay, &r)) {
        fprintf(stderr, "%s: this is not a schedule: %s\n", program, s->replay);
        return 2;
    }
    int status = r.verdict == found->expect ? 0 : 1;
    vgc_result_free(&r);
    return status;
}

int vgc_main(int argc, char **argv)
{
    struct settings s;
    memset(&s, 0, sizeof s);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool takes = true;
        if (strcmp(a, "--list") == 0)
            s.list = true, takes = false;
        else if (strcmp(a, "--deep") == 0)
            s.deep = true, takes = false;
        else if (strcmp(a, "--first") == 0)
            s.first = true, takes = false;
        else if (strcmp(a, "--sc") == 0)
            s.sc = true, takes = false;
        else if (strcmp(a, "--verbose") == 0)
            s.verbose = true, takes = false;
        else if (strcmp(a, "--quiet") == 0)
            s.quiet = true, takes = false;
        else if (strcmp(a, "--progress") == 0)
            vgc_show_progress = true, takes = false;
        else if (strcmp(a, "--help") == 0) {
            usage(argv[0]);
            return 0;
        } else if (value == NULL) {
            fprintf(stderr, "%s: %s is unknown or needs a value; --help lists the options\n", argv[0], a);
            return 2;
        } else if (strcmp(a, "--checkpoint") == 0)
            vgc_checkpoint_folder = value;
        else if (strcmp(a, "--only") == 0)
            s.only = value;
        else if (strcmp(a, "--but") == 0)
            s.but = value;
        else if (strcmp(a, "--json") == 0)
            s.json = value;
        else if (strcmp(a, "--replay") == 0)
            s.replay = value;
        else if (strcmp(a, "--mode") == 0) {
            s.has_mode = parse_mode(value, &s.mode);
            if (!s.has_mode) {
                fprintf(stderr, "%s: no mode %s; --help lists them\n", argv[0], value);
                return 2;
            }
        } else if (strcmp(a, "--preemptions") == 0)
            s.given.preemptions = atoi(value);
        else if (strcmp(a, "--bound") == 0) {
            s.bound = atoi(value);
            if (s.bound < 1 || s.bound > 7) {
                fprintf(stderr, "%s: --bound %s: must be from 1 to 7\n", argv[0], value);
                return 2;
            }
        } else if (strcmp(a, "--time-limit") == 0)
            s.given.time_limit = atof(value);
        else if (strcmp(a, "--max-steps") == 0)
            s.given.max_steps = atoi(value);
        else if (strcmp(a, "--runs") == 0)
            s.given.runs = strtoull(value, NULL, 10);
        else if (strcmp(a, "--seed") == 0)
            s.given.seed = strtoull(value, NULL, 10);
        else if (strcmp(a, "--pct-depth") == 0)
            s.given.pct_depth = atoi(value);
        else if (strcmp(a, "--fail-alloc") == 0)
            s.given.fail_alloc = atoi(value);
        else if (strcmp(a, "--fail-thread") == 0)
            s.given.fail_thread = atoi(value);
        else if (strcmp(a, "--spurious") == 0)
            s.given.spurious = atoi(value);
        else if (strcmp(a, "--weak-cas") == 0)
            s.given.weak_cas = atoi(value);
        else if (strcmp(a, "--early-timeouts") == 0)
            s.given.early_timeouts = atoi(value);
        else if (strcmp(a, "--reuse") == 0)
            s.given.reuse = atoi(value);
        else {
            fprintf(stderr, "%s: unknown option %s; --help lists them\n", argv[0], a);
            return 2;
        }
        i += takes;
    }
    if (s.list) {
        for (size_t i = 0; i < vgc_scenario_count(); i++) {
            const struct vgc_scenario *c = vgc_scenario_at(i);
            if (meant(&s, c))
                printf("%-34s %s%s\n", c->name, c->property, c->deep ? " (deep)" : "");
        }
        return 0;
    }
    if (vgc_checkpoint_folder != NULL)
        checkpoint_fix_addresses(argv);
    coverage_begin();
    const int status = s.replay != NULL ? run_replay(argv[0], &s) : run_all(argv[0], &s);
    coverage_end(argv[0]);
    return status;
}
