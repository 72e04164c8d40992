/* SPDX-License-Identifier: MIT */
/* Loops, forks, graphs and pipelines beside their peers. bench/README.md says what each number means. */
#include "../driver/catalog.h"

#define FORKS "vigil tbb openmp rayon serial"
#define MS                             \
    {                                  \
        {                              \
            "ms", "ms", 2, BENCH_LOWER \
        }                              \
    }
#define BOTH                  \
    {                         \
        {2, 1, 0}, {8, 1, 0}, \
    }

static const struct bench_def benches[] = {
    {
        .name = "parallel-fib",
        .what = "fib(n) by a join per call, no cut-off, ms",
        .long_ = "In C++: lambdas and exceptions in place, as a user writes it.",
        .n = 30,
        .n_quick = 25,
        .n_smoke = 12,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-queens",
        .what = "all solutions of n queens, a join per place, ms",
        .long_ = "cut 0: every node of the tree forks. cut 3: those of the first three rows.",
        .param = "cut",
        .n = 13,
        .n_quick = 11,
        .n_smoke = 6,
        .metrics = MS,
        .cases = {{2, 1, 0}, {8, 1, 0}, {2, 1, 3}, {8, 1, 3}},
        .peers = FORKS,
    },
    {
        .name = "parallel-uts",
        .what = "nodes of an unbalanced tree whose root has n children, a join per pair, ms",
        .long_ =
            "Binomial: each other node has eight children with probability 0.124, else none; 125 n nodes expected.",
        .n = 20000,
        .n_quick = 2000,
        .n_smoke = 50,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-merge",
        .what = "merge sort of n numbers by joins, down to 1024, ms",
        .long_ = "Merges are serial: the fork is measured, not the sort.",
        .n = 4000000,
        .n_quick = 500000,
        .n_smoke = 3000,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-matrix",
        .what = "product of two n x n matrices, halved down to 32, ms",
        .long_ = "Rows and columns fork; the inner side does not.",
        .n = 512,
        .n_quick = 256,
        .n_smoke = 64,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-skew",
        .what = "a loop of n iterations whose i-th takes i steps, 130 ms of work in all, ms",
        .long_ = "No peer is given a grain. OpenMP: schedule(dynamic).",
        .n = 10000,
        .n_quick = 10000,
        .n_smoke = 1000,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-reduce",
        .what = "the sum of n numbers of 32 bits, ms",
        .long_ = "The memory has been touched before.",
        .n = 100000000,
        .n_quick = 10000000,
        .n_smoke = 10000,
        .metrics = MS,
        .cases = BOTH,
        .peers = FORKS,
    },
    {
        .name = "parallel-sort",
        .what = "sort of n random numbers of 32 bits by each peer's own unstable sort, ms",
        .long_ = "Serial: std::sort.",
        .n = 10000000,
        .n_quick = 1000000,
        .n_smoke = 10000,
        .metrics = MS,
        .cases = BOTH,
        .peers = "vigil tbb rayon serial",
    },
    {
        .name = "parallel-dag",
        .what = "a square of n x n tasks of 1 us, each after those above and to the left of it, ms",
        .long_ = "The second run of a graph that was built before. oneTBB: continue_node. OpenMP: depend. rayon: a "
                 "counter per\n"
                 "    cell, spawned by the last of its two.",
        .n = 316,
        .n_quick = 100,
        .n_smoke = 10,
        .metrics = MS,
        .cases = BOTH,
        .peers = "vigil tbb openmp rayon serial",
    },
    {
        .name = "parallel-pipe",
        .what = "n items through a serial, a parallel (2 us) and a serial stage, ms",
        .long_ = "At most twice as many items as workers are under way.",
        .n = 50000,
        .n_quick = 10000,
        .n_smoke = 100,
        .metrics = MS,
        .cases = BOTH,
        .peers = "vigil tbb serial",
    },
    {.name = NULL},
};

static const struct bench_peer peers[] = {
    {"vigil", "this library", "g++", BENCH_OURS},
    {"tbb", "oneTBB", "libtbb-dev g++", BENCH_PEER},
    {"openmp", "OpenMP, libgomp", "g++", BENCH_PEER},
    {"rayon", "rayon", "librust-rayon-dev cargo rustc", BENCH_PEER},
    {"serial", "the same work on one thread", "g++", BENCH_FLOOR},
    {.name = NULL},
};

const struct bench_family bench_family_parallel = {"parallel", benches, peers};
