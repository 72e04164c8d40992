/* SPDX-License-Identifier: MIT */
#include "harness.hpp"

#include <functional>
#include <span>
#include <vigil/graph.h>
#include <vigil/vigil.hpp>

static vigil::pool *our_pool;

struct vigil_peer {
    static void start(unsigned workers)
    {
        our_pool = new vigil::pool(workers);
    }
    static void stop()
    {
        delete our_pool;
    }
    template <class F> static void inside(F &&fn)
    {
        our_pool->call([&fn] { fn(); }).get();
    }
    template <class A, class B> static void join(A &&a, B &&b)
    {
        vigil::join(*our_pool, a, b);
    }
    template <class F> static void for_each(std::size_t n, F &&fn)
    {
        vigil::parallel_for(*our_pool, std::size_t{0}, n, fn);
    }
    static std::uint64_t sum(const std::uint32_t *v, std::size_t n)
    {
        return vigil::parallel_reduce(*our_pool, std::span(v, n), std::uint64_t{0}, std::plus<std::uint64_t>{});
    }
    static void sort(std::uint32_t *first, std::uint32_t *last)
    {
        vigil::parallel_sort(*our_pool, std::span(first, last));
    }
    template <class F> static void grid(std::size_t side, F &&fn)
    {
        vigil_graph *graph;
        vigil_node node;
        vigil::check(vigil_graph_create(&graph), "a graph");
        for (std::size_t i = 0; i < side * side; i++) {
            vigil::check(vigil_graph_add(
                             graph, nullptr,
                             [](void *arg) {
                                 (*static_cast<std::remove_reference_t<F> *>(arg))();
                                 return 0;
                             },
                             &fn, &node),
                         "a node");
            if (i >= side)
                vigil::check(vigil_graph_edge_add(graph, static_cast<vigil_node>(i - side), node), "an edge");
            if (i % side != 0)
                vigil::check(vigil_graph_edge_add(graph, node - 1, node), "an edge");
        }
        vigil::check(vigil_graph_run(graph, our_pool->get(), nullptr), "a run");
        work::timed([&] { vigil::check(vigil_graph_run(graph, our_pool->get(), nullptr), "a run"); });
        vigil_graph_destroy(graph);
    }
    template <class F> static std::uint64_t pipe(std::size_t n, F &&fn)
    {
        struct state {
            F &fn;
            std::size_t n;
            std::uint64_t next = 0, sum = 0;
        } it{fn, n};
        const vigil_stage stages[] = {{VIGIL_STAGE_SERIAL,
                                       [](void *arg, void **item) {
                                           state *s = static_cast<state *>(arg);
                                           *item = reinterpret_cast<void *>(s->next);
                                           return s->next++ < s->n ? 1 : 0;
                                       },
                                       &it},
                                      {VIGIL_STAGE_PARALLEL,
                                       [](void *arg, void **item) {
                                           *item = reinterpret_cast<void *>(
                                               static_cast<state *>(arg)->fn(reinterpret_cast<std::uintptr_t>(*item)));
                                           return 0;
                                       },
                                       &it},
                                      {VIGIL_STAGE_SERIAL,
                                       [](void *arg, void **item) {
                                           static_cast<state *>(arg)->sum += reinterpret_cast<std::uintptr_t>(*item);
                                           return 0;
                                       },
                                       &it}};
        vigil::check(vigil_pipeline_run(our_pool->get(), stages, 3, nullptr), "a pipeline");
        return it.sum;
    }
};

int main(int argc, char **argv)
{
    return work::run<vigil_peer>(argc, argv);
}
