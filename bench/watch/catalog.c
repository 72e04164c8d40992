/* SPDX-License-Identifier: MIT */
/* The recorder against itself switched off. The bars: events at most 15 ns each; 97 % of the throughput on tasks of 1 us and
   90 % on empty ones. */
#include "../driver/catalog.h"

static const struct bench_def benches[] = {
    {
        .name = "watch-task",
        .what = "tasks of work_ns on one worker, ns per task: for the worker to run it, for the submitter to submit it",
        .long_ =
            "Each side alone: n tasks are submitted while the worker is held, then it is let go. Best of many rounds,\n"
            "    because what is asked is what the recorder costs and not what else the machine does.",
        .param = "work_ns",
        .n = 20000,
        .n_quick = 5000,
        .n_smoke = 200,
        .metrics = {{"run_ns", "run", 2, BENCH_LOWER}, {"submit_ns", "submit", 2, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {1, 1, 1000}, {1, 1, 10000}},
        .peers = "off counters events",
    },
    {
        .name = "watch-loop",
        .what = "empty posts and microtasks on a loop, ns for the loop to run each",
        .long_ = "n posts are queued, then the loop runs; then a chain of n microtasks. Best of 10 rounds.",
        .n = 100000,
        .n_quick = 20000,
        .n_smoke = 1000,
        .metrics = {{"post_ns", "post", 2, BENCH_LOWER}, {"microtask_ns", "microtask", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = "off counters events",
    },
    {
        .name = "watch-event",
        .what = "one event, ns: with a look at the clock, and with a time that is known",
        .long_ = "n events in a row into the ring of one thread.",
        .n = 2000000,
        .n_quick = 500000,
        .n_smoke = 10000,
        .metrics = {{"event_ns", "with clock", 2, BENCH_LOWER}, {"known_ns", "without", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = "events",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"events", "the recorder with events, as it is by default", "", BENCH_OURS},
    {"counters", "the recorder without events", "", BENCH_PEER},
    {"off", "no recorder", "", BENCH_PEER},
    {0},
};

const struct bench_family bench_family_watch = {.name = "watch", .benches = benches, .peers = peers};
