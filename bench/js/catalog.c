/* SPDX-License-Identifier: MIT */
#include "catalog.h"

#define RUNTIMES "vigil node bun deno"
#define METRICS                                \
    {                                          \
        {"ms", "ms", 1, BENCH_LOWER},          \
        {                                      \
            "cpu_ms", "cpu ms", 1, BENCH_LOWER \
        }                                      \
    }

static const struct bench_def benches[] = {
    {
        .name = "js-start",
        .what = "start to exit of an empty script, ms",
        .long_ =
            "From before the fork to after the wait, and the CPU time of the process; the median of n starts, one\n"
            "    after the other. Vigil: `vigil run`.",
        .n = 20,
        .n_quick = 5,
        .n_smoke = 1,
        .metrics = METRICS,
        .cases = {{0, 1, 0}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-timers",
        .what = "10^6 setTimeout at once, ms (clear 1: 256 delays, each cleared before it is due)",
        .long_ = "From before the first setTimeout to the last callback, or to the last clearTimeout. As in all that "
                 "follow, the\n"
                 "    script measures ms itself, and the CPU time is that of the whole process with its start.",
        .param = "clear",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 1000,
        .metrics = METRICS,
        .cases = {{0, 1, 0}, {0, 1, 1}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-immediates",
        .what = "10^6 setImmediate, ms (burst 0: each sets the next; 1: all at once)",
        .long_ = "From before the first setImmediate to the last callback.",
        .param = "burst",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 1000,
        .metrics = METRICS,
        .cases = {{0, 1, 0}, {0, 1, 1}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-microtasks",
        .what =
            "10^6 microtasks, ms (shape 0: queueMicrotask, each queues the next; 1: all at once; 2: a chain of then)",
        .long_ = "From before the first to the last callback.",
        .param = "shape",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 1000,
        .metrics = METRICS,
        .cases = {{0, 1, 0}, {0, 1, 1}, {0, 1, 2}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-await",
        .what = "10^6 awaits of an async function, ms (nested 1: which itself awaits one)",
        .long_ = "One after the other, from before the first call to after the last.",
        .param = "nested",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 1000,
        .metrics = METRICS,
        .cases = {{0, 1, 0}, {0, 1, 1}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-files",
        .what = "readFile of 10 000 files of 1 KiB, ms (shape 0: promises, all at once; 1: callbacks; 2: promises, one "
                "by one)",
        .long_ = "From before the first call to the last file. The files are new and in the page cache.",
        .param = "shape",
        .n = 10000,
        .n_quick = 2000,
        .n_smoke = 50,
        .metrics = METRICS,
        .cases = {{0, 1, 0}, {0, 1, 1}, {0, 1, 2}},
        .peers = RUNTIMES,
    },
    {
        .name = "js-http",
        .what = "HTTP hello with node:http: the server's CPU time per request, us, and requests per second",
        .long_ =
            "Keep-alive, one request per connection at a time, client in a process of its own. n requests, after n/2 "
            "that are\n"
            "    not counted. The CPU time is that of all threads of the server.",
        .param = "connections",
        .n = 200000,
        .n_quick = 100000,
        .n_smoke = 200,
        .metrics = {{"cpu_us", "cpu us", 2, BENCH_LOWER}, {"per_s", "per s", 0, BENCH_HIGHER}},
        .cases = {{0, 1, 1}, {0, 1, 32}, {0, 1, 128}},
        .peers = RUNTIMES,
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"vigil", "vigil run", "", BENCH_OURS},
    {"node", "Node", "nodejs", BENCH_PEER},
    {"bun", "Bun", "scripts/setup js-peers", BENCH_PEER},
    {"deno", "Deno", "scripts/setup js-peers", BENCH_PEER},
    {0},
};

const struct bench_family bench_family_js = {.name = "js", .benches = benches, .peers = peers};
