/* SPDX-License-Identifier: MIT */
/*
 * What there is to measure. A family (pool, loop) is one catalog.c that describes its benches and peers as data, and one
 * program per peer, peers/<family>-<peer>, that measures one repetition. The driver knows nothing else about them.
 * bench/README.md says how to add one.
 */
#ifndef BENCH_CATALOG_H
#define BENCH_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

/* One configuration of a bench. `param` is the bench's own third number, see bench_def.param. */
struct bench_case {
    unsigned workers;
    unsigned producers;
    long param;
};

enum bench_better {
    BENCH_LOWER,
    BENCH_HIGHER
};

/* One number that a peer prints as "key value". The first metric of a bench decides who won. */
struct bench_metric {
    const char *key;   /* as the peer prints it, as JSON names it; it carries its unit */
    const char *title; /* column head */
    int digits;        /* behind the decimal point */
    enum bench_better better;
};

#define BENCH_MAX_METRICS 6
#define BENCH_MAX_CASES   32

struct bench_def {
    const char *name;                               /* "pool-submit" */
    const char *what;                               /* a line for the head of the table */
    const char *long_;                              /* what is measured, for --list: how, from when to when */
    const char *param;                              /* name of the third number ("work_ns"), or NULL if there is none */
    long n, n_quick;                                /* how many operations; handed to the peer as n= */
    long n_smoke;                                   /* the same for --smoke: as few as give a number; 0: n_quick */
    struct bench_metric metrics[BENCH_MAX_METRICS]; /* ends at key NULL */
    struct bench_case cases[BENCH_MAX_CASES];       /* ends at workers 0 and producers 0 */
    const char *peers;                              /* names, separated by blanks: who takes part */
};

enum bench_role {
    BENCH_PEER,
    BENCH_OURS, /* compared with the best peer */
    BENCH_FLOOR /* what the machine itself costs; shown, never a winner */
};

struct bench_peer {
    const char *name;
    const char *what;    /* "libuv, uv_queue_work" */
    const char *package; /* Debian packages that bring it; "" if it is always there */
    enum bench_role role;
};

struct bench_family {
    const char *name;
    const struct bench_def *benches; /* ends at name NULL */
    const struct bench_peer *peers;  /* ends at name NULL */
};

/* All families of this build; ends at NULL. Written by CMake (families.c). */
extern const struct bench_family *const bench_families[];

#endif
