/* SPDX-License-Identifier: MIT */
/* Medians, the table and the JSON. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

unsigned metric_count(const struct bench_def *bench)
{
    unsigned count = 0;
    while (count < BENCH_MAX_METRICS && bench->metrics[count].key)
        count++;
    return count;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool is_better(const struct bench_metric *metric, double a, double b)
{
    return metric->better == BENCH_LOWER ? a < b : a > b;
}

/* Medians, and the rows from best to worst; those without numbers last. */
void summarise(struct result *result)
{
    for (size_t s = 0; s < result->sample_count; s++) {
        struct sample *sample = &result->samples[s];
        if (sample->runs == 0)
            continue;
        for (unsigned m = 0; m < metric_count(result->bench); m++) {
            double *values = sample->values[m];
            const unsigned runs = sample->runs;
            qsort(values, runs, sizeof *values, by_value);
            sample->median[m] = runs % 2 ? values[runs / 2] : (values[runs / 2 - 1] + values[runs / 2]) / 2;
            sample->low[m] = values[0];
            sample->high[m] = values[runs - 1];
        }
    }
    for (size_t i = 1; i < result->sample_count; i++) {
        for (size_t j = i; j > 0; j--) {
            struct sample *upper = &result->samples[j - 1], *lower = &result->samples[j];
            const bool swap = lower->runs && (!upper->runs || is_better(&result->bench->metrics[0], lower->median[0],
                                                                        upper->median[0]));
            if (!swap)
                break;
            const struct sample hold = *upper;
            *upper = *lower;
            *lower = hold;
        }
    }
}

bool competes(const struct sample *sample)
{
    return sample->runs && sample->peer->role != BENCH_FLOOR && sample->unranked_runs * 2 < sample->runs;
}

/* The best peer by one metric (not ours); NULL if there is none. */
static const struct sample *best_peer(const struct result *result, unsigned metric)
{
    const struct sample *best = NULL;
    for (size_t s = 0; s < result->sample_count; s++) {
        const struct sample *sample = &result->samples[s];
        if (competes(sample) && sample->peer->role == BENCH_PEER &&
            (!best || is_better(&result->bench->metrics[metric], sample->median[metric], best->median[metric])))
            best = sample;
    }
    return best;
}

/* "12.3 (0.45)": the median, and how many times the best peer's that is. */
static void print_cell(FILE *out, const struct result *result, const struct sample *sample, unsigned metric)
{
    const struct sample *base = best_peer(result, metric);
    char cell[64];
    const int digits = result->bench->metrics[metric].digits;
    if (base && base->median[metric] > 0)
        snprintf(cell, sizeof cell, "%.*f (%.2f)", digits, sample->median[metric],
                 sample->median[metric] / base->median[metric]);
    else
        snprintf(cell, sizeof cell, "%.*f", digits, sample->median[metric]);
    fprintf(out, "  %20s", cell);
}

/* Who has the best median, floors aside. Rows that show the same number to the digits printed have won together. */
static void print_winner(FILE *out, const struct result *result, unsigned m)
{
    const struct bench_metric *metric = &result->bench->metrics[m];
    const struct sample *winner = NULL, *ours = NULL;
    unsigned runners = 0;
    for (size_t s = 0; s < result->sample_count; s++) {
        const struct sample *sample = &result->samples[s];
        if (!competes(sample))
            continue;
        runners++;
        if (!winner || is_better(metric, sample->median[m], winner->median[m]))
            winner = sample;
        if (sample->peer->role == BENCH_OURS && (!ours || is_better(metric, sample->median[m], ours->median[m])))
            ours = sample;
    }
    if (runners < 2) {
        if (m == 0)
            fprintf(out, "  winner: nobody, there was nothing to compare\n");
        return;
    }
    char best[64], text[64];
    snprintf(best, sizeof best, "%.*f", metric->digits, winner->median[m]);
    fprintf(out, "  winner by %s: ", metric->title);
    bool first = true, we_won = false;
    for (size_t s = 0; s < result->sample_count; s++) {
        const struct sample *sample = &result->samples[s];
        snprintf(text, sizeof text, "%.*f", metric->digits, sample->median[m]);
        if (!competes(sample) || strcmp(text, best) != 0)
            continue;
        fprintf(out, "%s%s", first ? "" : " and ", sample->peer->name);
        first = false;
        we_won = we_won || sample->peer->role == BENCH_OURS;
    }
    if (ours && !we_won && winner->median[m] > 0)
        fprintf(out, " (%s is at %.2f times that)", ours->peer->name, ours->median[m] / winner->median[m]);
    fprintf(out, "\n");
}

static void print_head(FILE *out, const struct result *result)
{
    const struct bench_def *bench = result->bench;
    fprintf(out, "%s", bench->name);
    if (result->at.workers)
        fprintf(out, "  workers %u", result->at.workers);
    if (result->at.producers)
        fprintf(out, "  producers %u", result->at.producers);
    if (bench->param)
        fprintf(out, "  %s %ld", bench->param, result->at.param);
    fprintf(out, "\n  %s\n", bench->what);
}

/* Medians, in brackets relative to the best peer, and the range of the first metric over the repetitions. */
void print_table(FILE *out, const struct result *result)
{
    const struct bench_def *bench = result->bench;
    const unsigned metrics = metric_count(bench);
    print_head(out, result);
    fprintf(out, "  %-10s", "peer");
    for (unsigned m = 0; m < metrics; m++)
        fprintf(out, "  %20s", bench->metrics[m].title);
    fprintf(out, "  %21s\n", "lowest .. highest");
    for (size_t s = 0; s < result->sample_count; s++) {
        const struct sample *sample = &result->samples[s];
        fprintf(out, "  %-10s", sample->peer->name);
        if (!sample->runs) {
            fprintf(out, "  no number: %s\n", sample->trouble);
            continue;
        }
        for (unsigned m = 0; m < metrics; m++)
            print_cell(out, result, sample, m);
        char range[64];
        snprintf(range, sizeof range, "%.*f .. %.*f", bench->metrics[0].digits, sample->low[0],
                 bench->metrics[0].digits, sample->high[0]);
        const bool floor = sample->peer->role == BENCH_FLOOR;
        fprintf(out, "  %21s%s\n", range, floor ? "  floor" : competes(sample) ? "" : "  not ranked");
        if (sample->disturbed_runs)
            fprintf(out, "  %-10s    disturbed by others in %u of %u repetitions\n", "", sample->disturbed_runs,
                    sample->runs);
        if (!floor && !competes(sample))
            fprintf(out, "  %-10s    not ranked: %s\n", "", sample->unranked);
    }
    for (unsigned m = 0; m < metrics; m++)
        print_winner(out, result, m);
    fprintf(out, "\n");
}

static bool json_started;

static const char *role_word(enum bench_role role)
{
    return role == BENCH_OURS ? "ours" : role == BENCH_FLOOR ? "floor" : "peer";
}

void json_begin(FILE *out)
{
    json_started = false;
    fputs("[", out);
}

/* Names in the catalog are plain words: nothing in them needs escaping. */
void json_result(FILE *out, const struct result *result)
{
    for (size_t s = 0; s < result->sample_count; s++) {
        const struct sample *sample = &result->samples[s];
        if (!sample->runs)
            continue;
        fprintf(out, "%s\n  {\"bench\": \"%s\", \"peer\": \"%s\", \"workers\": %u, \"producers\": %u",
                json_started ? "," : "", result->bench->name, sample->peer->name, result->at.workers,
                result->at.producers);
        json_started = true;
        if (result->bench->param)
            fprintf(out, ", \"%s\": %ld", result->bench->param, result->at.param);
        for (unsigned m = 0; m < metric_count(result->bench); m++)
            fprintf(out, ", \"%s\": %.4f", result->bench->metrics[m].key, sample->median[m]);
        /* How to read them: from the lowest to the highest repetition, what it is called, which way is better. */
        fprintf(out, ", \"spread\": {");
        for (unsigned m = 0; m < metric_count(result->bench); m++)
            fprintf(out, "%s\"%s\": [%.4f, %.4f, \"%s\", \"%s\"]", m > 0 ? ", " : "", result->bench->metrics[m].key,
                    sample->low[m], sample->high[m], result->bench->metrics[m].title,
                    result->bench->metrics[m].better == BENCH_LOWER ? "lower" : "higher");
        fprintf(out, "}, \"role\": \"%s\", \"reps\": %u, \"ranked\": %s}", role_word(sample->peer->role), sample->runs,
                competes(sample) ? "true" : "false");
    }
}

void json_end(FILE *out)
{
    fputs("\n]\n", out);
}
