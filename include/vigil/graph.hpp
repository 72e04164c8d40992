/* SPDX-License-Identifier: MIT */
/*
 * vigil/graph.hpp - vigil/graph.h in C++20: task graphs of lambdas, built once and run many times.
 * Part of pool.hpp.
 *
 *     vigil::graph graph;
 *     auto load = graph.add([&] { data = read(); }, "load");
 *     auto left = graph.add([&] { a = half(data, 0); }, "left");
 *     auto right = graph.add([&] { b = half(data, 1); }, "right");
 *     graph.edge(load, {left, right});
 *     graph.run(pool);
 */
#ifndef VIGIL_GRAPH_HPP
#define VIGIL_GRAPH_HPP

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <vigil/graph.h>
#include <vigil/parallel.hpp>

namespace vigil
{

/* Owns a vigil_graph and its function objects. One thread changes or runs it at a time. */
class graph
{
  public:
    using node = vigil_node;

    graph()
    {
        check(vigil_graph_create(&graph_), "making a graph");
    }
    graph(graph &&other) noexcept
        : graph_(std::exchange(other.graph_, nullptr)), state_(std::move(other.state_)),
          parts_(std::move(other.parts_))
    {
    }
    graph &operator=(graph &&other) noexcept
    {
        std::swap(graph_, other.graph_);
        std::swap(state_, other.state_);
        std::swap(parts_, other.parts_);
        return *this;
    }
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;
    ~graph()
    {
        vigil_graph_destroy(graph_);
    }

    /* A node that calls fn in each run. fn returns nothing, or an int that is a status. */
    template <std::invocable F> node add(F &&fn, const char *name = nullptr)
    {
        return add_with(vigil_graph_add, std::forward<F>(fn), name, "adding a node to a graph");
    }
    /* A node whose result, counted from 0, names which of the nodes behind it starts. */
    template <class F>
    requires std::is_invocable_r_v<int, F &> node condition(F &&fn, const char *name = nullptr)
    {
        return add_with(vigil_graph_condition_add, std::forward<F>(fn), name,
                        "adding a condition to a graph");
    }
    void edge(node before, node after)
    {
        check(vigil_graph_edge_add(graph_, before, after), "adding an edge to a graph");
    }
    void edge(node before, std::initializer_list<node> after)
    {
        for (const node it : after)
            edge(before, it);
    }

    /* Run it and wait. Throws what the first failing node threw, or vigil::error. */
    void run(pool_ref pool, const parallel_options &options = {})
    {
        state_->taken.store(false, std::memory_order_relaxed);
        state_->exception = nullptr;
        const int rc = vigil_graph_run(graph_, pool.get(), &options);
        if (const std::exception_ptr thrown = std::exchange(state_->exception, nullptr);
            rc < 0 && thrown)
            std::rethrow_exception(thrown);
        check(rc, "running a graph");
    }
    /* In the language of Graphviz. */
    std::string dot() const
    {
        const int length = check(vigil_graph_dot(graph_, nullptr, 0), "drawing a graph");
        std::string text(static_cast<std::size_t>(length) + 1, '\0');
        check(vigil_graph_dot(graph_, text.data(), text.size()), "drawing a graph");
        text.resize(static_cast<std::size_t>(length));
        return text;
    }
    vigil_graph *get() const noexcept
    {
        return graph_;
    }

  private:
    struct failure {
        std::atomic<bool> taken{false};
        std::exception_ptr exception;
    };
    struct part {
        virtual ~part() = default;
    };
    template <class F> struct part_of final : part {
        F fn;
        failure *state;
        template <class A> part_of(A &&from, failure *of) : fn(std::forward<A>(from)), state(of)
        {
        }
        static int run(void *arg) noexcept
        {
            part_of *self = static_cast<part_of *>(arg);
            try {
                if constexpr (std::is_void_v<std::invoke_result_t<F &>>) {
                    self->fn();
                    return 0;
                } else {
                    return detail::returned(self->fn());
                }
            } catch (...) {
                std::exception_ptr thrown;
                const int status = detail::failed(&thrown);
                /* relaxed: the end of the run orders it */
                if (!self->state->taken.exchange(true, std::memory_order_relaxed))
                    self->state->exception = thrown;
                return status;
            }
        }
    };

    template <class Add, class F>
    node add_with(Add add_node, F &&fn, const char *name, const char *doing)
    {
        using P = part_of<std::decay_t<F>>;
        auto made = std::make_unique<P>(std::forward<F>(fn), state_.get());
        P *const arg = made.get();
        parts_.push_back(std::move(made));
        node it = 0;
        const int rc = add_node(graph_, name, P::run, arg, &it);
        if (rc < 0)
            parts_.pop_back();
        check(rc, doing);
        return it;
    }

    vigil_graph *graph_ = nullptr;
    std::unique_ptr<failure> state_ = std::make_unique<failure>();
    std::vector<std::unique_ptr<part>> parts_;
};

} // namespace vigil

#endif
