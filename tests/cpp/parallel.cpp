/* SPDX-License-Identifier: MIT */
/* parallel.hpp, sort.hpp and the forked tasks of fork.hpp: ranges and lambdas give what the serial program gives. */
#include "check.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

static std::uint64_t fib(vigil::pool_ref pool, unsigned n)
{
    if (n < 2)
        return n;
    std::uint64_t left = 0;
    vigil::group group(pool);
    const vigil::forked child(group, [&left, pool, n] { left = fib(pool, n - 1); });
    const std::uint64_t right = fib(pool, n - 2);
    group.wait();
    return left + right;
}

TEST(forked_tasks_lie_on_the_stack)
{
    vigil::pool pool(2);
    std::uint64_t got = 0;
    pool.call([&] { got = fib(pool, 15); }).get();
    must(got == 610);
    /* an exception of a child comes to the wait; without a wait the destructor waits */
    pool.call([&] {
            vigil::group group(pool);
            const vigil::forked bad(group, [] { throw std::runtime_error("child"); });
            bool caught = false;
            try {
                group.wait();
            } catch (const std::runtime_error &) {
                caught = true;
            }
            must(caught);
            int ran = 0;
            {
                const vigil::forked left_alone(group, [&ran] { ran++; });
            }
            must(ran == 1);
        })
        .get();
}

TEST(a_group_holds_few_and_many_spawns)
{
    vigil::pool pool(2);
    pool.call([&] {
            vigil::group group(pool);
            std::atomic<int> ran{0};
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 50; i++)
                    group.spawn([&ran, text = std::string(100, 'x')] { ran += text.size() == 100; });
                group.wait();
            }
            must(ran == 150);
        })
        .get();
}

TEST(ranges_are_visited_and_transformed)
{
    vigil::pool pool(3);
    std::vector<int> numbers(10000);
    std::iota(numbers.begin(), numbers.end(), 0);
    vigil::parallel_for_each(pool, numbers, [](int &n) { n += 5; });
    std::vector<std::string> texts(numbers.size());
    vigil::parallel_transform(pool, numbers, texts.begin(), [](int n) { return std::to_string(n); });
    for (std::size_t i = 0; i < numbers.size(); i++)
        must(texts[i] == std::to_string(i + 5));
    std::array<std::atomic<int>, 100> seen{};
    vigil::parallel_pieces(pool, 0, 100, [&](int begin, int end) {
        for (int i = begin; i < end; i++)
            seen[static_cast<std::size_t>(i)]++;
    });
    for (const auto &it : seen)
        must(it == 1);
    std::atomic<std::size_t> cells{0};
    vigil::parallel_for_2d(pool, {0, 50, 10, 70}, 8, 8, [&](const vigil_tile &tile) {
        cells += (tile.row_end - tile.row) * (tile.column_end - tile.column);
    });
    must(cells == 50 * 60);
}

struct large {
    std::array<long, 300> numbers{};
};

TEST(reductions_scans_and_searches)
{
    vigil::pool pool(2);
    std::vector<long> numbers(50000);
    std::iota(numbers.begin(), numbers.end(), 1);
    must(vigil::parallel_reduce(pool, numbers, 0L, std::plus<>{}) == 50000L * 50001 / 2);
    /* strings: not commutative, and with memory of their own */
    const auto text = vigil::parallel_reduce(
        pool, 0, 3000, std::string(), [](int i) { return std::to_string(i % 10); }, std::plus<>{});
    must(text.size() == 3000 && text.substr(1230, 10) == "0123456789");
    /* a value that is larger than the library's */
    const auto sums = vigil::parallel_reduce(
        pool, 0, 30000, large{},
        [](int i) {
            large one;
            one.numbers[static_cast<std::size_t>(i % 300)] = 1;
            return one;
        },
        [](large a, const large &b) {
            for (std::size_t i = 0; i < 300; i++)
                a.numbers[i] += b.numbers[i];
            return a;
        },
        1000);
    must(sums.numbers[0] == 100 && sums.numbers[299] == 100);
    std::vector<long> prefixes(numbers.size());
    const long total = vigil::parallel_inclusive_scan(pool, numbers, prefixes.begin(), 0L, std::plus<>{});
    must(total == 50000L * 50001 / 2 && prefixes[99] == 5050 && prefixes.back() == total);
    const auto found = vigil::parallel_find_if(pool, numbers, [](long n) { return n % 777 == 0; });
    must(found - numbers.begin() == 776);
    must(vigil::parallel_find_if(pool, numbers, [](long n) { return n < 0; }) == numbers.end());
}

TEST(exceptions_come_to_the_caller)
{
    vigil::pool pool(2);
    int caught = 0;
    std::vector<int> numbers(20000, 1);
    const auto bad = [&](auto &&call) {
        try {
            call();
        } catch (const std::domain_error &) {
            caught++;
        }
    };
    bad([&] { vigil::parallel_for_each(pool, numbers, [](int) { throw std::domain_error("x"); }); });
    bad([&] {
        (void)vigil::parallel_reduce(
            pool, numbers, std::string(),
            [](const std::string &, const auto &) -> std::string { throw std::domain_error("x"); });
    });
    bad([&] { (void)vigil::parallel_find_if(pool, numbers, [](int) -> bool { throw std::domain_error("x"); }); });
    bad([&] { vigil::parallel_sort(pool, numbers, [](int, int) -> bool { throw std::domain_error("x"); }); });
    must(caught == 4);
    vigil_cancel_source *source = nullptr;
    must(vigil_cancel_create(&source) == 0 && vigil_cancel_abort(source, -ETIMEDOUT, nullptr) == 0);
    vigil::parallel_options options;
    options.token = vigil_cancel_token_of(source);
    try {
        vigil::parallel_for(
            pool, 0, 10, [](int) {}, options);
        must(false && "reached");
    } catch (const vigil::error &error) {
        must(error.code().value() == ETIMEDOUT);
    }
    vigil_cancel_destroy(source);
}

template <class T, class Make> static void sort_many(vigil::pool_ref pool, Make &&make)
{
    for (const std::size_t count : {0U, 1U, 2U, 20U, 21U, 1000U, 50000U})
        for (int shape = 0; shape < 4; shape++) {
            std::mt19937 dice(static_cast<unsigned>(count) + static_cast<unsigned>(shape));
            std::vector<T> one;
            for (std::size_t i = 0; i < count; i++) {
                const std::size_t pipe = i < count / 2 ? i : count - i;
                const std::size_t key = shape == 0 ? dice() % 1000000 : shape == 1 ? dice() % 3 : shape == 2 ? i : pipe;
                one.push_back(make(key));
            }
            std::vector<T> two = one;
            std::vector<T> three = one;
            std::sort(one.begin(), one.end());
            vigil::parallel_sort(pool, two);
            vigil::parallel_stable_sort(pool, three);
            must(one == two && one == three);
        }
}

TEST(sorts_agree_with_the_standard_library)
{
    vigil::pool pool(2);
    sort_many<std::uint32_t>(pool, [](std::size_t key) { return static_cast<std::uint32_t>(key); });
    sort_many<double>(pool, [](std::size_t key) { return static_cast<double>(key) / 3; });
    sort_many<std::string>(pool, [](std::size_t key) { return "key " + std::to_string(key); });
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < 30000; i++)
        pairs.emplace_back(i * 7919 % 100, i);
    vigil::parallel_stable_sort(pool, pairs, [](const auto &a, const auto &b) { return a.first < b.first; });
    must(std::is_sorted(pairs.begin(), pairs.end()));
}

TEST(each_worker_has_a_value)
{
    vigil::pool pool(4);
    vigil::worker_local<std::vector<int>> local(pool);
    vigil::parallel_for(pool, 0, 10000, [&](int i) { local.get().push_back(i); });
    must(local.combine(std::size_t{0}, [](std::size_t sum, const auto &v) { return sum + v.size(); }) == 10000);
    bool refused = false;
    try {
        (void)local.get();
    } catch (const vigil::error &) {
        refused = true;
    }
    must(refused);
}

int main()
{
    return run_tests();
}
