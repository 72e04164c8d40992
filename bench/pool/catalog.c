/* SPDX-License-Identifier: MIT */
/* The pool's benches and peers as data. The parameters are fixed: bench/README.md says what each number means. */
#include "../driver/catalog.h"

#define SHORT(work_ns)                \
    {2, 1, work_ns}, {2, 2, work_ns}, \
    {                                 \
        2, 4, work_ns                 \
    }
#define POOLS "vigil mutex libuv glib tbb asio openmp go rayon tokio"

static const struct bench_def benches[] = {
    {
        .name = "pool-submit",
        .what = "empty tasks submitted one at a time from outside, ns per task, first submit to last completion",
        .long_ = "P threads submit n empty tasks in all to W workers; a task only counts itself, in a counter of its "
                 "thread.",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 1000,
        .metrics = {{"ns_per_op", "ns per task", 1, BENCH_LOWER}},
        .cases = {{2, 1, 0}, {2, 4, 0}, {2, 16, 0}, {33, 1, 0}},
        .peers = "vigil-call vigil-job " POOLS,
    },
    {
        .name = "pool-spawn",
        .what = "fork and join: fib(n), each call spawns one half and calls the other, no cut-off; ns per call of fib",
        .long_ =
            "ns per call = time / calls of fib. Above serial = (time - serial time) / spawns, where each second call\n"
            "    spawns. Go and OpenMP run fib(27), because a spawn is dear there; the numbers are per call.",
        .n = 32,
        .n_quick = 27,
        .n_smoke = 12,
        .metrics = {{"ns_per_op", "ns per call", 2, BENCH_LOWER},
                    {"over_serial_ns_per_spawn", "ns above serial", 2, BENCH_LOWER}},
        .cases = {{1, 1, 0}, {2, 1, 0}},
        .peers = "vigil vigil-join tbb openmp go rayon serial",
    },
    {
        .name = "pool-wake",
        .what = "one task to an idle pool each ms: from before the submit to the task's first instruction, us",
        .long_ =
            "A thread outside the pool sleeps 1 ms, reads the clock, submits; the task reads the clock. n wakes.\n"
            "    Floor: one thread blocked in futex and one that wakes it, beside W - 1 others that sleep on.\n"
            "    apart 0: the kernel chooses the CPUs, and whether it wakes on the submitter's own one or on another\n"
            "    decides the number. apart 1: the submitter has the first CPU, the workers the others.",
        .param = "apart",
        .n = 2000,
        .n_quick = 400,
        .n_smoke = 20,
        .metrics = {{"p50_us", "p50 us", 2, BENCH_LOWER}, {"p99_us", "p99 us", 2, BENCH_LOWER}},
        .cases = {{2, 1, 0}, {33, 1, 0}, {2, 1, 1}, {33, 1, 1}},
        .peers = POOLS " futex",
    },
    {
        .name = "pool-idle",
        .what = "an idle pool, n ms after 0.5 s of calm: voluntary context switches and CPU time of its threads, per "
                "second",
        .long_ = "All threads of the process but the one that looks, from /proc, after a burst of 10000 tasks.",
        .n = 3000,
        .n_quick = 1000,
        .n_smoke = 20,
        .metrics = {{"switches_per_s", "switches/s", 2, BENCH_LOWER}, {"cpu_us_per_s", "CPU us/s", 1, BENCH_LOWER}},
        .cases = {{33, 1, 0}, {256, 1, 0}},
        .peers = POOLS,
    },
    {
        .name = "pool-scale",
        .what =
            "tasks that compute for work_ns, from one producer: serial time / (wall time x workers that have a CPU)",
        .long_ =
            "n ns of work in all, cut into tasks of work_ns. Efficiency 1 is ideal: the pool cost nothing. The serial\n"
            "    time is that of the same work in the same process before. More workers than CPUs count as CPUs.",
        .param = "work_ns",
        .n = 200000000,
        .n_quick = 50000000,
        .n_smoke = 1000000,
        .metrics = {{"efficiency", "efficiency", 3, BENCH_HIGHER}, {"ns_per_op", "ns per task", 1, BENCH_LOWER}},
        .cases = {{1, 1, 1000},
                  {2, 1, 1000},
                  {3, 1, 1000},
                  {4, 1, 1000},
                  {1, 1, 10000},
                  {2, 1, 10000},
                  {3, 1, 10000},
                  {4, 1, 10000}},
        .peers = POOLS,
    },
    {
        .name = "pool-crowd",
        .what = "pool-submit with many more threads than processors, ns per task",
        .long_ = "As pool-submit. Threads lose their processor anywhere; the number shows what that costs the others.",
        .n = 1000000,
        .n_quick = 200000,
        .n_smoke = 1000,
        .metrics = {{"ns_per_op", "ns per task", 1, BENCH_LOWER}},
        .cases = {{4, 4, 0}, {16, 16, 0}, {64, 64, 0}, {2, 64, 0}},
        .peers = POOLS,
    },
    {
        .name = "pool-short",
        .what = "short tasks from P threads outside: serial time / (wall time x 2)",
        .long_ = "As pool-scale, with 2 workers and several producers. The producers compete with the workers for the\n"
                 "    processors, so 1 is out of reach where a task costs little more than its submit.",
        .param = "work_ns",
        .n = 100000000,
        .n_quick = 20000000,
        .n_smoke = 1000000,
        .metrics = {{"efficiency", "efficiency", 3, BENCH_HIGHER}, {"ns_per_op", "ns per task", 1, BENCH_LOWER}},
        .cases = {SHORT(100), SHORT(1000), SHORT(10000), SHORT(100000)},
        .peers = POOLS,
    },
    {
        .name = "pool-short-spawned",
        .what = "short tasks that P tasks spawn: serial time / (wall time x 2)",
        .long_ = "As pool-short, from inside: a group, a task_group, a scope; elsewhere the same call as from outside.",
        .param = "work_ns",
        .n = 100000000,
        .n_quick = 20000000,
        .n_smoke = 1000000,
        .metrics = {{"efficiency", "efficiency", 3, BENCH_HIGHER}, {"ns_per_op", "ns per task", 1, BENCH_LOWER}},
        .cases = {SHORT(100), SHORT(1000), SHORT(10000), SHORT(100000)},
        .peers = "vigil mutex glib tbb asio openmp go rayon tokio",
    },
    {
        .name = "pool-cost",
        .what =
            "what Vigil asks of the heap and the system per submit, how fast 64 workers start, what a parked one holds",
        .long_ =
            "Counted at the library's own calls. Allocations: after warm-up, tasks of the caller and of the pool "
            "alike.\n"
            "    Busy: n submits while each worker is inside a task. The other: the workers run what comes. Start: "
            "create to\n"
            "    the last worker's first step. KiB: all that the pool holds, stacks aside, divided by 64 workers.",
        .n = 1000000,
        .n_quick = 100000,
        .n_smoke = 1000,
        .metrics = {{"allocs_per_submit", "allocs/submit", 6, BENCH_LOWER},
                    {"busy_syscalls_per_submit", "syscalls/submit busy", 6, BENCH_LOWER},
                    {"busy_ns_per_submit", "ns/submit busy", 1, BENCH_LOWER},
                    {"syscalls_per_submit", "syscalls/submit", 4, BENCH_LOWER},
                    {"start_64_ms", "ms to start 64", 2, BENCH_LOWER},
                    {"kib_per_worker", "KiB per worker", 1, BENCH_LOWER}},
        .cases = {{2, 1, 0}},
        .peers = "counted",
    },
    {
        .name = "pool-share",
        .what = "share of time of a flood of LOW tasks beside one of HIGH tasks, thousandths; the option is 30",
        .long_ = "HIGH tasks of `producers` us, LOW tasks of low_us, always some of both queued; n ms, or 400 of the "
                 "longer\n"
                 "    tasks. Time from the start of a task to the start of the next on its worker.",
        .param = "low_us",
        .n = 2000,
        .n_quick = 1000,
        .n_smoke = 5,
        .metrics = {{"share_permille", "thousandths", 1, BENCH_HIGHER},
                    {"of_option", "of the option", 2, BENCH_HIGHER}},
        .cases = {{2, 1, 1},
                  {2, 1, 50},
                  {2, 1, 1000},
                  {2, 1, 50000},
                  {2, 50, 1},
                  {2, 50, 50},
                  {2, 50, 1000},
                  {2, 50, 50000},
                  {2, 1000, 1},
                  {2, 1000, 1000},
                  {2, 1000, 50000},
                  {2, 50000, 1},
                  {2, 50000, 1000},
                  {2, 50000, 50000}},
        .peers = "classes",
    },
    {
        .name = "pool-critical",
        .what = "how late a CRITICAL task comes back from a wait for a job of 5 ms, beside LOW tasks of 50 ms, us",
        .long_ = "From the last instruction of the job to the return of the wait; n waits. burn 0: the LOW tasks "
                 "sleep, so that\n"
                 "    only the pool can be late; 1: they compute, and the kernel shares the CPUs.",
        .param = "burn",
        .n = 200,
        .n_quick = 50,
        .n_smoke = 2,
        .metrics = {{"p50_us", "p50 us", 1, BENCH_LOWER},
                    {"p99_us", "p99 us", 1, BENCH_LOWER},
                    {"longest_us", "longest us", 1, BENCH_LOWER}},
        .cases = {{2, 1, 0}, {8, 1, 0}, {2, 1, 1}, {8, 1, 1}},
        .peers = "classes",
    },
    {.name = NULL},
};

static const struct bench_peer peers[] = {
    {"vigil", "this library", "", BENCH_OURS},
    {"vigil-call", "this library, vigil_pool_call instead of an embedded task", "", BENCH_OURS},
    {"vigil-job", "this library, vigil_job_call and unref instead of an embedded task", "", BENCH_OURS},
    {"vigil-join", "this library, vigil_join instead of a group", "", BENCH_OURS},
    {"mutex", "a list under a mutex and a condition variable, as in textbooks", "", BENCH_PEER},
    {"libuv", "libuv, uv_queue_work", "libuv1-dev", BENCH_PEER},
    {"glib", "GLib, GThreadPool", "libglib2.0-dev", BENCH_PEER},
    {"tbb", "oneTBB, task_arena and task_group", "libtbb-dev g++", BENCH_PEER},
    {"asio", "Boost.Asio, thread_pool", "libboost-dev g++", BENCH_PEER},
    {"openmp", "OpenMP tasks, libgomp", "gcc", BENCH_PEER},
    {"go", "Go, goroutines", "golang-go", BENCH_PEER},
    {"rayon", "rayon, ThreadPool::spawn and join", "librust-rayon-dev cargo rustc", BENCH_PEER},
    {"tokio", "tokio, multi-thread runtime", "librust-tokio-dev cargo rustc", BENCH_PEER},
    {"counted", "this library, its calls counted", "", BENCH_OURS},
    {"classes", "this library, tasks of several classes", "", BENCH_OURS},
    {"futex", "a futex and a thread that waits for it", "", BENCH_FLOOR},
    {"serial", "plain calls on one thread", "", BENCH_FLOOR},
    {.name = NULL},
};

const struct bench_family bench_family_pool = {"pool", benches, peers};
