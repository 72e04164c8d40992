/* SPDX-License-Identifier: MIT */
/* pool.hpp and fork.hpp: lambdas as tasks, jobs, groups, and where exceptions go. */
#include "check.hpp"

#include <array>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

TEST(a_move_only_lambda_runs_once_and_is_destroyed)
{
    vigil::pool pool(2);
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; i++) {
        auto owned = std::make_unique<counted>();
        pool.submit([&ran, owned = std::move(owned)] { ran.fetch_add(1); });
    }
    must(pool.wait_idle());
    must(ran.load() == 1000);
    must(counted::alive.load() == 0);
}

static std::atomic<int> small_ran{0};

TEST(a_small_trivial_lambda_runs_too)
{
    vigil::pool pool(2);
    int number = 7;
    for (int i = 0; i < 100; i++)
        pool.submit([&number] { small_ran.fetch_add(number); }, vigil::high);
    pool.submit([] { small_ran.fetch_add(1); });
    pool.submit([]() -> int { return 0; });
    must(pool.wait_idle());
    must(small_ran.load() == 701);
    must(pool.stats().total.completed == 102);
}

TEST(what_never_starts_is_destroyed_without_being_called)
{
    std::atomic<int> ran{0};
    event entered;
    event leave;
    {
        vigil::pool pool(1);
        pool.submit([&] {
            entered.set();
            leave.wait();
        });
        entered.wait();
        for (int i = 0; i < 10; i++)
            pool.submit([&ran, guard = counted()] { ran.fetch_add(1); });
        must(!pool.close(1ms)); /* the first one still runs */
        must_refuse(-ESHUTDOWN, [&] { pool.submit([guard = counted()] {}); });
        must(pool.try_submit([guard = counted()] {}) == -ESHUTDOWN);
        leave.set();
    }
    must(ran.load() == 0);
    must(counted::alive.load() == 0);
}

static std::string caught_text;
static int caught_status;

TEST(an_exception_fails_the_task_and_on_failure_can_take_it)
{
    caught_text.clear();
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.on_failure = [](void *, const vigil_failure *failure) {
        caught_status = failure->status;
        try {
            if (const std::exception_ptr it = vigil::take_uncaught())
                std::rethrow_exception(it);
            caught_text = "nothing";
        } catch (const std::exception &it) {
            caught_text = it.what();
        }
    };
    vigil::pool pool(options);
    pool.submit([guard = counted()] { throw std::runtime_error("out of cheese"); });
    must(pool.wait_idle());
    must(caught_text == "out of cheese" && caught_status == -EIO);
    pool.submit([]() -> int { return -ENOENT; });
    must(pool.wait_idle());
    must(caught_text == "nothing" && caught_status == -ENOENT);
    pool.submit([] { throw std::system_error(EACCES, std::generic_category()); });
    must(pool.wait_idle());
    must(caught_status == -EACCES);
    pool.submit([] { throw std::bad_alloc(); });
    must(pool.wait_idle());
    must(caught_status == -ENOMEM);
    must(pool.stats().total.failed == 4);
}

TEST(an_error_has_a_sentence_and_compares_with_errc)
{
    const vigil::error it(-ESHUTDOWN, "submitting a task");
    must(std::string(it.what()).find("no longer accepts work") != std::string::npos);
    must(vigil::error(-ETIMEDOUT, "x").code() == std::errc::timed_out);
    must(vigil::status_of(std::make_exception_ptr(it)) == -ESHUTDOWN);
    must(vigil::status_of(std::make_exception_ptr(42)) == -EIO);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = VIGIL_MAX_WORKERS + 1;
    must_refuse(-EINVAL, [&] { vigil::pool pool(options); });
}

TEST(a_job_gives_its_value_or_its_exception)
{
    vigil::pool pool(2);
    must(pool.call([] { return 6 * 7; }).get() == 42);
    must(*pool.call([] { return std::make_unique<int>(5); }).get() == 5);
    pool.call([guard = counted()] {}, vigil::critical).get();
    vigil::job<int> thrower = pool.call([]() -> int { throw std::out_of_range("far"); });
    try {
        (void)thrower.get();
        must(false && "reached");
    } catch (const std::out_of_range &it) {
        must(std::string(it.what()) == "far");
    }
    { /* let go of it: it runs on alone */
        vigil::job<counted> alone = pool.call([] { return counted(); });
    }
    must(pool.wait_idle());
}

TEST(a_job_is_cancelled_before_it_starts_or_not_at_all)
{
    vigil::pool pool(1);
    event entered;
    event leave;
    auto first = pool.call([&] {
        entered.set();
        leave.wait();
        return 1;
    });
    entered.wait();
    auto second = pool.call([guard = counted()] { return 2; });
    must(!first.cancel() && !first.done() && !second.done());
    must(!first.wait(1ms));
    must(second.cancel() && second.done());
    must(counted::alive.load() == 0);
    leave.set();
    must_refuse(-ECANCELED, [&] { (void)second.get(); });
    must(first.get() == 1);
    must(!vigil::job<int>().valid());
}

TEST(waiting_for_a_job_inside_a_task_helps)
{
    vigil::pool pool(1);
    const int got = pool.call([&] { return pool.call([&] { return pool.call([] { return 3; }).get(); }).get(); }).get();
    must(got == 3);
}

TEST(a_group_waits_for_all_also_those_that_its_tasks_add)
{
    vigil::pool pool(3);
    std::atomic<int> ran{0};
    pool.call([&] {
            vigil::group group(pool);
            for (int i = 0; i < 100; i++) {
                group.spawn([&, guard = std::make_unique<counted>()] {
                    ran.fetch_add(1);
                    group.spawn([&] { ran.fetch_add(1); });
                });
            }
            group.wait();
            must(ran.load() == 200);
            group.submit([&] { ran.fetch_add(1); }, vigil::low); /* and again */
            group.wait();
        })
        .get();
    must(ran.load() == 201);
}

TEST(a_group_ends_with_its_scope_and_throws_what_was_thrown_first)
{
    vigil::pool pool(2);
    std::atomic<int> ran{0};
    {
        vigil::group group(pool);
        for (int i = 0; i < 10; i++)
            group.submit([&, guard = counted()] { ran.fetch_add(1); });
    }
    must(ran.load() == 10);
    vigil::group group(pool);
    group.spawn([] { throw std::logic_error("one"); });
    try {
        group.wait();
        must(false && "reached");
    } catch (const std::logic_error &) {
    }
    group.wait(); /* empty, and forgotten */
    group.spawn([]() -> int { return -ETIMEDOUT; });
    must_refuse(-ETIMEDOUT, [&] { (void)group.wait_for(vigil::forever); });
    event leave;
    group.spawn([&] { leave.wait(); });
    must(!group.wait_for(1ms));
    leave.set();
    must(group.wait_for(vigil::forever));
}

TEST(join_runs_both_and_throws_the_first_of_them)
{
    vigil::pool pool(2);
    int a = 0;
    int b = 0;
    vigil::join(
        pool, [&] { a = 1; }, [&] { b = 2; });
    must(a == 1 && b == 2);
    pool.call([&] {
            try {
                vigil::join(
                    pool, [] { throw 1; }, [&] { b = 3; });
                must(false && "reached");
            } catch (int thrown) {
                must(thrown == 1 && b == 3); /* both have ended */
            }
        })
        .get();
}

TEST(parallel_for_meets_each_index_once)
{
    vigil::pool pool(3);
    const int count = scaled(200000, 1000);
    std::vector<unsigned char> seen(static_cast<std::size_t>(count), 0);
    vigil::parallel_for(pool, 0, count, [&](int i) { seen[static_cast<std::size_t>(i)]++; });
    for (unsigned char it : seen)
        must(it == 1);
    vigil::parallel_for(pool, 5, 5, [](int) { must(false && "reached"); });
    vigil::parallel_for(pool, 5, 2, [](int) { must(false && "reached"); });
    std::atomic<int> met{0};
    vigil::parallel_for(
        pool, static_cast<signed char>(-128), static_cast<signed char>(127), [&](signed char) { met.fetch_add(1); }, 7);
    must(met.load() == 255);
    std::atomic<std::uint64_t> sum{0};
    vigil::parallel_for(pool, INT64_MAX - 10, INT64_MAX,
                        [&](std::int64_t at) { sum.fetch_add(static_cast<std::uint64_t>(INT64_MAX - at)); });
    must(sum.load() == 55);
}

TEST(parallel_for_ends_with_the_exception_when_all_pieces_are_over)
{
    vigil::pool pool(3);
    std::atomic<int> inside{0};
    try {
        vigil::parallel_for(
            pool, 0, 1000,
            [&](int i) {
                inside.fetch_add(1);
                if (i == 500) {
                    inside.fetch_sub(1);
                    throw std::string("five hundred");
                }
                inside.fetch_sub(1);
            },
            1);
        must(false && "reached");
    } catch (const std::string &thrown) {
        must(thrown == "five hundred");
    }
    must(inside.load() == 0);
}

TEST(parallel_reduce_keeps_the_order_of_the_pieces)
{
    vigil::pool pool(3);
    const auto text = vigil::parallel_reduce(
        pool, 0, 26, std::string(), [](int i) { return std::string(1, static_cast<char>('a' + i)); },
        [](std::string left, std::string right) { return left + right; }, 3);
    must(text == "abcdefghijklmnopqrstuvwxyz");
    const auto none = vigil::parallel_reduce(
        pool, 3, 3, 17, [](int i) { return i; }, [](int a, int b) { return a + b; });
    must(none == 17);
    const long sum = vigil::parallel_reduce(
        pool, 1L, 100001L, 0L, [](long i) { return i; }, [](long a, long b) { return a + b; });
    must(sum == 5000050000L);
    std::array<int, 4> out{};
    vigil::parallel_invoke(
        pool, [&] { out[0] = 1; }, [&] { out[1] = 2; }, [&] { out[2] = 3; }, [&] { out[3] = 4; });
    must(std::accumulate(out.begin(), out.end(), 0) == 10);
}

TEST(pools_move_and_come_from_c_and_go_back)
{
    vigil::pool first(1);
    vigil::pool second = std::move(first);
    must(first.get() == nullptr && second.workers() == 1);
    first = vigil::pool(2);
    vigil_pool *made = second.release();
    vigil::pool third = vigil::pool::adopt(made);
    must(third.get() == made);
    must(vigil::pool_ref(made).call([&] { return vigil::current_pool().get() == made; }).get());
    third.submit_to(0, [guard = counted()] {});
    third.submit_after(1us, [guard = counted()] {});
    must_refuse(-ENOENT, [&] { third.submit_to(9, [guard = counted()] {}); });
    must(third.wait_idle());
}

int main()
{
    return run_tests();
}
