/* SPDX-License-Identifier: MIT */
/* The benches and peers of promises as data. The parameters are fixed: bench/promise/README.md says what each number means. */
#include "../driver/catalog.h"

#define PROMISES "vigil node"

static const struct bench_def benches[] = {
    {
        .name = "promise-create",
        .what = "a pending promise is made and dropped, CPU ns each",
        .long_ = "500 in one callback of the loop. Node: the whole process's CPU time, so that collecting the garbage "
                 "counts.",
        .n = 20000000,
        .n_quick = 4000000,
        .n_smoke = 5000,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = PROMISES,
    },
    {
        .name = "promise-then",
        .what = "a handler is added to a pending promise that is then dropped, CPU ns each",
        .long_ = "One promise for each 10 handlers, 500 handlers in one callback; their derived promises are not kept.",
        .n = 20000000,
        .n_quick = 4000000,
        .n_smoke = 5000,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = PROMISES,
    },
    {
        .name = "promise-resolve",
        .what = "one promise, one handler, from the making to the end of both, CPU ns",
        .long_ =
            "Make a promise, add a handler, resolve it with a number, drop it; the handler runs as a microtask and\n"
            "    returns a number; everything is freed. 500 in one callback of the loop.",
        .n = 20000000,
        .n_quick = 4000000,
        .n_smoke = 5000,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = PROMISES,
    },
    {
        .name = "promise-chain",
        .what = "a chain of 100 handlers, from the making to the end, CPU us",
        .long_ = "Make a promise and 100 links, each on the one before, resolve the first; all handlers run.",
        .n = 200000,
        .n_quick = 40000,
        .n_smoke = 50,
        .metrics = {{"us_per_chain", "us", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = PROMISES,
    },
    {
        .name = "promise-all",
        .what = "all of 100 promises, from the making to the end, CPU us",
        .long_ = "Make 100 promises and `all` of them with a handler, resolve each with a number, drop them.",
        .n = 200000,
        .n_quick = 40000,
        .n_smoke = 50,
        .metrics = {{"us_per_all", "us", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = PROMISES,
    },
    {
        .name = "promise-async",
        .what = "a call on the pool and back to the loop, us: from before the call to its handler on the loop",
        .long_ =
            "One at a time: the handler waits `gap_us` (a timer of the loop) and makes the next call. 200 more to warm "
            "up.\n    libuv: uv_queue_work. Vigil: vigil_async with its promise and a handler, recorder on as always.",
        .param = "gap_us",
        .n = 20000,
        .n_quick = 4000,
        .n_smoke = 50,
        .metrics = {{"p50_us", "p50 us", 2, BENCH_LOWER}, {"p99_us", "p99 us", 2, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {4, 1, 0}, {4, 1, 1000}},
        .peers = "vigil libuv",
    },
    {
        .name = "promise-cost",
        .what = "Vigil alone: what it asks of malloc, after warm-up",
        .long_ =
            "Calls of malloc and its kind by the library, per promise made, over 10^6 promises: chains, adoption and "
            "all\n    of 10 (whose block is one call), and over 10^5 calls on the pool.",
        .n = 1000000,
        .n_quick = 1000000,
        .n_smoke = 20000,
        .metrics = {{"allocs_per_promise", "chains", 4, BENCH_LOWER},
                    {"allocs_per_all", "all of 10", 4, BENCH_LOWER},
                    {"allocs_per_call", "pool call", 4, BENCH_LOWER}},
        .cases = {{1, 1, 0}},
        .peers = "counted",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"vigil", "Vigil's promises", "", BENCH_OURS},
    {"counted", "Vigil with a counting malloc", "", BENCH_OURS},
    {"node", "Node's promises, CPU time of the whole process", "nodejs", BENCH_PEER},
    {"libuv", "libuv, uv_queue_work", "libuv1-dev", BENCH_PEER},
    {0},
};

const struct bench_family bench_family_promise = {.name = "promise", .benches = benches, .peers = peers};
