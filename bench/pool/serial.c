/* SPDX-License-Identifier: MIT */
/* The floor of pool-spawn: the same tree of calls on one thread, no pool. */
#include "harness.h"

__attribute__((noinline)) static uint64_t call_fib(unsigned n)
{
    __asm__ volatile("" : "+r"(n)); /* the call is really made */
    return n < 2 ? n : call_fib(n - 1) + call_fib(n - 2);
}

static void start(unsigned workers, size_t tasks)
{
    (void)workers;
    (void)tasks;
}

static uint64_t fib(unsigned workers, unsigned n)
{
    (void)workers;
    return call_fib(n);
}

const struct pool_peer pool_peer = {.start = start, .fib = fib};
