/* SPDX-License-Identifier: MIT */
/* Runs the litmus tests and prints the tables. See litmus.h. */
#include "litmus.h"
#include "tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vigil_check.h>

struct verdict {
    size_t allowed, seen, missing, extra;
    uint64_t executions;
    char first_missing[LIT_TEXT], first_extra[LIT_TEXT];
    bool finding;
};

static void run_engine(const struct lit_program *p, const struct vgc_options *o, struct lit_outcomes *set,
                       struct verdict *v)
{
    struct vgc_scenario s = {.name = "litmus", .property = "outcomes", .body = lit_body, .arg = p};
    struct vgc_result r;
    vgc_explore(&s, o, &r);
    v->executions = r.executions;
    v->finding = r.verdict != VGC_PASS;
    for (size_t i = 0; i < r.outcome_count; i++)
        lit_add(set, r.outcomes[i].text);
    vgc_result_free(&r);
}

static void compare(const struct lit_outcomes *allowed, const struct lit_outcomes *seen, struct verdict *v)
{
    v->allowed = allowed->count;
    v->seen = seen->count;
    for (size_t i = 0; i < allowed->count; i++)
        if (!lit_has(seen, allowed->text[i]) && v->missing++ == 0)
            memcpy(v->first_missing, allowed->text[i], LIT_TEXT);
    for (size_t i = 0; i < seen->count; i++)
        if (!lit_has(allowed, seen->text[i]) && v->extra++ == 0)
            memcpy(v->first_extra, seen->text[i], LIT_TEXT);
}

static struct lit_outcomes set_a, set_b;

static struct verdict check_program(const struct lit_program *p, const struct vgc_options *o)
{
    struct verdict v;
    memset(&v, 0, sizeof v);
    set_a.count = set_b.count = 0;
    lit_axioms(p, false, &set_a);
    run_engine(p, o, &set_b, &v);
    compare(&set_a, &set_b, &v);
    return v;
}

/* ---- first table: named tests with one interesting outcome each, which a
 * human wrote down ---- */

static bool matches(const char *outcome, const char *pattern)
{
    char copy[LIT_TEXT];
    snprintf(copy, sizeof copy, "%s", pattern);
    for (char *save = NULL, *part = strtok_r(copy, " ", &save); part != NULL; part = strtok_r(NULL, " ", &save)) {
        const char *at = strstr(outcome, part);
        size_t length = strlen(part);
        if (at == NULL || (at != outcome && at[-1] != ' ') || (at[length] != ' ' && at[length] != 0))
            return false;
    }
    return true;
}

static int classic_table(const struct vgc_options *o, bool print)
{
    int wrong = 0;
    if (print)
        printf("%-30s %-34s %-9s %-9s %5s %7s  %s\n", "litmus test", "outcome", "C11 says", "seen", "exec", "sets", "");
    for (size_t i = 0; i < classic_count; i++) {
        const struct classic *c = &classics[i];
        struct lit_program p;
        struct verdict v;
        if (!lit_parse(c->program, &p)) {
            printf("cannot read %s\n", c->program);
            return 1;
        }
        memset(&v, 0, sizeof v);
        set_a.count = set_b.count = 0;
        run_engine(&p, o, &set_b, &v);
        bool has_membarrier = strstr(c->program, "MB") != NULL;
        if (!has_membarrier) {
            lit_axioms(&p, false, &set_a);
            compare(&set_a, &set_b, &v);
        }
        bool seen = false;
        for (size_t k = 0; k < set_b.count; k++)
            seen |= matches(set_b.text[k], c->outcome);
        bool limit = c->expect == LIMIT;
        bool ok = (c->expect == ALLOWED) == seen && v.missing == 0 && v.extra == 0 && !v.finding;
        wrong += !ok;
        if (print) {
            char sets[24];
            snprintf(sets, sizeof sets, has_membarrier ? "-" : "%zu=%zu", v.seen, v.allowed);
            printf("%-30s %-34s %-9s %-9s %5llu %7s  %s\n", c->name, c->outcome,
                   c->expect == FORBIDDEN ? "never" : "allowed", seen ? "yes" : "no", (unsigned long long)v.executions,
                   sets, ok ? (limit ? "limit: no load buffering" : "exact") : "WRONG");
            if (v.missing)
                printf("    permitted, not seen: %s\n", v.first_missing);
            if (v.extra)
                printf("    seen, not permitted: %s\n", v.first_extra);
        }
        if (wrong && !print)
            return wrong;
    }
    return wrong;
}

/* ---- second table: shapes with every mix of orders and fences, judged by the
 * axioms ---- */

static size_t slot_orders(const struct lit_op *o, enum lit_order *out)
{
    switch (o->kind) {
    case LIT_STORE:
        memcpy(out, (enum lit_order[]){LIT_RLX, LIT_REL, LIT_SC}, 3 * sizeof *out);
        return 3;
    case LIT_LOAD:
        memcpy(out, (enum lit_order[]){LIT_RLX, LIT_ACQ, LIT_SC}, 3 * sizeof *out);
        return 3;
    case LIT_FENCE:
        memcpy(out, (enum lit_order[]){LIT_NONE, LIT_ACQ, LIT_REL, LIT_SC}, 4 * sizeof *out);
        return 4;
    default:
        memcpy(out, (enum lit_order[]){LIT_RLX, LIT_ACQ, LIT_REL, LIT_AR, LIT_SC}, 5 * sizeof *out);
        return 5;
    }
}

struct tally {
    size_t mixes, exact, missing, extra, findings;
    uint64_t executions;
    char sample_missing[400], sample_extra[400];
};

static void tally_add(struct tally *t, const struct lit_program *p, const struct verdict *v)
{
    char text[256];
    t->mixes++;
    t->executions += v->executions;
    t->findings += v->finding;
    t->exact += v->missing == 0 && v->extra == 0;
    lit_print(p, text, sizeof text);
    if (v->missing && t->missing++ == 0)
        snprintf(t->sample_missing, sizeof t->sample_missing, "%s: %s", text, v->first_missing);
    if (v->extra && t->extra++ == 0)
        snprintf(t->sample_extra, sizeof t->sample_extra, "%s: %s", text, v->first_extra);
}

/* Every mix, or, if there are more than `most`, so many chosen evenly. */
static void each_mix(const char *shape, size_t most, const struct vgc_options *o, struct tally *t)
{
    struct lit_program p;
    struct lit_op *slot[16];
    enum lit_order orders[16][8];
    size_t choices[16], slots = 0, total = 1;
    if (!lit_parse(shape, &p)) {
        printf("cannot read %s\n", shape);
        exit(2);
    }
    for (int th = 0; th < p.threads; th++)
        for (int i = 0; i < p.count[th]; i++)
            if (p.op[th][i].order == LIT_SLOT) {
                slot[slots] = &p.op[th][i];
                choices[slots] = slot_orders(slot[slots], orders[slots]);
                total *= choices[slots++];
            }
    size_t runs = total < most ? total : most;
    /* A step that has no factor in common with the total visits all kinds of
   * mixes. */
    size_t step = total <= most ? 1 : total / most * 2 + 1;
    while (total > most && (step % 2 == 0 || step % 3 == 0 || step % 5 == 0))
        step++;
    size_t number = 0;
    for (size_t k = 0; k < runs; k++) {
        size_t rest = number;
        for (size_t i = 0; i < slots; i++) {
            slot[i]->order = orders[i][rest % choices[i]];
            rest /= choices[i];
        }
        number = (number + step) % total;
        struct verdict v = check_program(&p, o);
        tally_add(t, &p, &v);
    }
}

static int mix_table(const struct vgc_options *o, size_t most)
{
    int wrong = 0;
    printf("\n%-12s %8s %8s %8s %8s %10s   %s\n", "shape", "mixes", "exact", "missing", "extra", "executions",
           "program");
    for (size_t i = 0; i < shape_count; i++) {
        struct tally t;
        memset(&t, 0, sizeof t);
        each_mix(shapes[i].program, most, o, &t);
        printf("%-12s %8zu %8zu %8zu %8zu %10llu   %s\n", shapes[i].name, t.mixes, t.exact, t.missing, t.extra,
               (unsigned long long)t.executions, shapes[i].program);
        if (t.missing)
            printf("             permitted, not seen: %s\n", t.sample_missing);
        if (t.extra)
            printf("             SEEN, NOT PERMITTED: %s\n", t.sample_extra);
        if (t.findings)
            printf("             %zu ended with a finding\n", t.findings);
        wrong += t.extra != 0 || t.findings != 0 || t.missing != 0;
    }
    return wrong;
}

/* ---- random programs: what nobody thought of ---- */

static uint64_t dice_state;

static int dice(int n)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (int)((dice_state >> 20) % (uint64_t)n);
}

static void random_program(struct lit_program *p)
{
    memset(p, 0, sizeof *p);
    p->threads = 2 + dice(2);
    p->locations = 2 + (dice(4) == 0);
    int left = 7;
    for (int t = 0; t < p->threads; t++) {
        int n = 1 + dice(3 + (p->threads == 2));
        for (int i = 0; i < n && left > 0; i++, left--) {
            struct lit_op *o = &p->op[t][p->count[t]++];
            static const enum lit_kind kinds[] = {LIT_STORE, LIT_STORE,    LIT_LOAD, LIT_LOAD,
                                                  LIT_ADD,   LIT_EXCHANGE, LIT_FENCE};
            enum lit_order orders[8];
            o->kind = kinds[dice(7)];
            o->location = dice(p->locations);
            o->value = o->kind == LIT_FENCE ? 0 : 1 + dice(3);
            o->order = orders[dice((int)slot_orders(o, orders))];
            o->reg = o->kind == LIT_STORE || o->kind == LIT_FENCE ? -1 : p->registers++;
            if (o->kind == LIT_LOAD)
                o->value = 0;
        }
    }
}

static int random_table(size_t count, uint64_t seed)
{
    struct tally t;
    memset(&t, 0, sizeof t);
    dice_state = seed * 0x9E3779B97F4A7C15ULL | 1;
    for (size_t i = 0; i < count; i++) {
        struct lit_program p;
        struct vgc_options o = {.mode = VGC_DPOR};
        random_program(&p);
        struct verdict v = check_program(&p, &o);
        tally_add(&t, &p, &v);
    }
    printf("%-12s %8zu %8zu %8zu %8zu %10llu   seed %llu\n", "random", t.mixes, t.exact, t.missing, t.extra,
           (unsigned long long)t.executions, (unsigned long long)seed);
    if (t.missing)
        printf("             permitted, not seen: %s\n", t.sample_missing);
    if (t.extra)
        printf("             SEEN, NOT PERMITTED: %s\n", t.sample_extra);
    return t.exact != t.mixes || t.findings != 0;
}

/* ---- third table: is a broken engine noticed? ---- */

static int mutation_table(void)
{
    int survived = 0;
    printf("\n%-28s %s\n", "rule broken in the engine", "noticed by");
    for (size_t i = 0; i < mutation_count; i++) {
        struct vgc_options o = {.broken_rules = mutations[i].rule};
        const char *by = NULL;
        for (size_t k = 0; k < classic_count && by == NULL; k++) {
            struct lit_program p;
            lit_parse(classics[k].program, &p);
            struct verdict v;
            memset(&v, 0, sizeof v);
            set_a.count = set_b.count = 0;
            run_engine(&p, &o, &set_b, &v);
            bool seen = false;
            for (size_t j = 0; j < set_b.count; j++)
                seen |= matches(set_b.text[j], classics[k].outcome);
            bool differs = (classics[k].expect == ALLOWED) != seen;
            if (strstr(classics[k].program, "MB") == NULL) {
                lit_axioms(&p, false, &set_a);
                compare(&set_a, &set_b, &v);
                differs |= v.missing || v.extra;
            }
            if (differs || v.finding)
                by = classics[k].name;
        }
        printf("%-28s %s\n", mutations[i].name, by != NULL ? by : "NOBODY");
        survived += by == NULL;
    }
    return survived;
}

/* ---- fourth table: does the reduction lose anything? ---- */

static int reduction_table(void)
{
    int wrong = 0;
    printf("\n%-30s %12s %12s %12s   %s\n", "search without reduction", "dpor", "all", "stateful", "outcomes");
    for (size_t i = 0; i < classic_count; i++) {
        struct lit_program p;
        lit_parse(classics[i].program, &p);
        if (p.threads > 3)
            continue;
        struct vgc_options dpor = {.mode = VGC_DPOR}, full = {.mode = VGC_FULL}, stateful = {.mode = VGC_STATEFUL};
        struct verdict a = {0}, b = {0}, c = {0}, d = {0};
        static struct lit_outcomes third;
        set_a.count = set_b.count = third.count = 0;
        run_engine(&p, &dpor, &set_a, &a);
        run_engine(&p, &full, &set_b, &b);
        run_engine(&p, &stateful, &third, &c);
        compare(&set_a, &set_b, &b);
        compare(&third, &set_b, &d);
        bool same = b.missing == 0 && b.extra == 0 && d.missing == 0 && d.extra == 0;
        wrong += !same;
        printf("%-30s %12llu %12llu %12llu   %s\n", classics[i].name, (unsigned long long)a.executions,
               (unsigned long long)b.executions, (unsigned long long)c.executions, same ? "same" : "DIFFERENT");
    }
    return wrong;
}

int main(int argc, char **argv)
{
    bool deep = argc > 1 && strcmp(argv[1], "--deep") == 0;
    struct vgc_options o = {.mode = VGC_DPOR};
    int wrong = classic_table(&o, true);
    wrong += mix_table(&o, deep ? 1000000 : 1500);
    wrong += random_table(deep ? 200000 : 2000, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    wrong += reduction_table();
    wrong += mutation_table();
    printf("\nlitmus: %s\n", wrong ? "NOT as expected" : "all as expected");
    return wrong != 0;
}
