/* SPDX-License-Identifier: MIT */
/*
 * The pool benches, written once for all peers in C, C++ and Rust: harness.c has main() and the measuring, a peer fills in
 * `pool_peer`. (Go has its own program: its goroutines cannot be driven from outside at a fair price.)
 */
#ifndef BENCH_POOL_HARNESS_H
#define BENCH_POOL_HARNESS_H

#include "../peer/peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a task does. Never NULL; a peer calls it once per task. */
typedef void (*pool_fn)(void);

/* Numbers of the fib tree: calls of fib(n), and spawns if each call above the leaves spawns one of its two children. */
uint64_t pool_fib_calls(unsigned n);

struct pool_peer {
    /* Make a pool of `workers` threads, and room for `tasks` tasks at a time. Threads need not be up yet. */
    void (*start)(unsigned workers, size_t tasks);
    /* Submit the tasks first .. first + count - 1, one at a time, each to call fn. Called on `producers` threads at once,
       with ranges that do not meet. May return before they have run. */
    void (*produce)(size_t first, size_t count, pool_fn fn);
    /* End the pool; everything has run. May be NULL. */
    void (*stop)(void);
    /* Run body(0) .. body(producers - 1) at once, each on its own thread that may call produce, and return when all have
       returned. NULL: plain threads do. OpenMP needs its own. */
    void (*producers)(unsigned workers, unsigned producers, void (*body)(unsigned index));
    /* fib(n) by spawn and sync on `workers` workers, started by start(). NULL: no fork and join here. */
    uint64_t (*fib)(unsigned workers, unsigned n);
    /* The largest n to try: a spawn is so dear here that more only takes longer. 0: any. Numbers are per call. */
    unsigned fib_limit;
    /* As produce, but called inside a task, in the way in which tasks spawn others here. It may wait for them. NULL:
       produce. */
    void (*spawn)(size_t first, size_t count, pool_fn fn);
};

extern const struct pool_peer pool_peer;

#ifdef __cplusplus
}
#endif
#endif
