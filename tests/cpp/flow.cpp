/* SPDX-License-Identifier: MIT */
/* flow.hpp, graph.hpp and the cancel of groups: values and exceptions arrive where they belong. */
#include "check.hpp"

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

TEST(a_job_follows_another_and_gets_its_value)
{
    vigil::pool pool(2);
    auto text = pool.call([] { return std::string("four"); });
    auto length = vigil::then(text, [](std::string &it) { return it.size(); });
    auto owned =
        vigil::then(length, [extra = std::make_unique<int>(3)](std::size_t n) { return n + std::size_t(*extra); });
    must(owned.get() == 7);
    auto nothing = pool.call([] {});
    must(vigil::then(nothing, [] { return 5; }).get() == 5);
}

TEST(what_a_job_throws_passes_through_what_follows)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.on_failure = [](void *, const vigil_failure *) {};
    vigil::pool pool(options);
    bool called = false;
    auto bad = pool.call([]() -> int { throw std::runtime_error("bad"); });
    auto after = vigil::then(bad, [&](int) { called = true; });
    try {
        after.get();
        must(false);
    } catch (const std::runtime_error &it) {
        must(std::string(it.what()) == "bad");
    }
    must(!called);
}

TEST(jobs_follow_all_and_any)
{
    vigil::pool pool(2);
    std::atomic<int> sum{0};
    auto a = pool.call([&] { sum += 1; });
    auto b = pool.call([&] { sum += 2; });
    auto all = vigil::after_all(pool, {a.id(), b.id()}, [&] { return sum.load(); });
    must(all.get() == 3);
    auto any = vigil::after_any(pool, {a.id(), b.id()}, [] { return 9; });
    must(any.get() == 9);
    must(vigil::wait_any(pool, {{b.id(), nullptr}, {a.id(), nullptr}}) == 0U);
}

TEST(a_wait_for_any_runs_out_of_time)
{
    vigil::pool pool(1);
    std::atomic<bool> go{false};
    auto slow = pool.call([&] { go.wait(false); });
    must(!vigil::wait_any(pool, {{slow.id(), nullptr}}, 1ms).has_value());
    go = true;
    go.notify_all();
    must(vigil::wait_any(pool, {{slow.id(), nullptr}}) == 0U);
}

TEST(a_cancelled_group_leaves_the_rest_out)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = [](void *, const vigil_failure *) {};
    vigil::pool pool(options);
    std::atomic<int> ran{0};
    pool.call([&] {
            vigil::group group(pool, VIGIL_GROUP_CANCEL_ON_FAILURE);
            auto owned = std::make_shared<counted>();
            for (int i = 0; i < 10; i++)
                group.spawn([&ran, owned] {
                    ran++;
                    throw std::runtime_error("first");
                });
            owned.reset();
            try {
                group.wait();
                must(false);
            } catch (const std::runtime_error &) {
            }
            must(counted::alive.load() == 0);
            must(!group.cancelled());
            group.cancel();
            group.spawn([&ran] { ran++; });
            try {
                group.wait();
                must(false);
            } catch (const vigil::error &it) {
                must(it.status() == -ECANCELED);
            }
        })
        .get();
    must(ran.load() == 1);
}

TEST(values_and_exceptions_come_back_from_isolation_and_from_work_for_a_pool)
{
    vigil::pool pool(2);
    must(vigil::isolate([] { return 4; }) == 4);
    const auto here = std::this_thread::get_id();
    must(vigil::run_on(pool, [&] {
             must(std::this_thread::get_id() == here);
             int a = 0, b = 0;
             vigil::join(
                 pool, [&] { a = 1; }, [&] { b = 2; });
             return vigil::isolate([&] { return a + b; });
         }) == 3);
    try {
        vigil::run_on(pool, [] { throw std::out_of_range("x"); });
        must(false);
    } catch (const std::out_of_range &) {
    }
    vigil::parallel_options options;
    options.caller_works = true;
    std::atomic<long> sum{0};
    vigil::parallel_for(
        pool, 0, 1000, [&](int i) { sum += i; }, options);
    must(sum.load() == 499500);
}

TEST(a_broadcast_reaches_every_worker_and_throws)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 3;
    options.on_failure = [](void *, const vigil_failure *) {};
    vigil::pool pool(options);
    std::atomic<unsigned> seen{0};
    vigil::broadcast(pool, [&](unsigned worker) { seen |= 1U << worker; });
    must(seen.load() == 7);
    try {
        vigil::broadcast(pool, [](unsigned worker) {
            if (worker == 1)
                throw std::runtime_error("one");
        });
        must(false);
    } catch (const std::runtime_error &) {
    }
    pool.call([&] {
            must(!vigil::yield_task());
            try {
                vigil::broadcast(pool, [](unsigned) {});
                must(false);
            } catch (const vigil::error &it) {
                must(it.status() == -EDEADLK);
            }
        })
        .get();
}

TEST(a_graph_runs_in_order_and_again)
{
    vigil::pool pool(2);
    vigil::graph graph;
    int loaded = 0, left = 0, right = 0, sum = 0, rounds = 0;
    const auto load = graph.add([&, owned = std::make_unique<int>(2)] { loaded = *owned; }, "load");
    const auto a = graph.add([&] { left = loaded * 10; }, "left");
    const auto b = graph.add([&] { right = loaded * 100; }, "right");
    const auto add = graph.add([&] { sum = left + right; }, "add");
    const auto again = graph.condition([&] { return ++rounds < 3 ? 0 : 1; }, "again");
    graph.edge(load, {a, b});
    graph.edge(a, add);
    graph.edge(b, add);
    graph.edge(add, again);
    graph.edge(again, add);
    graph.run(pool);
    must(sum == 220 && rounds == 3);
    vigil::graph moved = std::move(graph);
    moved.run(pool);
    must(rounds == 4);
    must(moved.dot().find("load") != std::string::npos);
}

TEST(what_a_node_throws_ends_the_run)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.on_failure = [](void *, const vigil_failure *) {};
    vigil::pool pool(options);
    vigil::graph graph;
    bool later = false;
    const auto bad = graph.add([] { throw std::logic_error("node"); });
    const auto after = graph.add([&] { later = true; });
    graph.edge(bad, after);
    for (int i = 0; i < 2; i++) {
        try {
            graph.run(pool);
            must(false);
        } catch (const std::logic_error &) {
        }
    }
    must(!later);
}

int main()
{
    return run_tests();
}
