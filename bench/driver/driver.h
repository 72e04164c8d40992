/* SPDX-License-Identifier: MIT */
/* What the files of the driver share: the words of the command line, the numbers that were seen, and who writes them. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <stdio.h>

#include "catalog.h"

#define BENCH_MAX_REPS 101
#define BENCH_MAX_SET  32 /* of numbers on the command line */

struct number_set {
    size_t count;
    unsigned values[BENCH_MAX_SET];
};

struct options {
    unsigned reps;
    bool quick;
    bool calm;                   /* repeat what others have disturbed */
    bool smoke;                  /* a size at which nothing is measured */
    bool recorder;               /* ours once more with the recorder off */
    const char *only;            /* benches, separated by commas; NULL: all */
    const char *peers;           /* the same for peers */
    const char *json;            /* file, "-", or NULL */
    struct number_set workers;   /* instead of the catalog's; empty: the catalog's */
    struct number_set producers; /* the same */
    char peer_dir[4096];         /* where the peers' programs are */
};

/* What one peer gave for one case: values[metric][repetition]. */
struct sample {
    const struct bench_peer *peer;
    const struct bench_peer *program; /* whose program it runs; not `peer` itself: with the recorder off */
    unsigned runs;                    /* repetitions that gave numbers */
    double values[BENCH_MAX_METRICS][BENCH_MAX_REPS];
    double median[BENCH_MAX_METRICS], low[BENCH_MAX_METRICS], high[BENCH_MAX_METRICS];
    char trouble[256];       /* why there are none, if there are none */
    unsigned disturbed_runs; /* with --calm: repetitions that never were undisturbed */
    unsigned unranked_runs;  /* repetitions that say that they do not compare */
    char unranked[256];      /* and why */
};

struct result {
    const struct bench_def *bench;
    struct bench_case at;
    size_t sample_count;
    struct sample *samples;
};

/* Is `name` one of the words of `list`? NULL is a list of everything. Commas and blanks separate. */
bool in_list(const char *list, const char *name);
unsigned metric_count(const struct bench_def *bench);

/* run.c: run one repetition; false if the peer gave no numbers (sample->trouble says why). */
bool run_once(const struct options *options, const char *family, const struct bench_def *bench,
              const struct bench_case *at, struct sample *sample);
/* Is the peer's program there? */
bool peer_exists(const struct options *options, const char *family, const struct bench_peer *peer);

/* report.c */
bool competes(const struct sample *sample); /* neither a floor nor mostly unranked, and with numbers */
void summarise(struct result *result);
void print_table(FILE *out, const struct result *result);
void json_begin(FILE *out);
void json_result(FILE *out, const struct result *result);
void json_end(FILE *out);

#endif
