/* SPDX-License-Identifier: MIT */
/* The loop's benches and peers as data. The parameters are fixed: bench/loop/README.md says what each number means. */
#include "../driver/catalog.h"

#define LOOPS "vigil libuv libev libevent glib"

static const struct bench_def benches[] = {
    {
        .name = "loop-post",
        .what = "posts from P threads to a loop that runs, ns per post, first post to last callback",
        .long_ =
            "P threads post n empty callbacks in all, one call each. fd: the loop also watches a silent pipe. Peers\n"
            "    without a queue of their own get a list under a mutex with embedded nodes, and are told when it was "
            "empty.",
        .param = "fd",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 2000,
        .metrics = {{"ns_per_op", "ns per post", 1, BENCH_LOWER},
                    {"producer_cpu_ns", "producer CPU ns", 1, BENCH_LOWER},
                    {"loop_cpu_ns", "loop CPU ns", 1, BENCH_LOWER}},
        .cases = {{0, 1, 0}, {0, 4, 0}, {0, 16, 0}, {0, 4, 1}},
        .peers = LOOPS,
    },
    {
        .name = "loop-backlog",
        .what = "posts to a loop that does not run yet, then it runs them: does a backlog cost?",
        .long_ = "One thread posts `queued` callbacks, then the same thread runs the loop until the last. ns per post, "
                 "each.",
        .param = "queued",
        .n = 1,
        .n_quick = 1,
        .metrics = {{"post_ns", "ns per post", 1, BENCH_LOWER}, {"run_ns", "ns per run", 1, BENCH_LOWER}},
        .cases = {{0, 1, 1000}, {0, 1, 100000}, {0, 1, 10000000}},
        .peers = "vigil libuv libev libevent",
    },
    {
        .name = "loop-round-trip",
        .what = "a post to a sleeping loop, whose callback answers by futex: from before the post to the answer, us",
        .long_ =
            "n rounds, 0.2 ms of sleep before each, 100 more to warm up. fd: the loop also watches a silent pipe, so\n"
            "    that Vigil sleeps in epoll as the others do. Floor: a thread in futex(2) instead of a loop.",
        .param = "fd",
        .n = 5000,
        .n_quick = 1000,
        .n_smoke = 20,
        .metrics = {{"p50_us", "p50 us", 2, BENCH_LOWER}, {"p99_us", "p99 us", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}, {0, 1, 1}},
        .peers = LOOPS " futex",
    },
    {
        .name = "loop-timers",
        .what = "timers in random order, ns each: add, postpone, re-arm to any time, cancel, fire when all are due",
        .long_ =
            "Delays are 100 s and more, so that nothing fires during the run. Postpone: always later. Re-arm: earlier "
            "or\n"
            "    later. Fire: all are due within 50 ms that have passed, then the loop runs until the last callback.",
        .param = "timers",
        .n = 1,
        .n_quick = 1,
        .metrics = {{"add_ns", "add", 1, BENCH_LOWER},
                    {"postpone_ns", "postpone", 1, BENCH_LOWER},
                    {"rearm_ns", "re-arm", 1, BENCH_LOWER},
                    {"cancel_ns", "cancel", 1, BENCH_LOWER},
                    {"fire_ns", "fire", 1, BENCH_LOWER}},
        .cases = {{0, 1, 1000}, {0, 1, 10000}, {0, 1, 100000}, {0, 1, 1000000}},
        .peers = LOOPS,
    },
    {
        .name = "loop-growth",
        .what = "timers and posts added to a fresh loop that does not run, ns each: does growth cost?",
        .long_ = "What the user brings is touched before; the loop's own memory grows while the clock runs.",
        .param = "things",
        .n = 1,
        .n_quick = 1,
        .n_smoke = 1000,
        .metrics = {{"add_ns", "ns per timer", 1, BENCH_LOWER}, {"post_ns", "ns per post", 1, BENCH_LOWER}},
        .cases = {{0, 1, 1000}, {0, 1, 10000}, {0, 1, 100000}, {0, 1, 1000000}, {0, 1, 10000000}},
        .peers = "vigil libuv libev libevent",
    },
    {
        .name = "loop-fds",
        .what = "echo of 64 bytes over socket pairs, both ends on the loop: round trips per second of CPU time",
        .long_ = "Each connection has one message under way; n round trips in all. CPU time is that of the process.",
        .param = "connections",
        .n = 300000,
        .n_quick = 50000,
        .n_smoke = 2000,
        .metrics = {{"trips_per_cpu_s", "trips/CPU s", 0, BENCH_HIGHER}},
        .cases = {{0, 1, 1}, {0, 1, 100}, {0, 1, 1000}},
        .peers = LOOPS,
    },
    {
        .name = "loop-microtask",
        .what = "a callback that asks for itself again right after itself, ns per call",
        .long_ = "A chain of n. Vigil: vigil_loop_microtask_call. libev: ev_feed_event. libevent: event_active.",
        .n = 10000000,
        .n_quick = 2000000,
        .n_smoke = 10000,
        .metrics = {{"ns_per_op", "ns per call", 2, BENCH_LOWER}},
        .cases = {{0, 1, 0}},
        .peers = "vigil libev libevent",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"vigil", "Vigil's loop", "", BENCH_OURS},
    {"libuv", "libuv, uv_async_send, uv_timer, uv_poll", "libuv1-dev", BENCH_PEER},
    {"libev", "libev, ev_async_send, ev_timer, ev_io", "libev-dev", BENCH_PEER},
    {"libevent", "libevent, event_active, evtimer", "libevent-dev", BENCH_PEER},
    {"glib", "GLib, a source for each thing", "libglib2.0-dev", BENCH_PEER},
    {"futex", "a thread in futex(2)", "", BENCH_FLOOR},
    {0},
};

const struct bench_family bench_family_loop = {.name = "loop", .benches = benches, .peers = peers};
