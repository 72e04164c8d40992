/* SPDX-License-Identifier: MIT */
/* promise.hpp: values that give themselves back, exceptions as reasons, co_await on promises, cancellation. */
#include "check.hpp"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;
using vigil::task;

TEST(a_promise_is_awaited_looked_at_and_taken)
{
    vigil::loop loop;
    const auto body = [&]() -> task<> {
        const counted guard;
        vigil::promise number(loop);
        loop.post([number] { must(number.resolve(42)); });
        must((co_await number).integer() == 42);
        must((co_await number).integer() == 42);
        must(number.state() == VIGIL_FULFILLED && !number.resolve(1));

        vigil::promise text(loop);
        must(text.resolve(std::string("boxed")));
        must((co_await text).get<std::string>() == "boxed");
        bool refused = false;
        try {
            (void)(co_await text).get<std::vector<int>>();
        } catch (const vigil::error &it) {
            refused = it.status() == -EINVAL;
        }
        must(refused);
        vigil::value taken = co_await std::move(text);
        must(taken.get<std::string>() == "boxed");

        vigil::promise owner(loop);
        must(owner.resolve(std::make_unique<counted>()));
        const vigil::value mine = co_await std::move(owner);
        must(mine.get<std::unique_ptr<counted>>() != nullptr);
        must((co_await vigil::promise(number)).integer() == 42); /* a temporary is taken, if nobody has */
    };
    loop.run(body());
}

TEST(a_rejection_is_thrown_as_what_it_was)
{
    vigil::loop loop;
    const auto body = [&]() -> task<std::string> {
        const counted guard;
        std::string seen;
        vigil::promise first(loop);
        must(first.reject(-ENOSPC));
        try {
            (void)co_await first;
        } catch (const vigil::error &it) {
            must(it.status() == -ENOSPC);
            seen += 's';
        }
        vigil::promise second(loop);
        must(second.reject(std::make_exception_ptr(std::domain_error("mine"))));
        try {
            (void)co_await second;
        } catch (const std::domain_error &it) {
            must(std::string(it.what()) == "mine");
            seen += 'e';
        }
        try {
            (void)co_await std::move(second);
        } catch (const std::domain_error &) {
            seen += 'm';
        }
        co_return seen;
    };
    must(loop.run(body()) == "sem");
}

TEST(handlers_are_lambdas_and_chains_settle)
{
    vigil::loop loop;
    const auto body = [&]() -> task<> {
        vigil::promise start(loop);
        vigil::promise end = start.then([guard = counted()](vigil::value_view it) { return it.integer() + 1; })
                                 .then([&](vigil::value_view it) {
                                     vigil::promise later(loop);
                                     loop.post([later, n = it.integer()] { (void)later.resolve(n * 10); });
                                     return later;
                                 })
                                 .then([](vigil::value_view it) -> std::string {
                                     throw std::runtime_error(std::to_string(it.integer()));
                                 })
                                 .otherwise([](vigil::value_view reason) -> std::string {
                                     try {
                                         reason.rethrow();
                                     } catch (const std::runtime_error &it) {
                                         return it.what();
                                     }
                                 });
        must(start.resolve(4));
        must((co_await end).get<std::string>() == "50");
        vigil::promise never(loop);
        (void)never.then([guard = counted()](vigil::value_view) { must(false && "reached"); });
    };
    loop.run(body());
}

TEST(work_on_the_pool_is_a_promise_with_a_token_and_a_limit)
{
    vigil::loop loop;
    vigil::pool pool(1);
    event entered;
    event leave;
    const auto body = [&]() -> task<> {
        const counted guard;
        auto work = [owned = std::make_unique<counted>()] { return std::string("from a worker"); };
        vigil::promise text = vigil::async(loop, pool, std::move(work), {.level = vigil::high});
        must((co_await std::move(text)).get<std::string>() == "from a worker");
        vigil::promise bad = vigil::async(loop, pool, [] { throw std::out_of_range("there"); });
        try {
            (void)co_await bad;
            must(false && "reached");
        } catch (const std::out_of_range &) {
        }
        const vigil::cancel_source unused;
        (void)co_await vigil::async(loop, pool, [] {}, {.level = vigil::low, .token = unused.token()});
        must(!unused.token().aborted());
        /* One holds the worker; the second is aborted before it starts, the third runs out of time. */
        vigil::promise first = vigil::async(loop, pool, [&] {
            entered.set();
            leave.wait();
            return 1;
        });
        entered.wait();
        const vigil::cancel_source stop;
        auto unwanted = [mark = std::make_unique<counted>()] { must(false && "reached"); };
        vigil::promise second = vigil::async(loop, pool, std::move(unwanted), {.token = stop.token()});
        vigil::promise third = vigil::async(loop, pool, [] {}, {.timeout = 1ms});
        must(stop.abort(-EINTR, "enough") && !stop.abort());
        must(stop.token().aborted() && std::string(stop.token().text()) == "enough");
        must_refuse(-EINTR, [&] { stop.token().check(); });
        int status = 0;
        try {
            (void)co_await second;
        } catch (const vigil::error &it) {
            status = it.status();
        }
        must(status == -EINTR);
        try {
            (void)co_await third;
        } catch (const vigil::error &it) {
            status = it.status();
        }
        must(status == -ETIMEDOUT);
        leave.set();
        must((co_await first).integer() == 1);
    };
    loop.run(body());
    must(pool.wait_idle());
}

TEST(ready_made_promises_can_be_awaited)
{
    vigil::loop loop;
    const auto body = [&]() -> task<> {
        const counted guard;
        (void)co_await vigil::promise::after(loop, 1ms);
        int ends[2];
        must(::pipe(ends) == 0);
        must(::write(ends[1], "x", 1) == 1);
        const vigil::value events = co_await vigil::promise::fd(loop, ends[0], VIGIL_FD_READ);
        must((events.integer() & VIGIL_FD_READ) != 0);
        ::close(ends[0]);
        ::close(ends[1]);
        const pid_t pid = ::fork();
        if (pid == 0)
            ::_exit(3);
        const vigil::value status = co_await vigil::promise::child(loop, pid);
        must(WEXITSTATUS(static_cast<int>(status.integer())) == 3);
        vigil::promise got = vigil::promise::signal(loop, SIGUSR2);
        ::raise(SIGUSR2);
        must((co_await std::move(got)).integer() == SIGUSR2);

        const vigil::cancel_source out(loop, 2ms);
        bool ended = false;
        try {
            (void)co_await vigil::promise::after(loop, 1h, out.token());
        } catch (const vigil::error &it) {
            ended = it.status() == -ETIMEDOUT;
        }
        must(ended);
    };
    loop.run(body());
}

TEST(several_promises_and_tasks_as_promises)
{
    vigil::loop loop;
    vigil::pool pool(2);
    const auto number = [&](int n) -> task<int> {
        const counted guard;
        co_await pool;
        co_return n;
    };
    const auto bad = []() -> task<> {
        throw std::logic_error("bad");
        co_return;
    };
    const auto body = [&]() -> task<> {
        std::vector<vigil::promise> three;
        for (int i = 0; i < 3; i++)
            three.push_back(vigil::to_promise(loop, number(i)));
        const vigil::value all = co_await vigil::promise::all(loop, three);
        must(all.size() == 3 && all[2].integer() == 2);
        must_refuse(-ENOENT, [&] { (void)all[3]; });
        three.push_back(vigil::to_promise(loop, bad()));
        const vigil::value settled = co_await vigil::promise::all_settled(loop, three);
        must(settled.size() == 4 && settled[3].kind() == VIGIL_ERROR);
        must((co_await vigil::promise::any(loop, three)).kind() == VIGIL_INT);
        bool thrown = false;
        try {
            (void)co_await vigil::promise::all(loop, three);
        } catch (const std::logic_error &) {
            thrown = true;
        }
        must(thrown);
        vigil::promise never(loop);
        int status = 0;
        try {
            (void)co_await never.guard({}, 1ms);
        } catch (const vigil::error &it) {
            status = it.status();
        }
        must(status == -ETIMEDOUT);
    };
    loop.run(body());
}

TEST(the_end_of_the_loop_settles_what_is_awaited)
{
    for (const bool abrupt : {false, true}) {
        vigil::pool pool(1);
        event entered;
        event leave;
        int ended = 0;
        {
            vigil::loop loop;
            vigil::promise never(loop);
            const auto waiter = [&]() -> task<> {
                const counted guard;
                try {
                    (void)co_await never;
                } catch (const vigil::error &it) {
                    must(it.status() == -ESHUTDOWN || it.status() == -ECANCELED);
                    ended++;
                    throw;
                }
            };
            const auto worker = [&]() -> task<> {
                const counted guard;
                try {
                    (void)co_await vigil::async(loop, pool, [&] {
                        entered.set();
                        leave.wait();
                        return std::make_unique<counted>();
                    });
                } catch (const vigil::error &it) {
                    must(it.status() == -ESHUTDOWN || it.status() == -ECANCELED);
                    ended++;
                }
            };
            loop.post([&] {
                vigil::detach(waiter());
                vigil::detach(worker());
                vigil::detach(waiter());
            });
            std::thread closer([&] {
                entered.wait();
                if (abrupt)
                    loop.close();
                else
                    must(loop.shutdown());
            });
            loop.run();
            closer.join();
            must(ended == 3);
        }
        leave.set();
        must(pool.wait_idle());
    }
}

TEST(a_promise_of_another_thread_must_be_awaited_on_the_loop)
{
    vigil::loop loop;
    vigil::pool pool(1);
    const auto body = [&]() -> task<> {
        vigil::promise it(loop);
        co_await pool;
        int status = 0;
        try {
            (void)co_await it;
        } catch (const vigil::error &thrown) {
            status = thrown.status();
        }
        must(status == -EPERM);
        must(it.resolve(5)); /* but it can be settled from anywhere */
        co_await loop;
        must((co_await it).integer() == 5);
    };
    loop.run(body());
}

int main()
{
    return run_tests();
}
