/* SPDX-License-Identifier: MIT */
/* oneTBB in an arena of W, in which the caller is one of them. */
#include "harness.hpp"

#include <functional>
#include <memory>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

namespace tbb = oneapi::tbb;
static tbb::global_control *limit;
static tbb::task_arena *arena;

struct tbb_peer {
    static void start(unsigned workers)
    {
        limit = new tbb::global_control(tbb::global_control::max_allowed_parallelism, workers);
        arena = new tbb::task_arena(static_cast<int>(workers), 1);
        arena->initialize();
    }
    static void stop()
    {
        delete arena;
        delete limit;
    }
    template <class F> static void inside(F &&fn)
    {
        arena->execute(fn);
    }
    template <class A, class B> static void join(A &&a, B &&b)
    {
        tbb::parallel_invoke(a, b);
    }
    template <class F> static void for_each(std::size_t n, F &&fn)
    {
        arena->execute([&] { tbb::parallel_for(std::size_t{0}, n, fn); });
    }
    static std::uint64_t sum(const std::uint32_t *v, std::size_t n)
    {
        return arena->execute([&] {
            return tbb::parallel_reduce(
                tbb::blocked_range<std::size_t>(0, n), std::uint64_t{0},
                [v](const auto &range, std::uint64_t sum) {
                    for (std::size_t i = range.begin(); i != range.end(); i++)
                        sum += v[i];
                    return sum;
                },
                std::plus<std::uint64_t>{});
        });
    }
    static void sort(std::uint32_t *first, std::uint32_t *last)
    {
        arena->execute([&] { tbb::parallel_sort(first, last); });
    }
    template <class F> static void grid(std::size_t side, F &&fn)
    {
        arena->execute([&] {
            using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
            tbb::flow::graph graph;
            std::vector<std::unique_ptr<node>> nodes;
            for (std::size_t i = 0; i < side * side; i++) {
                nodes.push_back(std::make_unique<node>(graph, [&fn](const tbb::flow::continue_msg &) { fn(); }));
                if (i >= side)
                    tbb::flow::make_edge(*nodes[i - side], *nodes[i]);
                if (i % side != 0)
                    tbb::flow::make_edge(*nodes[i - 1], *nodes[i]);
            }
            nodes[0]->try_put(tbb::flow::continue_msg());
            graph.wait_for_all();
            work::timed([&] {
                nodes[0]->try_put(tbb::flow::continue_msg());
                graph.wait_for_all();
            });
        });
    }
    template <class F> static std::uint64_t pipe(std::size_t n, F &&fn)
    {
        std::uint64_t next = 0;
        std::uint64_t sum = 0;
        arena->execute([&] {
            tbb::parallel_pipeline(static_cast<std::size_t>(2 * arena->max_concurrency()),
                                   tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                                         [&](tbb::flow_control &control) {
                                                                             if (next == n)
                                                                                 control.stop();
                                                                             return next++;
                                                                         }) &
                                       tbb::make_filter<std::uint64_t, std::uint64_t>(tbb::filter_mode::parallel, fn) &
                                       tbb::make_filter<std::uint64_t, void>(tbb::filter_mode::serial_in_order,
                                                                             [&](std::uint64_t it) { sum += it; }));
        });
        return sum;
    }
};

int main(int argc, char **argv)
{
    return work::run<tbb_peer>(argc, argv);
}
