/* SPDX-License-Identifier: MIT */
/*
 * oneTBB. Submitting from outside is task_arena::enqueue into an arena without a place for the submitter; fork and join
 * is task_group inside an arena in which the caller is one of the workers. TBB starts no more threads than the machine
 * has processors unless global_control allows it.
 */
#include "harness.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

static oneapi::tbb::global_control *limit;
static oneapi::tbb::task_arena *arena;

static void start(unsigned workers, size_t)
{
    limit = new oneapi::tbb::global_control(oneapi::tbb::global_control::max_allowed_parallelism, workers + 1);
    arena = new oneapi::tbb::task_arena(static_cast<int>(workers), 0);
    arena->initialize();
}

static void produce(size_t, size_t count, pool_fn fn)
{
    for (size_t i = 0; i < count; i++)
        arena->enqueue([fn] { fn(); });
}

static void spawn(size_t, size_t count, pool_fn fn)
{
    oneapi::tbb::task_group group;
    for (size_t i = 0; i < count; i++)
        group.run([fn] { fn(); });
    group.wait();
}

static uint64_t spawn_fib(unsigned n)
{
    if (n < 2)
        return n;
    uint64_t left = 0;
    oneapi::tbb::task_group group;
    group.run([&left, n] { left = spawn_fib(n - 1); });
    const uint64_t right = spawn_fib(n - 2);
    group.wait();
    return left + right;
}

static uint64_t fib(unsigned workers, unsigned n)
{
    oneapi::tbb::task_arena mine(static_cast<int>(workers), 1);
    return mine.execute([n] { return spawn_fib(n); });
}

static void stop()
{
    delete arena;
    delete limit;
}

const struct pool_peer pool_peer = {start, produce, stop, nullptr, fib, 0, spawn};
