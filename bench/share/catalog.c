/* SPDX-License-Identifier: MIT */
/* Locks, semaphores and channels: the benches and peers as data. */
#include "../driver/catalog.h"

#define CONTENDED                                                                                          \
    {                                                                                                      \
        {"mops_per_s", "millions/s", 2, BENCH_HIGHER}, {"p99_us", "p99 us", 1, BENCH_LOWER},               \
            {"longest_ms", "longest ms", 2, BENCH_LOWER}, {"most_by_least", "most/least", 2, BENCH_LOWER}, \
    }

static const struct bench_def benches[] = {
    {
        .name = "share-mutex",
        .what = "lock and unlock of a mutex that nobody else wants, ns",
        .long_ = "One thread, n times. futex: a bare mutex of three states after Drepper, in a file of its own.",
        .n = 20000000,
        .n_quick = 4000000,
        .n_smoke = 1000,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{1, 1, 0}},
        .peers = "vigil glibc futex parking_lot",
    },
    {
        .name = "share-mutex-busy",
        .what = "W threads want one mutex, 50 ns inside: throughput, the wait for it, and how even it is",
        .long_ = "For n ms. The wait is from the end of the last section to the lock; most/least: sections per thread. "
                 "High\n    throughput is often one thread that hogs: read the longest wait and the evenness too.",
        .n = 1000,
        .n_quick = 300,
        .n_smoke = 10,
        .metrics = CONTENDED,
        .cases = {{8, 1, 0}, {32, 1, 0}},
        .peers = "vigil glibc futex parking_lot",
    },
    {
        .name = "share-semaphore",
        .what = "acquire and post of a unit that nobody else wants, ns",
        .long_ = "One thread, n times.",
        .n = 20000000,
        .n_quick = 4000000,
        .n_smoke = 1000,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{1, 1, 0}},
        .peers = "vigil glibc",
    },
    {
        .name = "share-semaphore-busy",
        .what = "W threads want one unit, 50 ns with it: as share-mutex-busy",
        .long_ = "For n ms.",
        .n = 1000,
        .n_quick = 300,
        .n_smoke = 10,
        .metrics = CONTENDED,
        .cases = {{8, 1, 0}, {32, 1, 0}},
        .peers = "vigil glibc",
    },
    {
        .name = "share-channel",
        .what = "P threads send to P threads, 8 bytes each, wall ns per message; capacity -1 is unbounded",
        .long_ = "n messages in all, from the start of all threads to the end of the last.",
        .param = "capacity",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 200,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {1, 1, 1}, {1, 1, 64}, {1, 1, -1}, {4, 4, 0}, {4, 4, 1}, {4, 4, 64}, {4, 4, -1}},
        .peers = "vigil crossbeam",
    },
    {
        .name = "share-green",
        .what =
            "P asynchronous functions send to P of them, 8 bytes each, wall ns per message; capacity -1 is unbounded",
        .long_ = "n messages in all. vigil: functions of one loop. go: goroutines, which have no unbounded channel.",
        .param = "capacity",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 200,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {1, 1, 1}, {1, 1, 64}, {1, 1, -1}, {4, 4, 0}, {4, 4, 1}, {4, 4, 64}, {4, 4, -1}},
        .peers = "vigil go",
    },
    {
        .name = "share-full",
        .what = "P producers that block on a full queue, W consumers, tasks of 1 us: wall and CPU ns per task",
        .long_ = "n tasks in all, from the start of the threads to the end of the last task. condition: a ring, a "
                 "mutex and two\n"
                 "    condition variables.",
        .param = "places",
        .n = 320000,
        .n_quick = 64000,
        .n_smoke = 640,
        .metrics = {{"ns_per_op", "ns", 1, BENCH_LOWER}, {"cpu_ns", "cpu ns", 1, BENCH_LOWER}},
        .cases = {{2, 64, 64}, {2, 64, 1000}},
        .peers = "pool condition",
    },
    {0},
};

static const struct bench_peer peers[] = {
    {"vigil", "vigil_mutex, vigil_semaphore, vigil_channel", "", BENCH_OURS},
    {"pool", "vigil_pool with max_queue and VIGIL_FULL_BLOCK", "", BENCH_OURS},
    {"condition", "a ring, a mutex, two condition variables", "", BENCH_PEER},
    {"glibc", "pthread_mutex_t, sem_t", "", BENCH_PEER},
    {"futex", "a bare futex mutex", "", BENCH_FLOOR},
    {"parking_lot", "parking_lot 0.12, RawMutex", "librust-parking-lot-dev cargo", BENCH_PEER},
    {"crossbeam", "crossbeam-channel", "librust-crossbeam-channel-dev cargo", BENCH_PEER},
    {"go", "goroutines and Go's channels", "golang-go", BENCH_PEER},
    {0},
};

const struct bench_family bench_family_share = {"share", benches, peers};
