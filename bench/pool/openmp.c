/* SPDX-License-Identifier: MIT */
/*
 * OpenMP tasks. Only a thread of the team may make a task, so the producers are members of a team of workers + producers
 * (in pool-scale, where a producer that works would count twice, of workers alone); the workers wait at the barrier at
 * its end and run tasks there. Past a limit (64 for each thread in libgomp) a
 * producer runs its task itself instead of queueing it; that is how OpenMP is, so it is left so.
 */
#include "harness.h"

#include <omp.h>

static void start(unsigned workers, size_t tasks)
{
    (void)tasks;
    (void)workers;
    omp_set_dynamic(0);
}

static void producers(unsigned workers, unsigned count, void (*body)(unsigned))
{
#pragma omp parallel num_threads(workers + count)
    {
        const unsigned index = (unsigned)omp_get_thread_num();
        if (index < count)
            body(index);
    }
}

static void produce(size_t first, size_t count, pool_fn fn)
{
    (void)first;
    for (size_t i = 0; i < count; i++) {
#pragma omp task firstprivate(fn)
        fn();
    }
    if (omp_get_num_threads() == 1) { /* nobody else is there to run what was queued */
#pragma omp taskwait
    }
}

static uint64_t spawn_fib(unsigned n)
{
    if (n < 2)
        return n;
    uint64_t left;
#pragma omp task shared(left) firstprivate(n)
    left = spawn_fib(n - 1);
    const uint64_t right = spawn_fib(n - 2);
#pragma omp taskwait
    return left + right;
}

static uint64_t fib(unsigned workers, unsigned n)
{
    uint64_t value = 0;
#pragma omp parallel num_threads(workers)
#pragma omp single
    value = spawn_fib(n);
    return value;
}

const struct pool_peer pool_peer = {
    .start = start, .produce = produce, .producers = producers, .fib = fib, .fib_limit = 27};
