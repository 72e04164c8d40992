/* SPDX-License-Identifier: MIT */
/* task.hpp and await.hpp: tasks on the pool and on the loop; every frame ends. */
#include "check.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;
using vigil::task;

static task<int> number(int n)
{
    const counted guard;
    co_return n;
}

static task<int> thrower()
{
    const counted guard;
    throw std::runtime_error("from below");
    co_return 0;
}

TEST(a_task_is_lazy_and_gives_its_value)
{
    bool begun = false;
    const auto body = [&](bool &flag) -> task<std::unique_ptr<int>> {
        const counted guard;
        flag = true;
        const int n = co_await number(20);
        co_return std::make_unique<int>(n + co_await number(22));
    };
    {
        const task<std::unique_ptr<int>> never = body(begun);
        must(!begun && never);
    }
    must(*vigil::sync_wait(body(begun)) == 42);
    must(begun);
}

TEST(a_task_may_give_a_reference)
{
    static int place = 1;
    const auto where = []() -> task<int &> { co_return place; };
    const auto body = [&]() -> task<> {
        int &it = co_await where();
        it = 5;
    };
    vigil::sync_wait(body());
    must(place == 5);
}

TEST(an_exception_goes_to_who_awaits)
{
    const auto middle = []() -> task<int> {
        const counted guard;
        co_return co_await thrower() + 1;
    };
    const auto body = [&]() -> task<std::string> {
        try {
            (void)co_await middle();
        } catch (const std::runtime_error &it) {
            co_return it.what();
        }
        co_return "nothing";
    };
    must(vigil::sync_wait(body()) == "from below");
    try {
        (void)vigil::sync_wait(thrower());
        must(false && "reached");
    } catch (const std::runtime_error &) {
    }
}

TEST(an_empty_task_is_refused)
{
    const auto body = []() -> task<> {
        task<int> none;
        (void)co_await std::move(none);
    };
    must_refuse(-EINVAL, [&] { vigil::sync_wait(body()); });
}

TEST(a_million_awaits_that_complete_at_once_need_no_stack)
{
    const auto body = []() -> task<long> {
        long sum = 0;
        const int rounds = scaled(1000000, 200000);
        for (int i = 0; i < rounds; i++)
            sum += co_await number(1);
        must(sum == rounds);
        for (int i = 0; i < rounds / 10; i++) {
            const auto [one, two] = co_await vigil::when_all(number(1), number(2));
            sum += one + two;
        }
        co_return sum;
    };
    must(vigil::sync_wait(body()) > 0);
}

static task<int> deep(vigil::pool_ref pool, int n)
{
    const counted guard;
    if (n == 0) {
        if (pool.get() != nullptr)
            co_await pool;
        co_return 0;
    }
    co_return 1 + co_await deep(pool, n - 1);
}

TEST(a_recursion_of_any_depth_needs_no_stack)
{
    const int depth = scaled(300000, 100000);
    must(vigil::sync_wait(deep(nullptr, depth)) == depth);
    vigil::pool pool(1);
    must(vigil::sync_wait(deep(pool, depth)) == depth); /* the way back is on another thread */
}

/* An event of somebody else's making, which resumes whoever waits then and there. */
struct foreign_event {
    std::coroutine_handle<> waiting;

    struct awaiter {
        foreign_event *of;
        bool await_ready() const noexcept
        {
            return false;
        }
        void await_suspend(std::coroutine_handle<> it) const noexcept
        {
            of->waiting = it;
        }
        void await_resume() const noexcept
        {
        }
    };
    awaiter come() noexcept
    {
        return {this};
    }
};

TEST(who_is_resumed_by_somebody_else_brings_its_own_driver)
{
    foreign_event event;
    int steps = 0;
    const auto body = [&]() -> task<> {
        const counted guard;
        co_await event.come();
        steps += co_await number(1);
        co_await event.come();
        steps += co_await number(10);
    };
    vigil::detach(body());
    must(steps == 0);
    event.waiting.resume();
    must(steps == 1); /* all of it, not only up to the next await of a task */
    const auto inside = [&]() -> task<> {
        event.waiting.resume(); /* in the middle of another coroutine */
        must(steps == 11);
        steps += co_await number(100);
    };
    vigil::sync_wait(inside());
    must(steps == 111);
}

TEST(co_await_on_a_pool_goes_on_on_a_worker)
{
    vigil::pool pool(2);
    const auto body = [](vigil::pool_ref it) -> task<> {
        const counted guard;
        must(vigil::current_pool().get() == nullptr);
        co_await it;
        must(vigil::current_pool().get() == it.get());
        const std::thread::id before = std::this_thread::get_id();
        co_await vigil::on(it, vigil::low);
        must(vigil::current_pool().get() == it.get());
        (void)before;
    };
    vigil::sync_wait(body(pool));
    must(pool.wait_idle());
    must(pool.stats().by_class[VIGIL_LOW].completed == 1 && pool.stats().by_class[VIGIL_NORMAL].completed == 1);
}

TEST(who_awaits_goes_on_where_the_other_ended)
{
    vigil::pool pool(3);
    const auto hop = [](vigil::pool_ref it) -> task<> { co_await it; };
    const auto body = [&](vigil::pool_ref it) -> task<> {
        co_await hop(it);
        must(vigil::current_pool().get() == it.get());
    };
    const auto both = [&](vigil::pool_ref it) -> task<> {
        std::vector<task<>> tasks;
        tasks.push_back(hop(it));
        tasks.push_back(hop(it));
        co_await vigil::when_all(std::move(tasks));
        must(vigil::current_pool().get() == it.get());
    };
    for (int i = 0; i < scaled(20000, 1000); i++) {
        vigil::sync_wait(body(pool));
        vigil::sync_wait(both(pool));
    }
}

TEST(many_hops_between_workers_lose_nothing)
{
    vigil::pool pool(3);
    const int hops = scaled(20000, 500);
    const auto hop = [](vigil::pool_ref it, int rounds) -> task<int> {
        int done = 0;
        const auto step = [](vigil::pool_ref on) -> task<int> {
            co_await on;
            co_return 1;
        };
        for (int i = 0; i < rounds; i++)
            done += co_await step(it);
        co_return done;
    };
    std::vector<task<int>> tasks;
    for (int i = 0; i < 8; i++)
        tasks.push_back(hop(pool, hops));
    const std::vector<int> done = vigil::sync_wait(vigil::when_all(pool, std::move(tasks)));
    for (int it : done)
        must(it == hops);
}

static task<long> fib(vigil::pool_ref pool, int n)
{
    if (n < 2)
        co_return n;
    std::vector<task<long>> halves;
    halves.push_back(fib(pool, n - 1));
    halves.push_back(fib(pool, n - 2));
    const std::vector<long> both = co_await vigil::when_all(pool, std::move(halves));
    co_return both[0] + both[1];
}

TEST(fork_and_join_with_tasks)
{
    vigil::pool pool(3);
    const int n = scaled(18, 10);
    long now = 0;
    long next = 1;
    for (int i = 0; i < n; i++)
        now = std::exchange(next, now + next);
    must(vigil::sync_wait(fib(pool, n)) == now);
}

TEST(when_all_ends_when_all_have_ended_and_throws_the_first)
{
    vigil::pool pool(2);
    std::atomic<int> ended{0};
    const auto slow = [&](vigil::pool_ref it) -> task<int> {
        const counted guard;
        co_await it;
        ended.fetch_add(1);
        co_return 1;
    };
    std::vector<task<int>> tasks;
    tasks.push_back(slow(pool));
    tasks.push_back(thrower());
    tasks.push_back(slow(pool));
    try {
        (void)vigil::sync_wait(vigil::when_all(std::move(tasks)));
        must(false && "reached");
    } catch (const std::runtime_error &) {
    }
    must(ended.load() == 2);

    const auto text = []() -> task<std::string> { co_return "three"; };
    const auto nothing = []() -> task<> { co_return; };
    const auto [one, two, three] = vigil::sync_wait(vigil::when_all(number(1), nothing(), text()));
    (void)two;
    must(one == 1 && three == "three");
    must(vigil::sync_wait(vigil::when_all(std::vector<task<int>>())).empty());
}

TEST(a_scope_ends_with_all_its_tasks)
{
    vigil::pool pool(3);
    std::atomic<int> ran{0};
    const int count = scaled(2000, 100);
    const auto leaf = [&ran]() -> task<> {
        const counted guard;
        ran.fetch_add(1);
        co_return;
    };
    const auto body = [&](vigil::async_scope &scope) -> task<> {
        for (int i = 0; i < count; i++)
            scope.start(pool, leaf());
        scope.start(leaf());
        co_return;
    };
    vigil::sync_wait(vigil::in_scope(body));
    must(ran.load() == count + 1);

    const auto failing = [&](vigil::async_scope &scope) -> task<> {
        const auto bad = [](vigil::pool_ref it) -> task<> {
            co_await it;
            throw std::logic_error("bad");
        };
        scope.start(bad(pool));
        scope.start(pool, leaf());
        co_return;
    };
    try {
        vigil::sync_wait(vigil::in_scope(failing));
        must(false && "reached");
    } catch (const std::logic_error &) {
    }
}

TEST(a_pool_that_stops_ends_what_waits_for_it)
{
    std::atomic<int> cancelled{0};
    event entered;
    event leave;
    vigil::pool pool(1);
    pool.submit([&] {
        entered.set();
        leave.wait();
    });
    entered.wait();
    const auto body = [&]() -> task<> {
        const counted guard;
        try {
            co_await pool;
            must(false && "reached");
        } catch (const vigil::error &it) {
            must(it.status() == -ECANCELED);
            cancelled.fetch_add(1);
        }
        try {
            co_await pool; /* and it does not come back to life */
        } catch (const vigil::error &it) {
            must(it.status() == -ESHUTDOWN);
            throw;
        }
    };
    for (int i = 0; i < 5; i++)
        vigil::detach(body());
    must(!pool.close(1ms));
    leave.set();
    must(pool.close());
    must(cancelled.load() == 5);
    must_refuse(-ESHUTDOWN, [&] {
        const auto late = [&]() -> task<> { co_await pool; };
        vigil::sync_wait(late());
    });
}

static std::atomic<int> reported{0};

TEST(a_detached_task_reports_what_nobody_catches)
{
    reported = 0;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = [](void *, const vigil_failure *failure) {
        must(failure->status == -EIO && vigil::take_uncaught() != nullptr);
        reported.fetch_add(1);
    };
    vigil::pool pool(options);
    const auto body = [&]() -> task<> {
        co_await pool;
        (void)co_await thrower();
    };
    vigil::detach(body());
    must(pool.wait_idle());
    must(reported.load() == 1);
    const auto early = []() -> task<> { (void)co_await thrower(); };
    try {
        vigil::detach(early());
        must(false && "reached");
    } catch (const std::runtime_error &) {
    }
}

int main()
{
    return run_tests();
}
