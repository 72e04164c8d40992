/* SPDX-License-Identifier: MIT */
/* Coroutines on a loop: sleeping, descriptors, work on the pool, and the end of the loop under all of these. */
#include "check.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;
using vigil::task;

TEST(a_loop_runs_a_task_to_its_end_and_may_be_run_again)
{
    vigil::loop loop;
    const auto body = [](vigil::loop_ref it) -> task<std::string> {
        const counted guard;
        must(it.is_owner());
        const auto before = std::chrono::steady_clock::now();
        co_await vigil::sleep_for(it, 2ms);
        must(std::chrono::steady_clock::now() - before >= 2ms);
        must(it.is_owner());
        co_await it; /* a later turn */
        co_return "done";
    };
    must(loop.run(body(loop)) == "done");
    must(loop.run(body(loop)) == "done");
    const auto bad = [](vigil::loop_ref it) -> task<> {
        co_await vigil::sleep_for(it, 0ns);
        throw std::runtime_error("bad");
    };
    try {
        loop.run(bad(loop));
        must(false && "reached");
    } catch (const std::runtime_error &) {
    }
}

TEST(a_descriptor_is_waited_for)
{
    vigil::loop loop;
    int ends[2];
    must(::pipe(ends) == 0);
    const auto reader = [](vigil::loop_ref it, int fd) -> task<std::string> {
        const counted guard;
        std::string text;
        for (;;) {
            const unsigned events = co_await vigil::ready(it, fd, VIGIL_FD_READ);
            must(events != 0);
            char bytes[16];
            const ssize_t got = ::read(fd, bytes, sizeof bytes);
            must(got >= 0);
            if (got == 0)
                co_return text;
            text.append(bytes, static_cast<std::size_t>(got));
        }
    };
    const auto writer = [](vigil::loop_ref it, int fd) -> task<> {
        for (const char letter : {'a', 'b', 'c'}) {
            must(::write(fd, &letter, 1) == 1);
            co_await vigil::sleep_for(it, 100us);
        }
        ::close(fd);
    };
    const auto [text, none] = loop.run(vigil::when_all(reader(loop, ends[0]), writer(loop, ends[1])));
    (void)none;
    must(text == "abc");
    ::close(ends[0]);
    const auto bad = [](vigil::loop_ref it) -> task<> { (void)co_await vigil::ready(it, 1000000, VIGIL_FD_READ); };
    must_refuse(-EBADF, [&] { loop.run(bad(loop)); });
}

TEST(blocking_work_goes_to_the_pool_and_comes_back)
{
    vigil::loop loop;
    vigil::pool pool(2);
    const auto body = [&]() -> task<int> {
        const counted guard;
        int sum = 0;
        const int rounds = scaled(2000, 50);
        for (int i = 0; i < rounds; i++) {
            sum += co_await vigil::offload(
                loop, pool,
                [&] {
                    must(!loop.is_owner());
                    return 1;
                },
                vigil::high);
            must(loop.is_owner());
        }
        must(sum == rounds);
        auto owner = [it = std::make_unique<counted>()] { must(it != nullptr); };
        co_await vigil::offload(loop, pool, std::move(owner));
        try {
            co_await vigil::offload(loop, pool, [] { throw std::range_error("there"); });
            must(false && "reached");
        } catch (const std::range_error &) {
            must(loop.is_owner());
        }
        co_return sum;
    };
    must(loop.run(body()) > 0);
    must(pool.wait_idle());
}

TEST(there_and_back_by_hand)
{
    vigil::loop loop;
    vigil::pool pool(2);
    const auto body = [&]() -> task<int> {
        int hops = 0;
        for (int i = 0; i < scaled(2000, 50); i++) {
            co_await pool;
            must(vigil::current_pool().get() == pool.get());
            co_await loop;
            must(loop.is_owner());
            hops++;
        }
        co_await pool;
        co_return hops; /* ends on a worker, and the loop is left all the same */
    };
    must(loop.run(body()) == scaled(2000, 50));
}

TEST(the_end_of_the_loop_ends_every_wait)
{
    for (const bool abrupt : {false, true}) {
        vigil::loop loop;
        int ends[2];
        must(::pipe(ends) == 0);
        int ended = 0;
        const auto sleeper = [&]() -> task<> {
            const counted guard;
            try {
                co_await vigil::sleep_for(loop, 1h);
            } catch (const vigil::error &it) {
                must(it.status() == -ESHUTDOWN);
                ended++;
                throw; /* a detached task may: that is how it ends */
            }
        };
        const auto reader = [&]() -> task<> {
            const counted guard;
            try {
                (void)co_await vigil::ready(loop, ends[0], VIGIL_FD_READ);
            } catch (const vigil::error &it) {
                must(it.status() == -ESHUTDOWN);
                ended++;
            }
            must_refuse(-ESHUTDOWN, [&] { loop.post([] {}); });
            co_await vigil::sleep_for(loop, 1ns); /* refused */
            must(false && "reached");
        };
        loop.post([&] {
            vigil::detach(sleeper());
            vigil::detach(reader());
            vigil::detach(sleeper());
            loop.pause();
        });
        must(loop.run());
        if (abrupt)
            loop.close();
        else
            must(loop.shutdown());
        must(ended == 3);
        ::close(ends[0]);
        ::close(ends[1]);
    }
}

TEST(work_on_the_pool_outlives_the_loop_and_its_coroutine_ends_there)
{
    vigil::pool pool(1);
    event entered;
    event leave;
    std::atomic<int> ended{0};
    const auto body = [&](vigil::loop_ref loop) -> task<> {
        const counted guard;
        try {
            co_await vigil::offload(loop, pool, [&] {
                entered.set();
                leave.wait();
            });
            must(false && "reached");
        } catch (const vigil::error &it) {
            must(it.status() == -ESHUTDOWN);
            must(vigil::current_pool().get() == pool.get());
            ended.fetch_add(1);
        }
    };
    {
        vigil::loop loop;
        loop.post([&] { vigil::detach(body(loop)); });
        std::thread closer([&] {
            entered.wait();
            loop.close();
        });
        loop.run();
        closer.join();
        must(ended.load() == 0);
    } /* the loop is gone */
    leave.set();
    must(pool.wait_idle());
    must(ended.load() == 1);
}

TEST(the_end_of_the_loop_races_with_results_that_come_back)
{
    vigil::pool pool(2);
    const int rounds = scaled(2000, 60);
    std::atomic<int> ended{0};
    int begun = 0;
    for (int round = 0; round < rounds; round++) {
        vigil::loop loop;
        event go;
        const auto body = [&]() -> task<> {
            const counted guard;
            struct count {
                std::atomic<int> &of;
                ~count()
                {
                    of.fetch_add(1);
                }
            } const at_end{ended};
            for (;;)
                co_await vigil::offload(loop, pool, [&] { go.set(); });
        };
        loop.post([&] {
            for (int i = 0; i < 3; i++) {
                begun++;
                vigil::detach(body());
            }
        });
        std::thread runner([&] { loop.run(); });
        go.wait();
        if (round % 2 == 0)
            loop.close();
        else
            must(loop.shutdown());
        runner.join();
        must(pool.wait_idle()); /* the bodies use variables of this block */
    }
    must(ended.load() == begun);
}

TEST(a_run_that_is_shut_down_throws_what_its_task_throws)
{
    vigil::loop loop;
    vigil::pool pool(1);
    event begun;
    const auto body = [&]() -> task<int> {
        const counted guard;
        begun.set();
        co_await vigil::sleep_for(loop, 1h);
        co_return 1;
    };
    std::thread closer([&] {
        begun.wait();
        must(loop.shutdown());
    });
    must_refuse(-ESHUTDOWN, [&] { (void)loop.run(body()); });
    closer.join();
    must_refuse(-ESHUTDOWN, [&] { (void)loop.run(body()); }); /* it has ended */
}

static int raised = 0;

TEST(a_detached_task_on_a_loop_reports_to_on_uncaught)
{
    raised = 0;
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.on_uncaught = [](void *, const vigil_uncaught *it) {
        must(it->status == -EIO);
        try {
            std::rethrow_exception(vigil::take_uncaught());
        } catch (const std::domain_error &) {
            raised++;
        }
    };
    vigil::loop loop(options);
    const auto body = [&]() -> task<> {
        const counted guard;
        co_await vigil::sleep_for(loop, 1us);
        throw std::domain_error("nobody");
    };
    loop.post([&] { vigil::detach(body()); });
    loop.post([&] { vigil::detach(body()); });
    loop.run();
    must(raised == 2);
}

TEST(waiting_on_a_loop_from_elsewhere_is_refused)
{
    vigil::loop loop;
    vigil::pool pool(1);
    const auto body = [&]() -> task<> {
        co_await pool;
        must_refuse(-EPERM, [&] {
            const auto inner = [&]() -> task<> { co_await vigil::sleep_for(loop, 1ns); };
            vigil::sync_wait(inner());
        });
        const auto inner = [&]() -> task<> { (void)co_await vigil::ready(loop, 0, VIGIL_FD_READ); };
        must_refuse(-EPERM, [&] { vigil::sync_wait(inner()); });
        const auto third = [&]() -> task<> { co_await vigil::offload(loop, pool, [] {}); };
        must_refuse(-EPERM, [&] { vigil::sync_wait(third()); });
    };
    loop.run(body());
    const auto outer = [&]() -> task<> {
        must_refuse(-EDEADLK, [&] {
            const auto nothing = []() -> task<> { co_return; };
            loop.run(nothing());
        });
        co_return;
    };
    loop.run(outer());
}

int main()
{
    return run_tests();
}
