/* SPDX-License-Identifier: MIT */
/*
 * What a peer's program in C or C++ needs, whatever its family: words in, numbers out, clocks, percentiles, a way to count
 * finished tasks that is not itself the cost, and what /proc says about the threads.
 *
 *   PROGRAM BENCH workers=W producers=P n=N param=X     runs one repetition
 *   key value                                           one line per metric on the standard output
 *   unranked TEXT                                       beside, if the numbers are not those of the others' work
 *   trouble TEXT                                        instead, if it cannot
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_args {
    const char *bench;
    unsigned workers, producers;
    long n, param;
};

struct bench_args bench_parse(int argc, char **argv);
void bench_print(const char *key, double value);
/* Says why there is no number, and ends the process. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_trouble(const char *format, ...);
/* bench_trouble with a text about memory, a call or a thread that failed; a benchmark has no way to go on. */
void bench_must(int holds, const char *what);
void *bench_alloc(size_t count, size_t size); /* zeroed and touched: no page fault is left for the measurement */

uint64_t bench_now(void); /* ns, CLOCK_MONOTONIC */
void bench_sleep(uint64_t ns);

/* Prints p50_us and p99_us of n samples in ns; sorts them. */
void bench_print_percentiles(uint64_t *samples, size_t n);

/*
 * Counting finished tasks. One shared counter would move a cache line between the cores for each task and hide what is
 * measured; so each thread has its own, and whoever waits adds them up.
 */
struct bench_slot {
    uint64_t count;
    char pad[120]; /* neighbours do not share a line, nor the pair of lines that is fetched together */
};
extern __thread struct bench_slot *bench_my_slot;
struct bench_slot *bench_take_slot(void);

static inline void bench_count(void)
{
    struct bench_slot *slot = bench_my_slot;
    if (__builtin_expect(!slot, 0))
        slot = bench_take_slot();
    /* One writer; release, so that who has seen the count has seen the task done. */
    __atomic_store_n(&slot->count, slot->count + 1, __ATOMIC_RELEASE);
}
void bench_count_call(void); /* the same for other languages */

uint64_t bench_counted(void);
/* Wait until `total` have been counted. Looks every 100 us: only used when the work is nearly done. */
void bench_wait_counted(uint64_t total);

/* Voluntary context switches and time on a CPU of all threads of this process but the caller. */
struct bench_activity {
    uint64_t threads, switches, cpu_ns;
};
struct bench_activity bench_activity_now(void);

/* Keep the calling thread, and what it starts from here on, on the first of the CPUs that it may use (1), or off it (0).
   bench_trouble if there is only one. */
void bench_pin(int to_first);

/* Work of about a given length: `rounds` steps that the compiler cannot shorten. */
uint64_t bench_work(uint64_t rounds);
/* How many rounds take `ns` here and now; the best of some tries. */
uint64_t bench_rounds(uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
